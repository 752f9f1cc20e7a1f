/*
 * Two readings before tell what a reading costs. One thread.
 */
#include "round_trips.h"

#include <stdlib.h>

#include "bench_counters.h"

enum { ASKS = 4 };

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

/* A proxy hands every request to another instance, so some requests tell. */
static double start_of(const struct service *service, int which)
{
    char *metrics = counters_fetch(service->http, service->instances[which].url, NULL);
    double start = metrics ? counters_sum(metrics, "process_start_time_seconds", NULL) : 0;

    free(metrics);
    return start > 0 ? start : -1;
}

double round_trips_same_process(const struct service *service)
{
    double sum = 0;

    for (int i = 0; i < service->count; i++) {
        double start = start_of(service, i);
        for (int ask = 1; ask < ASKS && start > 0; ask++)
            if (start_of(service, i) != start) start = -1;
        if (start < 0) return -1;
        sum += start;
    }
    return sum;
}
