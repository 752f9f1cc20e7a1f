/*
 * Two readings before tell what a reading costs. One thread.
 */
#include "round_trips.h"

#include <stdlib.h>

#include "bench_counters.h"

static bool ask_all(const struct service *service, struct http_client *http, double *out_sum)
{
    double sum = 0;

    for (int i = 0; i < service->count; i++) {
        char *metrics = counters_fetch(http, service->instances[i].url, NULL);
        if (!metrics) return false;
        sum += counters_sum(metrics, "seckill_redis_round_trips_total", NULL);
        free(metrics);
    }
    *out_sum = sum;
    return true;
}

void round_trips_begin(struct round_trips *trips, const struct service *service,
                       struct http_client *http)
{
    double first = 0;

    *trips = (struct round_trips){.before = 0};
    trips->is_known = ask_all(service, http, &first) && ask_all(service, http, &trips->before);
    trips->of_asking = trips->before - first;
}

double round_trips_end(const struct round_trips *trips, const struct service *service,
                       struct http_client *http)
{
    double after = 0;

    if (!trips->is_known || !ask_all(service, http, &after)) return -1;
    return after - trips->before - trips->of_asking;
}
