/*
 * The service's own audit, on books made by hand: each check finds its own fault, and what is not
 * known is called unknown. (Real books: store_admin_itest.c.)
 */
#include "sale/sale_audit.h"
#include "test/support/testing.h"

/* Three units, one sold, two put up later. */
static struct sale_audit clean_books(void)
{
    return (struct sale_audit){.reading = {.orders = 1,
                                           .left = 4,
                                           .initial = 3,
                                           .restocked = 2,
                                           .epoch = 2,
                                           .entries = 3,
                                           .last_left = 4,
                                           .last_epoch = 2,
                                           .last_id = "3-0",
                                           .ledger = {.is_walked = true,
                                                      .entries = 3,
                                                      .initial = 3,
                                                      .restocked = 2,
                                                      .orders = 1,
                                                      .left = 4}}};
}

TEST(clean_books_pass)
{
    struct sale_audit audit = clean_books();

    sale_audit_judge(&audit);
    for (int i = 0; i < AUDIT_CHECK_COUNT; i++) {
        assert_int_equal(audit.checks[i].verdict, AUDIT_PASS);
        assert_true(strlen(audit.checks[i].words) > 0);
    }
    assert_int_equal(audit.verdict, AUDIT_PASS);
    assert_int_equal(audit.oversold, 0);
}

TEST(oversold_units_are_counted)
{
    struct sale_audit audit = clean_books();

    audit.reading.orders = 8;
    sale_audit_judge(&audit);
    assert_int_equal(audit.oversold, 3);
    assert_int_equal(audit.checks[AUDIT_OVERSOLD].verdict, AUDIT_FAIL);
    assert_int_equal(audit.verdict, AUDIT_FAIL);
}

TEST(what_is_not_known_is_not_passed)
{
    struct sale_audit audit = clean_books();

    audit.reading.ledger.is_walked = false;
    sale_audit_judge(&audit);
    assert_int_equal(audit.verdict, AUDIT_UNKNOWN);
    assert_int_equal(audit.checks[AUDIT_LEDGER_CHAIN].verdict, AUDIT_UNKNOWN);
    assert_int_equal(audit.checks[AUDIT_LEDGER_ORDERS].verdict, AUDIT_UNKNOWN);

    audit = clean_books();
    audit.reading.initial = AUDIT_NONE;
    sale_audit_judge(&audit);
    assert_int_equal(audit.oversold, AUDIT_NONE);
    assert_int_equal(audit.checks[AUDIT_OVERSOLD].verdict, AUDIT_UNKNOWN);
    assert_int_equal(audit.verdict, AUDIT_FAIL); /* the ledger knows better */
}

TEST(a_failure_outweighs_what_is_not_known)
{
    struct sale_audit audit = clean_books();

    audit.reading.ledger.is_walked = false;
    audit.reading.last_left = 5;
    sale_audit_judge(&audit);
    assert_int_equal(audit.verdict, AUDIT_FAIL);
}

/* An entry of an event, which says nothing more but what is left. */
static struct audit_entry entry_of(const char *id, const char *event, int64_t left)
{
    return (struct audit_entry){
        .id = id, .event = event, .left = left, .initial = AUDIT_NONE, .units = AUDIT_NONE};
}

/* A ledger that began with the creation of five units. */
static struct audit_ledger begun(void)
{
    struct audit_ledger ledger = {.initial = AUDIT_NONE, .left = AUDIT_NONE};
    struct audit_entry entry = entry_of("1-0", "created", 5);

    entry.initial = 5;
    sale_audit_walk(&ledger, &entry);
    return ledger;
}

TEST(the_walk_notes_where_the_ledger_breaks)
{
    enum { NONE = -1 };
    static const struct {
        const char *event;
        int64_t left, initial, units, orders;
        bool follows; /* behind: created 5, sold 1 */
    } cases[] = {
        {"sold", 3, NONE, NONE, 1, true},        {"sold", 1, NONE, NONE, 3, true},
        {"sold", 4, NONE, NONE, 1, false},       {"sold", 3, NONE, NONE, 2, false},
        {"restocked", 9, NONE, 5, 0, true},      {"restocked", 9, NONE, 4, 0, false},
        {"restocked", 4, NONE, NONE, 0, false},  {"paused", 4, NONE, NONE, 0, true},
        {"ended", 5, NONE, NONE, 0, false},      {"created", 4, 4, NONE, 0, false},
        {"patched", NONE, NONE, NONE, 0, false}, {"whatever", 4, NONE, NONE, 0, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct audit_ledger ledger = begun();
        struct audit_entry entry = entry_of("2-0", "sold", 4);

        entry.orders = 1;
        sale_audit_walk(&ledger, &entry);
        assert_int_equal(ledger.breaks, 0);
        entry = entry_of("3-0", cases[i].event, cases[i].left == NONE ? AUDIT_NONE : cases[i].left);
        if (cases[i].initial != NONE) entry.initial = cases[i].initial;
        if (cases[i].units != NONE) entry.units = cases[i].units;
        entry.orders = cases[i].orders;
        sale_audit_walk(&ledger, &entry);
        if ((ledger.breaks == 0) != cases[i].follows) fail_msg("case %zu", i);
        if (!cases[i].follows) assert_string_equal(ledger.first_break, "3-0");
        assert_int_equal(ledger.entries, 3);
    }
}

TEST(nothing_follows_the_end)
{
    static const char *const events[] = {"sold", "restocked", "paused", "resumed", "ended"};

    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct audit_ledger ledger = begun();
        struct audit_entry entry = {.id = "1-0", .event = "ended", .left = 5, .initial = 5};

        sale_audit_walk(&ledger, &entry);
        assert_int_equal(ledger.breaks, 0);
        entry.event = events[i];
        sale_audit_walk(&ledger, &entry);
        assert_int_equal(ledger.breaks, 1);
    }
}

TEST(a_ledger_begins_with_its_creation)
{
    struct audit_ledger ledger = {.initial = AUDIT_NONE, .left = AUDIT_NONE};
    struct audit_entry entry = entry_of("7-0", "sold", 4);

    entry.orders = 1;
    sale_audit_walk(&ledger, &entry);
    assert_int_equal(ledger.breaks, 1);
    assert_string_equal(ledger.first_break, "7-0");
}

TEST(units_move_between_segments_and_none_is_made)
{
    struct audit_ledger ledger = begun();
    struct audit_entry entry = {
        .id = "2-0", .event = "moved-out", .left = 3, .initial = AUDIT_NONE};
    struct audit_reading all = {.parts = 0};
    struct sale_audit audit = clean_books();

    entry.units = 2;
    sale_audit_walk(&ledger, &entry);
    entry = (struct audit_entry){.id = "3-0", .event = "moved-in", .left = 7, .units = 4};
    sale_audit_walk(&ledger, &entry);
    assert_int_equal(ledger.breaks, 0);
    assert_int_equal(ledger.moved, 2);
    sale_audit_walk(&ledger, &entry); /* twice */
    assert_int_equal(ledger.breaks, 1);
    for (int64_t on_way = 0; on_way <= 2; on_way++) { /* lost, on its way, made out of nothing */
        struct audit_reading parts[2] = {audit.reading, audit.reading};

        parts[0].moved = parts[0].ledger.moved = -1;
        parts[0].left = parts[0].last_left = audit.reading.left - 1;
        all.parts = 0;
        for (size_t i = 0; i < 2; i++)
            sale_audit_add(&all, &parts[i]);
        for (int is_still = 0; is_still < 2; is_still++) {
            struct sale_audit sum = {.reading = all};

            sum.reading.on_way = on_way;
            sum.reading.is_still = is_still;
            sale_audit_judge(&sum);
            assert_int_equal(sum.checks[AUDIT_UNITS].verdict, on_way == 1 ? AUDIT_PASS
                                                              : is_still  ? AUDIT_FAIL
                                                                          : AUDIT_UNKNOWN);
        }
    }
    audit.reading.lost = 1;
    sale_audit_judge(&audit);
    assert_int_equal(audit.verdict, AUDIT_FAIL);
}
