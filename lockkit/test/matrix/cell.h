/*
 * A cell of the fault matrix: a lock of one kind in one step, and a rival who wants it. What must be true of it
 * afterwards follows from rules that are the same for all cells; what a fault may do stands with the fault.
 */
#ifndef MATRIX_CELL_H
#define MATRIX_CELL_H

#include "faults.h"
#include "test/support/lk_any.h"

/* Those with an order: writers first, or as they come; a reader's rival is the next kind. */
enum {
    CELL_REDLOCK = LKS_ANY_KINDS,
    CELL_SEMAPHORE,
    CELL_LATCH,
    CELL_FIRST_READ,
    CELL_FIRST_WRITE,
    CELL_FAIR_READ,
    CELL_FAIR_WRITE,
    CELL_KINDS,
    CELL_REASONS = 6
};

/* A lock of whatever kind; or, of which it is known here alone who has it, a semaphore of one, or a latch: whoever
   closes it has it, and opens it. */
struct part {
    struct lks_any any;
    lk_semaphore *semaphore;
    lk_latch *latch;
    bool is_owed; /* a release has not been confirmed */
    atomic_bool is_taken;
};

struct cell {
    const struct fault *fault;
    struct world *world;
    size_t kind;
    const char *missing, *wrong; /* why there is no such cell; what is wrong with it */
    struct part mine, other;     /* whose step it is; and the rival: who has it before a wait */
    pthread_t thread, beside;
    double held_ms;            /* mine is held since */
    double free_ms;            /* how long the rival waits for it in the end */
    struct lk_error of_rival;  /* what it was told then */
    double began_ms, ended_ms; /* these four: written by its thread */
    struct lk_error err;
    lk_status status;
    lk_status of_beside;
    enum step step;
    atomic_int losses, overlaps; /* told to mine; times that both held it */
    atomic_bool has_ended;
    char key[48];
};

/* "mutex" */
const char *cell_kind_name(size_t kind);
/* Why there is no such cell, one of these reasons; NULL: there is. */
extern const char *const cell_reasons[CELL_REASONS];
const char *cell_is_missing(const struct cell *cell);
int64_t cell_command_ms(const struct fault *fault);

/* Make it, and lead up to its step. */
void cell_begin(struct cell *cell);
/* Take the step, on a thread of its own; or here, in a child. */
void cell_start(struct cell *cell);
lk_status cell_try(struct cell *cell);
/* The rival tries once; on its own thread. */
void cell_rival(struct cell *cell, bool is_over);
/* Whether it believes to have it. */
bool cell_holds(const struct part *part);
/* What an operator has to do after a server forgot all. */
void cell_mend(struct cell *cell);
void cell_join(struct cell *cell);
/* The fault is over, since a moment, and the rival stands still: what is wrong, or NULL. */
const char *cell_judge(struct cell *cell, double over_ms);
void cell_end(struct cell *cell);

#endif
