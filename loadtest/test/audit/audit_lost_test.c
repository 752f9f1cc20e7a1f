/*
 * The auditor on sales that a failover took back: with allow_lost each lost order is counted and
 * excuses what follows from it; every other lie is found as ever. Strictly, it fails. No Redis.
 */
#include "audit/audit.h"
#include "test/support/testing.h"

enum { UNITS = 3, SET_OF_ALL = (1 << AUDIT_CHECK_COUNT) - 1 };

#define CHECK(id) (1U << (unsigned)(id))

static const struct audit_options allowing = {.allow_lost = true};

static void add_order(struct facts *facts, const char *order, const char *buyer, const char *rid,
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

/* Three units: sold to b0, b1 and b2, b3 comes too late. Then the failover takes b2's order back:
 * b4 gets the unit, b2 asks again in vain. */
static void make_failover(struct facts *facts)
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
    add_order(facts, "100", "b0", "k0", 2);
    add_order(facts, "101", "b1", "k1", 1);
    add_order(facts, "104", "b4", "k4", 0);
    add_ask(facts, 10, "k0", "b0", ASK_OK, ANSWER_CREATED, "100");
    add_ask(facts, 11, "k1", "b1", ASK_OK, ANSWER_CREATED, "101");
    add_ask(facts, 12, "k2", "b2", ASK_OK, ANSWER_CREATED, "102");
    add_ask(facts, 20, "k3", "b3", ASK_FAIL, ANSWER_SOLD_OUT, NULL);
    add_ask(facts, 21, "k2b", "b2", ASK_FAIL, ANSWER_ALREADY_ORDERED, "102");
    add_ask(facts, 40, "k4", "b4", ASK_OK, ANSWER_CREATED, "104");
    add_ask(facts, 50, "k2c", "b2", ASK_FAIL, ANSWER_SOLD_OUT, NULL);
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 19, .left = 0}));
    assert_true(facts_add_sample(facts, (struct sample){.at_ns = 39, .left = 1}));
}

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

static void check(const char *name, const struct facts *facts, unsigned failed, size_t lost)
{
    struct audit_result result;

    assert_true(audit_run_with(facts, &allowing, &result, NULL));
    if (checks_with(&result, AUDIT_FAIL) != failed || (failed == 0 && result.verdict != AUDIT_PASS))
        print_checks(name, &result);
    assert_int_equal(failed, checks_with(&result, AUDIT_FAIL));
    assert_int_equal(lost, result.lost);
    if (failed == 0) assert_int_equal(SET_OF_ALL, checks_with(&result, AUDIT_PASS));
}

TEST(a_lost_order_is_counted_and_excuses_what_follows_from_it)
{
    struct audit_result result;
    struct facts facts;

    make_failover(&facts);
    check("failover", &facts, 0, 1);
    assert_true(audit_run_with(&facts, &allowing, &result, NULL));
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
    assert_true(audit_run(&facts, &result, NULL));

    assert_int_equal(CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ACKNOWLEDGED_KEPT) |
                         CHECK(AUDIT_NO_UNDERSELL) | CHECK(AUDIT_HONEST_ANSWERS),
                     checks_with(&result, AUDIT_FAIL));
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

TEST(what_a_lost_order_gave_back_may_go_anywhere)
{
    static const struct {
        const char *name;
        void (*change)(struct facts *facts);
        size_t lost;
    } rows[] = {
        {"the buyer gets another one", buyer_gets_another, 1},
        {"the unit is left", unit_is_left, 1},
        {"nobody had heard of the order", unheard_order_is_lost, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct facts facts;
        make_failover(&facts);
        rows[i].change(&facts);
        check(rows[i].name, &facts, 0, rows[i].lost);
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
    add_order(facts, "105", "b5", "k5", -1);
    add_ask(facts, 41, "k5", "b5", ASK_OK, ANSWER_CREATED, "105");
    facts->left = -1;
}

static void kept_winner_denied(struct facts *facts)
{
    add_ask(facts, 51, "k1b", "b1", ASK_FAIL, ANSWER_SOLD_OUT, NULL);
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
    add_ask(facts, 13, "k6", "b6", ASK_OK, ANSWER_CREATED, "102");
}

static void shown_an_order_that_never_was(struct facts *facts)
{
    add_ask(facts, 52, "k6", "b6", ASK_FAIL, ANSWER_ALREADY_ORDERED, "777");
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

TEST(everything_else_is_judged_as_ever)
{
    static const struct {
        const char *name;
        void (*tell)(struct facts *facts);
        unsigned found_by;
    } lies[] = {
        {"order in the ledger alone", order_in_the_ledger_alone,
         CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
        {"sold twice", sold_twice,
         CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_ONE_PER_BUYER) | CHECK(AUDIT_ONE_PER_REQUEST)},
        {"oversold", oversold, CHECK(AUDIT_CONSERVATION) | CHECK(AUDIT_NO_UNDERSELL)},
        {"a winner who kept his order is denied", kept_winner_denied, CHECK(AUDIT_HONEST_ANSWERS)},
        {"a refusal was executed", refusal_executed,
         CHECK(AUDIT_NO_UNACCOUNTED) | CHECK(AUDIT_REFUSED_NOT_EXECUTED)},
        {"told another's order", other_id_told, CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
        {"one lost order, told to two", one_lost_order_told_to_two, CHECK(AUDIT_ACKNOWLEDGED_KEPT)},
        {"shown an order that never was", shown_an_order_that_never_was,
         CHECK(AUDIT_HONEST_ANSWERS)},
        {"shown the order of another", shown_the_order_of_another, CHECK(AUDIT_HONEST_ANSWERS)},
        {"more late comers than orders lost", more_late_comers_than_lost,
         CHECK(AUDIT_NO_UNDERSELL)},
        {"more units left than orders lost", more_left_than_lost, CHECK(AUDIT_NO_UNDERSELL)},
        {"the stock rises by more", stock_rises_by_more_than_lost, CHECK(AUDIT_CONSERVATION)},
        {"an unknown resolved to what is lost", unknown_resolved_to_what_is_lost,
         CHECK(AUDIT_UNKNOWN_RESOLVED)},
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct audit_result result;
        struct facts facts;
        make_failover(&facts);
        lies[i].tell(&facts);
        assert_true(audit_run_with(&facts, &allowing, &result, NULL));
        check(lies[i].name, &facts, lies[i].found_by, result.lost);
        facts_done(&facts);
    }
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
    add_ask(&facts, 14, "k2", "b2", ASK_OK, ANSWER_REPLAYED, "102");
    add_ask(&facts, 15, "k7", "b7", ASK_OK, ANSWER_CREATED, "107");
    assert_true(audit_each_lost(&facts, add_name, &names, NULL));

    assert_string_equal("102 of b2;107 of b7;", names.text);
    facts_done(&facts);
}
