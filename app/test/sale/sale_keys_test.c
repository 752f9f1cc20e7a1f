/*
 * sale_keys.c: the names that the auditor and the operator rely on.
 */
#include "sale/sale_keys.h"
#include "test/support/testing.h"

TEST(keys_are_named_as_documented_and_share_a_hash_tag)
{
    static const char *const expected[SALE_KEY_COUNT] = {
        [KEY_SALE] = "seckill:{a-1}:sale",
        [KEY_STOCK] = "seckill:{a-1}:stock",
        [KEY_ORDERS] = "seckill:{a-1}:orders",
        [KEY_LEDGER] = "seckill:{a-1}:ledger",
        [KEY_VOID] = "seckill:{a-1}:void",
        [KEY_FENCE] = "seckill:{a-1}:fence",
        [KEY_LOCK] = "seckill:{a-1}:lock",
        [KEY_DUE] = "seckill:{a-1}:due",
        [KEY_EVENTS] = "seckill:{a-1}:events",
        [KEY_REFUNDS] = "seckill:{a-1}:refunds",
        [KEY_EXPIRER_FENCE] = "seckill:{a-1}:expirer-fence",
        [KEY_WAITING] = "seckill:{a-1}:waiting",
        [KEY_PLACES] = "seckill:{a-1}:places",
        [KEY_SEGMENTS] = "seckill:{a-1}:segments",
    };
    struct sale_keys keys;

    sale_keys_make("a-1", &keys);
    for (size_t i = 0; i < SALE_KEY_COUNT; i++) {
        assert_string_equal(keys.text[i], expected[i]);
        assert_ptr_equal(keys.key[i].data, keys.text[i]);
        assert_int_equal(keys.key[i].len, strlen(expected[i]));
    }
}

TEST(the_longest_id_fits)
{
    char id[SALE_ID_MAX + 1];
    struct sale_keys keys;

    memset(id, 'x', SALE_ID_MAX);
    id[SALE_ID_MAX] = '\0';
    sale_keys_make(id, &keys);
    for (size_t i = 0; i < SALE_KEY_COUNT; i++) {
        assert_int_equal(keys.key[i].len, strlen(keys.text[i]));
        assert_true(keys.key[i].len < SALE_KEY_ROOM);
        assert_non_null(strstr(keys.text[i], id));
    }
}
