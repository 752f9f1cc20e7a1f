/*
 * For the main thread: it asserts.
 */
#include "lt_facts.h"

#include "test/support/testing.h"

void lt_facts_put_up(struct facts *facts, int64_t units)
{
    facts_init(facts);
    facts->has_clients = facts->has_stock = facts->has_operators = true;
    facts->lock = LOCK_NONE;
    facts->initial = facts->left = units;
    facts->epoch = 1;
    facts->starts_ms = facts->ends_ms = 0;
    facts->state = "open";
    assert_true(facts_add_step(facts, (struct operator_step){.id = "1",
                                                             .what = "create",
                                                             .key = "",
                                                             .units = units,
                                                             .epoch = 1,
                                                             .result = STEP_DONE}));
    assert_true(facts_add_log(facts, (struct ledger_entry){.id = "1-0",
                                                           .event = "created",
                                                           .left = units,
                                                           .initial = units,
                                                           .epoch = 1,
                                                           .ends_ms = -1}));
}

void lt_facts_sell(struct facts *facts, struct row row, int64_t left)
{
    struct ledger_entry entry = {.id = "2-0",
                                 .event = "sold",
                                 .left = left,
                                 .initial = -1,
                                 .epoch = 1,
                                 .ends_ms = -1,
                                 .sold = 1};

    assert_true(facts_add_order(facts, row));
    assert_true(facts_add_sold(facts, row));
    assert_true(facts_add_log(facts, entry));
    facts->left = left;
}

void lt_facts_ask(struct facts *facts, struct ask ask)
{
    bool is_ok = ask.answer == ANSWER_CREATED || ask.answer == ANSWER_REPLAYED;

    ask.outcome = is_ok                                  ? ASK_OK
                  : ask.answer == ANSWER_OUTCOME_UNKNOWN ? ASK_INFO
                  : ask.answer == ANSWER_NONE            ? ASK_UNANSWERED
                                                         : ASK_FAIL;
    if (!ask.answered_ns && ask.answer != ANSWER_NONE) ask.answered_ns = ask.invoked_ns + 5;
    assert_true(facts_add_ask(facts, ask));
}

unsigned lt_facts_checks(const struct audit_result *result, audit_verdict verdict)
{
    unsigned set = 0;

    for (unsigned id = 0; id < AUDIT_CHECK_COUNT; id++)
        if (result->checks[id].verdict == verdict) set |= 1U << id;
    return set;
}

static void judge(const struct lt_facts_row *row, const struct audit_result *result)
{
    unsigned failed = lt_facts_checks(result, AUDIT_FAIL);
    unsigned voids = lt_facts_checks(result, AUDIT_VOID);
    audit_verdict verdict = row->failed ? AUDIT_FAIL : row->voids ? AUDIT_VOID : AUDIT_PASS;
    bool is_right = failed == row->failed && (failed || voids == row->voids);

    for (unsigned id = 0; !is_right && id < AUDIT_CHECK_COUNT; id++)
        print_message("%s: %s %s: %s\n", row->name, audit_verdict_name(result->checks[id].verdict),
                      result->checks[id].name, result->checks[id].words);
    assert_true(is_right);
    assert_int_equal(verdict, result->verdict);
}

void lt_facts_judge(void (*make)(struct facts *facts), const struct audit_options *options,
                    const struct lt_facts_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct audit_result result;
        struct facts facts;

        make(&facts);
        if (rows[i].change) rows[i].change(&facts);
        assert_true(audit_run(&facts, options, &result, NULL));
        judge(&rows[i], &result);
        facts_done(&facts);
    }
}
