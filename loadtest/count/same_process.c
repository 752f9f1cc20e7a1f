/*
 * process_start_time_seconds of the metrics; a proxy hands every request to another instance, so
 * some requests tell. One thread.
 */
#include "same_process.h"

#include <stdlib.h>

#include "bench_counters.h"

enum { ASKS = 4 };

static double start_of(const struct service *service, int which)
{
    char *metrics = counters_fetch(service->http, service->instances[which].url, NULL);
    double start = metrics ? counters_sum(metrics, "process_start_time_seconds", NULL) : 0;

    free(metrics);
    return start > 0 ? start : -1;
}

double same_process_stamp(const struct service *service)
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
