/*
 * A right solution. Don't look before you have tried.
 *
 * The lock has a lease from the moment it is there (one command), and its value is a token that
 * nobody else has. Who frees it and who writes asks for the token in the same step. So a holder
 * that comes late frees nobody's lock and overwrites nobody's sale.
 */
#include "lab/exercises/exercise.h"

static const char compare_and_delete[] = "if redis.call('GET', KEYS[1]) == ARGV[1] then\n"
                                         "  return redis.call('DEL', KEYS[1])\n"
                                         "end\n"
                                         "return 0\n";

enum sold sell(struct shop *shop)
{
    const char *lock = shop_lock(shop);
    const char *token = shop_token(shop);
    bool is_written = false;

    if (!says(REDIS(shop, "SET", lock, token, "NX", "PX", shop_lease_ms(shop)), "OK")) return BUSY;
    if (shop_read(shop))
        is_written = shop_write_if(shop, "redis.call('GET', KEYS[1]) == ARGV[1]", lock, token);
    REDIS(shop, "EVAL", compare_and_delete, "1", lock, token);
    return is_written ? SOLD : BUSY;
}
