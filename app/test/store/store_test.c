/*
 * store.c without a server: how an order's value is read.
 */
#include "store/store.h"
#include "test/support/testing.h"

#define NINE       "123456789"
#define DIGITS_19  NINE NINE "1"
#define SIXTEEN    "abcdefghijklmnop"
#define SIXTY_FOUR SIXTEEN SIXTEEN SIXTEEN SIXTEEN

struct order_case {
    const char *value;
    const char *id; /* NULL: no order */
    const char *state;
    const char *key;
};

static const struct order_case orders[] = {
    {"1:held:k", "1", "held", "k"},
    {"1:held:", "1", "held", ""},
    {"1:held:a:b", "1", "held", "a:b"}, /* the key is the rest, whatever it holds */
    {"1:held::", "1", "held", ":"},
    {DIGITS_19 ":held:" SIXTY_FOUR, DIGITS_19, "held", SIXTY_FOUR},
    {"1:abcdefghijklmno:k", "1", "abcdefghijklmno", "k"},
    {DIGITS_19 "0:held:k", NULL, NULL, NULL},
    {"1:" SIXTEEN ":k", NULL, NULL, NULL},
    {"1:held:" SIXTY_FOUR "q", NULL, NULL, NULL},
    {"", NULL, NULL, NULL},
    {"1", NULL, NULL, NULL},
    {"1:", NULL, NULL, NULL},
    {"1:held", NULL, NULL, NULL},
};

TEST(an_order_is_read_as_the_table_says)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const struct order_case *row = &orders[i];
        struct order order = {.buyer = "bob"};

        if (store_parse_order(lk_bytes_of(row->value), &order) != (row->id != NULL))
            fail_msg("row %zu", i);
        assert_string_equal(order.buyer, "bob");
        if (!row->id) continue;
        assert_string_equal(order.id, row->id);
        assert_string_equal(order.state, row->state);
        assert_string_equal(order.key, row->key);
    }
}

TEST(no_value_is_no_order)
{
    struct order order = {0};

    assert_false(store_parse_order((struct lk_bytes){0}, &order));
}

/* A heap block without an end mark: a sanitizer sees the first byte too many. */
TEST(an_order_is_read_within_its_length)
{
    static const char text[] = "12:held:key:held:more";

    for (size_t len = 1; len < sizeof text; len++) {
        char *block = malloc(len);
        struct order order = {0};

        assert_non_null(block);
        memcpy(block, text, len);
        bool is_order = store_parse_order((struct lk_bytes){.data = block, .len = len}, &order);
        free(block);
        assert_int_equal(is_order, len >= sizeof "12:held:" - 1);
        if (is_order) assert_int_equal(strlen(order.key), len - (sizeof "12:held:" - 1));
    }
}

TEST(a_nul_byte_ends_a_part_but_not_the_reading)
{
    static const char text[] = "1\0:held:k\0k";
    struct order order = {0};

    assert_true(store_parse_order((struct lk_bytes){.data = text, .len = sizeof text - 1}, &order));
    assert_string_equal(order.id, "1");
    assert_string_equal(order.state, "held");
    assert_string_equal(order.key, "k");
}

TEST(freeing_no_store_is_fine)
{
    store_free(NULL);
}
