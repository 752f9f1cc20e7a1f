/*
 * The bench: every figure in one run, on instances and Redis servers of its own; and what was measured of each.
 *
 * Stages, one after the other. On the first, one Redis has two instances side by side, one with the
 * service's default batch and one with --batch 1, for ratios and costs; then come a primary with a
 * replica, and a cluster beside one Redis, with two instances each; then the places of the ladder. On
 * the last, one Redis has a fresh instance per repeat, for memory. Append-only file and fsync always,
 * but where the ladder says otherwise.
 */
#ifndef LOADTEST_BENCH_H
#define LOADTEST_BENCH_H

#include "base/progress.h"
#include "run/drive.h"
#include "stats/bench_figures.h"
#include "stats/bench_machine.h"
#include "stats/bench_places.h"
#include "stats/guard_list.h"
#include "stats/service_counts.h"

enum {
    BENCH_DOUBT_MAX = 200,
    BENCH_THINGS_MAX = GUARDS_MAX * CONNECTION_STEPS_MAX + INSTANCES_MAX
};

/* What was measured of a figure. `over` and `under` are the rates behind the ratios. */
struct bench_row {
    const struct bench_figure *figure;
    bool is_wanted; /* by --only */
    struct repeats repeats, over_per_s, under_per_s;
    long long accepted, refused; /* purchases: by Redis; refusals: by wrk */
    struct spread spread;        /* the value is its median */
    bool is_ok;                  /* reaches `must`, and nothing is doubtful */
    char doubt[BENCH_DOUBT_MAX]; /* why the row is void; or "" */
};

/* ---- the arithmetic: bench.c ---- */

/* Does --only want it? */
bool bench_wants(const struct options *options, const char *name);

/* --seed, or a random one. */
uint64_t bench_seed(const struct options *options);
/* 0 .. count - 1 in an order that depends on seed and round alone. */
void bench_shuffle(int *out_order, int count, uint64_t seed, uint64_t round);

/* Things to measure in rounds: each once a round, in an order that is shuffled each time, so that none
 * always comes first. */
struct bench_rounds {
    long rounds;
    int count; /* of things, at most BENCH_THINGS_MAX */
    uint64_t seed;
    bool (*measure)(void *arg, long round, int which); /* round: from 1. false: that was all */
    void *arg;
};

bool bench_run_rounds(const struct bench_rounds *rounds);

/* over / under of one round; a rate of 0 below makes the row doubtful. */
void bench_add_ratio(struct bench_row *row, double over_per_s, double under_per_s);
/* The first doubt is kept. */
void bench_set_doubt(char doubt[BENCH_DOUBT_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Median, least, most, and whether it is enough; for after the last repeat. */
void bench_sum_up(struct bench_row *row);
bool bench_reaches(const struct bench_figure *figure, double value);

/* ---- one measurement: bench_round.c ---- */

/* Where measuring goes on. All borrowed. */
struct bench_field {
    const struct options *options;
    const char *run_dir;
    struct service *service; /* all that runs, on one Redis */
    struct ledger *ledger;   /* of that Redis */
};

enum { BENCH_TAG_MAX = 64, BENCH_NAME_MAX = 64 };

struct bench_task {
    bench_kind kind;
    const char *page;  /* NULL: /livez */
    const char *guard; /* of a purchase */
    char tag
        [BENCH_TAG_MAX]; /* [a-z0-9-], short, unique in the run: buyers, files and the sale have it */
    const char *sale;    /* NULL: one of its own, named after the tag */
    long sales;          /* so many of its own, asked for in turn; 0: one */
    long segments;       /* of each of its own; 0: it is in one piece */
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
    long long refused;           /* answers of 400 and above that wrk counted */
    struct service_counts since; /* purchases, refusals: at the instance, of the task's guard */
    struct tally sum;            /* purchases: commands Redis ran, those of scripts too */
    long long commands;          /* of these */
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

/* How long its batches waited for their lock, or held it. */
struct bench_lock {
    struct repeats count, p50_ms, p90_ms, p99_ms;
};

/* One setting, measured once a round: a guard, a batch size, so many connections. No figure must be reached,
 * so it is only reported: what a guard costs, and how it does over connections and batches. */
struct bench_point {
    const char *guard;               /* borrowed */
    const struct bench_place *place; /* of the ladder; NULL: it is no step of that */
    long batch, connections, duration_s;
    int instance;  /* that has this batch */
    bool is_alone; /* ... started for it, each round, and stopped again */
    /* Of the rounds that accepted something; the first two of an order, the last of all answers, as wrk saw them. */
    struct repeats round_trips, commands, per_s, p99_ms;
    struct bench_lock wait, hold;
    long long accepted; /* by Redis */
    long long refused;  /* by wrk: a guard under contention may say "try again" */
    struct tally sum;
    char doubt[BENCH_DOUBT_MAX];
};

/* For --only: "cost-GUARD"; of the ladder "ladder-PLACE-GUARD". */
void bench_round_name_point(const struct bench_point *point, char out[BENCH_NAME_MAX]);

/* Why it is void, or "". */
const char *bench_round_doubt(const struct bench_point *point);

void bench_round_add_point(struct bench_point *point, const struct bench_count *count);

/* Wait until Redis does not rewrite its append-only file, at most a few seconds. */
bool bench_round_await_rewrite(struct ledger *ledger, struct failure *failure);

/* ---- the run: bench_run.c ---- */

enum { BENCH_COST_CONNECTIONS = 1024 };

/* On one Redis; in segments on three masters; on one Redis with few connections, so that batches are small. */
enum { BENCH_TAKE_ONE, BENCH_TAKE_THREE, BENCH_TAKE_FEW, BENCH_TAKE_COUNT };

/* What a purchase takes there, each round. */
struct bench_take {
    struct repeats service_us, redis_us; /* processor time, of all primaries */
    struct repeats batch;                /* purchases of a round trip */
};

/* What was measured, also by a sweep, which has points alone. Large: keep it off the stack. */
struct bench {
    uint64_t seed;
    struct bench_row rows[BENCH_FIGURE_COUNT];
    struct guard_list guards;                    /* those that are measured, and others */
    struct bench_point points[BENCH_THINGS_MAX]; /* of the bench: costs of guards, and the ladder */
    int point_count;
    long cost_repeat, cost_duration_s;
    int64_t orders;                    /* in Redis when its memory was read last */
    long long used_before, used_after; /* bytes: before the first of them, and then */
    struct bench_take takes[BENCH_TAKE_COUNT];
    struct bench_machine machine;
    double seconds; /* the whole run */
    struct progress progress;
};

/* Measure what --only wants into a blank one. Returns false when it could not be measured; a row with a
 * `doubt` was measured and is void. */
bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure);

/* Is anything void? */
bool bench_run_is_void(const struct bench *bench);

/*
 * A sweep: purchases per second of guards over numbers of connections, and of one guard over batch
 * sizes; what else a run tells by the way: how long locks were waited for and held. No figure must
 * be reached. It is a bench that has points alone.
 */

/* Measure all points, in shuffled rounds, into a blank bench.
 * Returns  false   it could not be measured; a point with a `doubt` was, and is void. */
bool bench_run_sweep(struct bench *bench, const struct options *options, const char *run_dir,
                     struct failure *failure);

#endif
