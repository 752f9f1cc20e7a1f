/*
 * The buyers: wrk processes, one per instance, each one thread with one of the Lua scripts.
 */
#ifndef LOADTEST_DRIVE_H
#define LOADTEST_DRIVE_H

#include "base/process.h"
#include "options.h"
#include "service.h"

enum { LONGEST_RUN_S = 3600 };

struct drive {
    char script[RUN_PATH_MAX]; /* what wrk runs */
    struct process wrks[INSTANCES_MAX];
    char ledgers[INSTANCES_MAX][RUN_PATH_MAX]; /* of a verification run */
    char reports[INSTANCES_MAX][RUN_PATH_MAX]; /* what each wrk printed */
    int count;
};

/* Where the buyers go, and where what they write goes. All borrowed. */
struct drive_target {
    struct service *service;
    const struct options *options;
    const char *run_dir;
};

/* A speed round: what each wrk asks for. */
struct speed_round {
    const char *path; /* a "*" in it stands for the numbers of the sales */
    const char *method;
    const char *tag; /* unique, so that buyers are */
    long connections;
    long duration_s;
    long sales;         /* 1 .. sales; 0: there is no "*" */
    const char *script; /* NULL: speed.lua */
    const char *key;    /* of pairs.lua: the file; NULL: none */
};

/* What became of the connections that were asked for, over all instances: wrk/load.lua. */
struct load_count {
    long long asked, established;
    long long connect_errors, read_errors, write_errors;
    long long timeouts; /* answers that came when nobody waited any more */
};

/* What wrk counted in a speed round, over all instances. */
struct speed_count {
    double per_s, seconds; /* seconds: of the wrk that ended first */
    long long requests, status_errors;
    long p50_us, p99_us; /* of the slowest wrk */
    struct load_count load;
};

/* Start the plan of purchase.lua on every instance. `tag` makes buyers and files unique.
 * Returns  false   not all started; what did is stopped again. */
bool drive_purchases(struct drive *drive, const struct drive_target *target, const char *sale,
                     const char *tag, struct failure *failure);
bool drive_speed(struct drive *drive, const struct drive_target *target,
                 const struct speed_round *round, struct failure *failure);

bool drive_is_running(struct drive *drive);
/* Ask the wrks to end (they print their summary), then make them. */
void drive_stop(struct drive *drive);
/* false: a wrk ended with an error; `failure` has its last words. */
bool drive_went_well(struct drive *drive, struct failure *failure);

/* Add up what the ended wrks printed; one that had to be killed printed nothing, and established nothing. */
struct load_count drive_read_load(const struct drive *drive);
bool drive_is_established(const struct load_count *load);   /* 99 of 100 connections were */
long long drive_load_errors(const struct load_count *load); /* of sockets, of all four kinds */

/* Read and add up what the ended wrks of a speed round printed. */
bool drive_read_speed(const struct drive *drive, struct speed_count *out_count,
                      struct failure *failure);

#endif
