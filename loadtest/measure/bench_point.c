/*
 * Sums. Pure.
 */
#include "bench_point.h"

#include <stdio.h>

void bench_point_add(struct bench_point *point, const struct bench_count *count)
{
    static const struct tally none;
    double orders = (double)count->accepted;

    if (!point->doubt[0]) (void)snprintf(point->doubt, sizeof point->doubt, "%s", count->doubt);
    point->refused += count->refused;
    if (count->accepted <= 0 || point->count == ROUNDS_MAX) return;
    point->round_trips[point->count] = count->round_trips / orders;
    point->commands[point->count] = (double)count->commands / orders;
    point->per_s[point->count] = count->per_s;
    point->locks[point->count] = count->locks;
    point->count++;
    point->accepted += count->accepted;
    (void)counters_add_calls(&none, &count->sum, &point->sum);
}
