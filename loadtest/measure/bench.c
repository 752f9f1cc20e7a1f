/*
 * Sums, and the order of rounds. One thread.
 */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/random.h"

bool bench_wants(const struct options *options, const char *name)
{
    for (int i = 0; i < options->only_count; i++)
        if (strncmp(name, options->only[i], strlen(options->only[i])) == 0) return true;
    return options->only_count == 0;
}

uint64_t bench_seed(const struct options *options)
{
    uint32_t drawn = 0;

    if (options->seed) return (uint64_t)options->seed;
    if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)clock_ns();
    return drawn % 2147483647U + 1; /* any will do, as long as it is told */
}

void bench_shuffle(int *out_order, int count, uint64_t seed, uint64_t round)
{
    struct random random = random_stream(seed, round);

    for (int i = 0; i < count; i++) { /* Fisher-Yates, inside out */
        int at = (int)random_between(&random, 0, i);
        out_order[i] = out_order[at];
        out_order[at] = i;
    }
}

bool bench_run_rounds(const struct bench_rounds *rounds)
{
    int order[BENCH_THINGS_MAX];

    for (long round = 1; round <= rounds->rounds; round++) {
        bench_shuffle(order, rounds->count, rounds->seed, (uint64_t)round);
        for (int i = 0; i < rounds->count; i++)
            if (!rounds->measure(rounds->arg, round, order[i])) return false;
    }
    return true;
}

void bench_set_doubt(char doubt[BENCH_DOUBT_MAX], const char *format, ...)
{
    va_list arguments;

    if (doubt[0]) return;
    va_start(arguments, format);
    (void)vsnprintf(doubt, BENCH_DOUBT_MAX, format, arguments);
    va_end(arguments);
}

void bench_add_ratio(struct bench_row *row, double over_per_s, double under_per_s)
{
    bool is_ratio = over_per_s > 0 && under_per_s > 0;

    if (!is_ratio) bench_set_doubt(row->doubt, "a rate of 0 per second");
    spread_add(&row->over_per_s, over_per_s);
    spread_add(&row->under_per_s, under_per_s);
    spread_add(&row->repeats, is_ratio ? over_per_s / under_per_s : 0);
}

bool bench_reaches(const struct bench_figure *figure, double value)
{
    if (!isfinite(value)) return false;
    return figure->better == BENCH_HIGHER ? value >= figure->must : value <= figure->must;
}

void bench_sum_up(struct bench_row *row)
{
    if (row->repeats.count == 0) {
        bench_set_doubt(row->doubt, "not measured");
        return;
    }
    row->spread = spread_of_repeats(&row->repeats);
    row->is_ok = !row->doubt[0] && bench_reaches(row->figure, row->spread.median);
}
