/*
 * Whose turn it is, by names alone: as Curator and kazoo would say.
 */
#include "test/support/testing.h"
#include "zookeeper/queue.h"

static const struct zookeeper_rule curator = {.prefix = "_c_", .mark = "-lock-", .cuts = {"lock-"}};
static const struct zookeeper_rule writer = {
    .prefix = "_c_", .mark = "-__WRIT__", .cuts = {"__READ__", "__WRIT__"}};
static const struct zookeeper_rule reader = {.prefix = "_c_",
                                             .mark = "-__READ__",
                                             .cuts = {"__READ__", "__WRIT__"},
                                             .awaited = {"__WRIT__"}};
static const struct zookeeper_rule kazoo = {.prefix = "",
                                            .is_plain = true,
                                            .mark = "__lock__",
                                            .cuts = {"__lock__"},
                                            .awaited = {"__lock__"}};

static const struct {
    const char *what;
    const struct zookeeper_rule *rule;
    const char *own;
    const char *before; /* NULL: it is its turn; "": it is not there */
    const char *names[6];
} rows[] = {
    {"alone", &curator, "_c_b-lock-0000000007", NULL, {"_c_b-lock-0000000007"}},
    {"by number, not by UUID, and the nearest",
     &curator,
     "_c_a-lock-0000000009",
     "_c_z-lock-0000000008",
     {"_c_b-lock-0000000007", "_c_a-lock-0000000009", "_c_z-lock-0000000008",
      "_c_0-lock-0000000010"}},
    {"gone", &curator, "_c_a-lock-0000000009", "", {"_c_b-lock-0000000007"}},
    {"a stranger before the numbers blocks all",
     &curator,
     "_c_a-lock-0000000001",
     "0",
     {"_c_a-lock-0000000001", "0"}},
    {"one behind them nobody",
     &curator,
     "_c_a-lock-0000000001",
     NULL,
     {"zz", "_c_a-lock-0000000001"}},
    {"after the last number come negative ones, as text: before all",
     &curator,
     "_c_a-lock-2147483647",
     "_c_b-lock--2147483648",
     {"_c_a-lock-2147483647", "_c_b-lock--2147483648"}},
    {"...and in the order of their text",
     &curator,
     "_c_a-lock--2147483648",
     "_c_b-lock--2147483647",
     {"_c_a-lock--2147483648", "_c_b-lock--2147483647"}},
    {"another client's names without hyphens",
     &curator,
     "_c_a-lock-0000000002",
     "_c_0123-lock-0000000001",
     {"_c_a-lock-0000000002", "_c_0123-lock-0000000001"}},
    {"a mark within a UUID's place is none",
     &curator,
     "_c_a-lock-0000000002",
     "x-lock-lock-0000000001",
     {"x-lock-lock-0000000001", "_c_a-lock-0000000002"}},
    {"a writer waits for readers",
     &writer,
     "_c_a-__WRIT__0000000002",
     "_c_b-__READ__0000000001",
     {"_c_b-__READ__0000000001", "_c_a-__WRIT__0000000002"}},
    {"a reader for no reader",
     &reader,
     "_c_a-__READ__0000000002",
     NULL,
     {"_c_b-__READ__0000000001", "_c_a-__READ__0000000002", "_c_w-__WRIT__0000000003"}},
    {"...but for the nearest writer before it",
     &reader,
     "_c_a-__READ__0000000004",
     "_c_w-__WRIT__0000000003",
     {"_c_v-__WRIT__0000000001", "_c_w-__WRIT__0000000003", "_c_a-__READ__0000000004"}},
    {"kazoo sees no strangers",
     &kazoo,
     "aa__lock__0000000002",
     NULL,
     {"aa__lock__0000000002", "0", "_c_a-lock-0000000001", "bb__rlock__0000000001"}},
    {"...and nothing without ten digits",
     &kazoo,
     "aa__lock__0000000002",
     NULL,
     {"aa__lock__0000000002", "bb__lock__-000000001", "bb__lock__1"}},
    {"kazoo's own",
     &kazoo,
     "aa__lock__0000000002",
     "bb__lock__0000000001",
     {"aa__lock__0000000002", "bb__lock__0000000001"}},
};

TEST(whose_turn_it_is_goes_by_the_text_behind_the_mark)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t count = 0;

        while (count < 6 && rows[i].names[count])
            count++;
        int before = zookeeper_queue_before(rows[i].rule, rows[i].names, count, rows[i].own);
        const char *found = before >= 0                   ? rows[i].names[before]
                            : before == ZOOKEEPER_MISSING ? ""
                                                          : "(its turn)";
        if (strcmp(found, rows[i].before ? rows[i].before : "(its turn)") != 0)
            fail_msg("%s: %s", rows[i].what, found);
    }
}

TEST(a_name_is_what_the_others_make)
{
    char name[ZOOKEEPER_NAME_MAX];

    zookeeper_queue_name(&curator, "01234567-89ab-4cde-8f01-23456789abcd", name);
    assert_string_equal(name, "_c_01234567-89ab-4cde-8f01-23456789abcd-lock-");
    zookeeper_queue_name(&kazoo, "01234567-89ab-4cde-8f01-23456789abcd", name);
    assert_string_equal(name, "0123456789ab4cde8f0123456789abcd__lock__");
}

TEST(a_number_is_known_by_the_mark_before_it)
{
    assert_string_equal(zookeeper_queue_number("_c_a-lock-0000000001"), "0000000001");
    assert_string_equal(zookeeper_queue_number("_c_a-lock--2147483648"), "-2147483648");
    assert_string_equal(zookeeper_queue_number("ab__rlock__0000000003"), "0000000003");
    assert_null(zookeeper_queue_number("0"));
    assert_null(zookeeper_queue_number("lock-keeper"));
}
