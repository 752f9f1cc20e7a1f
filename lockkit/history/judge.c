/*
 * The checks that look at holds side by side: exclusion, permits; and what was left behind. Those
 * that look at orders are in order.c.
 *
 * Each is a sweep over what was sorted before, so the whole takes O(n log n).
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "order.h"
#include "seen.h"

/* ---- exclusion ----------------------------------------------------------------------------------- */

/* Kinds of which one holder excludes all others; read and write go by their own rule. */
static bool is_exclusive(const struct hold *hold)
{
    return !history_is_kind(hold->acquire, "permits") && !history_is_kind(hold->acquire, "read");
}

static bool is_shared(const struct hold *hold)
{
    return history_is_kind(hold->acquire, "read");
}

/* A handle's read and write holds go together: "<uuid>:<n>", "<uuid>:<n>:write", and, made of the first,
   "<uuid>:<n>:<m>:write". */
static size_t owner_len(const char *token)
{
    const char *mark = strstr(token, ":write");
    size_t whole = mark ? (size_t)(mark - token) : strlen(token);
    size_t len = strcspn(token, ":");

    if (token[len]) len += 1 + strcspn(token + len + 1, ":");
    return len < whole ? len : whole;
}

static bool is_same_owner(const struct hold *a, const struct hold *b)
{
    size_t len = owner_len(a->token);

    return owner_len(b->token) == len && strncmp(a->token, b->token, len) == 0;
}

static void find_overlap(struct checking *checking, const struct hold *earlier,
                         const struct hold *later)
{
    if (!earlier || is_same_owner(earlier, later)) return;
    if (earlier->ends_ns > later->begins_ns) {
        int64_t ends = earlier->ends_ns < later->ends_ns ? earlier->ends_ns : later->ends_ns;

        history_finding(checking, CHECK_EXCLUSION, later->acquire->number,
                        "%s: held for %.3f ms beside the holder of line %lu", later->key,
                        (double)(ends - later->begins_ns) / 1e6, earlier->acquire->number);
    } else if (earlier->believes_ns > later->begins_ns) {
        checking->report->beliefs++;
    }
}

/* Of two, the one that reaches further: certain first, then believed. */
static const struct hold *further(const struct hold *a, const struct hold *b)
{
    if (!a) return b;
    if (a->ends_ns != b->ends_ns) return a->ends_ns > b->ends_ns ? a : b;
    return a->believes_ns >= b->believes_ns ? a : b;
}

/* The furthest so far that is not of this owner: of two kept, of different owners, one is not. */
struct furthest {
    const struct hold *first;
    const struct hold *second;
};

static void keep(struct furthest *furthest, const struct hold *hold)
{
    if (!furthest->first || is_same_owner(furthest->first, hold)) {
        furthest->first = further(furthest->first, hold);
    } else if (further(furthest->first, hold) == hold) {
        furthest->second = furthest->first;
        furthest->first = hold;
    } else {
        furthest->second = further(furthest->second, hold);
    }
}

static const struct hold *other_than(const struct furthest *furthest, const struct hold *hold)
{
    const struct hold *first = furthest->first;

    return first && is_same_owner(first, hold) ? furthest->second : first;
}

/* The holds of one key, by their begin. */
static void sweep_key(struct checking *checking, const struct hold *holds, size_t count)
{
    struct furthest writers = {0};
    struct furthest readers = {0};

    for (size_t i = 0; i < count; i++) {
        const struct hold *hold = &holds[i];

        if (!hold->is_granted || hold->ends_ns <= hold->begins_ns) continue;
        if (!is_exclusive(hold) && !is_shared(hold)) continue;
        checking->report->examined[CHECK_EXCLUSION]++;
        find_overlap(checking, other_than(&writers, hold), hold);
        if (!is_shared(hold)) find_overlap(checking, other_than(&readers, hold), hold);
        keep(is_shared(hold) ? &readers : &writers, hold);
    }
}

static void check_exclusion(struct checking *checking)
{
    const struct hold *holds = checking->holds;
    size_t next = 0;

    for (size_t first = 0; first < checking->hold_count; first = next) {
        for (next = first; next < checking->hold_count && holds[next].key == holds[first].key;)
            next++;
        sweep_key(checking, holds + first, next - first);
        checking->report->keys++;
    }
}

/* ---- permits ------------------------------------------------------------------------------------- */

/* A moment at which the number of permits out of a key changes. */
struct change {
    const char *key;
    const char *kind;
    int64_t at_ns;
    int64_t by;
    unsigned long line;
};

static int changes_by_time(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;

    if (a->key != b->key) return strcmp(a->key, b->key);
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return (a->by > b->by) - (a->by < b->by); /* given back first */
}

static int64_t limit_of(const struct history *history, const struct change *change)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];

        if (history_is(line, "limit", NULL) && line->key == change->key &&
            line->kind == change->kind)
            return line->count;
    }
    return INT64_MAX;
}

/*
 * A semaphore's permits have no owner: they are out from the acquire to the begin of a release. A
 * process that was killed may have given back what it does not tell of, so it does not count.
 */
static size_t list_semaphores(const struct checking *checking, struct change *out)
{
    const struct history *history = checking->history;
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];
        struct change change = {.key = line->key, .kind = line->kind, .line = line->number};

        if (!line->key || !history_is_kind(line, "semaphore")) continue;
        if (history_killed_at(checking, line->pid) != INT64_MAX) continue;
        if (history_is(line, "acquire", "ok")) {
            change.at_ns = line->at_ns;
            change.by = line->count;
        } else if (history_is(line, "release", NULL)) {
            change.at_ns = line->at_ns - line->took_ns;
            change.by = -line->count;
        } else {
            continue;
        }
        out[count++] = change;
    }
    return count;
}

static size_t list_permits(const struct checking *checking, struct change *out)
{
    size_t count = 0;

    for (size_t i = 0; i < checking->hold_count; i++) {
        const struct hold *hold = &checking->holds[i];
        struct change change = {.key = hold->key,
                                .kind = hold->acquire->kind,
                                .at_ns = hold->begins_ns,
                                .by = hold->units,
                                .line = hold->acquire->number};

        if (!history_is_kind(hold->acquire, "permits") || hold->ends_ns <= hold->begins_ns)
            continue;
        out[count++] = change;
        change.at_ns = hold->ends_ns;
        change.by = -hold->units;
        out[count++] = change;
    }
    return count;
}

static bool check_permits(struct checking *checking)
{
    const struct history *history = checking->history;
    struct change *changes = calloc(history->count + 2 * checking->hold_count + 1, sizeof *changes);
    int64_t limit = 0;
    int64_t taken = 0;

    if (!changes) return false;
    size_t count = list_semaphores(checking, changes);
    count += list_permits(checking, changes + count);
    qsort(changes, count, sizeof *changes, changes_by_time);
    for (size_t i = 0; i < count; i++) {
        const struct change *change = &changes[i];

        if (i == 0 || change->key != changes[i - 1].key) {
            limit = limit_of(history, change);
            taken = 0;
        }
        taken += change->by;
        if (change->by <= 0) continue;
        checking->report->examined[CHECK_PERMITS]++;
        if (taken > limit) {
            history_finding(checking, CHECK_PERMITS, change->line, "%s: %lld permits out of %lld",
                            change->key, (long long)taken, (long long)limit);
        }
    }
    free(changes);
    return true;
}

/* ---- what is left ---------------------------------------------------------------------------------- */

static void check_leftovers(struct checking *checking)
{
    for (size_t i = 0; i < checking->history->count; i++) {
        const struct history_line *line = &checking->history->lines[i];
        bool is_key = history_is(line, "left-key", NULL);

        if (!is_key && !history_is(line, "left-channel", NULL)) continue;
        checking->report->examined[CHECK_LEFTOVERS]++;
        if (is_key && line->count == -1) {
            history_finding(checking, CHECK_LEFTOVERS, line->number, "%s: a %s that never ends",
                            line->key, line->status);
        } else if (!is_key && line->count > 0) {
            history_finding(checking, CHECK_LEFTOVERS, line->number, "%s: still %lld subscribers",
                            line->key, (long long)line->count);
        }
    }
}

static void count_holds(struct checking *checking)
{
    struct history_report *report = checking->report;

    for (size_t i = 0; i < checking->hold_count; i++) {
        const struct hold *hold = &checking->holds[i];

        if (!hold->is_granted) continue;
        report->holds++;
        report->examined[CHECK_RENEWAL] += hold->is_renewed;
    }
    report->owners = report->holds; /* a token per first acquire */
}

bool history_check(const struct history *history, const struct history_check_options *options,
                   struct history_report *out)
{
    struct checking checking = {.history = history, .options = options, .report = out};
    bool is_done = false;

    *out = (struct history_report){.lines = history->count};
    if (history_make_troubles(&checking) && history_make_holds(&checking)) {
        count_holds(&checking);
        check_exclusion(&checking);
        history_check_liveness(&checking);
        history_check_latches(&checking);
        check_leftovers(&checking);
        is_done = check_permits(&checking) && history_check_fences(&checking) &&
                  history_check_fairness(&checking) && history_check_seen(&checking);
        history_draw(&checking);
    }
    free(checking.holds);
    free(checking.troubles);
    return is_done;
}
