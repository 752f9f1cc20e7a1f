/*
 * What is done to the workers, their links and the server's process while a torture runs. (What is
 * done by commands to the server: torture_hand.h.)
 */
#ifndef LK_TORTURE_FAULTS_H
#define LK_TORTURE_FAULTS_H

#include "test/support/lk_support.h"
#include "torture_crowd.h"
#include "torture_links.h"

/* The first fault waits until so many were taken, up to three times the quiet time: other things may keep a
   machine busy. */
enum { TORTURE_QUIET_TAKEN = 50, TORTURE_QUIET_MOST = 3 };

/* Faults in an order by chance, all once before one comes again. */
struct torture_deck {
    enum torture_fault cards[FAULT_COUNT];
    size_t count;
    size_t next;
    uint32_t seed;
};

void torture_deck_add(struct torture_deck *deck, enum torture_fault fault);
enum torture_fault torture_deck_draw(struct torture_deck *deck);

const char *torture_fault_name(enum torture_fault fault);
/* Of all kinds, so far. */
long torture_fault_count(const struct torture_board *board);

/* What is done to a server that is made up. */
struct torture_ailments {
    void (*begin)(enum torture_fault fault, int64_t span_ms);
    void (*end)(void);
};

struct torture_faults {
    struct torture_crowd *crowd;
    struct torture_links *links; /* NULL: workers reach the server without */
    const struct history_writer *writer;
    struct lks_server *server;               /* NULL: not ours to stop */
    const struct torture_ailments *ailments; /* NULL: it has none */
    struct torture_deck deck;
    int64_t next_at_ns;
    int64_t resume_at_ns[TORTURE_PROCESSES_MAX]; /* 0: not paused */
    int64_t heal_at_ns[TORTURE_PROCESSES_MAX];   /* of the link; 0: it is well */
    int64_t server_resume_at_ns;
    int64_t server_restart_at_ns;
    int64_t server_heal_at_ns;
    bool is_forgetful; /* what ails it: keys end when they should not */
};

/* The first part is filled in; faults begin after a moment. */
void torture_faults_begin(struct torture_faults *faults);

/* End what is over, do what is due. */
void torture_faults_step(struct torture_faults *faults);

/* End everything now. */
void torture_faults_end(struct torture_faults *faults);

#endif
