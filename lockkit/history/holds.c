/*
 * Holds out of lines: those of one token, in the order of their times.
 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

bool history_is(const struct history_line *line, const char *step, const char *status)
{
    return strcmp(line->step, step) == 0 &&
           (!status || (line->status && strcmp(line->status, status) == 0));
}

bool history_is_kind(const struct history_line *line, const char *kind)
{
    return line->kind && strcmp(line->kind, kind) == 0;
}

/* ---- troubles ------------------------------------------------------------------------------------ */

static bool begins_trouble(const struct history_line *line)
{
    return history_is_kind(line, "killed") || history_is_kind(line, "paused") ||
           history_is_kind(line, "cut") || history_is_kind(line, "emptied");
}

static int by_pid_and_time(const void *left, const void *right)
{
    const struct trouble *a = left;
    const struct trouble *b = right;

    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int lines_by_time(const void *left, const void *right)
{
    const struct history_line *const *a = left;
    const struct history_line *const *b = right;

    if ((*a)->at_ns != (*b)->at_ns) return (*a)->at_ns < (*b)->at_ns ? -1 : 1;
    return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

/* The end of a trouble, in marks sorted by time: the process's mark that says so, and that of each like it
   which began meanwhile. */
static int64_t end_of(const struct history_line *const *marks, size_t count, size_t first)
{
    const struct history_line *begin = marks[first];
    const char *end = history_is_kind(begin, "paused")    ? "resumed"
                      : history_is_kind(begin, "emptied") ? "restarted"
                                                          : "healed";
    int open = 1;

    if (history_is_kind(begin, "killed")) return INT64_MAX;
    for (size_t i = first + 1; i < count; i++) {
        if (marks[i]->pid != begin->pid) continue;
        open += history_is_kind(marks[i], begin->kind) - history_is_kind(marks[i], end);
        if (open == 0) return marks[i]->at_ns;
    }
    return INT64_MAX;
}

bool history_make_troubles(struct checking *checking)
{
    const struct history *history = checking->history;
    const struct history_line **marks = calloc(history->count + 1, sizeof *marks);
    size_t count = 0;

    checking->troubles = calloc(history->count + 1, sizeof *checking->troubles);
    if (!marks || !checking->troubles) {
        free(marks);
        return false;
    }
    for (size_t i = 0; i < history->count; i++) {
        if (history_is(&history->lines[i], "mark", NULL)) marks[count++] = &history->lines[i];
    }
    qsort(marks, count, sizeof *marks, lines_by_time);
    for (size_t i = 0; i < count; i++) {
        if (!begins_trouble(marks[i])) continue;
        checking->troubles[checking->trouble_count++] =
            (struct trouble){.pid = marks[i]->pid,
                             .from_ns = marks[i]->at_ns,
                             .to_ns = end_of(marks, count, i),
                             .is_death = history_is_kind(marks[i], "killed"),
                             .is_oblivion = history_is_kind(marks[i], "emptied")};
    }
    free(marks);
    qsort(checking->troubles, checking->trouble_count, sizeof *checking->troubles, by_pid_and_time);
    for (size_t i = 0; i < checking->trouble_count; i++) {
        struct trouble *trouble = &checking->troubles[i];
        bool follows = i > 0 && trouble[-1].pid == trouble->pid;

        trouble->latest_to_ns = trouble->to_ns;
        if (follows && trouble[-1].latest_to_ns > trouble->latest_to_ns)
            trouble->latest_to_ns = trouble[-1].latest_to_ns;
    }
    return true;
}

/* The last trouble of a process that began at this moment at the latest; NULL: none. */
static const struct trouble *last_trouble(const struct checking *checking, long pid, int64_t at_ns)
{
    size_t low = 0;
    size_t high = checking->trouble_count;
    struct trouble wanted = {.pid = pid, .from_ns = at_ns};

    while (low < high) { /* the first that begins after at_ns */
        size_t middle = (low + high) / 2;

        if (by_pid_and_time(&checking->troubles[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && checking->troubles[low - 1].pid == pid ? &checking->troubles[low - 1] : NULL;
}

static bool was_pid_troubled(const struct checking *checking, long pid, int64_t from_ns,
                             int64_t to_ns)
{
    const struct trouble *last = last_trouble(checking, pid, to_ns);

    return last && last->latest_to_ns >= from_ns;
}

bool history_was_troubled(const struct checking *checking, long pid, int64_t from_ns, int64_t to_ns)
{
    return was_pid_troubled(checking, pid, from_ns, to_ns) ||
           (pid != 0 && was_pid_troubled(checking, 0, from_ns, to_ns));
}

bool history_was_emptied(const struct checking *checking, int64_t from_ns, int64_t to_ns,
                         int64_t *out_since_ns)
{
    for (size_t i = 0; i < checking->trouble_count; i++) {
        const struct trouble *trouble = &checking->troubles[i];

        if (!trouble->is_oblivion || trouble->to_ns < from_ns || trouble->from_ns > to_ns) continue;
        *out_since_ns = trouble->from_ns;
        return true;
    }
    return false;
}

int64_t history_killed_at(const struct checking *checking, long pid)
{
    const struct trouble *last = last_trouble(checking, pid, INT64_MAX);

    return last && last->is_death ? last->from_ns : INT64_MAX;
}

bool history_was_anybody_killed(const struct checking *checking, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < checking->trouble_count; i++) {
        const struct trouble *trouble = &checking->troubles[i];

        if (trouble->is_death && trouble->from_ns >= from_ns && trouble->from_ns <= to_ns)
            return true;
    }
    return false;
}

/* ---- holds --------------------------------------------------------------------------------------- */

/* Steps of locks with an owner: those that holds are made of. */
static bool is_of_hold(const struct history_line *line)
{
    static const char *const steps[] = {"acquire", "renew", "release", "lost"};

    if (!line->key || !line->token || history_is_kind(line, "multi")) return false;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(line->step, steps[i]) == 0) return true;
    }
    return false;
}

static int lines_by_hold(const void *left, const void *right)
{
    const struct history_line *const *a = left;
    const struct history_line *const *b = right;

    if ((*a)->key != (*b)->key) return strcmp((*a)->key, (*b)->key);
    if ((*a)->token != (*b)->token) return strcmp((*a)->token, (*b)->token);
    return lines_by_time(left, right);
}

static int holds_by_key(const void *left, const void *right)
{
    const struct hold *a = left;
    const struct hold *b = right;

    if (a->key != b->key) return strcmp(a->key, b->key);
    if (a->begins_ns != b->begins_ns) return a->begins_ns < b->begins_ns ? -1 : 1;
    return (a->acquire->number > b->acquire->number) - (a->acquire->number < b->acquire->number);
}

static void begin_hold(struct checking *checking, struct hold *hold,
                       const struct history_line *line)
{
    bool is_permit = history_is_kind(line, "permits");

    *hold = (struct hold){.acquire = line,
                          .key = line->key,
                          .token = line->token,
                          .begins_ns = line->at_ns,
                          .ends_ns = line->ends_ns, /* 0: lost before it was told */
                          .may_begin = line->at_ns - line->took_ns,
                          .may_end = line->ends_ns ? line->ends_ns : INT64_MAX,
                          .believes_ns = history_killed_at(checking, line->pid),
                          .released_ns = INT64_MAX,
                          .confirmed_ns = line->at_ns - line->took_ns,
                          .units = is_permit ? line->count : 1,
                          .fence = line->fence,
                          .is_renewed = line->is_renewed,
                          .is_granted = history_is(line, "acquire", "ok")};
    bool is_quick = hold->is_granted &&
                    !history_was_troubled(checking, line->pid, hold->may_begin, line->at_ns);
    hold->granted_ns = is_quick ? hold->begins_ns : hold->may_begin;
    if (!hold->is_granted) hold->ends_ns = hold->begins_ns;
    if (hold->ends_ns > hold->believes_ns) hold->ends_ns = hold->believes_ns;
}

static void prolong(struct hold *hold, const struct history_line *line)
{
    int64_t begun_ns = line->at_ns - line->took_ns;

    if (history_is_kind(line, "permits") && line->ends_ns < hold->ends_ns)
        hold->ends_ns = line->ends_ns; /* a permit's end may be set nearer, too */
    /* Also when the answer came after the end: it says that it was ours all the time. */
    if (!hold->is_over && begun_ns < hold->ends_ns && line->ends_ns > hold->ends_ns)
        hold->ends_ns = line->ends_ns;
    if (hold->ends_ns > hold->believes_ns) hold->ends_ns = hold->believes_ns;
    if (line->ends_ns > hold->may_end) hold->may_end = line->ends_ns;
    hold->confirmed_ns = begun_ns;
}

/* The last release: it began before it was answered. */
static void end_hold(struct hold *hold, const struct history_line *line)
{
    int64_t begun_ns = line->at_ns - line->took_ns;
    bool is_sure = history_is(line, "release", "ok") || history_is(line, "release", "not-owner");

    hold->is_over = true;
    if (begun_ns < hold->ends_ns) hold->ends_ns = begun_ns;
    if (begun_ns < hold->believes_ns) hold->believes_ns = begun_ns;
    if (is_sure && line->at_ns < hold->may_end) hold->may_end = line->at_ns;
    if (is_sure) hold->released_ns = line->at_ns;
}

static void lose_hold(struct checking *checking, struct hold *hold, const struct history_line *line)
{
    checking->report->lost++;
    hold->is_over = true;
    if (line->at_ns < hold->ends_ns) hold->ends_ns = line->at_ns;
    if (line->at_ns < hold->believes_ns) hold->believes_ns = line->at_ns;
    if (!hold->is_renewed) return;
    /* What confirms a redlock is other servers than the one whose trouble costs a vote. */
    int64_t since_ns = history_is_kind(line, "redlock") ? hold->may_begin : hold->confirmed_ns;
    if (history_was_troubled(checking, line->pid, since_ns, line->at_ns)) return;
    history_finding(checking, CHECK_RENEWAL, line->number,
                    "%s: lost %.1f ms after it was last confirmed, and nothing was wrong",
                    line->key, (double)(line->at_ns - hold->confirmed_ns) / 1e6);
}

/* One line of a token whose hold is under way, of `depth` holds so far. */
static void step_hold(struct checking *checking, struct hold *hold, int64_t *depth,
                      const struct history_line *line)
{
    bool is_counted = !history_is_kind(line, "permits");

    if (history_is(line, "lost", NULL)) {
        lose_hold(checking, hold, line);
    } else if (history_is(line, "renew", "ok")) {
        prolong(hold, line);
    } else if (history_is(line, "renew", "unknown") && history_is_kind(line, "permits")) {
        if (line->ends_ns < hold->ends_ns) hold->ends_ns = line->ends_ns;
    } else if (history_is(line, "acquire", "ok")) {
        prolong(hold, line);
        hold->is_renewed = line->is_renewed;
        checking->report->examined[CHECK_DEPTH]++;
        if (is_counted && line->count != *depth + 1) {
            history_finding(checking, CHECK_DEPTH, line->number,
                            "%s: taken again, and counts %lld after %lld", line->key,
                            (long long)line->count, (long long)*depth);
        }
        *depth = line->count;
    } else if (history_is(line, "release", NULL)) {
        checking->report->examined[CHECK_DEPTH]++;
        if (is_counted && line->count != (*depth > 0 ? *depth - 1 : 0)) {
            history_finding(checking, CHECK_DEPTH, line->number,
                            "%s: given back, and counts %lld after %lld", line->key,
                            (long long)line->count, (long long)*depth);
        }
        *depth = is_counted ? line->count : 0;
        if (*depth <= 0) end_hold(hold, line);
    }
}

/* An acquire that was granted, and answered too late. (Or its owner's other hold, of a read/write lock.) */
static void check_late(struct checking *checking, const struct history_line *line)
{
    if (!history_is(line, "acquire", "lost")) return;
    if (history_is_kind(line, "read") || history_is_kind(line, "write")) return;
    if (history_was_troubled(checking, line->pid, line->at_ns - line->took_ns, line->at_ns)) return;
    history_finding(checking, CHECK_RENEWAL, line->number,
                    "%s: lost before it was told, and nothing was wrong", line->key);
}

/* The lines of one token; at most one hold comes of them. */
static void add_hold(struct checking *checking, const struct history_line *const *lines,
                     size_t count)
{
    struct hold *hold = &checking->holds[checking->hold_count];
    int64_t depth = 0;
    bool is_begun = false;
    int64_t emptied_ns = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_grant = history_is(lines[i], "acquire", "ok");
        bool is_maybe = history_is(lines[i], "acquire", "unknown");

        if (!is_begun) check_late(checking, lines[i]);
        if (is_begun) {
            step_hold(checking, hold, &depth, lines[i]);
        } else if (is_grant || is_maybe) {
            begin_hold(checking, hold, lines[i]);
            depth = is_grant ? lines[i]->count : 0;
            is_begun = true;
            checking->report->unknown += is_maybe;
        }
    }
    if (is_begun && !hold->is_over &&
        history_killed_at(checking, hold->acquire->pid) != INT64_MAX &&
        hold->ends_ns > hold->confirmed_ns)
        hold->ends_ns = hold->confirmed_ns; /* it may have been given back, and nobody told of it */
    if (is_begun && history_was_emptied(checking, hold->may_begin, hold->ends_ns, &emptied_ns) &&
        hold->ends_ns > emptied_ns)
        hold->ends_ns = emptied_ns;
    checking->hold_count += is_begun;
}

bool history_make_holds(struct checking *checking)
{
    const struct history *history = checking->history;
    const struct history_line **lines = calloc(history->count + 1, sizeof *lines);
    size_t count = 0;

    checking->holds = calloc(history->count + 1, sizeof *checking->holds);
    if (!lines || !checking->holds) {
        free(lines);
        return false;
    }
    for (size_t i = 0; i < history->count; i++) {
        if (is_of_hold(&history->lines[i])) lines[count++] = &history->lines[i];
    }
    qsort(lines, count, sizeof *lines, lines_by_hold);
    for (size_t first = 0, next = 0; first < count; first = next) {
        for (next = first; next < count && lines[next]->key == lines[first]->key &&
                           lines[next]->token == lines[first]->token;)
            next++;
        add_hold(checking, lines + first, next - first);
    }
    free(lines);
    qsort(checking->holds, checking->hold_count, sizeof *checking->holds, holds_by_key);
    return true;
}
