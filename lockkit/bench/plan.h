/*
 * What lockbench measures, as two tables: tasks, each of which is done once per round, and rows,
 * which are figures made of what the tasks yield. Pure: nothing here starts, asks or prints
 * anything.
 */
#ifndef LOCKKIT_BENCH_PLAN_H
#define LOCKKIT_BENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TASKS_MAX = 64, ROWS_MAX = 80, ROUNDS_MAX = 50, VALUES_MAX = 3, NAME_MAX_LEN = 48 };

typedef enum library_id { LOCKKIT, REDISSON, REDIS_PY, REDSYNC, LIBRARY_COUNT } library_id;
const char *plan_library_name(library_id library);

/* The two values that each kind of work yields. */
#define WORK_LIST(X)                                                                               \
    X(WORK_PAIR, "pair")         /* µs of acquire + release; µs of two bare round trips */       \
    X(WORK_RATE, "rate")         /* acquisitions per second by `size` owners */                    \
    X(WORK_HANDOVER, "handover") /* µs from release to the next owner: p50, p99; `size` wait */   \
    X(WORK_PASS, "pass")         /* s to renew `size` locks that are due together; its CPU, ms */  \
    X(WORK_LEAVE, "leave")   /* µs to release a read lock beside `size` others; beside none */    \
    X(WORK_UPKEEP, "upkeep") /* CPU, ms, to renew `size` locks once */                             \
    X(WORK_QUORUM, "quorum") /* µs of a redlock on `size` servers; of what it is set against */

typedef enum work_id {
#define WORK_VALUE(value, name) value,
    WORK_LIST(WORK_VALUE)
#undef WORK_VALUE
        WORK_COUNT
} work_id;

struct task {
    work_id work;
    library_id library;
    const char *kind; /* of lock; static storage */
    unsigned size;
    bool is_tcp;    /* a pair: by TCP, not by the unix socket */
    bool is_wanted; /* by a row that is wanted */
    double values[VALUES_MAX][ROUNDS_MAX];
    size_t rounds;
    bool is_absent;  /* the library is not installed */
    char doubt[200]; /* why it was not measured; or "" */
};
/* "handover redisson reentrant 8" */
void plan_task_name(const struct task *task, char *out, size_t size);

/* One of the values of a task, times a factor. No task: 1. */
struct quantity {
    const struct task *task; /* borrowed */
    size_t value;
    double factor; /* 0 means 1 */
};

/* over / under */
struct row {
    char name[NAME_MAX_LEN]; /* for --only */
    char figure[80];         /* for people */
    const char *unit;        /* "" of a ratio */
    double must, aim;        /* 0: none, the figure is for information */
    bool is_higher_better;
    struct quantity over, under;
    bool is_wanted;
};

struct plan {
    struct task tasks[TASKS_MAX];
    size_t task_count;
    struct row rows[ROWS_MAX];
    size_t row_count;
};

/* Large: keep it off the stack. Everything is wanted at first. */
void plan_make(struct plan *plan);

/* Want only rows whose names start with one of these; false if one of them fits no row. */
bool plan_only(struct plan *plan, const char *const *starts, size_t count,
               const char **out_unknown);

/* A random number that depends on these two alone. */
uint64_t plan_chance(uint64_t seed, uint64_t number);

/* 0 .. count - 1 in an order that depends on seed and round alone. */
void plan_shuffle(size_t *out_order, size_t count, uint64_t seed, uint64_t round);

struct spread {
    double median, least, most;
};
/* Sorts the numbers; there is at least one. */
struct spread plan_spread(double *numbers, size_t count);
/* The number that `share` (0 to 1) of them do not exceed. As above. */
double plan_quantile(double *numbers, size_t count, double share);

/* What became of a row. */
struct result {
    double repeats[ROUNDS_MAX], over[ROUNDS_MAX], under[ROUNDS_MAX];
    size_t count;
    struct spread spread, over_spread, under_spread;
    bool is_ok;        /* measured, and reaches `must` if there is one */
    bool is_absent;    /* not measured because a library is not there; else a doubt is a fault */
    const char *doubt; /* why it was not measured; or NULL. Borrowed from a task */
};
void plan_result(const struct row *row, struct result *out);

#endif
