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

/* When the first request was sent; the last reply, and the last that accepted, came. */
struct course {
    int64_t first_ns, last_ns, accepted_ns;
};

static struct course course_of(const struct facts *facts)
{
    struct course course = {.first_ns = INT64_MAX};

    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i]; /* answered_ns is 0 where there is no answer */
        if (ask->invoked_ns < course.first_ns) course.first_ns = ask->invoked_ns;
        if (ask->answered_ns > course.last_ns) course.last_ns = ask->answered_ns;
        if (ask->answer == ANSWER_CREATED && ask->answered_ns > course.accepted_ns)
            course.accepted_ns = ask->answered_ns;
    }
    return course;
}

static void count_rates(const struct facts *facts, const struct course *course,
                        struct summary *summary)
{
    int64_t first_ns = course->first_ns;

    summary->replies = summary->requests - summary->unanswered;
    summary->strays = facts->stray_count;
    if (course->last_ns > first_ns) {
        summary->seconds = (double)(course->last_ns - first_ns) / 1e9;
        summary->replies_per_s = (double)summary->replies / summary->seconds;
    }
    if (course->accepted_ns > first_ns)
        summary->purchases_per_s =
            (double)summary->accepted * 1e9 / (double)(course->accepted_ns - first_ns);
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

static void count_slices(const struct facts *facts, const struct course *course,
                         struct series *series)
{
    bool is_sold_out = facts->has_stock && facts->left <= 0 && course->accepted_ns > 0;

    *series = (struct series){.slice_ms = 10, .sold_out_ms = -1};
    if (course->last_ns <= 0) return;
    series->slice_ms = enough_ms(course->last_ns - course->first_ns);
    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->outcome == ASK_UNANSWERED) continue;
        int slice = (int)((ask->answered_ns - course->first_ns) / 1000000 / series->slice_ms);
        series->replies[ask->answer][slice]++;
        if (slice >= series->count) series->count = slice + 1;
    }
    /* What was sold last was the last unit only if nothing is left. */
    if (is_sold_out) series->sold_out_ms = (double)(course->accepted_ns - course->first_ns) / 1e6;
}

bool summary_count(const struct facts *facts, struct summary *out_summary, struct failure *failure)
{
    struct summary summary = {
        .initial = facts->initial,
        .left = facts->left,
        .sold = facts->order_count > facts->sold_count ? facts->order_count : facts->sold_count,
        .requests = facts->ask_count,
    };
    const struct course course = course_of(facts);

    for (size_t i = 0; i < facts->log_count && summary.sold >= facts->log[i].returned; i++)
        summary.sold -= facts->log[i].returned;
    for (size_t i = 0; i < facts->ask_count; i++)
        count_ask(&facts->asks[i], &summary);
    count_rates(facts, &course, &summary);
    count_slices(facts, &course, &summary.series);
    if (!count_buyers(facts, &summary.buyers) || !measure_latency(facts, &summary))
        return failure_set(failure, "out of memory");
    *out_summary = summary;
    return true;
}
