/*
 * Checks on what Redis holds: is every unit accounted for, once? And no_undersell, which asks the
 * clients only who wanted a unit. Pure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

static bool is_restock(const struct ledger_entry *entry)
{
    return strcmp(entry->event, "restocked") == 0;
}

/* Units put up in all: at first, and by restocks that somebody asked for. */
static int64_t units_put_up(const struct audit_view *view)
{
    int64_t units = view->facts->initial;

    for (size_t i = 0; i < view->act_count; i++)
        if (view->acts[i].is_asked) units += view->acts[i].entry->units;
    return units;
}

size_t audit_count_returned(const struct audit_view *view)
{
    size_t returned = 0;

    for (size_t i = 0; i < view->facts->log_count; i++)
        returned += view->facts->log[i].returned;
    return returned;
}

/* All that the clients' words alone can show of it. */
static void find_told_offenders(const struct facts *facts, struct offenders *bad)
{
    if ((int64_t)facts->order_count > facts->initial)
        audit_blame(bad, "%zu orders were told, of %" PRId64 " units", facts->order_count,
                    facts->initial);
}

/* Redis after the run: the numbers themselves. */
static void stock_offenders(const struct audit_view *view, struct offenders *bad)
{
    const struct facts *facts = view->facts;
    int64_t orders = (int64_t)facts->order_count - (int64_t)audit_count_returned(view);
    int64_t put_up = units_put_up(view);

    if (facts->malformed) audit_blame(bad, "unreadable entry in Redis: %s", facts->malformed);
    if (!facts->has_stock) audit_blame(bad, "the stock key holds no number");
    if (facts->initial < 0) audit_blame(bad, "the sale has no initial stock");
    if (!facts->has_stock || facts->initial < 0) return;
    if (facts->left < 0) audit_blame(bad, "%" PRId64 " units left", facts->left);
    if (orders + facts->left != put_up)
        audit_blame(bad, "%" PRId64 " orders + %" PRId64 " left is not %" PRId64 " put up", orders,
                    facts->left, put_up);
}

/* The ledger stream of a piece: does each entry follow from the one before it? */
static void stream_offenders(const struct facts *facts, const struct piece *piece,
                             struct offenders *bad)
{
    if (piece->log.count == 0) {
        audit_blame(bad, "the ledger stream is empty");
        return;
    }
    const struct ledger_entry *first = &facts->log[piece->log.from];
    const struct ledger_entry *last = first + piece->log.count - 1;
    if (strcmp(first->event, "created") != 0 || first->initial != piece->initial)
        audit_blame(bad, "the ledger does not start with created, initial %" PRId64,
                    piece->initial);
    if (first->left != first->initial)
        audit_blame(bad, "created with %" PRId64 " left", first->left);
    for (const struct ledger_entry *entry = first + 1; entry <= last; entry++) {
        int64_t due = entry[-1].left - (int64_t)entry->sold + (int64_t)entry->returned;
        int64_t gain = is_restock(entry) ? entry->units : audit_moved_in(entry);
        bool is_none = entry->units < 1 && (is_restock(entry) || audit_is_move(entry));
        if (entry->left != due + gain || is_none)
            audit_blame(bad, "ledger %s: %s %zu left %" PRId64 " after %" PRId64, entry->id,
                        entry->event, entry->sold, entry->left, entry[-1].left);
    }
    if (piece->has_stock && last->left != piece->left)
        audit_blame(bad, "the ledger ends with %" PRId64 " left, the stock says %" PRId64,
                    last->left, piece->left);
}

/* Whether its id is the time: after the first of a millisecond ids are counted, also while a clock that
   was set back has yet to come there again. */
static bool is_timed(const struct ledger_entry *entry)
{
    const char *count = strchr(entry->id, '-');

    return count && strcmp(count, "-0") == 0;
}

/* What a restock has put up is not sold before its time: it stays in the stock until then. */
static void cool_offenders(const struct facts *facts, const struct piece *piece,
                           struct offenders *bad)
{
    if (piece->log.count == 0) return; /* perhaps there is no log at all */
    const struct ledger_entry *end = facts->log + piece->log.from + piece->log.count;

    for (size_t i = 0; i < piece->log.count; i++) {
        const struct ledger_entry *restock = &facts->log[piece->log.from + i];
        const struct ledger_entry *entry = restock + 1;

        if (restock->sellable_ms == 0) continue;
        for (; entry < end && strtoll(entry->id, NULL, 10) < restock->sellable_ms; entry++)
            if (entry->left < restock->units && is_timed(entry))
                audit_blame(bad, "ledger %s: units of the restock %s sold before %" PRId64,
                            entry->id, restock->id, restock->sellable_ms);
    }
}

static void row_offenders(const struct audit_view *view, struct offenders *bad)
{
    for (size_t i = 0; i < view->row_count; i++) {
        const struct audit_row *row = &view->rows[i];
        if (!row->in_ledger)
            audit_blame(bad, "order %s of %s is not in the ledger", row->order, row->buyer);
        if (!row->in_orders)
            audit_blame(bad, "order %s of %s is in the ledger only", row->order, row->buyer);
    }
}

/* Purchases of which an answer is missing or says nothing. */
static size_t count_doubtful(const struct audit_view *view)
{
    size_t doubtful = 0;

    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        if (audit_is_doubtful(run)) doubtful++;
        i += run.count;
    }
    return doubtful;
}

static void sample_offenders(const struct audit_view *view, struct offenders *bad)
{
    const struct facts *facts = view->facts;
    int64_t given_back = (int64_t)audit_given_back(view, count_doubtful(view));
    bool may_rise = false;

    for (size_t i = 0; i < facts->log_count; i++)
        may_rise = may_rise || is_restock(&facts->log[i]) || facts->log[i].returned ||
                   audit_is_move(&facts->log[i]); /* what was on its way is seen again */
    for (size_t i = 0; i < facts->sample_count; i++) {
        int64_t left = view->samples[i].left;
        int64_t before = i ? view->samples[i - 1].left : facts->initial;
        if (left < 0) audit_blame(bad, "the stock was seen at %" PRId64, left);
        if (left - before > given_back && !may_rise)
            audit_blame(bad, "the stock was seen rising from %" PRId64 " to %" PRId64, before,
                        left);
    }
}

void audit_conservation(const struct audit_view *view, struct audit_check *check)
{
    const struct facts *facts = view->facts;
    struct offenders bad = {.count = 0};

    if (facts->is_alone) {
        find_told_offenders(facts, &bad);
        if (!audit_is_settled(view, check, &bad, "contradiction"))
            audit_say(check, AUDIT_PASS, "%zu orders told, of %" PRId64 " units",
                      facts->order_count, facts->initial);
        return;
    }
    stock_offenders(view, &bad);
    for (size_t i = 0; i < view->piece_count; i++) {
        stream_offenders(facts, &view->pieces[i], &bad);
        cool_offenders(facts, &view->pieces[i], &bad);
    }
    row_offenders(view, &bad);
    sample_offenders(view, &bad);
    if (!audit_is_settled(view, check, &bad, "contradictions"))
        audit_say(check, AUDIT_PASS,
                  "%zu orders + %" PRId64 " left = %" PRId64 "; hash and ledger equal; %zu samples",
                  facts->order_count - audit_count_returned(view), facts->left, units_put_up(view),
                  facts->sample_count);
}

void audit_one_per_buyer(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 1; i < view->row_count; i++) {
        const struct audit_row *row = view->by_buyer[i];
        if (strcmp(row->buyer, view->by_buyer[i - 1]->buyer) == 0)
            audit_blame_for(row->buyer, &bad, "%s has orders %s and %s", row->buyer,
                            view->by_buyer[i - 1]->order, row->order);
    }
    if (!audit_is_settled(view, check, &bad, "orders too many"))
        audit_say(check, AUDIT_PASS, "%zu orders of as many buyers", view->row_count);
}

void audit_one_per_request(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 1; i < view->row_count; i++) {
        const struct audit_row *row = view->by_rid[i];
        if (strcmp(row->rid, view->by_rid[i - 1]->rid) == 0)
            audit_blame_for(row->buyer, &bad, "%s has orders %s and %s", row->rid,
                            view->by_rid[i - 1]->order, row->order);
    }
    for (size_t i = 1; i < view->row_count; i++)
        if (strcmp(view->rows[i].order, view->rows[i - 1].order) == 0)
            audit_blame(&bad, "order id %s is used twice", view->rows[i].order);
    if (!audit_is_settled(view, check, &bad, "repetitions"))
        audit_say(check, AUDIT_PASS, "%zu orders of as many purchases", view->row_count);
}

/* Wanted a unit, and what stood in the way. */
struct demand {
    size_t buyers;
    size_t unserved;        /* of these: without order */
    size_t kept_out;        /* of these: their answers name another reason */
    int64_t sold_out_at_ns; /* first time somebody was told sold-out; 0: never */
    const char *told_buyer; /* who that was */
    const char *left_buyer; /* has no order and no answer that explains it */
    size_t unheard;         /* unknown purchases without an order */
};

/* An answer that explains why a buyer got nothing although units were left. */
static bool explains(const struct ask *ask)
{
    return ask->outcome != ASK_OK && ask->answer != ANSWER_SOLD_OUT &&
           ask->answer != ANSWER_ALREADY_ORDERED;
}

static void measure_demand(const struct audit_view *view, struct demand *demand)
{
    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_buyer_run(view, i);
        bool is_explained = false;
        for (size_t n = 0; n < run.count; n++) {
            const struct ask *ask = run.asks[n];
            is_explained = is_explained || explains(ask);
            if (ask->answer != ANSWER_SOLD_OUT) continue;
            if (demand->told_buyer && ask->answered_ns >= demand->sold_out_at_ns) continue;
            demand->sold_out_at_ns = ask->answered_ns;
            demand->told_buyer = ask->buyer;
        }
        demand->buyers++;
        i += run.count;
        if (audit_row_of_buyer(view, run.asks[0]->buyer) || audit_has_excused(view, run)) continue;
        demand->unserved++;
        if (is_explained) demand->kept_out++;
        if (!is_explained && !demand->left_buyer) demand->left_buyer = run.asks[0]->buyer;
    }
}

static void count_unheard(const struct audit_view *view, struct demand *demand)
{
    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        if (audit_is_unknown(run) && !audit_row_of_rid(view, run.asks[0]->rid)) demand->unheard++;
        i += run.count;
    }
}

/* Orders created for purchases first asked for after somebody had been told sold-out. */
static void late_winners(const struct audit_view *view, const struct demand *demand,
                         struct offenders *bad)
{
    for (size_t i = 0; i < view->facts->log_count; i++)
        if (is_restock(&view->facts->log[i]) || view->facts->log[i].returned) return;
    for (size_t i = 0; demand->told_buyer && i < view->facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        if (audit_run_has(run, ASK_OK) && run.asks[0]->invoked_ns > demand->sold_out_at_ns &&
            (!view->allow_lost || audit_row_of_rid(view, run.asks[0]->rid)))
            audit_blame(bad, "%s got a unit asked for after %s was told sold-out",
                        run.asks[0]->buyer, demand->told_buyer);
        i += run.count;
    }
}

/* Units that came back are left for good since the first sample that shows them, behind the last that
 * shows none and the last that was sold. */
static int64_t left_since_ns(const struct audit_view *view)
{
    const struct facts *facts = view->facts;
    int64_t taken_ns = 0;

    for (size_t i = 0; i < facts->ask_count; i++)
        if (facts->asks[i].outcome == ASK_OK && facts->asks[i].answered_ns > taken_ns)
            taken_ns = facts->asks[i].answered_ns;
    for (size_t i = 0; i < facts->sample_count; i++)
        if (view->samples[i].left <= 0 && view->samples[i].at_ns > taken_ns)
            taken_ns = view->samples[i].at_ns;
    for (size_t i = 0; i < facts->sample_count; i++)
        if (view->samples[i].at_ns > taken_ns) return view->samples[i].at_ns;
    return INT64_MAX;
}

/* Who was told sold-out before units came back, and not since, had his answer. */
static void forget_old_refusals(const struct audit_view *view, struct demand *demand)
{
    int64_t since_ns = left_since_ns(view);

    demand->told_buyer = NULL;
    for (size_t i = 0; i < view->facts->ask_count && !demand->told_buyer; i++)
        if (view->facts->asks[i].answer == ANSWER_SOLD_OUT &&
            view->facts->asks[i].invoked_ns > since_ns)
            demand->told_buyer = view->facts->asks[i].buyer;
}

void audit_no_undersell(const struct audit_view *view, struct audit_check *check)
{
    struct demand demand = {.buyers = 0};
    struct offenders bad = {.count = 0};
    int64_t left = view->facts->left;

    measure_demand(view, &demand);
    count_unheard(view, &demand);
    late_winners(view, &demand, &bad);
    if (left > 0 && audit_count_returned(view)) {
        forget_old_refusals(view, &demand);
        demand.left_buyer = NULL; /* as good as told: nobody promised him what came back */
    }
    size_t given_back = audit_given_back(view, demand.unheard);
    size_t sold_again = bad.count + (left > 0 ? (size_t)left : 0);
    bool is_given_back = demand.told_buyer && sold_again > 0 && sold_again <= given_back;
    if (is_given_back)
        bad.count = 0;
    else if (left > 0 && demand.told_buyer)
        audit_blame(&bad, "%s was told sold-out, and %" PRId64 " units are left", demand.told_buyer,
                    left);
    else if (left > 0 && demand.left_buyer)
        audit_blame(&bad, "%s got nothing, and %" PRId64 " units are left", demand.left_buyer,
                    left);
    else if (left > 0 && demand.kept_out && audit_has_stuck_lock(view))
        audit_blame(&bad, "%zu buyers got nothing, and %" PRId64 " units are left behind a lock",
                    demand.kept_out, left);
    if (audit_is_settled(view, check, &bad, "units kept from buyers")) return;
    if (left > 0 && demand.kept_out && !is_given_back)
        audit_say(check, AUDIT_VOID, "%" PRId64 " left; %zu buyers were kept out otherwise", left,
                  demand.kept_out);
    else
        audit_say(check, AUDIT_PASS, "%zu buyers, %zu units sold, %" PRId64 " left%s",
                  demand.buyers, view->row_count - audit_count_returned(view), left,
                  is_given_back ? "; lost orders gave units back" : "");
}

size_t audit_count_oversold(const struct audit_view *view)
{
    int64_t taken = (int64_t)view->row_count - (int64_t)audit_count_returned(view);
    int64_t over = taken - units_put_up(view);

    return view->facts->initial >= 0 && over > 0 ? (size_t)over : 0;
}

size_t audit_count_undersold(const struct audit_view *view)
{
    struct demand demand = {.buyers = 0};
    int64_t taken = (int64_t)view->row_count - (int64_t)audit_count_returned(view);
    int64_t unsold = units_put_up(view) - taken;

    if (view->facts->initial < 0 || unsold <= 0) return 0;
    measure_demand(view, &demand);
    return demand.unserved < (size_t)unsold ? demand.unserved : (size_t)unsold;
}

bool audit_has_stuck_lock(const struct audit_view *view)
{
    return view->facts->lock == LOCK_ENDLESS || view->facts->lock == LOCK_OUTLIVES;
}

void audit_no_stuck_lock(const struct audit_view *view, struct audit_check *check)
{
    const struct facts *facts = view->facts;

    switch (facts->lock) {
    case LOCK_NOT_LOOKED:
        audit_say(check, AUDIT_VOID, "nobody looked for the lock");
        return;
    case LOCK_ENDLESS:
        audit_say(check, AUDIT_FAIL, "the lock is left, and without a lease it never ends");
        return;
    case LOCK_OUTLIVES:
        audit_say(check, AUDIT_FAIL, "the lock is still there after its lease of %" PRId64 " ms",
                  facts->lock_ms);
        return;
    case LOCK_NONE:
    case LOCK_LEASED:
        break;
    }
    if (view->row_count == 0)
        audit_say(check, AUDIT_VOID, "nothing was sold");
    else if (facts->lock == LOCK_LEASED)
        audit_say(check, AUDIT_PASS, "the lock is left, and its lease ends in %" PRId64 " ms",
                  facts->lock_ms);
    else
        audit_say(check, AUDIT_PASS, "no lock is left");
}
