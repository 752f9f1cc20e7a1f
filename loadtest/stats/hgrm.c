/*
 * Exact: every time is at hand, so nothing is put into buckets. One thread.
 */
#include "hgrm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_PER_HALVING = 5 };

static int by_size(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static void write_steps(FILE *to, const int64_t *sorted, size_t count)
{
    double share = 0;

    for (size_t seen = 0; seen < count;) {
        size_t rank = (size_t)ceil(share * (double)count);
        const int64_t value = sorted[rank ? rank - 1 : 0];
        for (seen = rank; seen < count && sorted[seen] <= value;)
            seen++;
        if (seen == count) break;
        (void)fprintf(to, "%12.3f %2.12f %10zu %14.2f\n", (double)value / 1e6, share, seen,
                      1 / (1 - share));
        share += 1 / (STEPS_PER_HALVING * exp2(floor(log2(1 / (1 - share))) + 1));
    }
    if (count)
        (void)fprintf(to, "%12.3f %2.12f %10zu\n", (double)sorted[count - 1] / 1e6, 1.0, count);
}

bool hgrm_write(const char *path, const struct facts *facts, struct failure *failure)
{
    int64_t *took = malloc((facts->ask_count + 1) * sizeof *took);
    size_t count = 0;
    double sum = 0, squares = 0;

    if (!took) return failure_set(failure, "out of memory");
    for (size_t i = 0; i < facts->ask_count; i++) {
        if (facts->asks[i].outcome == ASK_UNANSWERED) continue;
        took[count] = facts->asks[i].answered_ns - facts->asks[i].invoked_ns;
        sum += (double)took[count++] / 1e6;
    }
    double mean = count ? sum / (double)count : 0;
    for (size_t i = 0; i < count; i++)
        squares += pow((double)took[i] / 1e6 - mean, 2);
    qsort(took, count, sizeof *took, by_size);
    FILE *to = fopen(path, "we");
    if (to) {
        (void)fputs("       Value     Percentile TotalCount 1/(1-Percentile)\n\n", to);
        write_steps(to, took, count);
        (void)fprintf(to, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean,
                      count ? sqrt(squares / (double)count) : 0);
        (void)fprintf(to, "#[Max     = %12.3f, Total count    = %12zu]\n",
                      count ? (double)took[count - 1] / 1e6 : 0, count);
    }
    free(took);
    bool is_good = to && !ferror(to);
    if (to && fclose(to) != 0) is_good = false;
    return is_good || failure_set(failure, "%s: %s", path, failure_errno_text());
}
