/*
 * WRONG on purpose: all is right but the lease. Whoever dies while it holds the lock holds it for ever.
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

    if (!says(REDIS(shop, "SETNX", lock, token), "1")) return BUSY;
    if (shop_read(shop))
        is_written = shop_write_if(shop, "redis.call('GET', KEYS[1]) == ARGV[1]", lock, token);
    REDIS(shop, "EVAL", compare_and_delete, "1", lock, token);
    return is_written ? SOLD : BUSY;
}
