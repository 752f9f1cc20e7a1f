/*
 * A table of measures, a rule per kind of guard. Pure.
 */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct compare_measure_text compare_measures[COMPARE_MEASURE_COUNT] = {
#define COMPARE_TEXT(value, measure_name, column, digits)                                          \
    [value] = {.name = (measure_name), .head = (column), .decimals = (digits)},
    COMPARE_MEASURE_LIST(COMPARE_TEXT)
#undef COMPARE_TEXT
};

static const double unknown = (double)NAN;

/* What a lock that is never given back explains: itself, and the units behind it. */
static bool is_explained_by_stuck(audit_check_id id)
{
    return id == AUDIT_NO_STUCK_LOCK || id == AUDIT_NO_UNDERSELL;
}

/* Does its flaw explain that this check fails? */
static bool is_explained(const struct guard_entry *guard, audit_check_id id)
{
    switch (guard->finding) {
    case GUARD_SOUND:
        return false;
    case GUARD_OVERSELLS: /* lost updates contradict everything, but leave no lock */
        return id != AUDIT_NO_STUCK_LOCK;
    case GUARD_STUCK:
        return is_explained_by_stuck(id);
    }
    return false;
}

compare_verdict compare_judge(const struct guard_entry *guard, const struct verify_run *run)
{
    compare_verdict verdict = COMPARE_HELD;

    for (audit_check_id id = 0; id < AUDIT_CHECK_COUNT; id++) {
        if (run->audit.checks[id].verdict != AUDIT_FAIL) continue;
        if (!is_explained(guard, id)) return COMPARE_BROKE;
        verdict = COMPARE_SHOWED;
    }
    if (run->trouble[0]) return COMPARE_VOID;
    return verdict == COMPARE_HELD && verify_verdict(run) == AUDIT_VOID ? COMPARE_VOID : verdict;
}

void compare_row_add(struct compare_row *row, const struct verify_run *run)
{
    const struct latency *created = &run->summary.latency[ANSWER_CREATED];
    bool has_trips = run->round_trips >= 0 && run->audit.sold > 0;
    const double values[COMPARE_MEASURE_COUNT] = {
        [COMPARE_PER_S] = run->summary.purchases_per_s,
        [COMPARE_P99] = created->count ? created->p99_ms : unknown,
        [COMPARE_ROUND_TRIPS] = has_trips ? run->round_trips / (double)run->audit.sold : unknown,
        [COMPARE_OVERSOLD] = (double)run->audit.oversold,
        [COMPARE_UNDERSOLD] = (double)run->audit.undersold,
        [COMPARE_DUPLICATES] = (double)run->audit.duplicate_buyers,
        [COMPARE_STUCK_LOCKS] = run->audit.has_stuck_lock ? 1 : 0,
        [COMPARE_INVERSIONS] =
            run->audit.fairness.pairs ? fairness_share(&run->audit.fairness) : unknown,
    };

    if (row->count == ROUNDS_MAX) return;
    for (int i = 0; i < PROMISE_COUNT; i++)
        if (audit_promise_verdict(&promises[i], &run->audit) == AUDIT_FAIL)
            row->has_fallen[i] = true;
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++)
        spread_add(&row->measures[i], values[i]);
    row->verdicts[row->count++] = compare_judge(row->guard, run);
}

compare_verdict compare_row_verdict(const struct compare_row *row)
{
    compare_verdict worst = row->count ? COMPARE_HELD : COMPARE_VOID;
    bool has_held = false, has_shown = false;

    for (int i = 0; i < row->count; i++) {
        if (row->verdicts[i] > worst) worst = row->verdicts[i];
        has_held = has_held || row->verdicts[i] == COMPARE_HELD;
        has_shown = has_shown || row->verdicts[i] == COMPARE_SHOWED;
    }
    if (!row->fault || worst == COMPARE_BROKE) return worst;
    if (has_shown) return COMPARE_SHOWED;
    if (!has_held) return COMPARE_VOID;
    return fault_brings_down(row->fault, row->guard->name) ? COMPARE_HID : COMPARE_HELD;
}

const char *compare_row_weather(const struct compare_row *row)
{
    return row->fault ? row->fault->name : "calm";
}

void compare_row_fallen(const struct compare_row *row, char out[COMPARE_WORDS_MAX])
{
    size_t length = 0;

    out[0] = '\0';
    for (int i = 0; i < PROMISE_COUNT; i++) {
        if (!row->has_fallen[i]) continue;
        (void)snprintf(out + length, COMPARE_WORDS_MAX - length, "%s%s", length ? ", " : "",
                       promises[i].text);
        length = strlen(out);
    }
}

const char *compare_verdict_words(compare_verdict verdict)
{
    static const char *const words[] = {
        [COMPARE_HELD] = "held",
        [COMPARE_SHOWED] = "showed its flaw",
        [COMPARE_HID] = "hid its flaw",
        [COMPARE_VOID] = "void",
        [COMPARE_BROKE] = "broke a promise",
    };
    return words[verdict];
}
