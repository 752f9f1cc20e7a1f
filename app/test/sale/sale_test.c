/*
 * sale.c: which names are valid, what state a buyer sees, what outcomes are called.
 */
#include "sale/purchase.h"
#include "sale/sale.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#define TEN             "abcdefghij"
#define FORTY           TEN TEN TEN TEN
#define SIXTY_FOUR      FORTY TEN TEN "abcd"

TEST(names_are_valid_as_the_table_says)
{
    static const struct {
        bool as_sale, as_buyer, as_key;
        const char *names;
    } rows[] = {
        {true, true, true, "a|0|-|z9-|" FORTY},
        {false, true, true, "_|A|Z9-_|" FORTY "k|" SIXTY_FOUR},
        {false, false, true, ".|..|z9-_."},
        {false, false, false,
         SIXTY_FOUR
         "e|" SIXTY_FOUR SIXTY_FOUR "|"
         "| a|a |a b|a~|~a|a~SET x y|a\n|a\t|a\x7f|\x01|{a}|a}|a}:stock{|a:b|a*|a?|[a]|%s|%00|"
         "a/b|a\\b|a@b|a,b|a+b|a`b|\xc3\xa4|\xe7\xa7\x92\xe6\x9d\x80|\xff|\x80"},
    };
    const char *name = NULL;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; (name = texts_at(rows[i].names, k)); k++)
            if (sale_id_is_valid(name) != rows[i].as_sale ||
                sale_buyer_id_is_valid(name) != rows[i].as_buyer ||
                sale_key_is_valid(name) != rows[i].as_key)
                fail_msg("\"%s\"", name);
}

/* Every byte alone: so nobody adds one to an alphabet by accident, the end mark included. */
TEST(exactly_the_listed_bytes_are_in_the_alphabets)
{
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (int byte = 0; byte < 256; byte++) {
        const char text[] = {(char)byte, '\0'};
        bool is_low = byte > 0 && strchr(lower, byte);
        bool is_up = byte > 0 && strchr(upper, byte);

        assert_int_equal(sale_id_is_valid(text), is_low || byte == '-');
        assert_int_equal(sale_buyer_id_is_valid(text),
                         is_low || is_up || byte == '-' || byte == '_');
        assert_int_equal(sale_key_is_valid(text),
                         is_low || is_up || byte == '-' || byte == '_' || byte == '.');
    }
}

/* What stands behind the end mark neither helps nor harms. */
TEST(a_name_ends_at_its_nul)
{
    static const char good[] = "a\0{}";
    static const char bad[] = "{\0aa";

    assert_true(sale_id_is_valid(good) && sale_buyer_id_is_valid(good));
    assert_true(sale_key_is_valid(good));
    assert_false(sale_id_is_valid(bad) || sale_buyer_id_is_valid(bad));
    assert_false(sale_key_is_valid(bad));
}

TEST(a_buyer_sees_the_state_that_the_table_says)
{
    static const struct {
        const char *stored;
        int64_t starts_ms, ends_ms, now_ms, left;
        sale_state expected;
    } rows[] = {
        {"open", 1000, 2000, 999, 5, SALE_UPCOMING},  {"open", 1000, 2000, 999, 0, SALE_UPCOMING},
        {"open", 1000, 2000, 1000, 5, SALE_ACTIVE},   {"open", 1000, 2000, 1999, 1, SALE_ACTIVE},
        {"open", 1000, 2000, 1999, 0, SALE_SOLD_OUT}, {"open", 1000, 2000, 1999, -1, SALE_SOLD_OUT},
        {"open", 1000, 2000, 2000, 5, SALE_ENDED},    {"open", 1000, 2000, 2000, 0, SALE_ENDED},
        {"open", 1000, 0, 1000000, 5, SALE_ACTIVE}, /* 0: open end */
        {"open", 1000, 0, 1000000, 0, SALE_SOLD_OUT}, {"open", 0, 0, 0, 1, SALE_ACTIVE},
        {"open", 3000, 2000, 2500, 1, SALE_ENDED}, /* a window that ends before it begins */
        {"paused", 1000, 2000, 1500, 5, SALE_PAUSED}, {"paused", 1000, 2000, 1500, 0, SALE_PAUSED},
        {"paused", 1000, 2000, 500, 5, SALE_PAUSED}, /* the operator's word goes first */
        {"paused", 1000, 2000, 2000, 5, SALE_ENDED},  {"paused", 1000, 0, 500, 5, SALE_PAUSED},
        {"ended", 1000, 2000, 500, 5, SALE_ENDED},    {"ended", 1000, 2000, 1500, 5, SALE_ENDED},
        {"ended", 1000, 0, 1500, 0, SALE_ENDED},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sale sale = {.starts_ms = rows[i].starts_ms,
                            .ends_ms = rows[i].ends_ms,
                            .now_ms = rows[i].now_ms,
                            .left = rows[i].left};

        (void)snprintf(sale.stored_state, sizeof sale.stored_state, "%s", rows[i].stored);
        if (sale_state_of(&sale) != rows[i].expected)
            fail_msg("row %zu: %s", i, sale_state_name(sale_state_of(&sale)));
    }
}

TEST(units_cool_until_their_lot_is_sellable)
{
    static const struct {
        const char *lots;
        int64_t now_ms, left, cooling, sellable_ms;
    } rows[] = {
        {"", 1000, 9, 0, 0},
        {"1250:5", 1000, 4, 5, 1250},
        {"1250:5", 1249, 4, 5, 1250},
        {"1250:5", 1250, 9, 0, 0},
        {"1250:2 1300:3", 1000, 4, 5, 1300},
        {"1300:3 1250:2", 1275, 6, 3, 1300},
        {"1250:2 1300:3", 1300, 9, 0, 0},
        {"1250:2 1300", 1000, 7, 2, 1250},
        {"1250", 1000, 9, 0, 0},
        {"x1250:5", 1000, 9, 0, 0},
        {"1250:", 1000, 9, 0, 0},
        {"2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2:1 2000:1", 1000, 8, 1,
         2000},
        {"2000:1 2:1 2:1", 1000, 8, 1, 2000},
        {"11049:5", 1000, 4, 5, 11049},
        {"11050:5 1250:1", 1000, 8, 1, 1250}, /* the clock was set back */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sale sale = {.now_ms = rows[i].now_ms};

        sale_read_lots(&sale, rows[i].lots);
        sale_set_stock(&sale, 9);
        if (sale.left != rows[i].left) fail_msg("\"%s\": %d left", rows[i].lots, (int)sale.left);
        assert_int_equal(sale.cooling, rows[i].cooling);
        assert_int_equal(sale.sellable_ms, rows[i].sellable_ms);
    }
}

/* A clock that was set back can leave more lots than there is room for. */
TEST(no_unit_that_cools_is_lost_among_many_lots)
{
    const int64_t many = 3 * (int64_t)SALE_LOTS_MAX;
    struct sale sale = {.now_ms = 1};

    for (int64_t i = 1; i <= many; i++)
        sale_add_lot(&sale, (struct sale_lot){.sellable_ms = 1000 - i, .units = 1});
    sale_set_stock(&sale, 100);
    assert_int_equal(sale.cooling, many);
    assert_int_equal(sale.sellable_ms, 999);
    assert_int_equal(sale.left, 100 - many);
}

TEST(every_state_and_outcome_has_a_name_of_its_own)
{
    for (unsigned i = 0; i < SALE_STATE_COUNT; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(sale_state_name(i), sale_state_name(k));
    }
    for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(sale_outcome_name(i), sale_outcome_name(k));
    }
    assert_string_equal(sale_state_name(SALE_SOLD_OUT), "sold_out");
    assert_string_equal(sale_outcome_name(OUTCOME_LOCK_TIMEOUT), "lock-timeout");
}

TEST(a_value_out_of_the_list_has_a_name_too)
{
    assert_string_equal(sale_state_name(SALE_STATE_COUNT), "?");
    assert_string_equal(sale_outcome_name(OUTCOME_COUNT), "?");
}
