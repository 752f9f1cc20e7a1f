/*
 * FLAWED on purpose, but for the last, and only for the lab: what articles take for a lock, and for a script that
 * rolls back. Any thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "guards/flawed/crude_lock.h"
#include "scenarios.h"

/* ---- locks ----------------------------------------------------------------------------------------- */

static void compare_and_del(struct by_hand *hand, const char *value)
{
    static const char script[] =
        "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])";
    const char *const words[CRUDE_WORDS_MAX] = {"EVAL", script, "1", hand->keys.text[KEY_LOCK],
                                                value};
    lk_reply *reply = NULL;
    struct lk_error err;

    (void)crude_lock_ask(hand->ctx, words, &reply, &err); /* else the lease ends it */
    lk_reply_free(reply);
}

static lk_status setex(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err)
{
    char lease[24];
    const char *const words[CRUDE_WORDS_MAX] = {"SETEX", hand->keys.text[KEY_LOCK], lease,
                                                hand->ctx->instance};
    lk_reply *reply = NULL;

    (void)lock;
    (void)snprintf(lease, sizeof lease, "%" PRId64, hand->ctx->lease_ms / 1000);
    lk_status status = crude_lock_ask(hand->ctx, words, &reply, err);
    lk_reply_free(reply);
    return status;
}

static void give_own(const struct crude_lock *lock, struct by_hand *hand)
{
    (void)lock;
    compare_and_del(hand, hand->ctx->instance);
}

const struct guard scenario_guard_setex = {
    .name = "setex",
    .idea = "SETEX, a key and its expiry in one step; then compare and delete",
    .flaw = "SETEX asks nobody: it overwrites whoever has the lock",
    .expected = VERDICT_OVERSELLS,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = setex, .give = give_own},
};

static lk_status take_as_object(const struct crude_lock *lock, struct by_hand *hand,
                                struct lk_error *err)
{
    return crude_lock_set_nx_px(hand, lock->arg, err);
}

static void give_as_object(const struct crude_lock *lock, struct by_hand *hand)
{
    compare_and_del(hand, lock->arg);
}

static char object[] =
    "object"; /* the token of a lock that is made once and used by all requests */

const struct guard scenario_guard_object_token = {
    .name = "object-token",
    .idea = "SET NX PX, compare and delete, with a token that was made with the lock object",
    .flaw = "a late release finds the object's token, which is its next hold's as well",
    .expected = VERDICT_OVERSELLS,
    .sell = crude_lock_sell,
    .way =
        &(const struct crude_lock){.take = take_as_object, .give = give_as_object, .arg = object},
};

/* ---- scripts --------------------------------------------------------------------------------------- */

/* The orders of this release are in a key that is another one's stream: the write is always refused. */
static struct guard_result sell_by_script(const struct guard_ctx *ctx, struct purchase **batch,
                                          size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(ctx->sale_id, &keys);
    const char *const words[CRUDE_WORDS_MAX] = {
        "EVAL", ctx->guard->way, "2", keys.text[KEY_STOCK], keys.text[KEY_LEDGER], batch[0]->buyer};
    if (crude_lock_ask(ctx, words, &reply, &result.error) == LK_OK) result.status = GUARD_DONE;
    for (size_t i = 0; i < count; i++)
        batch[i]->outcome = OUTCOME_SOLD_OUT;
    lk_reply_free(reply);
    return result;
}

#define SOLD_OUT "if redis.call('GET', KEYS[1]) == '0' then return 'sold out' end\n"
#define SELL     "redis.call('DECR', KEYS[1])\nredis.call('HSET', KEYS[2], ARGV[1], 'held')"

const struct guard scenario_guard_no_rollback = {
    .name = "no-rollback",
    .idea = "a script counts down, then writes the order: all or nothing, as it is one step",
    .flaw = "one step, but no transaction: when its second write is refused, the first one stays",
    .expected = VERDICT_OVERSELLS,
    .sell = sell_by_script,
    .way = SOLD_OUT SELL,
};

const struct guard scenario_guard_check_first = {
    .name = "check-first",
    .idea = "a script asks first for all that could refuse a write, and then writes",
    .expected = VERDICT_SOUND,
    .sell = sell_by_script,
    .way = "redis.call('HLEN', KEYS[2])\n" SOLD_OUT SELL,
};
