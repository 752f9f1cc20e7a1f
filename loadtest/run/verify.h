/*
 * A verification run: one sale, every reply recorded, then the audit.
 */
#ifndef LOADTEST_VERIFY_H
#define LOADTEST_VERIFY_H

#include "audit/audit.h"
#include "drive.h"
#include "inflict.h"
#include "service.h"
#include "stats/bench_machine.h"
#include "stats/lock_times.h"
#include "stats/summary.h"

enum { VERIFY_WORDS_MAX = 700 };

struct verify_run {
    char sale[SALE_ID_MAX + 1];
    struct summary summary;
    struct audit_result audit;
    double round_trips;      /* of the sale, over all instances; -1: not known */
    struct lock_times locks; /* of this run, all instances; if has_locks */
    bool has_locks;
    struct bench_machine machine; /* as bench_machine_host() knows it */
    bool is_paid_for;             /* later: then audit.payments tells more */
    char lost[RUN_PATH_MAX];      /* file that names the lost orders; or "" */
    char trouble[400];            /* an instance ended by itself, wrk failed; or "" */
    char latencies[RUN_PATH_MAX]; /* file of them all: stats/hgrm.h */
    struct load_count load;
    char fault[INFLICT_WORDS_MAX]; /* what was done to the service; or "" */
    long buyers;                   /* that were asked for */
    char shortage[240]; /* why the load that was sent is less than was asked for; or "" */
};

/*
 * Sell, watch, resolve, audit. `number` counts the runs from 1.
 *
 * Returns  false   it could not be done, or was interrupted; the wrks are gone either way.
 */
bool verify_sale(const struct drive_target *target, int number, struct verify_run *out_run,
                 struct failure *failure);

/* What of the load is missing, into `shortage`: more than 1 % of the connections, of the answers or of the
 * buyers. Of a run that has its other numbers. */
void verify_load(struct verify_run *run);

/* Requests that ended without an answer, or after the client had given up. */
long long verify_failed(const struct verify_run *run);

/* What was asked for and what was sent, in a line for a person. */
void verify_load_words(const struct verify_run *run, char out[VERIFY_WORDS_MAX]);

/* A run in which something died, or that had less load than it should, is no pass, whatever the audit says. */
audit_verdict verify_verdict(const struct verify_run *run);

#endif
