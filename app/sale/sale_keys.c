/*
 * See sale_keys.h. Any thread.
 */
#include "sale_keys.h"

#include <stdio.h>

void sale_keys_make(const char *sale_id, struct sale_keys *out)
{
    static const char *const suffixes[] = {[KEY_SALE] = "sale",
                                           [KEY_STOCK] = "stock",
                                           [KEY_ORDERS] = "orders",
                                           [KEY_LEDGER] = "ledger",
                                           [KEY_VOID] = "void",
                                           [KEY_DUE] = "due",
                                           [KEY_FENCE] = "fence",
                                           [KEY_LOCK] = "lock",
                                           [KEY_EVENTS] = "events",
                                           [KEY_REFUNDS] = "refunds",
                                           [KEY_EXPIRER_FENCE] = "expirer-fence",
                                           [KEY_WAITING] = "waiting",
                                           [KEY_PLACES] = "places",
                                           [KEY_SEGMENTS] = "segments"};

    for (size_t i = 0; i < SALE_KEY_COUNT; i++) {
        int len =
            snprintf(out->text[i], sizeof out->text[i], "seckill:{%s}:%s", sale_id, suffixes[i]);

        out->key[i] = (struct lk_bytes){.data = out->text[i], .len = (size_t)len};
    }
}
