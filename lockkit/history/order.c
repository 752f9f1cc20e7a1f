/*
 * The checks that look at orders: fences, queues, waiting in vain, latches.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

/* ---- fences --------------------------------------------------------------------------------------- */

static int by_key_and_begin(const void *left, const void *right)
{
    const struct hold *const *a = left;
    const struct hold *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    return ((*a)->may_begin > (*b)->may_begin) - ((*a)->may_begin < (*b)->may_begin);
}

/* Fenced holds of one key: `ended` by the end of their acquire, `begun` by its begin. */
static void sweep_fences(struct checking *checking, const struct hold **ended,
                         const struct hold **begun, size_t count)
{
    const struct hold *greatest = NULL;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        for (; done < count && ended[done]->begins_ns < begun[i]->may_begin; done++) {
            if (!greatest || ended[done]->fence > greatest->fence) greatest = ended[done];
        }
        checking->report->examined[CHECK_FENCE]++;
        if (greatest && begun[i]->fence <= greatest->fence) {
            history_finding(checking, CHECK_FENCE, begun[i]->acquire->number,
                            "%s: token %llu, after %llu in line %lu", begun[i]->key,
                            (unsigned long long)begun[i]->fence,
                            (unsigned long long)greatest->fence, greatest->acquire->number);
        }
    }
}

bool history_check_fences(struct checking *checking)
{
    const struct hold **ended = calloc(checking->hold_count + 1, sizeof *ended);
    const struct hold **begun = calloc(checking->hold_count + 1, sizeof *begun);
    size_t count = 0;
    size_t next = 0;

    for (size_t i = 0; ended && begun && i < checking->hold_count; i++) {
        if (checking->holds[i].fence > 0 && checking->holds[i].is_granted)
            ended[count++] = &checking->holds[i]; /* sorted by key and begins_ns already */
    }
    if (ended && begun) {
        memcpy(begun, ended, count * sizeof *begun);
        qsort(begun, count, sizeof *begun, by_key_and_begin);
        for (size_t first = 0; first < count; first = next) {
            for (next = first; next < count && ended[next]->key == ended[first]->key;)
                next++;
            sweep_fences(checking, ended + first, begun + first, next - first);
        }
    }
    bool is_done = ended && begun;
    free(ended);
    free(begun);
    return is_done;
}

/* ---- fairness --------------------------------------------------------------------------------------- */

/* One who was queued, and served. */
struct place {
    const char *key;
    const char *token;
    int64_t asked_ns;  /* the request for the place was sent */
    int64_t queued_ns; /* it was answered */
    int64_t served_ns; /* INT64_MAX: never */
    unsigned long line;
    bool is_queued;
};

static int by_key_and_token(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->key != b->key) return strcmp(a->key, b->key);
    if (a->token != b->token) return strcmp(a->token, b->token);
    return (a->queued_ns > b->queued_ns) - (a->queued_ns < b->queued_ns);
}

static int by_key_and_queued(const void *left, const void *right)
{
    const struct place *const *a = left;
    const struct place *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    return ((*a)->queued_ns > (*b)->queued_ns) - ((*a)->queued_ns < (*b)->queued_ns);
}

static int by_key_and_asked(const void *left, const void *right)
{
    const struct place *const *a = left;
    const struct place *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    return ((*a)->asked_ns > (*b)->asked_ns) - ((*a)->asked_ns < (*b)->asked_ns);
}

/*
 * Places with their grants. Who was queued twice counts from the last time, and who was never served
 * not at all: it gave up or died. Returns how many are left, by key and token.
 */
static size_t match_places(struct place *places, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct place *before = kept > 0 ? &places[kept - 1] : NULL;
        bool is_same = before && before->key == places[i].key && before->token == places[i].token;

        if (!is_same) {
            places[kept++] = places[i];
        } else if (places[i].is_queued && before->served_ns == INT64_MAX) {
            *before = places[i];
        } else if (!places[i].is_queued && before->served_ns == INT64_MAX) {
            before->served_ns = places[i].queued_ns;
        }
    }
    count = kept;
    kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (places[i].is_queued && places[i].served_ns != INT64_MAX) places[kept++] = places[i];
    }
    return kept;
}

static void sweep_places(struct checking *checking, const struct place **queued,
                         const struct place **asked, size_t count)
{
    const struct place *latest = NULL;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        for (; done < count && queued[done]->queued_ns < asked[i]->asked_ns; done++) {
            if (!latest || queued[done]->served_ns > latest->served_ns) latest = queued[done];
        }
        checking->report->examined[CHECK_FAIRNESS]++;
        if (latest && latest->served_ns > asked[i]->served_ns) {
            history_finding(checking, CHECK_FAIRNESS, asked[i]->line,
                            "%s: served before the one queued in line %lu", asked[i]->key,
                            latest->line);
        }
    }
}

static size_t list_places(const struct history *history, struct place *out)
{
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];
        bool is_queued = history_is(line, "queued", NULL);
        bool is_grant = history_is(line, "acquire", "ok") && line->count <= 1;
        /* Told after the lease, by one that slept in between: when it was served nobody knows. */
        bool is_first_grant = is_grant && (line->ends_ns == 0 || line->at_ns < line->ends_ns);

        if (!line->key || !line->token || !history_is_kind(line, "fair")) continue;
        if (!is_queued && !is_first_grant) continue;
        out[count++] = (struct place){.key = line->key,
                                      .token = line->token,
                                      .asked_ns = line->at_ns - line->took_ns,
                                      .queued_ns = line->at_ns,
                                      .served_ns = INT64_MAX,
                                      .line = line->number,
                                      .is_queued = is_queued};
    }
    return count;
}

bool history_check_fairness(struct checking *checking)
{
    size_t room = checking->history->count + 1;
    struct place *places = calloc(room, sizeof *places);
    const struct place **queued = calloc(room, sizeof *queued);
    const struct place **asked = calloc(room, sizeof *asked);
    bool is_done = places && queued && asked;
    size_t next = 0;

    if (is_done) {
        size_t count = list_places(checking->history, places);

        qsort(places, count, sizeof *places, by_key_and_token);
        count = match_places(places, count);
        for (size_t i = 0; i < count; i++)
            queued[i] = asked[i] = &places[i];
        qsort(queued, count, sizeof *queued, by_key_and_queued);
        qsort(asked, count, sizeof *asked, by_key_and_asked);
        for (size_t first = 0; first < count; first = next) {
            for (next = first; next < count && queued[next]->key == queued[first]->key;)
                next++;
            sweep_places(checking, queued + first, asked + first, next - first);
        }
    }
    free(places);
    free(queued);
    free(asked);
    return is_done;
}

/* ---- waiting in vain ---------------------------------------------------------------------------------- */

/* The first hold of a key; the number of all holds when it has none. */
static size_t first_of_key(const struct checking *checking, const char *key)
{
    size_t low = 0;
    size_t high = checking->hold_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strcmp(checking->holds[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Spans of a key in which nobody can have held it, at least stuck_ms long; by time. */
struct gaps {
    struct {
        int64_t from_ns, to_ns;
    } * list; /* owned */
    size_t count;
};

static int by_possible_begin(const void *left, const void *right)
{
    const struct hold *const *a = left;
    const struct hold *const *b = right;

    return ((*a)->may_begin > (*b)->may_begin) - ((*a)->may_begin < (*b)->may_begin);
}

static bool find_gaps(const struct checking *checking, const char *key, struct gaps *out)
{
    int64_t stuck_ns = checking->options->stuck_ms * 1000000;
    size_t first = first_of_key(checking, key);
    size_t count = 0;
    int64_t free_since = 0;

    while (first + count < checking->hold_count && checking->holds[first + count].key == key)
        count++;
    const struct hold **holds = calloc(count + 1, sizeof *holds);
    *out = (struct gaps){.list = calloc(count + 1, sizeof *out->list)};
    if (!holds || !out->list) {
        free(holds);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        holds[i] = &checking->holds[first + i];
    qsort(holds, count, sizeof *holds, by_possible_begin);
    for (size_t i = 0; i <= count; i++) {
        int64_t to_ns = i < count ? holds[i]->begins_ns : INT64_MAX;

        if (to_ns - free_since >= stuck_ns) {
            out->list[out->count].from_ns = free_since;
            out->list[out->count++].to_ns = to_ns;
        }
        if (i < count && holds[i]->may_end > free_since) free_since = holds[i]->may_end;
    }
    free(holds);
    return true;
}

static void look_for_gap(struct checking *checking, const struct gaps *gaps,
                         const struct history_line *line)
{
    int64_t stuck_ns = checking->options->stuck_ms * 1000000;
    int64_t begun_ns = line->at_ns - line->took_ns;
    size_t low = 0;
    size_t high = gaps->count;

    while (low < high) { /* the first that reaches stuck_ns into the wait */
        size_t middle = (low + high) / 2;

        if (gaps->list[middle].to_ns < begun_ns + stuck_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < gaps->count && gaps->list[low].from_ns + stuck_ns <= line->at_ns; low++) {
        int64_t from = gaps->list[low].from_ns > begun_ns ? gaps->list[low].from_ns : begun_ns;
        int64_t to = gaps->list[low].to_ns < line->at_ns ? gaps->list[low].to_ns : line->at_ns;

        if (to - from < stuck_ns || history_was_troubled(checking, line->pid, from, to)) continue;
        history_finding(checking, CHECK_LIVENESS, line->number,
                        "%s: waited for %.0f ms while nobody held it", line->key,
                        (double)(to - from) / 1e6);
        return;
    }
}

static int lines_by_key(const void *left, const void *right)
{
    const struct history_line *const *a = left;
    const struct history_line *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

/* Locks only: a semaphore's waiter may want more than what is left. */
static bool has_waited(const struct checking *checking, const struct history_line *line)
{
    static const char *const others[] = {"semaphore", "permits", "latch", "multi"};

    if (!line->key || !history_is(line, "acquire", NULL)) return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (history_is_kind(line, others[i])) return false;
    }
    return line->took_ns >= checking->options->stuck_ms * 1000000;
}

void history_check_liveness(struct checking *checking)
{
    const struct history *history = checking->history;
    const struct history_line **waits = calloc(history->count + 1, sizeof *waits);
    struct gaps gaps = {0};
    size_t count = 0;

    for (size_t i = 0; waits && i < history->count; i++) {
        if (has_waited(checking, &history->lines[i])) waits[count++] = &history->lines[i];
    }
    if (count > 0) qsort(waits, count, sizeof *waits, lines_by_key);
    for (size_t i = 0; i < count; i++) {
        checking->report->examined[CHECK_LIVENESS]++;
        if (i == 0 || waits[i]->key != waits[i - 1]->key) {
            free(gaps.list);
            if (!find_gaps(checking, waits[i]->key, &gaps)) break;
        }
        look_for_gap(checking, &gaps, waits[i]);
    }
    free(gaps.list);
    free(waits);
}

/* ---- latches -------------------------------------------------------------------------------------------- */

/* A latch has a "limit" line, count-downs (release) and those who passed (acquire, ok). */
struct latch_count {
    int64_t counted;
    int64_t opens_ns; /* when the last needed count-down began, at the earliest */
    bool is_known;    /* false: it was set more than once */
};

static bool is_of_latch(const struct history_line *line, const char *key)
{
    return line->key == key && history_is_kind(line, "latch");
}

static struct latch_count count_down(const struct history *history,
                                     const struct history_line *limit)
{
    struct latch_count count = {.opens_ns = INT64_MIN};

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];
        int64_t begun_ns = line->at_ns - line->took_ns;

        if (!is_of_latch(line, limit->key) || !history_is(line, "release", NULL)) continue;
        count.counted += line->count > 0 ? line->count : 1;
        if (begun_ns > count.opens_ns) count.opens_ns = begun_ns;
    }
    if (count.counted < limit->count) count.opens_ns = INT64_MAX;
    count.is_known = count.counted <= limit->count;
    return count;
}

static void check_latch(struct checking *checking, const struct history_line *limit)
{
    const struct history *history = checking->history;
    struct latch_count count = count_down(history, limit);

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];

        if (!is_of_latch(line, limit->key) || !history_is(line, "acquire", "ok")) continue;
        checking->report->examined[CHECK_LATCH]++;
        if (!count.is_known || line->at_ns >= count.opens_ns) continue;
        if (history_was_anybody_killed(checking, limit->at_ns, line->at_ns)) continue;
        history_finding(checking, CHECK_LATCH, line->number,
                        "%s: passed although %lld of %lld had counted down", limit->key,
                        (long long)count.counted, (long long)limit->count);
    }
}

void history_check_latches(struct checking *checking)
{
    const struct history *history = checking->history;

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];

        if (history_is(line, "limit", NULL) && history_is_kind(line, "latch"))
            check_latch(checking, line);
    }
}
