/*
 * Checks on a sale that is paid for later: what became of each order and of the money for it. The facts
 * about an order, or a payment, are neighbours in the view: those of the ledger first, in its order,
 * then what the keys say, the provider, and its buyer. Pure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

/* The facts about one order, or one payment. */
struct pay_run {
    const struct pay_fact *const *facts;
    size_t count;
};

static struct pay_run order_run(const struct audit_view *view, size_t from)
{
    const struct pay_fact *const *pays = view->pays_by_order;
    size_t end = from;
    while (end < view->facts->pay_count && strcmp(pays[end]->order, pays[from]->order) == 0)
        end++;
    return (struct pay_run){pays + from, end - from};
}

static struct pay_run payment_run(const struct audit_view *view, size_t from)
{
    const struct pay_fact *const *pays = view->pays_by_payment;
    size_t end = from;
    while (end < view->payment_count && strcmp(pays[end]->payment, pays[from]->payment) == 0)
        end++;
    return (struct pay_run){pays + from, end - from};
}

/* The first that this source says of it; NULL: it does not. */
static const struct pay_fact *find(struct pay_run run, pay_source source, pay_step step)
{
    for (size_t i = 0; i < run.count; i++)
        if (run.facts[i]->source == source && run.facts[i]->step == step) return run.facts[i];
    return NULL;
}

static size_t count(struct pay_run run, pay_source source, pay_step step)
{
    size_t found = 0;

    for (size_t i = 0; i < run.count; i++)
        if (run.facts[i]->source == source && run.facts[i]->step == step) found++;
    return found;
}

static bool is_return(const struct pay_fact *fact)
{
    return fact->step == PAY_CANCELLED || fact->step == PAY_EXPIRED;
}

static bool is_final(const struct pay_fact *fact)
{
    return fact->step == PAY_PAID || is_return(fact);
}

/* ---- units ---- */

struct audit_payments audit_count_payments(const struct audit_view *view)
{
    const struct facts *facts = view->facts;
    const struct pay_run all = {view->pays_by_order, facts->pay_count};
    size_t due = count(all, PAY_BY_KEYS, PAY_OWED) + count(all, PAY_BY_KEYS, PAY_SENT);

    return (struct audit_payments){
        .held = count(all, PAY_BY_LEDGER, PAY_HELD),
        .paid = count(all, PAY_BY_LEDGER, PAY_PAID),
        .cancelled = count(all, PAY_BY_LEDGER, PAY_CANCELLED),
        .expired = count(all, PAY_BY_LEDGER, PAY_EXPIRED),
        .owed = due,
        .refunds = due + count(all, PAY_BY_KEYS, PAY_DONE),
    };
}

static void count_offenders(const struct audit_view *view, struct offenders *bad)
{
    const struct facts *facts = view->facts;
    const struct audit_payments all = audit_count_payments(view);
    const struct {
        const char *what;
        int64_t said, counted;
    } rows[] = {
        {"paid", facts->paid, (int64_t)all.paid},
        {"cancelled", facts->cancelled, (int64_t)all.cancelled},
        {"expired", facts->expired, (int64_t)all.expired},
        {"due", facts->due, (int64_t)all.held - (int64_t)(all.paid + all.cancelled + all.expired)}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].said != rows[i].counted)
            audit_blame(bad, "%" PRId64 " orders are %s, in the ledger %" PRId64, rows[i].said,
                        rows[i].what, rows[i].counted);
}

/* Units by what they are. */
struct units {
    int64_t put_up, held, paid;
};

static void count_move(const struct pay_fact *pay, struct units *units)
{
    if (pay->step == PAY_HELD) units->held++;
    if (is_final(pay)) units->held--;
    if (pay->step == PAY_PAID) units->paid++;
}

static struct units count_entries(const struct facts *facts, struct offenders *bad)
{
    const struct pay_fact *pay = facts->pays;
    const struct pay_fact *end = pay + facts->pay_count;
    struct units units = {.put_up = 0};

    for (size_t i = 0; i < facts->log_count; i++) {
        const struct ledger_entry *entry = &facts->log[i];
        units.put_up += entry->units + (entry->initial > 0 ? entry->initial : 0);
        for (; pay < end && (pay->source != PAY_BY_LEDGER || pay->entry <= i); pay++)
            if (pay->source == PAY_BY_LEDGER) count_move(pay, &units);
        if (units.held < 0 || units.put_up != entry->left + units.held + units.paid)
            audit_blame(
                bad, "ledger %s: %" PRId64 " left, %" PRId64 " held, %" PRId64 " paid of %" PRId64,
                entry->id, entry->left, units.held, units.paid, units.put_up);
    }
    return units;
}

void audit_unit_conservation(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};
    const struct units units = count_entries(view->facts, &bad);

    count_offenders(view, &bad);
    if (!audit_is_settled(view, check, &bad, "contradictions"))
        audit_say(check, AUDIT_PASS,
                  "%" PRId64 " left + %" PRId64 " held + %" PRId64 " paid = %" PRId64
                  ", so at all %zu entries",
                  view->facts->left, units.held, units.paid, units.put_up, view->facts->log_count);
}

/* ---- orders ---- */

/* How it ended, by the ledger; NULL: it is held. */
static const struct pay_fact *end_of(struct pay_run run)
{
    for (size_t i = 0; i < run.count; i++)
        if (run.facts[i]->source == PAY_BY_LEDGER && is_final(run.facts[i])) return run.facts[i];
    return NULL;
}

static const char *step_name(const struct pay_fact *fact)
{
    static const char *const names[] = {"held", "paid", "cancelled", "expired"};
    return !fact ? "held" : (size_t)fact->step < 4 ? names[fact->step] : "?";
}

static void blame_states(struct pay_run run, struct offenders *bad)
{
    const struct pay_fact *last = end_of(run);
    size_t held = count(run, PAY_BY_LEDGER, PAY_HELD);

    if (held != 1 && (held || last))
        audit_blame(bad, "order %s was sold %zu times", run.facts[0]->order, held);
    for (size_t i = 0; i < run.count; i++) {
        const struct pay_fact *fact = run.facts[i];
        bool is_row = fact->source == PAY_BY_KEYS && fact->step <= PAY_EXPIRED;
        if (fact->source == PAY_BY_LEDGER && is_final(fact) && fact != last)
            audit_blame(bad, "order %s is %s, and then %s", fact->order, step_name(last),
                        step_name(fact));
        if (is_row && fact->step != (last ? last->step : PAY_HELD))
            audit_blame(bad, "order %s is %s, by the ledger %s", fact->order, step_name(fact),
                        step_name(last));
    }
}

void audit_one_final_state(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->facts->pay_count;) {
        struct pay_run run = order_run(view, i);
        i += run.count;
        blame_states(run, &bad);
    }
    if (!audit_is_settled(view, check, &bad, "orders in two states"))
        audit_say(check, AUDIT_PASS, "each of %zu orders is in one", view->row_count);
}

void audit_return_matches_hold(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->facts->pay_count;) {
        struct pay_run run = order_run(view, i);
        const struct pay_fact *held = find(run, PAY_BY_LEDGER, PAY_HELD);
        const struct pay_fact *last = end_of(run);
        i += run.count;
        for (size_t n = 0; n < run.count; n++) {
            const struct pay_fact *fact = run.facts[n];
            if (fact->source != PAY_BY_LEDGER || !is_return(fact)) continue;
            if (!held || held->entry >= fact->entry || strcmp(held->buyer, fact->buyer) != 0)
                audit_blame(&bad, "order %s of %s did not hold a unit", fact->order, fact->buyer);
            else if (fact != last)
                audit_blame(&bad, "order %s gave back what it had no more", fact->order);
        }
    }
    if (!audit_is_settled(view, check, &bad, "returns of nothing"))
        audit_say(check, AUDIT_PASS, "%zu units came back, each once", audit_count_returned(view));
}

void audit_no_early_expiry(const struct audit_view *view, struct audit_check *check)
{
    const struct ledger_entry *log = view->facts->log;
    struct offenders bad = {.count = 0};
    size_t expired = 0;

    for (size_t i = 0; i < view->facts->pay_count;) {
        struct pay_run run = order_run(view, i);
        const struct pay_fact *held = find(run, PAY_BY_LEDGER, PAY_HELD);
        const struct pay_fact *over = find(run, PAY_BY_LEDGER, PAY_EXPIRED);
        i += run.count;
        if (!held || !over) continue;
        expired++;
        int64_t early_ms = log[held->entry].pay_by_ms - strtoll(log[over->entry].id, NULL, 10);
        if (early_ms > 0)
            audit_blame(&bad, "order %s expired %" PRId64 " ms early", over->order, early_ms);
    }
    if (!audit_is_settled(view, check, &bad, "expired before their time"))
        audit_say(check, AUDIT_PASS, "%zu expired, none early", expired);
}

/* ---- money ---- */

/* Is that the money that was charged? */
static bool is_sum(const struct pay_fact *charge, int64_t amount, const char *currency)
{
    return charge->amount == amount && currency && charge->currency &&
           strcmp(charge->currency, currency) == 0;
}

static const struct pay_fact *refund_of(struct pay_run run)
{
    const struct pay_fact *refund = find(run, PAY_BY_KEYS, PAY_OWED);
    if (!refund) refund = find(run, PAY_BY_KEYS, PAY_SENT);
    return refund ? refund : find(run, PAY_BY_KEYS, PAY_DONE);
}

static void blame_money(const struct facts *facts, struct pay_run run, struct offenders *bad)
{
    const struct pay_fact *charge = find(run, PAY_BY_PROVIDER, PAY_CHARGED);
    const struct pay_fact *paid = find(run, PAY_BY_LEDGER, PAY_PAID);
    const struct pay_fact *refund = refund_of(run);
    const struct pay_fact *use = paid ? paid : refund;
    const char *payment = run.facts[0]->payment;

    if (find(run, PAY_BY_PROVIDER, PAY_FORGED))
        audit_blame(bad, "an event of %s was taken that is forged or old", payment);
    if (!charge && use)
        audit_blame(bad, "%s of order %s was never charged", payment, use->order);
    else if (charge && !use)
        audit_blame(bad, "%s of order %s neither paid it nor is owed back", payment, charge->order);
    else if (charge && paid && refund)
        audit_blame(bad, "%s paid order %s, and is owed back", payment, paid->order);
    else if (charge && strcmp(charge->order, use->order) != 0)
        audit_blame(bad, "%s was for order %s, not %s", payment, charge->order, use->order);
    else if (charge && !is_sum(charge, paid ? facts->amount : refund->amount,
                               paid ? facts->currency : refund->currency))
        audit_blame(bad, "%s: %" PRId64 " were charged", payment, charge->amount);
}

void audit_payment_explained(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    if (!view->facts->has_charges) {
        audit_say(check, AUDIT_VOID, "no log of the payment provider was given");
        return;
    }
    for (size_t i = 0; i < view->payment_count;) {
        struct pay_run run = payment_run(view, i);
        i += run.count;
        blame_money(view->facts, run, &bad);
    }
    const struct audit_payments all = audit_count_payments(view);
    if (!audit_is_settled(view, check, &bad, "payments nobody can explain"))
        audit_say(check, AUDIT_PASS, "%zu charges paid as many orders, %zu are owed back or were",
                  all.paid, all.refunds);
}

void audit_refund_once(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->payment_count;) {
        struct pay_run run = payment_run(view, i);
        const struct pay_fact *row = refund_of(run);
        const struct pay_fact *owed = find(run, PAY_BY_LEDGER, PAY_OWED);
        size_t times = count(run, PAY_BY_LEDGER, PAY_OWED);
        i += run.count;
        pay_step due = find(run, PAY_BY_LEDGER, PAY_DONE)   ? PAY_DONE
                       : find(run, PAY_BY_LEDGER, PAY_SENT) ? PAY_SENT
                                                            : PAY_OWED;
        if (times != (row ? 1 : 0))
            audit_blame(&bad, "the refund of %s came to be owed %zu times", run.facts[0]->payment,
                        times);
        else if (row && owed &&
                 (row->step != due || row->amount != owed->amount ||
                  strcmp(row->order, owed->order) != 0))
            audit_blame(&bad, "the refund of %s is not what the ledger says", owed->payment);
        if (owed && find(run, PAY_BY_LEDGER, PAY_PAID))
            audit_blame(&bad, "%s paid order %s, and is owed back", owed->payment, owed->order);
    }
    const struct audit_payments all = audit_count_payments(view);
    if (!audit_is_settled(view, check, &bad, "wrong refunds"))
        audit_say(check, AUDIT_PASS, "%zu refunds, %zu of them still owed", all.refunds, all.owed);
}

void audit_told_paid_is_paid(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};
    size_t told = 0;

    for (size_t i = 0; i < view->facts->pay_count;) {
        struct pay_run run = order_run(view, i);
        i += run.count;
        for (size_t n = 0; n < run.count; n++) {
            const struct pay_fact *fact = run.facts[n];
            if (fact->source < PAY_BY_PROVIDER || !is_final(fact)) continue;
            told++;
            bool is_lost = view->allow_lost && !audit_has_order(view, fact->order);
            if (!find(run, PAY_BY_KEYS, fact->step) && !is_lost)
                audit_blame(&bad, "%s was told that order %s is %s",
                            fact->source == PAY_BY_BUYER ? fact->buyer : "the provider",
                            fact->order, step_name(fact));
        }
    }
    if (!audit_is_settled(view, check, &bad, "told what is not so"))
        audit_say(check, AUDIT_PASS, "%zu times somebody was told, and so it is", told);
}
