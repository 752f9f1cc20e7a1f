/*
 * The auditor on replays: "you have bought before" is due only when an earlier ask may have bought;
 * what a purchase was told otherwise shows that a refusal was executed. No Redis, no files.
 */
#include "test/support/lt_facts.h"
#include "test/support/testing.h"

enum { ASKS_MAX = 4 };

/* One ask of the purchase "k", "from" and "to" in ns; without `to` there was no answer. */
struct told {
    answer_kind answer;
    int64_t from, to;
};

/* What the buyer of "k" was told, and whether some refusal was a lie then. */
static const struct {
    const char *name;
    struct told told[ASKS_MAX];
    bool is_lie;
} cases[] = {
    {"sold-out, then a replay", {{ANSWER_SOLD_OUT, 1, 2}, {ANSWER_REPLAYED, 3, 4}}, true},
    {"lock-timeout, then a replay", {{ANSWER_LOCK_TIMEOUT, 1, 2}, {ANSWER_REPLAYED, 3, 4}}, true},
    {"store-unavailable, then a replay",
     {{ANSWER_STORE_UNAVAILABLE, 1, 2}, {ANSWER_REPLAYED, 3, 4}},
     true},
    {"refused twice, then two replays",
     {{ANSWER_OVERLOADED, 1, 2},
      {ANSWER_PAUSED, 3, 4},
      {ANSWER_REPLAYED, 5, 6},
      {ANSWER_REPLAYED, 7, 8}},
     true},
    {"a replay of nothing", {{ANSWER_REPLAYED, 1, 2}}, true},
    {"a refusal under way, and a replay", {{ANSWER_SOLD_OUT, 1, 9}, {ANSWER_REPLAYED, 2, 3}}, true},
    {"a replay before the creation", {{ANSWER_REPLAYED, 1, 2}, {ANSWER_CREATED, 3, 4}}, true},
    {"a replay before the doubt", {{ANSWER_REPLAYED, 1, 2}, {ANSWER_NONE, 3, 0}}, true},
    {"created, then a replay", {{ANSWER_CREATED, 1, 2}, {ANSWER_REPLAYED, 3, 4}}, false},
    {"clicked twice, the replay is faster",
     {{ANSWER_REPLAYED, 1, 3}, {ANSWER_CREATED, 2, 4}},
     false},
    {"no answer, then a replay", {{ANSWER_NONE, 1, 0}, {ANSWER_REPLAYED, 3, 4}}, false},
    {"no answer, a replay, and no answer again",
     {{ANSWER_NONE, 1, 0}, {ANSWER_REPLAYED, 3, 4}, {ANSWER_NONE, 5, 0}},
     false},
    {"refused, unknown, then a replay",
     {{ANSWER_LOCK_TIMEOUT, 1, 2}, {ANSWER_OUTCOME_UNKNOWN, 3, 4}, {ANSWER_REPLAYED, 5, 6}},
     false},
    {"created, refused, then a replay",
     {{ANSWER_CREATED, 1, 2}, {ANSWER_LOCK_TIMEOUT, 3, 4}, {ANSWER_REPLAYED, 5, 6}},
     false},
};

static void add_ask(struct facts *facts, const char *rid, const struct told *told)
{
    bool is_ok = told->answer == ANSWER_CREATED || told->answer == ANSWER_REPLAYED;

    lt_facts_ask(facts, (struct ask){.invoked_ns = told->from,
                                     .answered_ns = told->to,
                                     .rid = rid,
                                     .buyer = "b",
                                     .order = is_ok ? "100" : NULL,
                                     .answer = told->answer});
}

/* One unit, and it went to "b" by the purchase "k": all is well but for what "b" was told. */
static void make_sale(struct facts *facts, const struct told told[ASKS_MAX])
{
    lt_facts_put_up(facts, 1);
    lt_facts_sell(facts, (struct row){"100", "b", "k"}, 0);
    for (size_t i = 0; i < ASKS_MAX && told[i].from; i++)
        add_ask(facts, "k", &told[i]);
}

static void check_verdicts(const struct audit_result *result, bool is_lie, const char *name)
{
    for (unsigned id = 0; id < AUDIT_CHECK_COUNT; id++) {
        const struct audit_check *check = &result->checks[id];
        bool is_found = is_lie && id == AUDIT_REFUSED_NOT_EXECUTED;
        bool is_right = (check->verdict == AUDIT_FAIL) == is_found &&
                        (!is_found || strncmp(check->words, "1 ", 2) == 0);

        if (!is_right) print_message("%s: %s: %s\n", name, check->name, check->words);
        assert_true(is_right);
    }
}

TEST(a_replay_is_due_when_an_earlier_ask_may_have_bought)
{
    struct audit_result result;
    struct facts facts;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_sale(&facts, cases[i].told);
        assert_true(audit_run(&facts, NULL, &result, NULL));
        check_verdicts(&result, cases[i].is_lie, cases[i].name);
        facts_done(&facts);
    }
}

static const char *told_by(const struct audit_story *story)
{
    static char text[2000];
    FILE *to = fmemopen(text, sizeof text, "w");

    assert_non_null(to);
    audit_story_write(story, to);
    assert_int_equal(fclose(to), 0);
    return text;
}

TEST(the_order_the_asks_were_read_in_does_not_matter)
{
    static const struct told told[ASKS_MAX] = {{ANSWER_REPLAYED, 3, 4}, {ANSWER_SOLD_OUT, 1, 2}};
    struct audit_result result;
    struct facts facts;

    make_sale(&facts, told);
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_string_equal("1 refusals were executed; first: k got a replay, its first answer was "
                        "sold-out",
                        result.checks[AUDIT_REFUSED_NOT_EXECUTED].words);
    assert_string_equal("    what b asked (ms), was told, and has:\n"
                        "         0.0   k: at 0.0 sold-out\n"
                        "         0.0   k: at 0.0 replayed, order 100\n"
                        "               ledger: order 100, asked for by k\n"
                        "               orders: order 100, asked for by k\n",
                        told_by(&result.story));
    facts_done(&facts);
}

TEST(the_doubt_about_another_purchase_explains_no_replay)
{
    static const struct told told[ASKS_MAX] = {{ANSWER_SOLD_OUT, 1, 2}, {ANSWER_REPLAYED, 3, 4}};
    struct audit_result result;
    struct facts facts;

    make_sale(&facts, told);
    add_ask(&facts, "j", &(struct told){ANSWER_NONE, 1, 0});
    add_ask(&facts, "l", &(struct told){ANSWER_NONE, 1, 0});
    assert_true(audit_run(&facts, NULL, &result, NULL));

    assert_int_equal(AUDIT_FAIL, result.checks[AUDIT_REFUSED_NOT_EXECUTED].verdict);
    facts_done(&facts);
}
