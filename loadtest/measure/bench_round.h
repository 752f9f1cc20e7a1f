/*
 * One measurement of the bench: so many seconds of wrk at one instance, asking for one thing, and
 * whether the answers were what was expected.
 */
#ifndef LOADTEST_BENCH_ROUND_H
#define LOADTEST_BENCH_ROUND_H

#include "bench.h"
#include "count/bench_counters.h"
#include "count/bench_places.h"
#include "count/lock_times.h"
#include "run/drive.h"

/* Where measuring goes on. All borrowed. */
struct bench_field {
    const struct options *options;
    const char *run_dir;
    struct service *service; /* all that runs, on one Redis */
    struct ledger *ledger;   /* of that Redis */
};

struct bench_task {
    bench_kind kind;
    const char *page;  /* NULL: /livez */
    const char *guard; /* of a purchase */
    const char *tag;   /* [a-z0-9-], short, unique in the run: buyers, files and the sale have it */
    const char *sale;  /* NULL: one of its own, named after the tag */
    long sales;        /* so many of its own, asked for in turn; 0: one */
    long segments;     /* of each of its own; 0: it is in one piece */
    long connections;
    long duration_s;
    int instance; /* of the service */
    bool
        at_all; /* at every instance; then nothing is counted but by wrk and by the stock in Redis */
    bool may_refuse; /* a purchase: refusals are counted, not unexpected */
};

struct bench_count {
    struct speed_count speed;    /* what wrk counted */
    double per_s;                /* answers as expected, wrk's count over wrk's time */
    long long answered;          /* of these */
    long long accepted;          /* purchases: units that left the stock in Redis */
    long long paid;              /* pairs: payments that the instance counted; else -1 */
    long long refused;           /* answers of 400 and above that wrk counted */
    struct tally outcomes;       /* of purchases and refusals, as the instance counted them */
    double round_trips;          /* purchases: pipelines the instance sent to Redis */
    struct tally sum;            /* purchases: commands Redis ran, those of scripts too */
    long long commands;          /* of these */
    struct lock_times locks;     /* purchases: of the task's guard */
    char doubt[BENCH_DOUBT_MAX]; /* an answer that was not expected; or "" */
};

/*
 * Measure, and wait until Redis has served what was still under way, so that the next measurement
 * does not pay for it.
 *
 * Returns  false   could not be measured. Unexpected answers are no failure: see `doubt`.
 */
bool bench_round_measure(const struct bench_field *field, const struct bench_task *task,
                         struct bench_count *out_count, struct failure *failure);

/* One setting, measured once a round: a guard, a batch size, so many connections. No figure must be reached,
 * so it is only reported: what a guard costs, and how it does over connections and batches. */
struct bench_point {
    const char *guard;               /* borrowed */
    const struct bench_place *place; /* of the ladder; NULL: it is no step of that */
    long batch, connections, duration_s;
    int instance; /* that has this batch */
    double round_trips[ROUNDS_MAX], commands[ROUNDS_MAX], per_s[ROUNDS_MAX]; /* of an order */
    double p99_ms[ROUNDS_MAX]; /* of all answers, as wrk saw them */
    struct lock_times locks[ROUNDS_MAX];
    int count;          /* of rounds that accepted something */
    long long accepted; /* by Redis */
    long long refused;  /* by wrk: a guard under contention may say "try again" */
    struct tally sum;
    char doubt[BENCH_DOUBT_MAX];
};

enum { BENCH_NAME_MAX = 64 };

/* For --only: "cost-GUARD"; of the ladder "ladder-PLACE-GUARD". */
void bench_round_name_point(const struct bench_point *point, char out[BENCH_NAME_MAX]);

void bench_round_add_point(struct bench_point *point, const struct bench_count *count);

/* Wait until Redis does not rewrite its append-only file, at most a few seconds. */
bool bench_round_await_rewrite(struct ledger *ledger, struct failure *failure);

#endif
