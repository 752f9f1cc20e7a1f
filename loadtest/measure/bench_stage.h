/*
 * Where the bench measures: a stage has services, each with Redis servers of its own kind, and two
 * instances that are compared. Internal to bench_*.c.
 */
#ifndef LOADTEST_BENCH_STAGE_H
#define LOADTEST_BENCH_STAGE_H

#include "base/topology.h"
#include "bench_run.h"
#include "bench_servers.h"

enum { BENCH_TAG_MAX = 64 };

/* A service of a stage, and what it runs with. */
struct bench_site {
    struct options options; /* of the run, and what this service's instances need besides */
    char dir[RUN_PATH_MAX];
    struct service service;
    struct ledger *ledger; /* owned */
};

struct bench_stage {
    struct bench *bench;           /* borrowed */
    const struct options *options; /* borrowed: of the run */
    const char *run_dir;           /* borrowed */
    char dir[RUN_PATH_MAX];
    struct bench_site
        sites[2]; /* the second one: only where the other instance needs another Redis */
    bool has_two_sites;
    struct bench_servers servers;
    char urls[BENCH_URLS_MAX]; /* for the instances' flags */
    struct topology topology;
    char nodes_dir[RUN_PATH_MAX + 16]; /* of its servers */
    pid_t redis[2][4];                 /* of segments: the primaries of each site; 0 ends */
    const struct bench_place *place;   /* borrowed: whose points are measured; or NULL */
    bench_kind_of_stage kind;          /* whose ratios are measured */
    long round, rounds;                /* of the ladder, if it is there, else 0; of points */
    struct failure *failure;           /* borrowed */
};

/* What --quiet keeps from the screen. */
void bench_stage_say(const struct bench_stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make the stage's folder; then its sites may be opened. */
bool bench_stage_open(struct bench_stage *stage, const char *name);
/* Start a service with site->options in a folder of that name, and read what the machine is. */
bool bench_stage_open_site(struct bench_stage *stage, struct bench_site *site, const char *name);
/* What guards of its points need, before the first site is opened. */
bool bench_stage_add_needs(struct bench_stage *stage);
/* One more instance of the first site, with that --batch. */
bool bench_stage_add_instance(struct bench_stage *stage, long batch);
/* Harmless for one that was not opened. */
void bench_stage_close(struct bench_stage *stage);

struct bench_field bench_stage_field(struct bench_stage *stage, const struct bench_site *site);
/* A second of purchases, of which nothing is kept. */
bool bench_stage_warm_up(struct bench_stage *stage, bench_at at, const char *guard,
                         long connections);
/* Warm up either instance, then all ratios of this kind of stage that are wanted, in shuffled rounds. */
bool bench_stage_measure(struct bench_stage *stage, bench_kind_of_stage kind);
/* All points of its place, in so many shuffled rounds. */
bool bench_stage_measure_points(struct bench_stage *stage, long rounds);

/* The kinds besides one Redis: bench_topology.c. The stage is blank. */
bool bench_topology_run_replica(struct bench_stage *stage);
bool bench_topology_run_cluster(struct bench_stage *stage);
bool bench_topology_run_segments(struct bench_stage *stage);
bool bench_topology_run_tls(struct bench_stage *stage);
bool bench_topology_run_book(struct bench_stage *stage);
bool bench_topology_run_wait(struct bench_stage *stage);

/* Guards on the stage's place: bench_ladder.c. What is wanted of it becomes points, after those of costs. */
void bench_ladder_plan(struct bench *bench, const struct options *options);
bool bench_ladder_run(struct bench_stage *stage);

/* Take over the counts of a measurement. */
void bench_stage_count_in(struct bench_row *row, const struct bench_count *count);

#endif
