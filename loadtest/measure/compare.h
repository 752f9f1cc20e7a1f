/*
 * Guards side by side: the same load for each, on a fresh sale, in shuffled rounds. What each one
 * did, and whether it did what it is there for. Judging and sums are pure; compare_run.c runs.
 *
 * A sound guard must keep every promise. A flawed one may break those that its flaw explains, and is
 * there to be seen doing so; anything else it breaks is a find. Each is tried in calm, where most
 * flaws sleep, and under the fault that brings it down (fault.h); or under those of --fault alone.
 */
#ifndef LOADTEST_COMPARE_H
#define LOADTEST_COMPARE_H

#include <stdio.h>

#include "base/progress.h"
#include "run/verify.h"
#include "stats/guard_list.h"

/* Name in result.json, head of its column, decimals on the screen. */
#define COMPARE_MEASURE_LIST(X)                                                                    \
    X(COMPARE_PER_S, "accepted_per_s", "accepted/s", 0)                                            \
    X(COMPARE_P99, "accepted_p99_ms", "p99 ms", 1)                                                 \
    X(COMPARE_ROUND_TRIPS, "round_trips_per_order", "trips/order", 2)                              \
    X(COMPARE_OVERSOLD, "oversold", "oversold", 0)                                                 \
    X(COMPARE_UNDERSOLD, "undersold", "undersold", 0)                                              \
    X(COMPARE_DUPLICATES, "duplicates", "duplicates", 0)                                           \
    X(COMPARE_STUCK_LOCKS, "stuck_locks", "stuck", 0)                                              \
    X(COMPARE_INVERSIONS, "inversions", "inversions", 3)

typedef enum compare_measure {
#define COMPARE_VALUE(value, name, head, decimals) value,
    COMPARE_MEASURE_LIST(COMPARE_VALUE)
#undef COMPARE_VALUE
        COMPARE_MEASURE_COUNT
} compare_measure;

struct compare_measure_text {
    const char *name, *head;
    int decimals;
};

extern const struct compare_measure_text compare_measures[COMPARE_MEASURE_COUNT];

/* Of one run, or of all runs of a guard: the later in this list wins. */
typedef enum compare_verdict {
    COMPARE_HELD,   /* kept every promise; a flawed guard: this load did not trigger its flaw */
    COMPARE_SHOWED, /* a flawed guard broke what its flaw explains */
    COMPARE_HID,    /* a flawed guard did not, though its fault came: proves nothing */
    COMPARE_VOID,   /* proves nothing */
    COMPARE_BROKE,  /* a promise that it must keep */
} compare_verdict;

/* One guard in calm, or under one fault. */
struct compare_row {
    const struct guard_entry *guard; /* borrowed */
    const struct fault *fault;       /* NULL: calm */
    bool has_fallen[PROMISE_COUNT];  /* a check of this promise failed in a run */
    struct repeats measures[COMPARE_MEASURE_COUNT];
    compare_verdict verdicts[ROUNDS_MAX];
    int count; /* of runs */
};

/* Of one run of that guard. */
compare_verdict compare_judge(const struct guard_entry *guard, const struct verify_run *run);

void compare_row_add(struct compare_row *row, const struct verify_run *run);
/* In calm the worst of the runs counts. Under a fault, which may miss, the best that is no broken promise. */
compare_verdict compare_row_verdict(const struct compare_row *row);

/* "calm", or the name of its fault */
const char *compare_row_weather(const struct compare_row *row);

/* The promises that fell, commas between, or "". */
enum { COMPARE_WORDS_MAX = 160 };
void compare_row_fallen(const struct compare_row *row, char out[COMPARE_WORDS_MAX]);

/* "held", "showed its flaw", "hid its flaw", "void", "broke a promise" */
const char *compare_verdict_words(compare_verdict verdict);

struct compare_cell {
    int row;    /* in `rows` */
    long round; /* from 1 */
    struct verify_run run;
};

enum { COMPARE_ROWS_MAX = GUARDS_MAX * (1 + FAULT_COUNT) };

struct compare {
    uint64_t seed;
    struct guard_list guards; /* those that are compared */
    struct compare_row rows[COMPARE_ROWS_MAX];
    int row_count;
    struct compare_cell *cells; /* owned: in the order in which they ran */
    int cell_count;
    struct service service; /* of the last cell, stopped: for its versions */
    double seconds;         /* the whole run */
    struct progress progress;
};

/*
 * Run what --guard names, each guard in each round on instances and a Redis of its own; with
 * --redis on that one, a fresh sale each. The guard redlock gets lock servers of its own, too, unless
 * --redlock names some.
 *
 * Returns  false   it could not be done, or was interrupted. Free it either way.
 */
bool compare_run(struct compare *compare, const struct options *options, const char *run_dir,
                 struct failure *failure);
void compare_run_free(struct compare *compare);

/* By the worst of all guards; a flaw that showed itself is what was to be seen. */
audit_verdict compare_run_verdict(const struct compare *compare);

void compare_report_screen(FILE *to, const struct options *options, const struct compare *compare);

/* Write `path` whole or not at all. */
bool compare_report_write(const char *path, const struct options *options,
                          const struct compare *compare, struct failure *failure);

#endif
