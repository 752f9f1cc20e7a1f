/*
 * The auditor against doctored facts: a clean sale passes every check, and each lie is found by
 * exactly the checks that must find it. No Redis, no files.
 */
#include "audit/audit.h"
#include "test/support/testing.h"

enum { UNITS = 3, SET_OF_ALL = (1 << AUDIT_CHECK_COUNT) - 1 };

#define CHECK(id) (1U << (unsigned)(id))

/* ---- a clean sale: buyers b0..b4 want 3 units ---- */

static void add_sold_row(struct facts *facts, const char *order, const char *buyer, const char *rid,
                         int64_t left)
{
    struct row row = {.order = order, .buyer = buyer, .rid = rid};
    struct ledger_entry entry = {.id = "2-0",
                                 .event = "sold",
                                 .left = left,
                                 .initial = -1,
                                 .epoch = 1,
                                 .ends_ms = -1,
                                 .sold = 1};
    assert_true(facts_add_order(facts, row));
    assert_true(facts_add_sold(facts, row));
    assert_true(facts_add_entry(facts, entry));
}

static void add_ask(struct facts *facts, int64_t at_ns, const char *rid, const char *buyer,
                    ask_outcome outcome, answer_kind answer, const char *order)
{
    struct ask ask = {.invoked_ns = at_ns,
                      .answered_ns = outcome == ASK_UNANSWERED ? 0 : at_ns + 5,
                      .rid = rid,
                      .buyer = buyer,
                      .order = order,
                      .outcome = outcome,
                      .answer = answer};
    assert_true(facts_add_ask(facts, ask));
}

static void make_clean_sale(struct facts *facts)
{
    struct ledger_entry created = {.id = "1-0",
                                   .event = "created",
                                   .left = UNITS,
                                   .initial = UNITS,
                                   .epoch = 1,
                                   .ends_ms = -1};

    facts_init(facts);
    facts->has_clients = facts->has_stock = true;
    facts->lock = LOCK_NONE;
    facts->initial = UNITS;
    facts->left = 0;
    facts->epoch = 1;
    facts->starts_ms = facts->ends_ms = 0;
    facts->state = "open";
    facts->has_operators = true;
    assert_true(facts_add_step(facts, (struct operator_step){.id = "1",
                                                             .what = "create",
                                                             .key = "",
                                                             .units = UNITS,
                                                             .epoch = 1,
                                                             .result = STEP_DONE}));
    assert_true(facts_add_entry(facts, created));
    add_sold_row(facts, "100", "b0", "k0", 2);
    add_sold_row(facts, "101", "b1", "k1", 1);
    add_sold_row(facts, "102", "b2", "k2", 0);
    add_ask(facts, 10, "k0", "b0", ASK_OK, ANSWER_CREATED, "100");
    add_ask(facts, 11, "k1", "b1", ASK_OK, ANSWER_CREATED, "101");
    add_ask(facts, 12, "k2", "b2", ASK_INFO, ANSWER_OUTCOME_UNKNOWN, NULL);
    add_ask(facts, 20, "k3", "b3", ASK_FAIL, ANSWER_SOLD_OUT, NULL);
    add_ask(facts, 21, "k4", "b4", ASK_UNANSWERED, ANSWER_NONE, NULL);
    add_ask(facts, 30, "k0", "b0", ASK_OK, ANSWER_REPLAYED, "100");
    add_ask(facts, 31, "k1b", "b1", ASK_FAIL, ANSWER_ALREADY_ORDERED, "101");
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
    add_sold_row(facts, "103", "b5", "k5", 0);
    add_ask(facts, 13, "k5", "b5", ASK_OK, ANSWER_CREATED, "103");
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

/* Each lie, and exactly the checks that find it. */
static const struct {
    const char *name;
    void (*tell)(struct facts *facts);
    unsigned found_by;
} lies[] = {
    {"order dropped from the hash", drop_order,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
    {"order dropped from hash and ledger", drop_order_everywhere,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
    {"order doubled", double_order,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ONE_PER_BUYER) | CHECK(AUDIT_ONE_PER_REQUEST)},
    {"order doubled under a new id", double_order_with_new_id,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ONE_PER_BUYER) | CHECK(AUDIT_ONE_PER_REQUEST)},
    {"second order of a buyer, told already-ordered", second_order_of_a_buyer,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ONE_PER_BUYER) | CHECK(AUDIT_NO_UNACCOUNTED) |
         CHECK(AUDIT_REFUSED_NOT_EXECUTED)},
    {"order invented", invent_order,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_NO_UNACCOUNTED) | CHECK(AUDIT_NO_PHANTOM)},
    {"one order too many", oversell_by_one, CHECK(AUDIT_CONSERVATION)},
    {"stock off by one", stock_too_high, CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_NO_UNDERSELL)},
    {"stock below zero", stock_negative, CHECK(AUDIT_CONSERVATION)},
    {"stock is no number", stock_is_no_number, CHECK(AUDIT_CONSERVATION)},
    {"an entry in Redis is unreadable", entry_is_unreadable, CHECK(AUDIT_CONSERVATION)},
    {"ledger skips a unit", ledger_skips_a_unit, CHECK(AUDIT_CONSERVATION)},
    {"ledger without created", ledger_has_no_created,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_OPERATORS_AGREE)},
    {"created with another initial", created_with_other_initial,
     CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_OPERATORS_AGREE)},
    {"negative sample", negative_sample, CHECK(AUDIT_CONSERVATION)},
    {"rising sample", rising_sample, CHECK(AUDIT_CONSERVATION)},
    {"another order id was told", other_order_id_told, CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
    {"order went to another buyer", order_of_another_buyer,
     CHECK(AUDIT_ACKNOWLEDGED_KEPT) | CHECK(AUDIT_NO_PHANTOM)},
    {"refusal was executed", refusal_was_executed,
     CHECK(AUDIT_NO_UNACCOUNTED) | CHECK(AUDIT_REFUSED_NOT_EXECUTED)},
    {"unknown never resolved", unknown_unresolved, CHECK(AUDIT_UNKNOWN_RESOLVED)},
    {"unknown order denied", unknown_denied, CHECK(AUDIT_UNKNOWN_RESOLVED)},
    {"unknown resolved to another's order", unknown_with_wrong_order,
     CHECK(AUDIT_UNKNOWN_RESOLVED)},
    {"unknown resolved to an order there is not", unknown_given_an_order,
     CHECK(AUDIT_UNKNOWN_RESOLVED)},
    {"winner told sold-out", winner_told_sold_out, CHECK(AUDIT_HONEST_ANSWERS)},
    {"winner told not-found", winner_told_not_found, CHECK(AUDIT_HONEST_ANSWERS)},
    {"already-ordered without an order", already_without_order, CHECK(AUDIT_HONEST_ANSWERS)},
    {"already-ordered with another's order", already_with_wrong_order, CHECK(AUDIT_HONEST_ANSWERS)},
    {"a unit left, buyers told sold-out", undersell, CHECK(AUDIT_NO_UNDERSELL)},
    {"a unit left, a buyer without reason", undersell_to_a_silent_buyer,
     CHECK(AUDIT_NO_UNDERSELL) | CHECK(AUDIT_HONEST_ANSWERS)},
    {"sold-out told while units were left", sold_out_told_too_early, CHECK(AUDIT_NO_UNDERSELL)},
    {"a lock is left without a lease", lock_never_ends, CHECK(AUDIT_NO_STUCK_LOCK)},
    {"a lock outlives its lease", lock_outlives_its_lease, CHECK(AUDIT_NO_STUCK_LOCK)},
    {"a unit left behind an endless lock", undersell_behind_a_lock,
     CHECK(AUDIT_NO_UNDERSELL) | CHECK(AUDIT_NO_STUCK_LOCK)},
};

static unsigned checks_with(const struct audit_result *result, audit_verdict verdict)
{
    unsigned set = 0;
    for (unsigned id = 0; id < AUDIT_CHECK_COUNT; id++)
        if (result->checks[id].verdict == verdict) set |= CHECK(id);
    return set;
}

static void print_checks(const char *name, const struct audit_result *result)
{
    print_message("%s:\n", name);
    for (unsigned id = 0; id < AUDIT_CHECK_COUNT; id++)
        print_message("  %s %s: %s\n", audit_verdict_name(result->checks[id].verdict),
                      result->checks[id].name, result->checks[id].words);
}

TEST(clean_sale_passes_every_check)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(audit_run(&facts, &result, NULL));
    if (result.verdict != AUDIT_PASS) print_checks("clean", &result);

    assert_int_equal(AUDIT_PASS, result.verdict);
    assert_int_equal(SET_OF_ALL, checks_with(&result, AUDIT_PASS));
    assert_int_equal(0, result.duplicate_buyers);
    assert_int_equal(2, result.unknown);
    facts_done(&facts);
}

TEST(each_lie_is_found_by_exactly_its_checks)
{
    struct audit_result result;
    struct facts facts;

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_clean_sale(&facts);
        lies[i].tell(&facts);
        assert_true(audit_run(&facts, &result, NULL));
        if (checks_with(&result, AUDIT_FAIL) != lies[i].found_by)
            print_checks(lies[i].name, &result);
        assert_int_equal(lies[i].found_by, checks_with(&result, AUDIT_FAIL));
        assert_int_equal(AUDIT_FAIL, result.verdict);
        facts_done(&facts);
    }
}

TEST(duplicate_buyers_are_counted_once_each)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(facts_add_sold(&facts, (struct row){"197", "b0", "x1"}));
    assert_true(facts_add_sold(&facts, (struct row){"198", "b0", "x2"}));
    assert_true(facts_add_sold(&facts, (struct row){"199", "b1", "x3"}));
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(2, result.duplicate_buyers);
    facts_done(&facts);
}

TEST(sale_in_which_nothing_was_sold_is_void)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    facts.order_count = facts.sold_count = facts.ask_count = facts.resolution_count = 0;
    facts.sample_count = 0;
    facts.log_count = 1;
    facts.left = UNITS;
    add_ask(&facts, 10, "k0", "b0", ASK_FAIL, ANSWER_PAUSED, NULL);
    assert_true(audit_run(&facts, &result, NULL));
    if (result.verdict != AUDIT_VOID) print_checks("nothing sold", &result);

    assert_int_equal(AUDIT_VOID, result.verdict);
    assert_int_equal(SET_OF_ALL, checks_with(&result, AUDIT_VOID));
    facts_done(&facts);
}

TEST(unit_that_vanished_without_a_sale_fails)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    facts.order_count = facts.sold_count = facts.ask_count = facts.sample_count = 0;
    facts.resolution_count = 0;
    facts.log_count = 1;
    facts.left = UNITS - 1;
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(CHECK(AUDIT_CONSERVATION), checks_with(&result, AUDIT_FAIL));
    facts_done(&facts);
}

TEST(without_clients_the_checks_on_answers_are_void)
{
    unsigned of_redis = CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_RESTOCKS_ADD_UP) |
                        CHECK(AUDIT_NOTHING_AFTER_END) | CHECK(AUDIT_OPERATORS_AGREE) |
                        CHECK(AUDIT_ONE_PER_BUYER) | CHECK(AUDIT_ONE_PER_REQUEST) |
                        CHECK(AUDIT_NO_STUCK_LOCK);
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    facts.has_clients = false;
    facts.ask_count = facts.resolution_count = facts.sample_count = 0;
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(of_redis, checks_with(&result, AUDIT_PASS));
    assert_int_equal(SET_OF_ALL & ~of_redis, checks_with(&result, AUDIT_VOID));
    assert_int_equal(AUDIT_VOID, result.verdict);
    facts_done(&facts);
}

TEST(empty_client_ledger_is_void)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    facts.ask_count = facts.resolution_count = 0;
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(AUDIT_VOID, result.verdict);
    facts_done(&facts);
}

TEST(units_left_by_buyers_kept_out_are_void)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    undersell(&facts);
    facts.asks[3].answer = ANSWER_LOCK_TIMEOUT;
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(AUDIT_VOID, result.checks[AUDIT_NO_UNDERSELL].verdict);
    assert_int_equal(AUDIT_VOID, result.verdict);
    facts_done(&facts);
}

TEST(more_units_than_buyers_pass)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    undersell(&facts);
    facts.asks[3] = facts.asks[--facts.ask_count]; /* the refused buyer */
    facts.asks[4] = facts.asks[--facts.ask_count]; /* the unanswered one */
    facts.resolution_count--;
    assert_true(audit_run(&facts, &result, NULL));
    if (result.verdict != AUDIT_PASS) print_checks("more units", &result);

    assert_int_equal(AUDIT_PASS, result.verdict);
    facts_done(&facts);
}

/* Two more units were put up at the end, and are left. */
static void restock(struct facts *facts, int64_t units, int64_t left)
{
    make_clean_sale(facts);
    rising_sample(facts);
    facts->left = left;
    assert_true(facts_add_entry(
        facts,
        (struct ledger_entry){
            .id = "9-0", .event = "restocked", .left = left, .initial = -1, .units = units}));
    facts->has_operators = false;
}

TEST(stock_may_rise_by_a_restock)
{
    struct audit_result result;
    struct facts facts;

    restock(&facts, 2, 2);
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(AUDIT_PASS, result.checks[AUDIT_CONSERVATION].verdict);
    facts_done(&facts);
}

TEST(a_restock_adds_exactly_its_units)
{
    static const struct {
        int64_t units, left;
    } cases[] = {{2, 1}, {2, 3}, {0, 0}, {0, 2}, {-1, -1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct audit_result result;
        struct facts facts;

        restock(&facts, cases[i].units, cases[i].left);
        assert_true(audit_run(&facts, &result, NULL));
        assert_int_equal(AUDIT_FAIL, result.checks[AUDIT_CONSERVATION].verdict);
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
        assert_true(facts_add_entry(&facts, (struct ledger_entry){.id = cases[i].sold_at,
                                                                  .event = "sold",
                                                                  .left = --facts.left,
                                                                  .initial = -1,
                                                                  .sold = 1}));
        assert_true(audit_run(&facts, &result, NULL));
        assert_int_equal(cases[i].verdict, result.checks[AUDIT_CONSERVATION].verdict);
        facts_done(&facts);
    }
}

TEST(samples_of_several_files_are_judged_by_time)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(facts_add_sample(&facts, (struct sample){.at_ns = 12, .left = 2}));
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(AUDIT_PASS, result.checks[AUDIT_CONSERVATION].verdict);
    facts_done(&facts);
}

TEST(hostile_text_reaches_no_terminal)
{
    struct audit_result result;
    struct facts facts;

    make_clean_sale(&facts);
    assert_true(facts_add_order(&facts, (struct row){"199", "a\x1b[2J\n", "k9"}));
    assert_true(audit_run(&facts, &result, NULL));

    assert_null(strchr(result.checks[AUDIT_NO_PHANTOM].words, '\x1b'));
    assert_null(strchr(result.checks[AUDIT_NO_PHANTOM].words, '\n'));
    facts_done(&facts);
}
