/*
 * WRONG on purpose: the lock is perfect, and the write does not ask whether it is still held.
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
    if (shop_read(shop)) is_written = shop_write(shop);
    REDIS(shop, "EVAL", compare_and_delete, "1", lock, token);
    return is_written ? SOLD : BUSY;
}
