/*
 * The order book against a plain count, over several growths.
 */
#include "sale/order_book.h"
#include "test/support/testing.h"

enum { ORDERS = 20000 };

static struct order order_number(int number)
{
    struct order order = {.state = "held"};

    (void)snprintf(order.buyer, sizeof order.buyer, "buyer-%d", number);
    (void)snprintf(order.id, sizeof order.id, "%d", 1000000 + number);
    (void)snprintf(order.key, sizeof order.key, "%s", number % 2 ? "" : "key");
    return order;
}

TEST(every_buyer_is_found_with_the_own_order)
{
    struct order_book *book = order_book_new();
    const char *id = NULL;
    const char *key = NULL;

    assert_non_null(book);
    for (int i = 0; i < ORDERS; i++) {
        struct order order = order_number(i);

        assert_true(order_book_add(book, &order));
    }
    assert_int_equal(order_book_count(book), ORDERS);
    for (int i = 0; i < ORDERS; i++) {
        struct order order = order_number(i);

        assert_true(order_book_find(book, order.buyer, &id, &key));
        assert_string_equal(id, order.id);
        assert_string_equal(key, order.key);
    }
    assert_false(order_book_find(book, "buyer-20000", &id, &key));
    assert_false(order_book_find(book, "", &id, &key));
    order_book_free(book);
}

/* HSCAN may show a buyer twice. */
TEST(a_buyer_who_comes_twice_counts_once)
{
    struct order_book *book = order_book_new();
    struct order order = order_number(7);

    assert_true(order_book_add(book, &order));
    assert_true(order_book_add(book, &order));
    assert_int_equal(order_book_count(book), 1);
    order_book_free(book);
    order_book_free(NULL);
}
