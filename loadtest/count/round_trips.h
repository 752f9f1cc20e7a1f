/*
 * What a run costs in Redis: pipelines that the instances sent, by their own count
 * (seckill_redis_round_trips_total), whichever server they went to. Commands would not tell: a
 * batch is many commands and one way there and back, and lock servers are other servers.
 */
#ifndef LOADTEST_ROUND_TRIPS_H
#define LOADTEST_ROUND_TRIPS_H

#include "under_test.h"

struct round_trips {
    double before;
    double of_asking; /* answering /metrics takes some itself */
    bool is_known;
};

void round_trips_begin(struct round_trips *trips, const struct service *service);
/* Those since then, over all instances; -1: one did not answer. */
double round_trips_end(const struct round_trips *trips, const struct service *service);

/*
 * Is it one process that answers at a URL? Behind a proxy it need not be: then what one of them has
 * counted is not what was done, and a difference of two counts means nothing. Ask each instance several times when it was started, and add that up.
 *
 * Returns  -1   one does not say, or does not always say the same. Two equal answers, before and
 *               after, mean that the same processes were there.
 */
double round_trips_same_process(const struct service *service);

#endif
