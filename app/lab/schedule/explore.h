/*
 * All schedules of a guard, the shortest first, until one breaks a promise: each is played on the real Redis,
 * and what leads to a state that was seen before is left out.
 *
 * What it says is true within its bounds: so many actors, units, faults, choices.
 */
#ifndef SECKILL_LAB_EXPLORE_H
#define SECKILL_LAB_EXPLORE_H

#include "base/list.h"
#include "schedule.h"

/* X(value, name), in the order of the exit statuses of seckillctl lab explore */
#define EXPLORE_VERDICT_LIST(X)                                                                    \
    X(EXPLORE_NONE, "none")             /* nothing breaks a promise, and all was tried */          \
    X(EXPLORE_BROKEN, "broken")         /* one was found */                                        \
    X(EXPLORE_UNFINISHED, "unfinished") /* none yet: the time was over, or the depth reached */    \
    X(EXPLORE_TROUBLE, "trouble") /* a play that went wrong, or differently when it was repeated */

struct explore_found {
    enum lab_promise promise;
    unsigned length, faults;
    char text[SCHEDULE_SIZE];
};

struct explore {
    /* What is wanted. */
    const struct guard *guard;
    unsigned actors;
    long long units;
    unsigned faults, depth; /* at most */
    const char *kinds;      /* of faults: schedule_choice.fault; borrowed */
    int64_t limit_ms;
    bool is_all;                                            /* go on, for other promises */
    bool (*goes_on)(const struct explore *self, void *arg); /* between two plays; NULL: it does */
    void *goes_on_arg;
    bool is_plain; /* for a test: each schedule is tried, also from a state that was seen */

    /* What came of it. */
    enum explore_verdict { EXPLORE_VERDICT_LIST(LIST_VALUE) EXPLORE_VERDICT_COUNT } verdict;
    size_t found_count;
    struct explore_found
        found[LAB_PROMISE_COUNT]; /* each by a shortest schedule, of those one of fewest faults */
    bool is_finished;
    unsigned reached; /* this length */
    size_t plays, states, pruned;
    size_t schedules; /* that were judged; a play goes through several */
    int64_t took_ms;
    struct start_error trouble;
    const struct lab_text
        *refusal; /* the trouble is that a program is none for its task; NULL: it is */
};

void explore_run(struct explore *self, struct lab *lab);

/* One line of JSON; owned, NULL: no memory. */
char *explore_json(const struct explore *self);
/* Where the page shows the first that was found, or the command that plays it, if it is somebody's program; owned;
   NULL: none, or no memory. */
char *explore_url(const struct explore *self);

#endif
