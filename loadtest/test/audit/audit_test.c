/*
 * The auditor against doctored facts: a clean sale passes every check, and each lie is found by
 * exactly the checks that must find it. No Redis, no files.
 */
#include "test/support/lt_facts.h"
#include "test/support/testing.h"

enum { UNITS = 3 };

/* ---- a clean sale: buyers b0..b4 want 3 units ---- */

static void make_clean_sale(struct facts *facts)
{
    static const struct ask asks[] = {
        {.invoked_ns = 10, .rid = "k0", .buyer = "b0", .answer = ANSWER_CREATED, .order = "100"},
        {.invoked_ns = 11, .rid = "k1", .buyer = "b1", .answer = ANSWER_CREATED, .order = "101"},
        {.invoked_ns = 12, .rid = "k2", .buyer = "b2", .answer = ANSWER_OUTCOME_UNKNOWN},
        {.invoked_ns = 20, .rid = "k3", .buyer = "b3", .answer = ANSWER_SOLD_OUT},
        {.invoked_ns = 21, .rid = "k4", .buyer = "b4", .answer = ANSWER_NONE},
        {.invoked_ns = 30, .rid = "k0", .buyer = "b0", .answer = ANSWER_REPLAYED, .order = "100"},
        {.invoked_ns = 31,
         .rid = "k1b",
         .buyer = "b1",
         .answer = ANSWER_ALREADY_ORDERED,
         .order = "101"},
    };

    lt_facts_put_up(facts, UNITS);
    lt_facts_sell(facts, (struct row){"100", "b0", "k0"}, 2);
    lt_facts_sell(facts, (struct row){"101", "b1", "k1"}, 1);
    lt_facts_sell(facts, (struct row){"102", "b2", "k2"}, 0);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        lt_facts_ask(facts, asks[i]);
    assert_true(facts_add_resolution(facts, (struct resolution){"k2", "b2", "102"}));
    assert_true(facts_add_resolution(facts, (struct resolution){"k4", "b4", NULL}));
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 9, .left = 3}));
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 15, .left = 0}));
}

/* ---- lies ---- */

static void drop_order(struct facts *facts)
{
    facts->orders[0] = facts->orders[--facts->order_count]; /* b0's, told 201 */
}

static void drop_order_everywhere(struct facts *facts)
{
    drop_order(facts);
    facts->sold[0] = facts->sold[--facts->sold_count];
}

static void double_order(struct facts *facts)
{
    assert_true(facts_add_sold(facts, facts->sold[0]));
}

static void double_order_with_new_id(struct facts *facts)
{
    assert_true(facts_add_sold(facts, (struct row){"199", "b0", "k0"}));
}

static void second_order_of_a_buyer(struct facts *facts)
{
    assert_true(facts_add_sold(facts, (struct row){"199", "b1", "k1b"}));
}

static void invent_order(struct facts *facts)
{
    assert_true(facts_add_order(facts, (struct row){"199", "ghost", "k9"}));
}

static void oversell_by_one(struct facts *facts)
{
    lt_facts_sell(facts, (struct row){"103", "b5", "k5"}, 0);
    lt_facts_ask(facts, (struct ask){.invoked_ns = 13,
                                     .rid = "k5",
                                     .buyer = "b5",
                                     .answer = ANSWER_CREATED,
                                     .order = "103"});
}

static void stock_too_high(struct facts *facts)
{
    facts->left = 1;
}

static void stock_negative(struct facts *facts)
{
    facts->left = -1;
}

static void stock_is_no_number(struct facts *facts)
{
    facts->has_stock = false;
}

static void entry_is_unreadable(struct facts *facts)
{
    facts->malformed = "orders: b7";
}

static void ledger_skips_a_unit(struct facts *facts)
{
    facts->log[1].left = 1;
}

static void ledger_has_no_created(struct facts *facts)
{
    facts->log[0].event = "opened";
}

static void created_with_other_initial(struct facts *facts)
{
    facts->log[0].initial = 4;
}

static void negative_sample(struct facts *facts)
{
    facts->samples[1].left = -1;
}

static void rising_sample(struct facts *facts)
{
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 16, .left = 1}));
}

static void other_order_id_told(struct facts *facts)
{
    facts->asks[0].order = "777";
}

static void order_of_another_buyer(struct facts *facts)
{
    facts->asks[0].buyer = "b9";
    facts->asks[5].buyer = "b9";
}

static void refusal_was_executed(struct facts *facts)
{
    facts->asks[1].outcome = ASK_FAIL;
    facts->asks[1].answer = ANSWER_LOCK_TIMEOUT;
    facts->asks[1].order = NULL;
}

static void unknown_unresolved(struct facts *facts)
{
    facts->resolution_count--;
}

static void unknown_denied(struct facts *facts)
{
    facts->resolutions[0].order = NULL;
}

static void unknown_with_wrong_order(struct facts *facts)
{
    facts->resolutions[0].order = "100";
}

static void unknown_given_an_order(struct facts *facts)
{
    facts->resolutions[1].order = "100";
}

static void winner_told_sold_out(struct facts *facts)
{
    facts->asks[6].answer = ANSWER_SOLD_OUT;
    facts->asks[6].order = NULL;
}

static void winner_told_not_found(struct facts *facts)
{
    facts->asks[6].answer = ANSWER_NOT_FOUND;
    facts->asks[6].order = NULL;
}

static void already_without_order(struct facts *facts)
{
    facts->asks[3].answer = ANSWER_ALREADY_ORDERED;
}

static void already_with_wrong_order(struct facts *facts)
{
    facts->asks[6].order = "100";
}

static void undersell(struct facts *facts)
{
    facts->initial = facts->left = 4; /* one more unit, consistently, and nobody got it */
    facts->left = 1;
    facts->log[0].left = facts->log[0].initial = facts->steps[0].units = 4;
    for (size_t i = 1; i < facts->log_count; i++)
        facts->log[i].left++;
    facts->samples[0].left = 4;
    facts->samples[1].left = 1;
}

static void undersell_to_a_silent_buyer(struct facts *facts)
{
    undersell(facts);
    facts->asks[3].answer = ANSWER_ALREADY_ORDERED; /* no word of sold-out, and no order */
}

static void sold_out_told_too_early(struct facts *facts)
{
    facts->asks[3].invoked_ns = 1;
    facts->asks[3].answered_ns = 2;
}

static void lock_never_ends(struct facts *facts)
{
    facts->lock = LOCK_ENDLESS;
}

static void lock_outlives_its_lease(struct facts *facts)
{
    facts->lock = LOCK_OUTLIVES;
    facts->lock_ms = 300;
}

static void undersell_behind_a_lock(struct facts *facts)
{
    undersell(facts);
    lock_never_ends(facts);
    facts->asks[3].answer = ANSWER_LOCK_TIMEOUT;
}

/* ---- no lies ---- */

static void nothing_was_sold(struct facts *facts)
{
    facts->order_count = facts->sold_count = facts->ask_count = facts->resolution_count = 0;
    facts->sample_count = 0;
    facts->log_count = 1;
    facts->left = UNITS;
    lt_facts_ask(
        facts, (struct ask){.invoked_ns = 10, .rid = "k0", .buyer = "b0", .answer = ANSWER_PAUSED});
}

static void unit_vanished_without_a_sale(struct facts *facts)
{
    nothing_was_sold(facts);
    facts->ask_count = 0;
    facts->left = UNITS - 1;
}

static void nobody_wrote_anything_down(struct facts *facts)
{
    facts->ask_count = facts->resolution_count = 0;
}

static void no_clients(struct facts *facts)
{
    nobody_wrote_anything_down(facts);
    facts->has_clients = false;
    facts->sample_count = 0;
}

static void kept_out_otherwise(struct facts *facts)
{
    undersell(facts);
    facts->asks[3].answer = ANSWER_LOCK_TIMEOUT;
}

static void more_units_than_buyers(struct facts *facts)
{
    undersell(facts);
    facts->asks[3] = facts->asks[--facts->ask_count]; /* the refused buyer */
    facts->asks[4] = facts->asks[--facts->ask_count]; /* the unanswered one */
    facts->resolution_count--;
}

static void a_sample_of_another_file(struct facts *facts)
{
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 12, .left = 2}));
}

enum {
    OF_REDIS = (1 << AUDIT_CONSERVATION) | (1 << AUDIT_RESTOCKS_ADD_UP) |
               (1 << AUDIT_NOTHING_AFTER_END) | (1 << AUDIT_OPERATORS_AGREE) |
               (1 << AUDIT_ONE_PER_BUYER) | (1 << AUDIT_ONE_PER_REQUEST) |
               (1 << AUDIT_NO_STUCK_LOCK),
    OF_ANSWERS = LT_ALL_CHECKS & ~OF_REDIS,
};

static const struct lt_facts_row rows[] = {
    {"clean", NULL, 0, 0},
    {"nothing was sold", nothing_was_sold, 0, LT_ALL_CHECKS},
    {"a unit vanished without a sale", unit_vanished_without_a_sale, CHECK(CONSERVATION), 0},
    {"no client ledger", no_clients, 0, OF_ANSWERS},
    {"empty client ledger", nobody_wrote_anything_down, 0, OF_ANSWERS},
    {"units left by buyers kept out", kept_out_otherwise, 0, CHECK(NO_UNDERSELL)},
    {"more units than buyers", more_units_than_buyers, 0, 0},
    {"samples of several files, by time", a_sample_of_another_file, 0, 0},
    {"order dropped from the hash", drop_order, CHECK(CONSERVATION) | CHECK(ACKNOWLEDGED_KEPT), 0},
    {"order dropped from hash and ledger", drop_order_everywhere,
     CHECK(CONSERVATION) | CHECK(ACKNOWLEDGED_KEPT), 0},
    {"order doubled", double_order,
     CHECK(CONSERVATION) | CHECK(ONE_PER_BUYER) | CHECK(ONE_PER_REQUEST), 0},
    {"order doubled under a new id", double_order_with_new_id,
     CHECK(CONSERVATION) | CHECK(ONE_PER_BUYER) | CHECK(ONE_PER_REQUEST), 0},
    {"second order of a buyer, told already-ordered", second_order_of_a_buyer,
     CHECK(CONSERVATION) | CHECK(ONE_PER_BUYER) | CHECK(NO_UNACCOUNTED) |
         CHECK(REFUSED_NOT_EXECUTED),
     0},
    {"order invented", invent_order,
     CHECK(CONSERVATION) | CHECK(NO_UNACCOUNTED) | CHECK(NO_PHANTOM), 0},
    {"one order too many", oversell_by_one, CHECK(CONSERVATION), 0},
    {"stock off by one", stock_too_high, CHECK(CONSERVATION) | CHECK(NO_UNDERSELL), 0},
    {"stock below zero", stock_negative, CHECK(CONSERVATION), 0},
    {"stock is no number", stock_is_no_number, CHECK(CONSERVATION), 0},
    {"an entry in Redis is unreadable", entry_is_unreadable, CHECK(CONSERVATION), 0},
    {"ledger skips a unit", ledger_skips_a_unit, CHECK(CONSERVATION), 0},
    {"ledger without created", ledger_has_no_created, CHECK(CONSERVATION) | CHECK(OPERATORS_AGREE),
     0},
    {"created with another initial", created_with_other_initial,
     CHECK(CONSERVATION) | CHECK(OPERATORS_AGREE), 0},
    {"negative sample", negative_sample, CHECK(CONSERVATION), 0},
    {"rising sample", rising_sample, CHECK(CONSERVATION), 0},
    {"another order id was told", other_order_id_told, CHECK(ACKNOWLEDGED_KEPT), 0},
    {"order went to another buyer", order_of_another_buyer,
     CHECK(ACKNOWLEDGED_KEPT) | CHECK(NO_PHANTOM), 0},
    {"refusal was executed", refusal_was_executed,
     CHECK(NO_UNACCOUNTED) | CHECK(REFUSED_NOT_EXECUTED), 0},
    {"unknown never resolved", unknown_unresolved, CHECK(UNKNOWN_RESOLVED), 0},
    {"unknown order denied", unknown_denied, CHECK(UNKNOWN_RESOLVED), 0},
    {"unknown resolved to another's order", unknown_with_wrong_order, CHECK(UNKNOWN_RESOLVED), 0},
    {"unknown resolved to an order there is not", unknown_given_an_order, CHECK(UNKNOWN_RESOLVED),
     0},
    {"winner told sold-out", winner_told_sold_out, CHECK(HONEST_ANSWERS), 0},
    {"winner told not-found", winner_told_not_found, CHECK(HONEST_ANSWERS), 0},
    {"already-ordered without an order", already_without_order, CHECK(HONEST_ANSWERS), 0},
    {"already-ordered with another's order", already_with_wrong_order, CHECK(HONEST_ANSWERS), 0},
    {"a unit left, buyers told sold-out", undersell, CHECK(NO_UNDERSELL), 0},
    {"a unit left, a buyer without reason", undersell_to_a_silent_buyer,
     CHECK(NO_UNDERSELL) | CHECK(HONEST_ANSWERS), 0},
    {"sold-out told while units were left", sold_out_told_too_early, CHECK(NO_UNDERSELL), 0},
    {"a lock is left without a lease", lock_never_ends, CHECK(NO_STUCK_LOCK), 0},
    {"a lock outlives its lease", lock_outlives_its_lease, CHECK(NO_STUCK_LOCK), 0},
    {"a unit left behind an endless lock", undersell_behind_a_lock,
     CHECK(NO_UNDERSELL) | CHECK(NO_STUCK_LOCK), 0},
};

TEST(each_sale_is_judged_right)
{
    lt_facts_judge(make_clean_sale, NULL, rows, sizeof rows / sizeof *rows);
}

TEST(what_is_not_known_is_counted)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_int_equal(0, result.duplicate_buyers);
    assert_int_equal(2, result.unknown);
    facts_done(&facts);
}

TEST(duplicate_buyers_are_counted_once_each)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(facts_add_sold(&facts, (struct row){"197", "b0", "x1"}));
    assert_true(facts_add_sold(&facts, (struct row){"198", "b0", "x2"}));
    assert_true(facts_add_sold(&facts, (struct row){"199", "b1", "x3"}));
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_int_equal(2, result.duplicate_buyers);
    facts_done(&facts);
}

/* Two more units were put up at the end, and are left. */
static void restock(struct facts *facts, int64_t units, int64_t left)
{
    make_clean_sale(facts);
    rising_sample(facts);
    facts->left = left;
    assert_true(facts_add_log(
        facts,
        (struct ledger_entry){
            .id = "9-0", .event = "restocked", .left = left, .initial = -1, .units = units}));
    facts->has_operators = false;
}

TEST(a_restock_adds_exactly_its_units)
{
    static const struct {
        int64_t units, left;
        audit_verdict verdict;
    } cases[] = {{2, 2, AUDIT_PASS}, {2, 1, AUDIT_FAIL}, {2, 3, AUDIT_FAIL},
                 {0, 0, AUDIT_FAIL}, {0, 2, AUDIT_FAIL}, {-1, -1, AUDIT_FAIL}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct audit_result result;
        struct facts facts;

        restock(&facts, cases[i].units, cases[i].left);
        assert_true(audit_run(&facts, NULL, &result, NULL));
        assert_int_equal(cases[i].verdict, result.checks[AUDIT_CONSERVATION].verdict);
        facts_done(&facts);
    }
}

TEST(units_of_a_restock_are_not_sold_before_their_time)
{
    static const struct {
        const char *sold_at;
        audit_verdict verdict;
    } cases[] = {{"299-0", AUDIT_FAIL},
                 {"299-1", AUDIT_PASS}, /* no time: Redis' clock may have been set back */
                 {"300-0", AUDIT_PASS}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct row row = {.order = "999", .buyer = "zoe", .rid = "zoe.1"};
        struct audit_result result;
        struct facts facts;

        restock(&facts, 2, 2);
        facts.log[facts.log_count - 1].sellable_ms = 300;
        assert_true(facts_add_order(&facts, row) && facts_add_sold(&facts, row));
        assert_true(facts_add_log(&facts, (struct ledger_entry){.id = cases[i].sold_at,
                                                                .event = "sold",
                                                                .left = --facts.left,
                                                                .initial = -1,
                                                                .sold = 1}));
        assert_true(audit_run(&facts, NULL, &result, NULL));
        assert_int_equal(cases[i].verdict, result.checks[AUDIT_CONSERVATION].verdict);
        facts_done(&facts);
    }
}

TEST(hostile_text_reaches_no_terminal)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(facts_add_order(&facts, (struct row){"199", "a\x1b[2J\n", "k9"}));
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_null(strchr(result.checks[AUDIT_NO_PHANTOM].words, '\x1b'));
    assert_null(strchr(result.checks[AUDIT_NO_PHANTOM].words, '\n'));
    facts_done(&facts);
}
