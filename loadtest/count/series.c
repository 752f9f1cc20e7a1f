/*
 * Two passes over the facts: the span, then the slices. Pure.
 */
#include "series.h"

/* When the first request was sent and the last reply came. false: there was none. */
static bool find_span(const struct facts *facts, int64_t *out_first_ns, int64_t *out_last_ns)
{
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = 0;

    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->invoked_ns < first_ns) first_ns = ask->invoked_ns;
        if (ask->outcome != ASK_UNANSWERED && ask->answered_ns > last_ns)
            last_ns = ask->answered_ns;
    }
    *out_first_ns = first_ns;
    *out_last_ns = last_ns;
    return last_ns > 0;
}

/* 1, 2 or 5 times a power of ten. */
static int64_t enough_ms(int64_t span_ns)
{
    static const int64_t steps[] = {1, 2, 5};
    int64_t span_ms = span_ns / 1000000;

    for (int64_t decade = 10;; decade *= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (span_ms / (decade * steps[i]) < SERIES_SLICES_MAX) return decade * steps[i];
}

/* What was sold last was the last unit only if nothing is left. */
static double sold_out_ms(const struct facts *facts, int64_t first_ns)
{
    int64_t last_ns = -1;

    if (!facts->has_stock || facts->left > 0) return -1;
    for (size_t i = 0; i < facts->ask_count; i++)
        if (facts->asks[i].answer == ANSWER_CREATED && facts->asks[i].answered_ns > last_ns)
            last_ns = facts->asks[i].answered_ns;
    return last_ns < 0 ? -1 : (double)(last_ns - first_ns) / 1e6;
}

void series_count(const struct facts *facts, struct series *out_series)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;

    *out_series = (struct series){.slice_ms = 10, .sold_out_ms = -1};
    if (!find_span(facts, &first_ns, &last_ns)) return;
    out_series->slice_ms = enough_ms(last_ns - first_ns);
    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->outcome == ASK_UNANSWERED) continue;
        int slice = (int)((ask->answered_ns - first_ns) / 1000000 / out_series->slice_ms);
        out_series->replies[ask->answer][slice]++;
        if (slice >= out_series->count) out_series->count = slice + 1;
    }
    out_series->sold_out_ms = sold_out_ms(facts, first_ns);
}
