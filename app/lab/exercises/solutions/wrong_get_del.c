/*
 * WRONG on purpose: whose lock it is, is asked in one command, and it is deleted in another. In
 * between it can become somebody else's.
 */
#include "lab/exercises/exercise.h"

enum sold sell(struct shop *shop)
{
    const char *lock = shop_lock(shop);
    const char *token = shop_token(shop);
    bool is_written = false;

    if (!says(REDIS(shop, "SET", lock, token, "NX", "PX", shop_lease_ms(shop)), "OK")) return BUSY;
    if (shop_read(shop))
        is_written = shop_write_if(shop, "redis.call('GET', KEYS[1]) == ARGV[1]", lock, token);
    if (says(REDIS(shop, "GET", lock), token)) REDIS(shop, "DEL", lock);
    return is_written ? SOLD : BUSY;
}
