/*
 * What an observer saw beside what holders were told. A look is a read of all keys at one moment
 * between its begin and its end; of every name in a key there is one line for all looks in a row that
 * saw it. Only moments are compared that one of the two surely came before the other.
 */
#include "seen.h"

#include <stdlib.h>
#include <string.h>

static bool is_sighting(const struct history_line *line)
{
    return history_is(line, "seen", NULL) && line->key;
}

static int64_t begin_of(const struct history_line *line)
{
    return line->at_ns - line->took_ns;
}

/* ---- in order ------------------------------------------------------------------------------------ */

static int by_time(const void *left, const void *right)
{
    const struct history_line *const *a = left;
    const struct history_line *const *b = right;

    return ((*a)->at_ns > (*b)->at_ns) - ((*a)->at_ns < (*b)->at_ns);
}

static int by_name(const void *left, const void *right)
{
    const struct history_line *const *a = left;
    const struct history_line *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    if ((*a)->token == (*b)->token) return 0;
    return strcmp((*a)->token ? (*a)->token : "", (*b)->token ? (*b)->token : "");
}

static int by_name_and_time(const void *left, const void *right)
{
    int order = by_name(left, right);

    return order ? order : by_time(left, right);
}

bool history_make_seen(const struct history *history, struct seen *out)
{
    *out = (struct seen){.looks = calloc(history->count + 1, sizeof(void *)),
                         .sightings = calloc(history->count + 1, sizeof(void *))};
    if (!out->looks || !out->sightings) return false;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];

        if (history_is(line, "look", NULL)) out->looks[out->look_count++] = line;
        if (is_sighting(line)) out->sightings[out->sighting_count++] = line;
    }
    qsort(out->looks, out->look_count, sizeof(void *), by_time);
    qsort(out->sightings, out->sighting_count, sizeof(void *), by_name_and_time);
    return true;
}

void history_free_seen(struct seen *seen)
{
    free(seen->looks);
    free(seen->sightings);
}

/* The first look that ended at this moment or later; the number of all when there is none. */
static size_t look_at(const struct seen *seen, int64_t at_ns)
{
    size_t low = 0;
    size_t high = seen->look_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (seen->looks[middle]->at_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t history_seen_from(const struct seen *seen, const struct history_line *sighting)
{
    size_t first = look_at(seen, begin_of(sighting));

    return first < seen->look_count ? seen->looks[first]->at_ns : sighting->at_ns;
}

int64_t history_seen_until(const struct seen *seen, const struct history_line *sighting)
{
    size_t last = look_at(seen, sighting->at_ns);

    return last < seen->look_count ? begin_of(seen->looks[last]) : begin_of(sighting);
}

/* The first sighting of a key by a name (NULL: that the key is watched), or where it would be. */
static size_t first_sighting(const struct seen *seen, const char *key, const char *token)
{
    struct history_line wanted = {.key = key, .token = token};
    const struct history_line *name = &wanted;
    size_t low = 0;
    size_t high = seen->sighting_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (by_name(&seen->sightings[middle], &name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct seen *seen, size_t i, const char *key, const char *token)
{
    return i < seen->sighting_count && seen->sightings[i]->key == key &&
           seen->sightings[i]->token == token;
}

int64_t history_last_named(const struct seen *seen, const char *key, int64_t from_ns, int64_t to_ns)
{
    int64_t last_ns = from_ns;

    for (size_t i = first_sighting(seen, key, NULL);
         i < seen->sighting_count && seen->sightings[i]->key == key; i++) {
        const struct history_line *sighting = seen->sightings[i];

        if (sighting->token && sighting->at_ns > last_ns && begin_of(sighting) < to_ns)
            last_ns = sighting->at_ns;
    }
    return last_ns;
}

/* ---- by holds ------------------------------------------------------------------------------------ */

/* Every look that was wholly inside a certain hold has seen its name. */
static void check_named(struct checking *checking, const struct seen *seen, const struct hold *hold)
{
    size_t first = look_at(seen, hold->begins_ns);
    size_t next = look_at(seen, hold->ends_ns);
    size_t i = first_sighting(seen, hold->key, hold->token);

    while (first < next && begin_of(seen->looks[first]) < hold->begins_ns)
        first++;
    if (first >= next || !hold->is_granted) return;
    checking->report->examined[CHECK_NAMED]++;
    int64_t until_ns = begin_of(seen->looks[first]); /* seen without a gap from there to here */
    for (; is_of(seen, i, hold->key, hold->token); i++) {
        if (begin_of(seen->sightings[i]) <= until_ns && seen->sightings[i]->at_ns > until_ns)
            until_ns = seen->sightings[i]->at_ns;
    }
    if (until_ns >= seen->looks[next - 1]->at_ns) return;
    size_t blind = look_at(seen, until_ns + 1);
    history_finding(checking, CHECK_NAMED, hold->acquire->number,
                    "%s: the look of line %lu did not find the holder's name, %.1f ms before the "
                    "hold's end",
                    hold->key, seen->looks[blind]->number,
                    (double)(hold->ends_ns - seen->looks[blind]->at_ns) / 1e6);
}

static void check_gone(struct checking *checking, const struct seen *seen, const struct hold *hold)
{
    size_t i = first_sighting(seen, hold->key, hold->token);

    if (hold->released_ns == INT64_MAX) return;
    checking->report->examined[CHECK_GONE]++;
    for (; is_of(seen, i, hold->key, hold->token); i++) {
        int64_t until_ns = history_seen_until(seen, seen->sightings[i]);

        if (until_ns <= hold->released_ns) continue;
        if (history_was_troubled(checking, hold->acquire->pid, hold->may_begin, until_ns)) continue;
        history_finding(checking, CHECK_GONE, seen->sightings[i]->number,
                        "%s: still names a holder %.1f ms after its release", hold->key,
                        (double)(until_ns - hold->released_ns) / 1e6);
    }
}

static void check_holds(struct checking *checking, const struct seen *seen)
{
    for (size_t i = 0; i < checking->hold_count; i++) {
        const struct hold *hold = &checking->holds[i];

        if (!is_of(seen, first_sighting(seen, hold->key, NULL), hold->key, NULL)) continue;
        check_named(checking, seen, hold);
        check_gone(checking, seen, hold);
    }
}

/* ---- by names ------------------------------------------------------------------------------------ */

/* Whether something troubled somebody before a lease ended (0: at all): its holder may have been killed before it was
   told, or have asked anew by another name. */
static bool was_anybody_troubled(const struct checking *checking, int64_t before_ns)
{
    for (size_t i = 0; i < checking->trouble_count; i++) {
        if (before_ns == 0 || checking->troubles[i].from_ns < before_ns) return true;
    }
    return false;
}

/* Whether a process asked the server something between the moments, and was answered. */
static bool has_spoken(const struct checking *checking, long pid, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < checking->history->count; i++) {
        const struct history_line *line = &checking->history->lines[i];

        if (line->pid == pid && begin_of(line) > from_ns && line->at_ns < to_ns && line->status &&
            strcmp(line->status, "ok") == 0)
            return true;
    }
    return false;
}

/*
 * An undo that was owed was not made up for, though its process had a while without any trouble. One is owed
 * for a lease: a server that was away for longer took the lock when nobody owed any more.
 */
static bool is_owed_for_long(const struct checking *checking, const struct history_line *asked,
                             int64_t until_ns)
{
    int64_t while_ns = checking->options->stuck_ms * 1000000 / 4;
    int64_t calm_since_ns = asked->at_ns + while_ns;

    return calm_since_ns + while_ns < until_ns &&
           has_spoken(checking, asked->pid, calm_since_ns, until_ns - while_ns) &&
           !history_was_troubled(checking, asked->pid, calm_since_ns, until_ns);
}

/*
 * What a name may do in a key. asked: the first acquire that was answered so, or the last if none was
 * granted; NULL: nobody knows it.
 */
static void check_name(struct checking *checking, const struct seen *seen,
                       const struct history_line *sighting, const struct history_line *asked)
{
    int64_t until_ns = history_seen_until(seen, sighting);
    bool is_granted = asked && history_is(asked, "acquire", "ok");
    bool is_refused = asked && !is_granted && !history_is(asked, "acquire", "unknown");
    const char *what = NULL;
    int64_t since_ns = 0;

    checking->report->examined[CHECK_ORPHANS]++;
    if (sighting->ends_ns < 0)
        what = "names somebody for ever";
    else if (!asked && !was_anybody_troubled(checking, sighting->ends_ns))
        what = "names one whom nobody knows";
    else if (is_refused && until_ns > asked->at_ns &&
             !history_was_troubled(checking, asked->pid, begin_of(asked), asked->at_ns))
        what = "names one who was told that it is not held";
    else if (!is_granted && sighting->ends_ns > 0 && until_ns > sighting->ends_ns &&
             !history_was_emptied(checking, begin_of(sighting), until_ns, &since_ns))
        what = "names one who was told of no hold, and its lease was prolonged";
    else if (asked && !is_granted && is_owed_for_long(checking, asked, until_ns))
        what = "names one who was told of no hold, and could have undone it since";
    if (what)
        history_finding(checking, CHECK_ORPHANS, sighting->number, "%s: %s", sighting->key, what);
}

static bool is_acquire(const struct history_line *line)
{
    return history_is(line, "acquire", NULL) && line->key && line->token;
}

/* Sightings and acquires, both by key and token. */
static bool check_names(struct checking *checking, const struct seen *seen)
{
    const struct history *history = checking->history;
    const struct history_line **asks = calloc(history->count + 1, sizeof(void *));
    size_t count = 0;
    size_t next = 0;

    if (!asks) return false;
    for (size_t i = 0; i < history->count; i++) {
        if (is_acquire(&history->lines[i])) asks[count++] = &history->lines[i];
    }
    qsort(asks, count, sizeof(void *), by_name_and_time);
    for (size_t i = 0; i < seen->sighting_count; i++) {
        const struct history_line *asked = NULL;

        if (!seen->sightings[i]->token) continue;
        while (next < count && by_name(&asks[next], &seen->sightings[i]) < 0)
            next++;
        for (size_t k = next; k < count && by_name(&asks[k], &seen->sightings[i]) == 0; k++) {
            if (!asked || !history_is(asked, "acquire", "ok")) asked = asks[k];
        }
        check_name(checking, seen, seen->sightings[i], asked);
    }
    free(asks);
    return true;
}

bool history_check_seen(struct checking *checking)
{
    struct seen seen = {0};
    bool is_done = history_make_seen(checking->history, &seen);

    if (is_done && seen.look_count > 0) {
        check_holds(checking, &seen);
        is_done = check_names(checking, &seen);
    }
    history_free_seen(&seen);
    return is_done;
}
