/*
 * The checks that look at orders: fences, queues, waiting in vain, latches.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "seen.h"

/* ---- first come, least number ------------------------------------------------------------------- */

/* One who asked and was answered, and a number: whoever asks after that has a greater one. */
struct place {
    const char *key;
    const char *token;
    int64_t asked_ns;  /* the request was sent */
    int64_t queued_ns; /* it was answered */
    int64_t number;    /* a fence, or when it was served; INT64_MAX: never */
    unsigned long line;
    bool is_queued;
    bool is_read; /* readers go together: only places of writers are before theirs */
    bool is_look; /* at the counter of fences: later ones have no smaller number */
};

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

static void check_place(struct checking *checking, enum history_check_id id,
                        const struct place *place, const struct place *before)
{
    bool is_fence = id == CHECK_FENCE;
    int64_t more = is_fence && !place->is_look; /* two holds' are never the same */

    checking->report->examined[id]++;
    if (!before || before->number + more <= place->number) return;
    if (is_fence) {
        history_finding(checking, id, place->line, "%s: token %llu, after %llu in line %lu",
                        place->key, (unsigned long long)place->number,
                        (unsigned long long)before->number, before->line);
    } else {
        history_finding(checking, id, place->line, "%s: served before the one queued in line %lu",
                        place->key, before->line);
    }
}

static const struct place *later_of(const struct place *before, const struct place *place)
{
    return !before || place->number > before->number ? place : before;
}

static bool check_places(struct checking *checking, enum history_check_id id,
                         const struct place *places, size_t count)
{
    const struct place **queued = calloc(count + 1, sizeof *queued);
    const struct place **asked = calloc(count + 1, sizeof *asked);
    const struct place *latest[2] = {NULL, NULL}; /* of those who were there before; of writers */
    bool is_done = queued && asked;
    size_t done = 0;

    for (size_t i = 0; is_done && i < count; i++)
        queued[i] = asked[i] = &places[i];
    if (is_done && count > 0) {
        qsort(queued, count, sizeof *queued, by_key_and_queued);
        qsort(asked, count, sizeof *asked, by_key_and_asked);
    }
    for (size_t i = 0; is_done && i < count; i++) {
        if (i > 0 && asked[i]->key != asked[i - 1]->key) {
            latest[0] = latest[1] = NULL;
            done = i;
        }
        for (; done < count && queued[done]->key == asked[i]->key &&
               queued[done]->queued_ns < asked[i]->asked_ns;
             done++) {
            latest[0] = later_of(latest[0], queued[done]);
            if (!queued[done]->is_read) latest[1] = later_of(latest[1], queued[done]);
        }
        check_place(checking, id, asked[i], latest[asked[i]->is_read]);
    }
    free(queued);
    free(asked);
    return is_done;
}

static size_t list_counters(const struct seen *seen, struct place *out)
{
    size_t count = 0;

    for (size_t i = 0; i < seen->sighting_count; i++) {
        const struct history_line *line = seen->sightings[i];

        if (line->fence == 0) continue;
        out[count++] = (struct place){.key = line->key,
                                      .asked_ns = history_seen_until(seen, line),
                                      .queued_ns = history_seen_from(seen, line),
                                      .number = (int64_t)line->fence,
                                      .line = line->number,
                                      .is_look = true};
    }
    return count;
}

bool history_check_fences(struct checking *checking)
{
    struct place *places = calloc(checking->history->count + 1, sizeof *places);
    struct seen seen = {0};
    bool is_done = history_make_seen(checking->history, &seen) && places;
    size_t count = is_done ? list_counters(&seen, places) : 0;

    for (size_t i = 0; is_done && i < checking->hold_count; i++) {
        const struct hold *hold = &checking->holds[i];

        if (hold->fence == 0 || !hold->is_granted) continue;
        places[count++] = (struct place){.key = hold->key,
                                         .asked_ns = hold->may_begin,
                                         .queued_ns = hold->begins_ns,
                                         .number = (int64_t)hold->fence,
                                         .line = hold->acquire->number};
    }
    is_done = is_done && check_places(checking, CHECK_FENCE, places, count);
    history_free_seen(&seen);
    free(places);
    return is_done;
}

/* ---- fairness --------------------------------------------------------------------------------------- */

static int by_key_and_token(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->key != b->key) return strcmp(a->key, b->key);
    if (a->token != b->token) return strcmp(a->token, b->token);
    return (a->queued_ns > b->queued_ns) - (a->queued_ns < b->queued_ns);
}

/*
 * Places with their grants. Who was queued twice counts from the last time, and who was never served
 * not at all: it gave up or died; nor whose place was forgotten. Returns how many are left, by key and token.
 */
static size_t match_places(const struct checking *checking, struct place *places, size_t count)
{
    size_t kept = 0;
    int64_t emptied_ns = 0;

    for (size_t i = 0; i < count; i++) {
        struct place *before = kept > 0 ? &places[kept - 1] : NULL;
        bool is_same = before && before->key == places[i].key && before->token == places[i].token;

        if (!is_same) {
            places[kept++] = places[i];
        } else if (places[i].is_queued && before->number == INT64_MAX) {
            *before = places[i];
        } else if (!places[i].is_queued && before->number == INT64_MAX) {
            before->number = places[i].queued_ns;
        }
    }
    count = kept;
    kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!places[i].is_queued || places[i].number == INT64_MAX) continue;
        if (!history_was_emptied(checking, places[i].asked_ns, places[i].number, &emptied_ns))
            places[kept++] = places[i];
    }
    return kept;
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

        bool is_read = history_is_kind(line, "read");
        bool has_places =
            is_read || history_is_kind(line, "write") || history_is_kind(line, "fair");

        if (!line->key || !line->token || !has_places) continue;
        if (!is_queued && !is_first_grant) continue;
        out[count++] = (struct place){.key = line->key,
                                      .token = line->token,
                                      .asked_ns = line->at_ns - line->took_ns,
                                      .queued_ns = line->at_ns,
                                      .number = INT64_MAX,
                                      .line = line->number,
                                      .is_queued = is_queued,
                                      .is_read = is_read};
    }
    return count;
}

bool history_check_fairness(struct checking *checking)
{
    struct place *places = calloc(checking->history->count + 1, sizeof *places);
    size_t count = places ? list_places(checking->history, places) : 0;

    if (count > 0) qsort(places, count, sizeof *places, by_key_and_token);
    if (count > 0) count = match_places(checking, places, count);
    bool is_done = places && check_places(checking, CHECK_FAIRNESS, places, count);
    free(places);
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

static int64_t calm_ns(const struct checking *checking)
{
    const struct history_check_options *options = checking->options;

    return (options->calm_ms ? options->calm_ms : options->stuck_ms) * 1000000;
}

/* The least that a wait for a free lock must have lasted to be one in vain, if it ended at `to_ns`. */
static int64_t patience_ns(const struct checking *checking, int64_t to_ns)
{
    bool is_calm = true;

    for (size_t i = 0; i < checking->trouble_count && is_calm; i++)
        is_calm = checking->troubles[i].from_ns > to_ns;
    return is_calm ? calm_ns(checking) : checking->options->stuck_ms * 1000000;
}

/* Spans of a key in which nobody can have held it, at least calm_ms long; by time. */
struct gaps {
    struct {
        int64_t from_ns, to_ns;
    } * list; /* owned */
    size_t count;
};

/* A long wait was granted in its end, unless the answer was what took long. */
static int by_grant(const void *left, const void *right)
{
    const struct hold *const *a = left;
    const struct hold *const *b = right;

    return ((*a)->granted_ns > (*b)->granted_ns) - ((*a)->granted_ns < (*b)->granted_ns);
}

static bool find_gaps(const struct checking *checking, const char *key, struct gaps *out)
{
    int64_t stuck_ns = calm_ns(checking);
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
    qsort(holds, count, sizeof *holds, by_grant);
    for (size_t i = 0; i <= count; i++) {
        int64_t to_ns = i < count ? holds[i]->granted_ns : INT64_MAX;

        if (to_ns - free_since >= stuck_ns) {
            out->list[out->count].from_ns = free_since;
            out->list[out->count++].to_ns = to_ns;
        }
        if (i < count && holds[i]->may_end > free_since) free_since = holds[i]->may_end;
    }
    free(holds);
    return true;
}

/* One who was never told may have held it nevertheless: then it was seen there. */
static void look_for_gap(struct checking *checking, const struct gaps *gaps,
                         const struct seen *seen, const struct history_line *line)
{
    int64_t stuck_ns = calm_ns(checking);
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

        int64_t patience = patience_ns(checking, to);
        from = history_last_named(seen, line->key, from, to - patience / 4);
        if (to - from < patience) continue;
        if (history_was_troubled(checking, line->pid, from, to)) continue;
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
    return line->took_ns >= calm_ns(checking);
}

void history_check_liveness(struct checking *checking)
{
    const struct history *history = checking->history;
    const struct history_line **waits = calloc(history->count + 1, sizeof *waits);
    struct gaps gaps = {0};
    struct seen seen = {0};
    size_t count = 0;

    bool is_done = history_make_seen(history, &seen);
    for (size_t i = 0; waits && is_done && i < history->count; i++) {
        if (has_waited(checking, &history->lines[i])) waits[count++] = &history->lines[i];
    }
    if (count > 0) qsort(waits, count, sizeof *waits, lines_by_key);
    for (size_t i = 0; i < count; i++) {
        checking->report->examined[CHECK_LIVENESS]++;
        if (i == 0 || waits[i]->key != waits[i - 1]->key) {
            free(gaps.list);
            if (!find_gaps(checking, waits[i]->key, &gaps)) break;
        }
        look_for_gap(checking, &gaps, &seen, waits[i]);
    }
    history_free_seen(&seen);
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
