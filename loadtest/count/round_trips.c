/*
 * Two readings before tell what a reading costs. One thread.
 */
#include "round_trips.h"

#include <stdlib.h>

#include "bench_counters.h"

static bool ask_all(const struct service *service, double *out_sum)
{
    double sum = 0;

    for (int i = 0; i < service->count; i++) {
        char *metrics = counters_fetch(service->http, service->instances[i].url, NULL);
        if (!metrics) return false;
        sum += counters_sum(metrics, "seckill_redis_round_trips_total", NULL);
        free(metrics);
    }
    *out_sum = sum;
    return true;
}

void round_trips_begin(struct round_trips *trips, const struct service *service)
{
    double first = 0;

    *trips = (struct round_trips){.before = 0};
    trips->is_known = ask_all(service, &first) && ask_all(service, &trips->before);
    trips->of_asking = trips->before - first;
}

double round_trips_end(const struct round_trips *trips, const struct service *service)
{
    double after = 0;

    if (!trips->is_known || !ask_all(service, &after)) return -1;
    return after - trips->before - trips->of_asking;
}
