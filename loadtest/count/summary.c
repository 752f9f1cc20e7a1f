/*
 * One pass for the counts, one sort for the latencies, one for the distinct buyers. Pure.
 */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

/* The time of one reply; sorted by what was answered, then time. */
struct timing {
    answer_kind answer;
    int64_t took_ns;
};

static int by_answer_and_time(const void *left, const void *right)
{
    const struct timing *a = left;
    const struct timing *b = right;
    if (a->answer != b->answer) return a->answer < b->answer ? -1 : 1;
    return (a->took_ns > b->took_ns) - (a->took_ns < b->took_ns);
}

static int by_text(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

static bool count_buyers(const struct facts *facts, size_t *out_count)
{
    const char **buyers = malloc((facts->ask_count + 1) * sizeof *buyers);
    size_t count = 0;

    if (!buyers) return false;
    for (size_t i = 0; i < facts->ask_count; i++)
        buyers[i] = facts->asks[i].buyer;
    qsort(buyers, facts->ask_count, sizeof *buyers, by_text);
    for (size_t i = 0; i < facts->ask_count; i++)
        if (i == 0 || strcmp(buyers[i], buyers[i - 1]) != 0) count++;
    free(buyers);
    *out_count = count;
    return true;
}

/* Nearest rank: the smallest time that `percent` of the replies did not exceed. */
static double percentile_ms(const struct timing *sorted, size_t count, size_t permille)
{
    size_t rank = (count * permille + 999) / 1000;
    return (double)sorted[rank ? rank - 1 : 0].took_ns / 1e6;
}

static bool measure_latency(const struct facts *facts, struct summary *summary)
{
    struct timing *timings = malloc((facts->ask_count + 1) * sizeof *timings);
    size_t count = 0;

    if (!timings) return false;
    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->outcome == ASK_UNANSWERED) continue;
        timings[count++] = (struct timing){ask->answer, ask->answered_ns - ask->invoked_ns};
    }
    qsort(timings, count, sizeof *timings, by_answer_and_time);
    for (size_t from = 0; from < count;) {
        size_t end = from;
        while (end < count && timings[end].answer == timings[from].answer)
            end++;
        summary->latency[timings[from].answer] = (struct latency){
            .count = end - from,
            .p50_ms = percentile_ms(timings + from, end - from, 500),
            .p90_ms = percentile_ms(timings + from, end - from, 900),
            .p99_ms = percentile_ms(timings + from, end - from, 990),
            .p999_ms = percentile_ms(timings + from, end - from, 999),
            .most_ms = percentile_ms(timings + from, end - from, 1000),
        };
        from = end;
    }
    free(timings);
    return true;
}

static void count_ask(const struct ask *ask, struct summary *summary)
{
    switch (ask->outcome) {
    case ASK_UNANSWERED:
        summary->unanswered++;
        break;
    case ASK_OK:
        if (ask->answer == ANSWER_REPLAYED)
            summary->replayed++;
        else
            summary->accepted++;
        break;
    case ASK_FAIL:
        summary->refused[ask->answer]++;
        break;
    case ASK_INFO:
        summary->uncertain[ask->answer]++;
        break;
    }
}

static void count_rates(const struct facts *facts, struct summary *summary)
{
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = 0;
    int64_t accepted_ns = 0;

    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->invoked_ns < first_ns) first_ns = ask->invoked_ns;
        if (ask->answered_ns > last_ns) last_ns = ask->answered_ns;
        if (ask->answer == ANSWER_CREATED && ask->answered_ns > accepted_ns)
            accepted_ns = ask->answered_ns;
    }
    summary->replies = summary->requests - summary->unanswered;
    summary->strays = facts->stray_count;
    if (last_ns > first_ns) {
        summary->seconds = (double)(last_ns - first_ns) / 1e9;
        summary->replies_per_s = (double)summary->replies / summary->seconds;
    }
    if (accepted_ns > first_ns)
        summary->purchases_per_s =
            (double)summary->accepted * 1e9 / (double)(accepted_ns - first_ns);
}

bool summary_count(const struct facts *facts, struct summary *out_summary, struct failure *failure)
{
    struct summary summary = {
        .initial = facts->initial,
        .left = facts->left,
        .sold = facts->order_count > facts->sold_count ? facts->order_count : facts->sold_count,
        .requests = facts->ask_count,
    };

    for (size_t i = 0; i < facts->ask_count; i++)
        count_ask(&facts->asks[i], &summary);
    count_rates(facts, &summary);
    if (!count_buyers(facts, &summary.buyers) || !measure_latency(facts, &summary))
        return failure_set(failure, "out of memory");
    *out_summary = summary;
    return true;
}
