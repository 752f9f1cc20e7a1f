/*
 * The auditor on what operators did: what may have happened is no lie, what cannot have is one. Each
 * row is a ledger, and what the operators' log says of it. No Redis, no files.
 */
#include "test/support/lt_facts.h"
#include "test/support/testing.h"

enum { ENTRIES_MAX = 6, STEPS_MAX = 6, LATER_MS = 7200000 };

#define AGREE   CHECK(OPERATORS_AGREE)
#define ADD_UP  CHECK(RESTOCKS_ADD_UP)
#define IN_TIME CHECK(NOTHING_AFTER_END)

/* NOLINTBEGIN(bugprone-macro-parentheses): initialisers */
#define ENTRY(at, e, ep)                                                                           \
    {                                                                                              \
        .id = at, .event = e, .epoch = ep, .initial = -1, .ends_ms = -1                            \
    }
#define SOLD(at, ep)                                                                               \
    {                                                                                              \
        .id = at, .event = "sold", .epoch = ep, .initial = -1, .ends_ms = -1, .sold = 1            \
    }
#define CREATED(at)                                                                                \
    {                                                                                              \
        .id = at, .event = "created", .epoch = 1, .initial = 3, .ends_ms = -1                      \
    }
#define RESTOCKED(at, ep, k)                                                                       \
    {                                                                                              \
        .id = at, .event = "restocked", .epoch = ep, .initial = -1, .ends_ms = -1, .units = 2,     \
        .key = k                                                                                   \
    }
#define ENDS(at, ep, ms)                                                                           \
    {                                                                                              \
        .id = at, .event = "patched", .epoch = ep, .initial = -1, .ends_ms = ms                    \
    }

#define STEP(w, n, k, r, ep)                                                                       \
    {                                                                                              \
        .what = w, .units = n, .key = k, .result = STEP_##r, .epoch = ep                           \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define PUT_UP            STEP("create", 3, "", DONE, 1)
#define RESTOCK(k, r, ep) STEP("restock", 2, k, r, ep)

/* The epoch and the units of the hash are those of the ledger, unless said otherwise. */
static const struct {
    const char *name;
    struct ledger_entry log[ENTRIES_MAX];
    struct operator_step steps[STEPS_MAX];
    const char *state; /* NULL: open */
    int64_t ends_ms;
    unsigned found_by;
    bool allows_lost;
} rows[] = {
    {.name = "put up", .log = {CREATED("1-0")}, .steps = {PUT_UP}},
    {.name = "two logs say so", .log = {CREATED("1-0")}, .steps = {PUT_UP, PUT_UP}},
    {.name = "nobody did",
     .log = {CREATED("1-0")},
     .steps = {STEP("pause", 0, "", MAYBE, 0)},
     .found_by = AGREE},
    {.name = "put up, perhaps",
     .log = {CREATED("1-0")},
     .steps = {STEP("create", 3, "", MAYBE, 0)}},
    {.name = "refused, and there",
     .log = {CREATED("1-0")},
     .steps = {STEP("create", 3, "", REFUSED, 0)},
     .found_by = AGREE},
    {.name = "a restock, perhaps",
     .log = {CREATED("1-0")},
     .steps = {PUT_UP, RESTOCK("a", MAYBE, 0)}},
    {.name = "a restock, perhaps, that came",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, "a")},
     .steps = {PUT_UP, RESTOCK("a", MAYBE, 0)}},
    {.name = "one restock, perhaps, and two came",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, ""), RESTOCKED("3-0", 3, "")},
     .steps = {PUT_UP, RESTOCK("", MAYBE, 0)},
     .found_by = AGREE},
    {.name = "a sure one and one perhaps, and two came",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, ""), RESTOCKED("3-0", 3, "")},
     .steps = {PUT_UP, RESTOCK("", MAYBE, 0), RESTOCK("", DONE, 3)}},
    {.name = "one restock in two logs, and two came",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, ""), RESTOCKED("3-0", 3, "")},
     .steps = {PUT_UP, RESTOCK("", DONE, 2), RESTOCK("", DONE, 2)},
     .found_by = AGREE},
    {.name = "repeated",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, "a"), RESTOCKED("3-0", 3, "b")},
     .steps = {PUT_UP, RESTOCK("a", DONE, 2), RESTOCK("b", DONE, 3), RESTOCK("a", REPEATED, 3)}},
    {.name = "nothing to repeat",
     .log = {CREATED("1-0")},
     .steps = {PUT_UP, RESTOCK("a", REPEATED, 1)},
     .found_by = AGREE},
    {.name = "done in another epoch",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, "a")},
     .steps = {PUT_UP, RESTOCK("a", DONE, 3)},
     .found_by = AGREE},
    {.name = "done and lost",
     .log = {CREATED("1-0")},
     .steps = {PUT_UP, RESTOCK("a", DONE, 2)},
     .allows_lost = true},
    {.name = "there and asked for by nobody, lost or not",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, "a")},
     .steps = {PUT_UP},
     .found_by = AGREE,
     .allows_lost = true},
    {.name = "one key twice",
     .log = {CREATED("1-0"), RESTOCKED("2-0", 2, "a"), RESTOCKED("3-0", 3, "a")},
     .steps = {PUT_UP, RESTOCK("a", DONE, 2), RESTOCK("a", DONE, 3)},
     .found_by = ADD_UP},
    {.name = "paused twice, once in the ledger, a restock between",
     .log = {CREATED("1-0"), ENTRY("2-0", "paused", 1), RESTOCKED("3-0", 2, "a")},
     .steps = {PUT_UP, STEP("pause", 0, "", DONE, 1), RESTOCK("a", DONE, 2),
               STEP("pause", 0, "", DONE, 2)},
     .state = "paused"},
    {.name = "ended twice",
     .log = {CREATED("1-0"), SOLD("2-0", 1), ENTRY("3-0", "ended", 1)},
     .steps = {PUT_UP, STEP("end", 0, "", DONE, 1), STEP("end", 0, "", DONE, 1)},
     .state = "ended"},
    {.name = "ended, and paused",
     .log = {CREATED("1-0"), ENTRY("2-0", "ended", 1), ENTRY("3-0", "paused", 1)},
     .steps = {PUT_UP, STEP("end", 0, "", DONE, 1), STEP("pause", 0, "", DONE, 1)},
     .state = "paused",
     .found_by = IN_TIME},
    {.name = "sold a little after its end, by another clock",
     .log = {CREATED("1-0"), SOLD("9000-0", 1)},
     .steps = {PUT_UP},
     .ends_ms = 1},
    {.name = "sold long after its end",
     .log = {CREATED("1-0"), SOLD("3600000-0", 1)},
     .steps = {PUT_UP},
     .ends_ms = 1,
     .found_by = IN_TIME},
    {.name = "sold after an end that was put off",
     .log = {CREATED("1-0"), SOLD("3600000-0", 1), ENDS("3600001-0", 1, LATER_MS)},
     .steps = {PUT_UP, STEP("patch", 0, "", MAYBE, 0)},
     .ends_ms = LATER_MS},
    {.name = "ends otherwise than its ledger says",
     .log = {CREATED("1-0"), ENDS("2-0", 1, 1)},
     .steps = {PUT_UP, STEP("patch", 0, "", MAYBE, 0)},
     .ends_ms = LATER_MS,
     .found_by = IN_TIME},
    {.name = "created an hour after the operator was told so",
     .log = {CREATED("3600000-0")},
     .steps = {PUT_UP},
     .found_by = AGREE},
};

static void fill(struct facts *facts, size_t row)
{
    facts_init(facts);
    facts->has_operators = true;
    facts->initial = 3;
    facts->starts_ms = 0;
    facts->ends_ms = rows[row].ends_ms;
    facts->state = rows[row].state ? rows[row].state : "open";
    for (size_t i = 0; i < ENTRIES_MAX && rows[row].log[i].id; i++) {
        assert_true(facts_add_log(facts, rows[row].log[i]));
        facts->epoch = rows[row].log[i].epoch;
        facts->restocked += rows[row].log[i].units;
    }
    for (size_t i = 0; i < STEPS_MAX && rows[row].steps[i].what; i++)
        assert_true(facts_add_step(facts, rows[row].steps[i]));
}

TEST(each_row_is_judged_right)
{
    static const unsigned ours = AGREE | ADD_UP | IN_TIME;

    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct audit_options options = {.allow_lost = rows[row].allows_lost};
        struct audit_result result;
        struct facts facts;
        unsigned found = 0;

        fill(&facts, row);
        assert_true(audit_run(&facts, &options, &result, NULL));
        for (unsigned id = 0; id < AUDIT_CHECK_COUNT; id++)
            if (result.checks[id].verdict == AUDIT_FAIL) found |= (1U << id) & ours;
        for (unsigned id = 0; found != rows[row].found_by && id < AUDIT_CHECK_COUNT; id++)
            print_message("%s: %s: %s\n", rows[row].name, result.checks[id].name,
                          result.checks[id].words);
        assert_int_equal(rows[row].found_by, found);
        facts_done(&facts);
    }
}

/* A restock that nobody asked for puts nothing up: what it hides is an oversell, and counted. */
TEST(units_that_nobody_put_up_are_oversold)
{
    struct audit_result result;
    struct facts facts;

    for (int knows = 0; knows < 2; knows++) {
        fill(&facts, 6);
        facts.has_operators = knows;
        facts.step_count = 1; /* that it was put up */
        for (int i = 0; i < 5; i++)
            assert_true(facts_add_order(&facts, (struct row){"1", "b", "k"}));
        assert_true(audit_run(&facts, NULL, &result, NULL));
        assert_int_equal(knows ? 2 : 0, result.oversold);
        assert_int_equal(knows ? AUDIT_FAIL : AUDIT_VOID,
                         result.checks[AUDIT_OPERATORS_AGREE].verdict);
        facts_done(&facts);
    }
}
