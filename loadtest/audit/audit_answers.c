/*
 * Checks on what the clients were told, against the orders there are. Pure.
 */
#include <string.h>

#include "verdict.h"

/* ---- every acknowledgement is an order ---- */

static bool is_kept(const struct audit_view *view, const struct ask *ask)
{
    const struct audit_row *const *row = audit_row_of_rid(view, ask->rid);
    const struct audit_row *const *end = view->by_rid + view->row_count;

    for (; row && row < end && strcmp((*row)->rid, ask->rid) == 0; row++)
        if ((*row)->in_orders && strcmp((*row)->buyer, ask->buyer) == 0 && ask->order &&
            strcmp((*row)->order, ask->order) == 0)
            return true;
    return false;
}

void audit_acknowledged_kept(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};
    size_t acknowledged = 0;

    for (size_t i = 0; i < view->facts->ask_count; i++) {
        const struct ask *ask = view->asks_by_rid[i];
        if (ask->outcome != ASK_OK) continue;
        acknowledged++;
        if (!is_kept(view, ask) && !audit_is_excused(view, ask))
            audit_blame_for(ask->buyer, &bad, "%s of %s was told order %s", ask->rid, ask->buyer,
                            ask->order ? ask->order : "(none)");
    }
    if (audit_is_settled(view, check, &bad, "answers 201 without their order")) return;
    if (acknowledged == 0)
        audit_say(check, AUDIT_VOID, "no purchase was acknowledged");
    else if (view->lost_count)
        audit_say(check, AUDIT_PASS, "%zu of %zu accepted orders lost, first: order %s of %s",
                  view->lost_count, view->accepted, view->lost[0]->order, view->lost[0]->buyer);
    else
        audit_say(check, AUDIT_PASS, "all %zu answers 201 have their order", acknowledged);
}

/* ---- every order has its purchase ---- */

void audit_no_unaccounted(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->row_count; i++) {
        const struct audit_row *row = &view->rows[i];
        struct ask_run run = audit_find_rid(view, row->rid);
        if (!audit_run_has(run, ASK_OK) && !audit_is_unknown(run))
            audit_blame_for(row->buyer, &bad, "order %s of %s (%s)", row->order, row->buyer,
                            row->rid);
    }
    if (!audit_is_settled(view, check, &bad, "orders neither told 201 nor unknown"))
        audit_say(check, AUDIT_PASS, "all %zu orders were told or are unknown", view->row_count);
}

/* A replay is due when an ask from before its answer may have bought, which no refused one may. */
static size_t count_replays(struct ask_run run, struct offenders *bad)
{
    int64_t bought_ns = INT64_MAX; /* at the earliest */
    size_t replays = 0;
    bool are_due = true;

    for (size_t i = 0; i < run.count; i++) {
        const struct ask *ask = run.asks[i];
        bool may_have_bought = ask->outcome != ASK_FAIL && ask->answer != ANSWER_REPLAYED;
        if (may_have_bought && ask->invoked_ns < bought_ns) bought_ns = ask->invoked_ns;
    }
    for (size_t i = 0; i < run.count; i++) {
        if (run.asks[i]->answer != ANSWER_REPLAYED) continue;
        replays++;
        if (run.asks[i]->answered_ns < bought_ns) are_due = false;
    }
    if (!are_due)
        audit_blame_for(run.asks[0]->buyer, bad, "%s got a replay, its first answer was %s",
                        run.asks[0]->rid, facts_answer_name(run.asks[0]->answer));
    return replays;
}

void audit_refused_not_executed(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};
    size_t refused = 0;
    size_t replays = 0;

    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        i += run.count;
        replays += count_replays(run, &bad);
        if (audit_run_has(run, ASK_OK) || audit_is_unknown(run)) continue;
        refused++;
        const struct audit_row *const *row = audit_row_of_rid(view, run.asks[0]->rid);
        if (row)
            audit_blame_for((*row)->buyer, &bad, "%s was told %s and has order %s", (*row)->rid,
                            facts_answer_name(run.asks[0]->answer), (*row)->order);
    }
    if (!audit_is_settled(view, check, &bad, "refusals were executed"))
        audit_say(check, AUDIT_PASS, "%zu refused purchases, no order of theirs; %zu replays due",
                  refused, replays);
}

void audit_no_phantom(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->row_count; i++) {
        const struct audit_row *row = &view->rows[i];
        struct ask_run run = audit_find_rid(view, row->rid);
        bool is_asked = false;
        for (size_t n = 0; n < run.count && !is_asked; n++)
            is_asked = strcmp(run.asks[n]->buyer, row->buyer) == 0;
        if (!is_asked)
            audit_blame_for(row->buyer, &bad, "order %s of %s (%s)", row->order, row->buyer,
                            row->rid);
    }
    if (!audit_is_settled(view, check, &bad, "orders nobody asked for"))
        audit_say(check, AUDIT_PASS, "all %zu orders were asked for by their buyers",
                  view->row_count);
}

/* ---- the unknown ---- */

/* Does the later answer say what the orders hash says of this buyer? */
static bool is_truth(const struct audit_view *view, const struct resolution *resolution)
{
    const struct audit_row *const *row = audit_row_of_buyer(view, resolution->buyer);
    const struct audit_row *const *end = view->by_buyer + view->row_count;
    bool has_order = false;

    for (; row && row < end && strcmp((*row)->buyer, resolution->buyer) == 0; row++) {
        if (!(*row)->in_orders) continue;
        has_order = true;
        if (resolution->order && strcmp((*row)->order, resolution->order) == 0) return true;
    }
    return !resolution->order && !has_order;
}

void audit_unknown_resolved(const struct audit_view *view, struct audit_check *check)
{
    const struct facts *facts = view->facts;
    struct offenders bad = {.count = 0};
    size_t unknown = 0;

    for (size_t i = 0; i < facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        i += run.count;
        if (!audit_is_unknown(run)) continue;
        unknown++;
        if (!audit_has_resolution(view, run.asks[0]->rid))
            audit_blame_for(run.asks[0]->buyer, &bad, "%s of %s was never answered",
                            run.asks[0]->rid, run.asks[0]->buyer);
    }
    for (size_t i = 0; i < facts->resolution_count; i++) {
        const struct resolution *resolution = &facts->resolutions[i];
        if (!is_truth(view, resolution))
            audit_blame_for(resolution->buyer, &bad, "%s was told %s afterwards", resolution->buyer,
                            resolution->order ? resolution->order : "that there is no order");
    }
    if (!audit_is_settled(view, check, &bad, "unknown or wrongly resolved"))
        audit_say(check, AUDIT_PASS, "%zu unknown outcomes, all resolved to the truth", unknown);
}

/* ---- honest answers ---- */

static bool denies(const struct ask *ask)
{
    return ask->answer == ANSWER_SOLD_OUT || ask->answer == ANSWER_NOT_FOUND ||
           ask->answer == ANSWER_ENDED;
}

/* Told sold-out (or not found, ended) although an earlier request had already been told 201. */
static void denied_winners(const struct audit_view *view, struct ask_run run, struct offenders *bad)
{
    int64_t won_at_ns = 0;

    for (size_t i = 0; i < run.count; i++) {
        const struct ask *ask = run.asks[i];
        if (ask->outcome != ASK_OK || audit_is_excused(view, ask)) continue;
        if (won_at_ns == 0 || ask->answered_ns < won_at_ns) won_at_ns = ask->answered_ns;
    }
    for (size_t i = 0; won_at_ns && i < run.count; i++) {
        const struct ask *ask = run.asks[i];
        if (denies(ask) && ask->invoked_ns > won_at_ns)
            audit_blame_for(ask->buyer, bad, "winner %s was told %s by %s", ask->buyer,
                            facts_answer_name(ask->answer), ask->rid);
    }
}

/* Was there an order once, which is lost now: told to this buyer, or executed and never heard of? */
static bool was_there_once(const struct audit_view *view, struct ask_run run, const char *order)
{
    if (!view->allow_lost || (order && audit_has_order(view, order))) return false;
    return audit_is_doubtful(run) || audit_has_excused(view, run);
}

/* Told already-ordered, but there is no such order. */
static void empty_already(const struct audit_view *view, struct ask_run run, struct offenders *bad)
{
    for (size_t i = 0; i < run.count; i++) {
        const struct ask *ask = run.asks[i];
        if (ask->answer != ANSWER_ALREADY_ORDERED) continue;
        const struct audit_row *const *row = audit_row_of_buyer(view, ask->buyer);
        bool is_kept_order = row && (!ask->order || strcmp((*row)->order, ask->order) == 0);
        if (is_kept_order || was_there_once(view, run, ask->order)) continue;
        if (!row)
            audit_blame_for(ask->buyer, bad, "%s was told already-ordered and has no order",
                            ask->buyer);
        else
            audit_blame_for(ask->buyer, bad, "%s was shown order %s and has %s", ask->buyer,
                            ask->order, (*row)->order);
    }
}

void audit_honest_answers(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};
    size_t winners = 0;

    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_buyer_run(view, i);
        i += run.count;
        if (audit_run_has(run, ASK_OK)) winners++;
        denied_winners(view, run, &bad);
        empty_already(view, run, &bad);
    }
    if (audit_is_settled(view, check, &bad, "dishonest answers")) return;
    if (winners == 0)
        audit_say(check, AUDIT_VOID, "nobody won");
    else
        audit_say(check, AUDIT_PASS, "%zu winners, none was denied", winners);
}
