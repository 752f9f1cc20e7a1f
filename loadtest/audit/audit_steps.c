/*
 * Checks on what operators did: the ledger's word for it, the sale's and that of the operators' log,
 * which are three hands. Pure.
 *
 * Clocks: the ledger has that of Redis, an operators' log and an order id that of who wrote them.
 * They may be CLOCKS_APART_MS apart; where the order of the ledger decides, no clock is asked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { CLOCKS_APART_MS = 10000, ORDER_MS_SHIFT = 22 };
static const int64_t order_epoch_ms = 1704067200000; /* 2024-01-01, of order ids */

static int64_t moment_of(const struct ledger_entry *entry)
{
    return strtoll(entry->id, NULL, 10);
}

/* ---- who asked for it? ---- */

/* What an operator asks for to get that entry; NULL: nothing, it is a purchase. */
static const char *what_makes(const char *event)
{
    static const struct {
        const char *event, *what;
    } acts[] = {{"created", "create"}, {"restocked", "restock"}, {"paused", "pause"},
                {"resumed", "resume"}, {"patched", "patch"},     {"ended", "end"}};

    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].event, event) == 0) return acts[i].what;
    return NULL;
}

/* Is this what the step asked for? */
static bool is_like(const struct audit_act *act, const struct operator_step *step)
{
    const struct ledger_entry *entry = act->entry;

    return strcmp(act->what, step->what) == 0 && act->units == step->units &&
           strcmp(entry->key ? entry->key : "", step->key) == 0;
}

/* May the step, of which that much is known, have made this entry? */
static bool may_have_made(const struct operator_step *step, const struct audit_act *act)
{
    int64_t at_ms = moment_of(act->entry);

    if (!is_like(act, step) || at_ms < step->asked_ms - CLOCKS_APART_MS) return false;
    if (step->result != STEP_DONE) return step->result == STEP_MAYBE;
    return act->entry->epoch == step->epoch && at_ms <= step->told_ms + CLOCKS_APART_MS;
}

static bool find_step(const struct facts *facts, const struct audit_act *act, step_result result,
                      bool *is_used)
{
    for (size_t i = 0; i < facts->step_count; i++) {
        const struct operator_step *step = &facts->steps[i];
        if (is_used[i] || step->result != result || !may_have_made(step, act)) continue;
        return is_used[i] = true;
    }
    return false;
}

/* What an operator has asked for to get that entry, the first segment's for all of them. */
static int64_t units_of(const struct audit_view *view, const struct ledger_entry *entry)
{
    int64_t units = entry->initial;

    if (units < 0) return entry->units;
    for (size_t i = 1; i < view->piece_count; i++) {
        const struct range *log = &view->pieces[i].log;
        if (log->count && view->facts->log[log->from].initial > 0)
            units += view->facts->log[log->from].initial;
    }
    return units;
}

/* A step is taken in each segment, and is one act: the first segment's. A restock is in one of them. */
static bool is_act(const struct audit_view *view, size_t at, const char *what)
{
    return what && (at < view->pieces[0].log.count || strcmp(what, "restock") == 0);
}

bool audit_match_steps(struct audit_view *view)
{
    const struct facts *facts = view->facts;
    bool *is_used = calloc(facts->step_count + 1, sizeof *is_used);

    view->acts = calloc(facts->log_count + 1, sizeof *view->acts);
    bool is_ready = view->acts && is_used;
    for (size_t i = 0; is_ready && i < facts->log_count; i++) {
        const struct ledger_entry *entry = &facts->log[i];
        struct audit_act act = {entry, what_makes(entry->event), units_of(view, entry), true};
        if (!is_act(view, i, act.what)) continue;
        if (facts->has_operators)
            act.is_asked = find_step(facts, &act, STEP_DONE, is_used) ||
                           find_step(facts, &act, STEP_MAYBE, is_used);
        view->acts[view->act_count++] = act;
    }
    free(is_used);
    return is_ready;
}

/* Is it in the ledger, done by this step or, where nothing was left to do, before it? */
static bool is_in_ledger(const struct audit_view *view, const struct operator_step *step)
{
    for (size_t i = 0; i < view->act_count; i++) {
        const struct ledger_entry *entry = view->acts[i].entry;
        bool is_epoch = entry->epoch == step->epoch ||
                        (entry->epoch < step->epoch && step->units == 0) ||
                        step->result == STEP_REPEATED;
        if (is_epoch && is_like(&view->acts[i], step) &&
            moment_of(entry) <= step->told_ms + CLOCKS_APART_MS)
            return true;
    }
    return false;
}

void audit_operators_agree(const struct audit_view *view, struct audit_check *check)
{
    const struct facts *facts = view->facts;
    struct offenders bad = {.count = 0};
    size_t lost = 0;

    if (!facts->has_operators) {
        audit_say(check, AUDIT_VOID, "no operators' log: did anybody put up, restock, end this?");
        return;
    }
    for (size_t i = 0; i < view->act_count; i++) {
        const struct ledger_entry *entry = view->acts[i].entry;
        if (!view->acts[i].is_asked)
            audit_blame(&bad, "ledger %s: %s in epoch %" PRId64 ", asked for by no operator then",
                        entry->id, entry->event, entry->epoch);
    }
    for (size_t i = 0; i < facts->step_count; i++) {
        const struct operator_step *step = &facts->steps[i];
        bool is_told = step->result == STEP_DONE || step->result == STEP_REPEATED;
        if (!is_told || is_in_ledger(view, step)) continue;
        if (view->allow_lost)
            lost++;
        else
            audit_blame(&bad, "%s of %" PRId64 " units, key \"%s\", is not in the ledger",
                        step->what, step->units, step->key);
    }
    if (!audit_is_settled(view, check, &bad, "steps of one side alone"))
        audit_say(check, AUDIT_PASS, "%zu steps asked for, %zu in the ledger, %zu lost",
                  facts->step_count, view->act_count, lost);
}

/* ---- epochs and units of restocks ---- */

static bool is_key_used(const struct audit_view *view, const struct audit_act *act)
{
    const char *key = act->entry->key;

    if (!key || !*key) return false;
    for (const struct audit_act *before = view->acts; before < act; before++)
        if (before->entry->key && strcmp(before->entry->key, key) == 0) return true;
    return false;
}

static void epoch_offenders(const struct facts *facts, const struct piece *piece,
                            struct offenders *bad)
{
    int64_t epoch = 1;
    int64_t units = 0;

    for (size_t i = 0; i < piece->log.count; i++) {
        const struct ledger_entry *entry = &facts->log[piece->log.from + i];
        if (strcmp(entry->event, "restocked") == 0 || strcmp(entry->event, "restored") == 0)
            epoch++;
        if (entry->epoch != epoch)
            audit_blame(bad, "ledger %s: %s in epoch %" PRId64 ", not in %" PRId64, entry->id,
                        entry->event, entry->epoch, epoch);
        if (!audit_is_move(entry)) units += entry->units;
    }
    if (piece->epoch != epoch)
        audit_blame(bad, "the sale is in epoch %" PRId64 ", its ledger in %" PRId64, piece->epoch,
                    epoch);
    if (piece->restocked != units)
        audit_blame(bad, "%" PRId64 " units restocked, %" PRId64 " in the ledger", piece->restocked,
                    units);
}

void audit_restocks_add_up(const struct audit_view *view, struct audit_check *check)
{
    const struct facts *facts = view->facts;
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->piece_count; i++)
        epoch_offenders(facts, &view->pieces[i], &bad);
    for (size_t i = 0; i < view->act_count; i++)
        if (is_key_used(view, &view->acts[i]))
            audit_blame(&bad, "ledger %s: a second restock under key \"%s\"",
                        view->acts[i].entry->id, view->acts[i].entry->key);
    if (!audit_is_settled(view, check, &bad, "contradictions"))
        audit_say(check, AUDIT_PASS, "%" PRId64 " units restocked, epoch %" PRId64,
                  facts->restocked, facts->epoch);
}

/* ---- the end ---- */

/* The sale's state, step by step, and what was sold in one that does not sell. Units move in any. */
static void state_offenders(const struct facts *facts, const struct piece *piece,
                            struct offenders *bad)
{
    static const struct {
        const char *event, *state;
    } moves[] = {{"paused", "paused"}, {"resumed", "open"}, {"ended", "ended"}};
    const char *state = "open";

    for (size_t i = 0; i < piece->log.count; i++) {
        const struct ledger_entry *entry = &facts->log[piece->log.from + i];
        if (audit_is_move(entry)) continue;
        bool is_over = strcmp(state, "ended") == 0 && strcmp(entry->event, "restored") != 0;
        if (is_over || (entry->sold && strcmp(state, "open") != 0))
            audit_blame(bad, "ledger %s: %s while the sale was %s", entry->id, entry->event, state);
        for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
            if (strcmp(entry->event, moves[m].event) == 0) state = moves[m].state;
    }
    if (!piece->state || strcmp(piece->state, state) != 0)
        audit_blame(bad, "the sale's state is %s, by its ledger %s",
                    piece->state ? piece->state : "(none)", state);
}

/* Sold outside of the sale's times, by Redis' clock; an end holds since it was last changed. */
static void window_offenders(const struct facts *facts, const struct piece *piece,
                             struct offenders *bad)
{
    bool is_end_known = true;

    for (size_t i = piece->log.count; i-- > 0;) {
        const struct ledger_entry *entry = &facts->log[piece->log.from + i];
        int64_t at_ms = moment_of(entry);
        bool is_late =
            is_end_known && facts->ends_ms > 0 && at_ms > facts->ends_ms + CLOCKS_APART_MS;
        if (entry->sold && (is_late || at_ms < facts->starts_ms - CLOCKS_APART_MS))
            audit_blame(bad, "ledger %s: sold outside of %" PRId64 " to %" PRId64, entry->id,
                        facts->starts_ms, facts->ends_ms);
        if (is_end_known && entry->ends_ms >= 0 && entry->ends_ms != facts->ends_ms)
            audit_blame(bad, "the sale ends at %" PRId64 ", by its ledger at %" PRId64,
                        facts->ends_ms, entry->ends_ms);
        is_end_known = is_end_known && entry->ends_ms < 0;
    }
}

/* Orders that were made, by their ids, after the ledger says it ended. */
static void made_late(const struct facts *facts, const struct piece *piece, struct offenders *bad)
{
    size_t behind = piece->log.from + piece->log.count;

    while (behind > piece->log.from && audit_is_move(&facts->log[behind - 1]))
        behind--;
    if (behind == piece->log.from) return;
    const struct ledger_entry *last = &facts->log[behind - 1];

    if (strcmp(last->event, "ended") != 0) return;
    for (size_t i = piece->sold.from; i < piece->sold.from + piece->sold.count; i++) {
        int64_t made_ms =
            (strtoll(facts->sold[i].order, NULL, 10) >> ORDER_MS_SHIFT) + order_epoch_ms;
        if (made_ms > moment_of(last) + CLOCKS_APART_MS)
            audit_blame(bad, "order %s was made %" PRId64 " ms after the end", facts->sold[i].order,
                        made_ms - moment_of(last));
    }
}

/* Orders asked for after somebody had been told that the sale has ended. */
static void asked_late(const struct audit_view *view, struct offenders *bad)
{
    const struct facts *facts = view->facts;
    const struct ask *told = NULL;

    for (size_t i = 0; i < facts->ask_count; i++)
        if (facts->asks[i].answer == ANSWER_ENDED &&
            (!told || facts->asks[i].answered_ns < told->answered_ns))
            told = &facts->asks[i];
    for (size_t i = 0; told && !view->allow_lost && i < facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        i += run.count;
        if (run.asks[0]->invoked_ns > told->answered_ns && audit_run_has(run, ASK_OK))
            audit_blame(bad, "%s got a unit asked for after %s was told that it has ended",
                        run.asks[0]->buyer, told->buyer);
    }
}

void audit_nothing_after_end(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->piece_count; i++) {
        state_offenders(view->facts, &view->pieces[i], &bad);
        window_offenders(view->facts, &view->pieces[i], &bad);
        made_late(view->facts, &view->pieces[i], &bad);
    }
    asked_late(view, &bad);
    if (!audit_is_settled(view, check, &bad, "steps too early or too late"))
        audit_say(check, AUDIT_PASS, "each of %zu units was sold in its time", view->row_count);
}
