/*
 * Guards side by side: the same load for each, on a fresh sale, in shuffled rounds. What each one
 * did, and whether it did what it is there for. Judging and sums are pure; compare_run.c runs.
 *
 * A sound guard must keep every promise. A flawed one may break those that its flaw explains, and is
 * there to be seen doing so; anything else it breaks is a find.
 */
#ifndef LOADTEST_COMPARE_H
#define LOADTEST_COMPARE_H

#include "base/spread.h"
#include "count/guard_list.h"
#include "run/verify.h"

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
    COMPARE_VOID,   /* proves nothing */
    COMPARE_BROKE,  /* a promise that it must keep */
} compare_verdict;

/* One guard. */
struct compare_row {
    const struct guard_entry *guard;                  /* borrowed */
    double values[COMPARE_MEASURE_COUNT][ROUNDS_MAX]; /* NAN: not known */
    compare_verdict verdicts[ROUNDS_MAX];
    int count; /* of runs */
};

/* Of one run of that guard. */
compare_verdict compare_judge(const struct guard_entry *guard, const struct verify_run *run);

void compare_row_add(struct compare_row *row, const struct verify_run *run);
compare_verdict compare_row_verdict(const struct compare_row *row);
/* Median, least and most of what is known; false: nothing is. */
bool compare_row_spread(const struct compare_row *row, compare_measure measure,
                        struct spread *out_spread);

/* "held", "showed its flaw", "void", "broke a promise" */
const char *compare_verdict_words(compare_verdict verdict);

#endif
