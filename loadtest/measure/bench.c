/*
 * Sums, and the order of rounds. One thread.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/chance.h"
#include "base/moment.h"

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
    if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)moment_ns();
    return drawn % 2147483647U + 1; /* any will do, as long as it is told */
}

void bench_shuffle(int *out_order, int count, uint64_t seed, uint64_t round)
{
    struct chance random = chance_stream(seed, round);

    for (int i = 0; i < count; i++) { /* Fisher-Yates, inside out */
        int at = (int)chance_between(&random, 0, i);
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

void bench_doubt(struct bench_row *row, const char *words)
{
    if (!row->doubt[0]) (void)snprintf(row->doubt, sizeof row->doubt, "%s", words);
}

void bench_add(struct bench_row *row, double value)
{
    if (row->count == ROUNDS_MAX) return;
    row->repeats[row->count++] = value;
}

void bench_add_ratio(struct bench_row *row, double over_per_s, double under_per_s)
{
    bool is_ratio = over_per_s > 0 && under_per_s > 0;

    if (row->count == ROUNDS_MAX) return;
    if (!is_ratio) bench_doubt(row, "a rate of 0 per second");
    row->over_per_s[row->count] = over_per_s;
    row->under_per_s[row->count] = under_per_s;
    bench_add(row, is_ratio ? over_per_s / under_per_s : 0);
}

bool bench_reaches(const struct bench_figure *figure, double value)
{
    if (!isfinite(value)) return false;
    return figure->better == BENCH_HIGHER ? value >= figure->must : value <= figure->must;
}

void bench_sum_up(struct bench_row *row)
{
    double sorted[ROUNDS_MAX];

    if (row->count == 0) {
        bench_doubt(row, "not measured");
        return;
    }
    memcpy(sorted, row->repeats, sizeof sorted); /* the repeats stay in the order of the rounds */
    row->spread = spread_of(sorted, row->count);
    row->is_ok = !row->doubt[0] && bench_reaches(row->figure, row->spread.median);
}
