/*
 * What is known of sales: each is found, each is met once, also where ids share a bucket.
 */
#include "sale/known.h"
#include "test/support/testing.h"

enum { SALES = 3 * KNOWN_BUCKETS };

struct one {
    struct known_sale base;
    int met;
};

TEST(each_is_found_and_met_once)
{
    static struct known known;
    size_t count = 0;

    assert_null(known_next(&known, NULL));
    for (int i = 0; i < SALES; i++) {
        struct one *sale = calloc(1, sizeof *sale);

        assert_non_null(sale);
        (void)snprintf(sale->base.id, sizeof sale->base.id, "s-%d", i);
        assert_null(known_find(&known, sale->base.id));
        known_add(&known, sale);
        assert_ptr_equal(known_find(&known, sale->base.id), sale);
    }
    KNOWN_EACH(one, sale, &known)
    {
        assert_int_equal(sale->met++, 0);
        count++;
    }
    assert_int_equal(count, SALES);
    known_free(&known, free);
}
