/*
 * A sale that is paid for later, in which everything went well that can: each lie about it is found by
 * the laws that must find it, and by no other.
 */
#include "test/support/lt_facts.h"
#include "test/support/testing.h"

enum { UNITS = 4, AMOUNT = 500, PAY_BY_MS = 40 };

/* ---- a clean sale: one order is paid, one cancelled, one expires, is paid too late, and one is held ---- */

static void enter(struct facts *facts, const char *id, const char *event, int64_t left)
{
    assert_true(facts_add_log(
        facts,
        (struct ledger_entry){
            .id = id, .event = event, .left = left, .initial = -1, .epoch = 1, .ends_ms = -1}));
    facts->left = left;
}

static void say(struct facts *facts, pay_source source, pay_step step, const char *order,
                const char *payment)
{
    struct ledger_entry *last = &facts->log[facts->log_count - 1];
    struct pay_fact pay = {.source = source,
                           .step = step,
                           .order = order,
                           .payment = payment,
                           .buyer = order[2] == '0'   ? "b0"
                                    : order[2] == '1' ? "b1"
                                                      : "b2",
                           .amount = payment ? AMOUNT : -1,
                           .currency = payment ? "CNY" : NULL,
                           .entry = facts->log_count - 1};

    if (order[2] == '3') pay.buyer = "b3";
    if (source == PAY_BY_LEDGER && (step == PAY_CANCELLED || step == PAY_EXPIRED)) last->returned++;
    assert_true(facts_add_pay(facts, pay));
}

static void sell(struct facts *facts, struct row row, int64_t left)
{
    lt_facts_sell(facts, row, left);
    facts->log[facts->log_count - 1].pay_by_ms = PAY_BY_MS;
    say(facts, PAY_BY_LEDGER, PAY_HELD, row.order, NULL);
    lt_facts_ask(facts, (struct ask){.invoked_ns = 10,
                                     .rid = row.rid,
                                     .buyer = row.buyer,
                                     .answer = ANSWER_CREATED,
                                     .order = row.order});
}

static void make_clean_sale(struct facts *facts)
{
    lt_facts_put_up(facts, UNITS);
    facts->window_ms = 30;
    facts->amount = AMOUNT;
    facts->currency = "CNY";
    facts->paid = facts->cancelled = facts->expired = facts->due = 1;
    facts->has_charges = true;
    sell(facts, (struct row){"100", "b0", "k0"}, 3);
    sell(facts, (struct row){"101", "b1", "k1"}, 2);
    sell(facts, (struct row){"102", "b2", "k2"}, 1);
    sell(facts, (struct row){"103", "b3", "k3"}, 0);
    enter(facts, "20-0", "paid", 0);
    say(facts, PAY_BY_LEDGER, PAY_PAID, "100", "p1");
    enter(facts, "30-0", "cancelled", 1);
    say(facts, PAY_BY_LEDGER, PAY_CANCELLED, "101", NULL);
    enter(facts, "40-0", "expired", 2);
    say(facts, PAY_BY_LEDGER, PAY_EXPIRED, "102", NULL);
    enter(facts, "50-0", "refund-owed", 2);
    say(facts, PAY_BY_LEDGER, PAY_OWED, "102", "p2");
    say(facts, PAY_BY_KEYS, PAY_PAID, "100", NULL);
    say(facts, PAY_BY_KEYS, PAY_CANCELLED, "101", NULL);
    say(facts, PAY_BY_KEYS, PAY_EXPIRED, "102", NULL);
    say(facts, PAY_BY_KEYS, PAY_HELD, "103", NULL);
    say(facts, PAY_BY_KEYS, PAY_OWED, "102", "p2");
    say(facts, PAY_BY_PROVIDER, PAY_CHARGED, "100", "p1");
    say(facts, PAY_BY_PROVIDER, PAY_CHARGED, "102", "p2");
    say(facts, PAY_BY_PROVIDER, PAY_PAID, "100", "p1");
    say(facts, PAY_BY_BUYER, PAY_PAID, "100", NULL);
    say(facts, PAY_BY_BUYER, PAY_CANCELLED, "101", NULL);
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 12, .left = 0}));
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 60, .left = 2}));
    lt_facts_ask(
        facts,
        (struct ask){.invoked_ns = 20, .rid = "k4", .buyer = "b4", .answer = ANSWER_SOLD_OUT});
}

/* ---- lies ---- */

static struct pay_fact *the(struct facts *facts, pay_source source, pay_step step)
{
    size_t i = 0;

    while (i < facts->pay_count && (facts->pays[i].source != source || facts->pays[i].step != step))
        i++;
    assert_true(i < facts->pay_count);
    return &facts->pays[i];
}

static void drop(struct facts *facts, struct pay_fact *pay)
{
    memmove(pay, pay + 1, (size_t)(facts->pays + facts->pay_count - pay - 1) * sizeof *pay);
    facts->pay_count--;
}

/* The ledger says more, behind the refund; its last entry is what the stock says. */
#define MORE(name, event, left_after, step, order, payment)                                        \
    static void name(struct facts *facts)                                                          \
    {                                                                                              \
        enter(facts, "60-0", event, left_after);                                                   \
        say(facts, PAY_BY_LEDGER, step, order, payment);                                           \
    }                                                                                              \
    _Static_assert(true, "")

MORE(cancelled_unit_comes_twice, "cancelled", 3, PAY_CANCELLED, "101", NULL);
MORE(expired_order_is_paid, "paid", 2, PAY_PAID, "102", "p2");
MORE(paid_order_expires, "expired", 3, PAY_EXPIRED, "100", NULL);
MORE(refund_is_owed_twice, "refund-owed", 2, PAY_OWED, "102", "p2");
MORE(refund_for_what_is_paid, "refund-owed", 2, PAY_OWED, "100", "p1");
MORE(refund_sent_by_the_ledger_alone, "refund-sent", 2, PAY_SENT, "102", "p2");

#define LIE(name, ...)                                                                             \
    static void name(struct facts *facts)                                                          \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    _Static_assert(true, "")

LIE(unit_comes_back_without_an_entry, facts->log[facts->log_count - 1].left++; facts->left++);
LIE(paid_is_counted_higher, facts->paid++);
LIE(expired_is_counted_lower, facts->expired--);
LIE(somebody_is_due_twice, facts->due++);
LIE(row_is_held_still, the(facts, PAY_BY_KEYS, PAY_EXPIRED)->step = PAY_HELD);
LIE(paid_row_is_cancelled, the(facts, PAY_BY_KEYS, PAY_PAID)->step = PAY_CANCELLED);
LIE(expired_a_millisecond_early, facts->log[facts->log_count - 2].id = "39-0");
LIE(return_names_another_buyer, the(facts, PAY_BY_LEDGER, PAY_CANCELLED)->buyer = "b3");
LIE(return_of_nobodys_order, the(facts, PAY_BY_LEDGER, PAY_EXPIRED)->order = "199");
LIE(no_charges, facts->has_charges = false);
LIE(late_payment_is_forgotten, drop(facts, the(facts, PAY_BY_LEDGER, PAY_OWED));
    drop(facts, the(facts, PAY_BY_KEYS, PAY_OWED)));
LIE(paid_without_a_charge, drop(facts, the(facts, PAY_BY_PROVIDER, PAY_CHARGED)));
LIE(charged_more, the(facts, PAY_BY_PROVIDER, PAY_CHARGED)->amount++);
LIE(charged_in_another_currency, the(facts, PAY_BY_PROVIDER, PAY_CHARGED)->currency = "EUR");
LIE(charged_for_another_order, the(facts, PAY_BY_PROVIDER, PAY_CHARGED)->order = "103");
LIE(forged_event_is_taken, the(facts, PAY_BY_PROVIDER, PAY_PAID)->step = PAY_FORGED);
LIE(refund_row_is_gone, drop(facts, the(facts, PAY_BY_KEYS, PAY_OWED)));
LIE(less_is_owed, the(facts, PAY_BY_KEYS, PAY_OWED)->amount--);
LIE(told_paid_and_is_cancelled, the(facts, PAY_BY_BUYER, PAY_CANCELLED)->step = PAY_PAID);
LIE(told_cancelled_and_is_paid, the(facts, PAY_BY_BUYER, PAY_PAID)->step = PAY_CANCELLED);
LIE(provider_is_told_paid, the(facts, PAY_BY_PROVIDER, PAY_PAID)->order = "103");
LIE(sold_out_when_units_had_come_back, facts->asks[facts->ask_count - 1].invoked_ns = 61);
LIE(refund_is_done, say(facts, PAY_BY_LEDGER, PAY_SENT, "102", "p2");
    say(facts, PAY_BY_LEDGER, PAY_DONE, "102", "p2");
    the(facts, PAY_BY_KEYS, PAY_OWED)->step = PAY_DONE);

/* Ledger and rows must know of a sale without payment what they know of any: these are not looked at. */
static void is_not_paid_for(struct facts *facts)
{
    paid_row_is_cancelled(facts);
    no_charges(facts);
    facts->window_ms = 0;
}

TEST(each_lie_is_found_by_its_law)
{
    const unsigned unit = CHECK(UNIT_CONSERVATION), one = CHECK(ONE_FINAL_STATE),
                   back = CHECK(RETURN_MATCHES_HOLD), money = CHECK(PAYMENT_EXPLAINED),
                   refund = CHECK(REFUND_ONCE), told = CHECK(TOLD_PAID_IS_PAID);
    const struct lt_facts_row rows[] = {
        {"nothing", NULL, 0, 0},
        {"a refund is done", refund_is_done, 0, 0},
        {"not paid for", is_not_paid_for, 0, 0},
        {"a unit from nowhere", unit_comes_back_without_an_entry, unit | CHECK(CONSERVATION), 0},
        {"paid is higher", paid_is_counted_higher, unit, 0},
        {"expired is lower", expired_is_counted_lower, unit, 0},
        {"due twice", somebody_is_due_twice, unit, 0},
        {"a row is held still", row_is_held_still, one, 0},
        {"a paid row is cancelled", paid_row_is_cancelled, one | told, 0},
        {"a unit comes twice", cancelled_unit_comes_twice, unit | one | back, 0},
        {"paid after it expired", expired_order_is_paid, unit | one | money | refund, 0},
        {"expired after it was paid", paid_order_expires, unit | one | back, 0},
        {"another's unit comes back", return_names_another_buyer, back, 0},
        {"nobody's unit comes back", return_of_nobodys_order, one | back, 0},
        {"expired early", expired_a_millisecond_early, CHECK(NO_EARLY_EXPIRY), 0},
        {"no log of the provider", no_charges, 0, money},
        {"a late payment is forgotten", late_payment_is_forgotten, money, 0},
        {"paid without a charge", paid_without_a_charge, money, 0},
        {"charged more", charged_more, money, 0},
        {"another currency", charged_in_another_currency, money, 0},
        {"another order", charged_for_another_order, money, 0},
        {"a forged event is taken", forged_event_is_taken, money, 0},
        {"owed twice", refund_is_owed_twice, refund, 0},
        {"owed for what is paid", refund_for_what_is_paid, refund, 0},
        {"sent in the ledger alone", refund_sent_by_the_ledger_alone, refund, 0},
        {"the refund's row is gone", refund_row_is_gone, money | refund, 0},
        {"less is owed", less_is_owed, money | refund, 0},
        {"told paid", told_paid_and_is_cancelled, told, 0},
        {"told cancelled", told_cancelled_and_is_paid, told, 0},
        {"the provider is told paid", provider_is_told_paid, told, 0},
        {"sold out, and units were left", sold_out_when_units_had_come_back, CHECK(NO_UNDERSELL),
         0},
    };

    lt_facts_judge(make_clean_sale, NULL, rows, sizeof rows / sizeof *rows);
}

TEST(payments_are_counted)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(audit_run(&facts, NULL, &result, NULL));
    assert_int_equal(4, result.payments.held);
    assert_int_equal(1, result.payments.paid);
    assert_int_equal(1, result.payments.cancelled);
    assert_int_equal(1, result.payments.expired);
    assert_int_equal(1, result.payments.owed);
    assert_int_equal(PROMISE_COUNT, result.promise_count);
    facts_done(&facts);
}
