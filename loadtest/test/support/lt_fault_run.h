/*
 * The course of a fault test: a service, a sale, and a crowd half as large again that wants its
 * units; faults that come by progress, not by the clock; the audit. A run in which a fault did
 * nothing proves nothing: it states its activity, and without it the run is void, which is a failure.
 *
 * Everything here asserts: main thread only.
 */
#ifndef LOADTEST_ITEST_LT_FAULT_RUN_H
#define LOADTEST_ITEST_LT_FAULT_RUN_H

#include "lt_rig.h"

enum {
    LT_THREADS = 48,
    LT_PROGRESS_MS = 20000,
    LT_FINISH_MS = 40000,
};

struct lt_plan {
    const char *name;
    const char *guard; /* NULL: mutex */
    long stock;
    int64_t think_ms;   /* of a buyer; 0: full load */
    int64_t slowest_ms; /* no answer may take longer; 0: the service's own limits on one Redis */
    bool allow_lost;    /* accepted orders, by a failover: counted */
    struct lt_rig_options rig;
};

/* One run on its way. */
struct lt_fault_run {
    struct lt_rig rig;
    struct lt_buyers buyers;
    const struct lt_plan *plan;
    double rate;        /* answers per second before the first fault */
    unsigned in_flight; /* at the faults, the fewest */
    unsigned faults;
    char more[256];                 /* activity of this kind of fault */
    bool has_finished, is_finished; /* everybody was sent home; after being told for sure */
    struct audit_result audit;
};

void lt_fault_run_begin(struct lt_fault_run *fault_run, const struct lt_plan *plan);

/* Whether there is still something to lose: fewer buyers have come than there are units. */
bool lt_fault_run_is_on_sale(const struct lt_fault_run *fault_run);

/* Until a counter has got so far; false when it does not. */
bool lt_fault_run_wait_for(const atomic_uint *counter, unsigned wanted);
/* Until so many buyers have come, in per cent of the stock. */
void lt_fault_run_wait_for_buyers(struct lt_fault_run *fault_run, unsigned percent);

/* Right before a fault: what is going on. */
void lt_fault_run_note_fault(struct lt_fault_run *fault_run);
/* ... which comes when so many buyers have come. */
void lt_fault_run_fault_at(struct lt_fault_run *fault_run, unsigned percent);
/* What the fault did, for the line. */
void lt_fault_run_add_note(struct lt_fault_run *fault_run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Everybody is told for sure: the counters are final. lt_fault_run_end() does it, too. */
void lt_fault_run_finish(struct lt_fault_run *fault_run);
/* Everybody is told for sure, the audit passes, the line is printed; void without activity. */
void lt_fault_run_end(struct lt_fault_run *fault_run, bool was_active);

/* "accepted orders lost: N of M", with the names of the first; of any crowd. */
void lt_fault_run_print_lost(const struct lt_buyers *buyers, const char *name,
                             const struct audit_result *audit);

/* A command for lockkit/tools/redis_set, and what it answers. */
const char *lt_topology_command(struct topology *topology, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
