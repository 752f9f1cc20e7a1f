/*
 * What the instances count themselves, by their /metrics, and what of it came between two readings. Round trips are
 * pipelines that they sent to Redis, whichever server they went to. Commands would not tell: a batch is many commands
 * and one way there and back, and lock servers are other servers.
 */
#ifndef LOADTEST_SERVICE_COUNTS_H
#define LOADTEST_SERVICE_COUNTS_H

#include "bench_counters.h"
#include "lock_times.h"
#include "under_test.h"

enum { ALL_INSTANCES = -1 };

struct service_counts {
    double round_trips;
    double started_s;        /* when; of all together the sum */
    struct tally orders;     /* by outcome */
    struct tally payments;   /* by result */
    struct lock_times locks; /* of the guard */
};

/* What is counted: at one instance or at ALL_INSTANCES, locks of this guard (NULL: of none). */
struct service_costs {
    const struct service *service; /* borrowed, like the guard */
    int instance;
    const char *guard;
    struct service_counts before;
    double of_asking; /* round trips that answering /metrics takes itself */
};

/* false: one did not answer. */
bool service_counts_begin(struct service_costs *costs, struct failure *failure);
/* What came since then; `started_s` has no meaning. */
bool service_counts_end(const struct service_costs *costs, struct service_counts *out_since,
                        struct failure *failure);

/*
 * Is it one process that answers at a URL? Behind a proxy it need not be: then what one of them has
 * counted is not what was done, and a difference of two counts means nothing. Ask each instance several times when it
 * was started, and add that up.
 *
 * Returns  -1   one does not say, or does not always say the same. Two equal answers, before and
 *               after, mean that the same processes were there.
 */
double service_counts_same_process(const struct service *service);

#endif
