/*
 * The auditor on sales that a failover took back: with allow_lost each lost order is counted and
 * excuses what follows from it; every other lie is found as ever. Strictly, it fails. No Redis.
 */
#include "test/support/lt_facts.h"
#include "test/support/testing.h"

enum { UNITS = 3 };

static const struct audit_options allowing = {.allow_lost = true};

static void add_ask(struct facts *facts, int64_t at_ns, struct row who, answer_kind answer)
{
    lt_facts_ask(facts, (struct ask){.invoked_ns = at_ns,
                                     .rid = who.rid,
                                     .buyer = who.buyer,
                                     .answer = answer,
                                     .order = who.order});
}

/* Three units: sold to b0, b1 and b2, b3 comes too late. Then the failover takes b2's order back:
 * b4 gets the unit, b2 asks again in vain. */
static void make_failover(struct facts *facts)
{
    static const struct row b0 = {"100", "b0", "k0"}, b1 = {"101", "b1", "k1"},
                            b4 = {"104", "b4", "k4"};

    lt_facts_put_up(facts, UNITS);
    lt_facts_sell(facts, b0, 2);
    lt_facts_sell(facts, b1, 1);
    lt_facts_sell(facts, b4, 0);
    add_ask(facts, 10, b0, ANSWER_CREATED);
    add_ask(facts, 11, b1, ANSWER_CREATED);
    add_ask(facts, 12, (struct row){"102", "b2", "k2"}, ANSWER_CREATED);
    add_ask(facts, 20, (struct row){NULL, "b3", "k3"}, ANSWER_SOLD_OUT);
    add_ask(facts, 21, (struct row){"102", "b2", "k2b"}, ANSWER_ALREADY_ORDERED);
    add_ask(facts, 40, b4, ANSWER_CREATED);
    add_ask(facts, 50, (struct row){NULL, "b2", "k2c"}, ANSWER_SOLD_OUT);
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 19, .left = 0}));
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 39, .left = 1}));
}

TEST(a_lost_order_is_counted_and_excuses_what_follows_from_it)
{
    struct audit_result result;
    struct facts facts;

    make_failover(&facts);
    assert_true(audit_run(&facts, &allowing, &result, NULL));
    assert_int_equal(AUDIT_PASS, result.verdict);
    assert_int_equal(1, result.lost);
    assert_int_equal(4, result.accepted);
    assert_int_equal(3, result.sold);
    assert_non_null(strstr(result.checks[AUDIT_ACKNOWLEDGED_KEPT].words,
                           "1 of 4 accepted orders lost, first: order 102 of b2"));
    facts_done(&facts);
}

TEST(strictly_each_of_these_is_a_fault)
{
    struct audit_result result;
    struct facts facts;

    make_failover(&facts);
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_int_equal(CHECK(CONSERVATION) | CHECK(ACKNOWLEDGED_KEPT) | CHECK(NO_UNDERSELL) |
                         CHECK(HONEST_ANSWERS),
                     lt_facts_checks(&result, AUDIT_FAIL));
    assert_int_equal(1, result.lost); /* counted all the same */
    facts_done(&facts);
}

/* ---- what else may follow ---- */

static void buyer_gets_another(struct facts *facts)
{
    facts->asks[6].outcome = ASK_OK;
    facts->asks[6].answer = ANSWER_CREATED;
    facts->asks[6].order = "104";
    facts->asks[5].outcome = ASK_FAIL;
    facts->asks[5].answer = ANSWER_SOLD_OUT;
    facts->asks[5].order = NULL;
    facts->orders[2] = facts->sold[2] = (struct row){"104", "b2", "k2c"};
}

static void unit_is_left(struct facts *facts)
{
    facts->order_count--, facts->sold_count--, facts->log_count--, facts->ask_count--;
    facts->left = 1;
    facts->asks[5] = facts->asks[6]; /* b2 was told sold-out; and b4 did not come */
    facts->asks[5].answer = ANSWER_SOLD_OUT;
}

/* Executed and never answered, seen once by the buyer himself, then lost: sold to somebody else. */
static void unheard_order_is_lost(struct facts *facts)
{
    facts->asks[2].outcome = ASK_UNANSWERED;
    facts->asks[2].answer = ANSWER_NONE;
    facts->asks[2].order = NULL;
    facts->asks[2].answered_ns = 0;
    assert_true(facts_add_resolution(facts, (struct resolution){"k2", "b2", NULL}));
}

TEST(lost_is_what_somebody_was_told_of)
{
    static const struct {
        void (*change)(struct facts *facts);
        size_t lost;
    } rows[] = {{buyer_gets_another, 1}, {unit_is_left, 1}, {unheard_order_is_lost, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct audit_result result;
        struct facts facts;

        make_failover(&facts);
        rows[i].change(&facts);
        assert_true(audit_run(&facts, &allowing, &result, NULL));
        assert_int_equal(rows[i].lost, result.lost);
        facts_done(&facts);
    }
}

/* ---- what may not ---- */

static void order_in_the_ledger_alone(struct facts *facts)
{
    facts->orders[0] = facts->orders[--facts->order_count]; /* b0's */
}

static void sold_twice(struct facts *facts)
{
    assert_true(facts_add_sold(facts, (struct row){"105", "b4", "k4"}));
}

static void oversold(struct facts *facts)
{
    static const struct row b5 = {"105", "b5", "k5"};

    lt_facts_sell(facts, b5, -1);
    add_ask(facts, 41, b5, ANSWER_CREATED);
}

static void kept_winner_denied(struct facts *facts)
{
    add_ask(facts, 51, (struct row){NULL, "b1", "k1b"}, ANSWER_SOLD_OUT);
}

static void refusal_executed(struct facts *facts)
{
    facts->asks[5].outcome = ASK_FAIL;
    facts->asks[5].answer = ANSWER_LOCK_TIMEOUT;
    facts->asks[5].order = NULL;
}

static void other_id_told(struct facts *facts)
{
    facts->asks[1].order = "100"; /* which is b0's, and not lost */
}

static void one_lost_order_told_to_two(struct facts *facts)
{
    add_ask(facts, 13, (struct row){"102", "b6", "k6"}, ANSWER_CREATED);
}

static void shown_an_order_that_never_was(struct facts *facts)
{
    add_ask(facts, 52, (struct row){"777", "b6", "k6"}, ANSWER_ALREADY_ORDERED);
}

static void shown_the_order_of_another(struct facts *facts)
{
    facts->asks[4].order = "100";
}

static void more_late_comers_than_lost(struct facts *facts)
{
    facts->asks[1].invoked_ns = 30; /* b1 came after b3 had been told sold-out */
    facts->asks[1].answered_ns = 35;
}

static void more_left_than_lost(struct facts *facts)
{
    unit_is_left(facts);
    facts->initial = facts->log[0].initial = facts->log[0].left = UNITS + 1;
    facts->steps[0].units = UNITS + 1;
    facts->log[1].left++, facts->log[2].left++, facts->left++;
    facts->samples[0].left++, facts->samples[1].left++;
}

static void stock_rises_by_more_than_lost(struct facts *facts)
{
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 18, .left = 0}));
    facts->samples[1].left = 2;
}

static void unknown_resolved_to_what_is_lost(struct facts *facts)
{
    unheard_order_is_lost(facts);
    facts->resolutions[0].order = "102";
}

TEST(what_a_lost_order_gave_back_may_go_anywhere_and_all_else_is_judged_as_ever)
{
    static const struct lt_facts_row rows[] = {
        {"failover", NULL, 0, 0},
        {"the buyer gets another one", buyer_gets_another, 0, 0},
        {"the unit is left", unit_is_left, 0, 0},
        {"nobody had heard of the order", unheard_order_is_lost, 0, 0},
        {"order in the ledger alone", order_in_the_ledger_alone,
         CHECK(CONSERVATION) | CHECK(ACKNOWLEDGED_KEPT), 0},
        {"sold twice", sold_twice,
         CHECK(CONSERVATION) | CHECK(ONE_PER_BUYER) | CHECK(ONE_PER_REQUEST), 0},
        {"oversold", oversold, CHECK(CONSERVATION) | CHECK(NO_UNDERSELL), 0},
        {"a winner who kept his order is denied", kept_winner_denied, CHECK(HONEST_ANSWERS), 0},
        {"a refusal was executed", refusal_executed,
         CHECK(NO_UNACCOUNTED) | CHECK(REFUSED_NOT_EXECUTED), 0},
        {"told another's order", other_id_told, CHECK(ACKNOWLEDGED_KEPT), 0},
        {"one lost order, told to two", one_lost_order_told_to_two, CHECK(ACKNOWLEDGED_KEPT), 0},
        {"shown an order that never was", shown_an_order_that_never_was, CHECK(HONEST_ANSWERS), 0},
        {"shown the order of another", shown_the_order_of_another, CHECK(HONEST_ANSWERS), 0},
        {"more late comers than orders lost", more_late_comers_than_lost, CHECK(NO_UNDERSELL), 0},
        {"more units left than orders lost", more_left_than_lost, CHECK(NO_UNDERSELL), 0},
        {"the stock rises by more", stock_rises_by_more_than_lost, CHECK(CONSERVATION), 0},
        {"an unknown resolved to what is lost", unknown_resolved_to_what_is_lost,
         CHECK(UNKNOWN_RESOLVED), 0},
    };

    lt_facts_judge(make_failover, &allowing, rows, sizeof rows / sizeof *rows);
}

/* ---- names ---- */

struct names {
    char text[64];
};

static bool add_name(const struct ask *ask, void *arg)
{
    struct names *names = arg;
    size_t length = strlen(names->text);
    (void)snprintf(names->text + length, sizeof names->text - length, "%s of %s;", ask->order,
                   ask->buyer);
    return true;
}

TEST(lost_orders_are_named_once_each)
{
    struct names names = {.text = ""};
    struct facts facts;

    make_failover(&facts);
    add_ask(&facts, 14, (struct row){"102", "b2", "k2"}, ANSWER_REPLAYED);
    add_ask(&facts, 15, (struct row){"107", "b7", "k7"}, ANSWER_CREATED);
    assert_true(audit_each_lost(&facts, add_name, &names, NULL));

    assert_string_equal("102 of b2;107 of b7;", names.text);
    facts_done(&facts);
}
