/*
 * Where the bench measures: a stage has services, each with Redis servers of its own kind, and two
 * instances that are compared. Internal to bench_*.c.
 */
#ifndef LOADTEST_BENCH_STAGE_H
#define LOADTEST_BENCH_STAGE_H

#include "bench.h"
#include "bench_servers.h"

/* A service of a stage, and what it runs with. */
struct bench_site {
    struct options options; /* of the run, and what this service's instances need besides */
    char dir[RUN_PATH_MAX];
    struct service service;
    struct ledger *ledger; /* owned */
};

struct bench_stage {
    struct bench *bench;             /* borrowed */
    const struct options *options;   /* borrowed: of the run */
    const char *run_dir;             /* borrowed */
    struct failure *failure;         /* borrowed */
    const struct bench_place *place; /* borrowed: whose points are measured; or NULL */
    bench_kind_of_stage kind;        /* whose ratios are measured */
    long round;                      /* of the ladder, if it is there, else 0 */
    long connections;                /* that instances are started for; 0: their default */

    char dir[RUN_PATH_MAX]; /* this and the rest is blank until it is opened */
    struct bench_site
        sites[2]; /* the second one: only where the other instance needs another Redis */
    bool has_two_sites;
    struct bench_servers servers;
    char urls[BENCH_URLS_MAX]; /* for the instances' flags */
    char certificates[RUN_PATH_MAX + 16], ca[RUN_PATH_MAX + 32], tls_url[40];
    pid_t redis[2][4]; /* of segments: the primaries of each site; 0 ends */
    long rounds;       /* of points */
};

/* What --quiet keeps from the screen. */
void bench_stage_print(const struct bench_stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make the stage's folder; then its sites may be opened. */
bool bench_stage_open(struct bench_stage *stage, const char *name);
/* Start a service with site->options in a folder of that name, and read what the machine is. */
bool bench_stage_open_site(struct bench_stage *stage, struct bench_site *site, const char *name);
/* Those of its points. */
struct guard_list bench_stage_guards(const struct bench_stage *stage);
/* What they need, before the first site is opened. */
bool bench_stage_add_needs(struct bench_stage *stage, const struct guard_list *guards);
/* Blank it but for what is to be measured. Harmless for one that was not opened. */
void bench_stage_close(struct bench_stage *stage);

/* Measure at the first or second of two instances; of one service, at any. */
bool bench_stage_ask(struct bench_stage *stage, bench_at at, struct bench_task *task,
                     struct bench_count *out_count);
/* A second of purchases, of which nothing is kept. */
bool bench_stage_warm_up(struct bench_stage *stage, bench_at at, const char *guard,
                         long connections);
/* Warm up either instance, then all ratios of this kind of stage that are wanted, in shuffled rounds. */
bool bench_stage_measure(struct bench_stage *stage);
/* All points of its place, in so many shuffled rounds. */
bool bench_stage_measure_points(struct bench_stage *stage, long rounds);

/* Open the stage of its kind, which is blank but for that, and measure what is wanted of it: bench_topology.c. */
bool bench_topology_run(struct bench_stage *stage);

/* Put points on the list, bench_points.c: costs of guards; the ladder's, as far as they are wanted. */
void bench_points_of_costs(struct bench *bench, const struct options *options);
void bench_points_of_ladder(struct bench *bench, const struct options *options);
/*
 * Of all guards in bench->guards keep those of --sweep, "all" means the sound ones, and fill in the
 * points as --connections says.
 *
 * Returns  false   --sweep names a guard that is not there.
 */
bool bench_points_of_sweep(struct bench *bench, const struct options *options,
                           struct failure *failure);

/* Open the stage and measure them: those of its place; of a sweep. */
bool bench_points_run_ladder(struct bench_stage *stage);
bool bench_points_run_sweep(struct bench_stage *stage);

/* Take over the counts of a measurement. */
void bench_stage_count_in(struct bench_row *row, const struct bench_count *count);

#endif
