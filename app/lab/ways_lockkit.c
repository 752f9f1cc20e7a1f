/*
 * Ways that use lockkit's locks, and one that trusts a lost answer. None waits. Any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_scripts.h"
#include "guards/by_hand.h"
#include "guards/purchase_eval.h"
#include "lab/ways.h"
#include "lab/ways_inside.h"

/* ---- a lock that the write does not check --------------------------------------------------------- */

static void sell_holding(lk_lock *lock, struct by_hand *hand, struct guard_result *result)
{
    int64_t limit_ms = hand->ctx->limit_ms;

    result->status = GUARD_UNAVAILABLE;
    if (by_hand_read_and_decide(hand, limit_ms, &result->error) != LK_OK) return;
    result->status = GUARD_BUSY;
    if (!lk_held(lock)) return;
    way_pause();
    lk_status status = by_hand_write(hand, limit_ms, &result->error);
    result->status = status == LK_OK ? GUARD_DONE : GUARD_UNKNOWN;
    if (status == LK_OK) by_hand_tell(hand);
}

static struct guard_result sell_unchecked(const struct guard_ctx *ctx, struct purchase **batch,
                                          size_t count, const struct lk_lock_options *options)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;
    lk_lock *lock = NULL;

    if (by_hand_make(ctx, batch, count, &hand))
        lock = lk_mutex_new(ctx->client, hand.keys.text[KEY_LOCK], &result.error);
    if (lock && lk_lock_acquire(lock, options, &result.error) == LK_OK) {
        sell_holding(lock, &hand, &result);
        (void)lk_lock_release(lock, NULL); /* else the lease ends it */
    } else if (lock) {
        result.status = GUARD_BUSY;
    }
    lk_lock_free(lock);
    by_hand_done(&hand);
    return result;
}

static struct guard_result mutex_try_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                          size_t count)
{
    return sell_unchecked(ctx, batch, count, &(struct lk_lock_options){.lease_ms = ctx->lease_ms});
}

const struct guard way_mutex_try = {
    .name = "mutex-try",
    .idea = "lockkit's mutex, tried once; the write trusts it",
    .flaw = "as mutex-unchecked",
    .expected = VERDICT_OVERSELLS,
    .sell = mutex_try_sell,
};

static struct guard_result watchdog_unchecked_sell(const struct guard_ctx *ctx,
                                                   struct purchase **batch, size_t count)
{
    return sell_unchecked(ctx, batch, count,
                          &(struct lk_lock_options){.lease_ms = ctx->lease_ms, .is_renewed = true});
}

const struct guard way_watchdog_unchecked = {
    .name = "watchdog-unchecked",
    .idea = "lockkit's mutex with a watchdog, tried once; the write trusts it",
    .flaw = "a paused process does not renew, and wakes up in the belief that it holds the lock",
    .expected = VERDICT_OVERSELLS,
    .sell = watchdog_unchecked_sell,
};

/* ---- a fencing token that the resource checks ----------------------------------------------------- */

static const char fence_check[] =
    "-- Refuse a write that shows a lower token than the resource has seen.\n"
    "local seen = tonumber(redis.call('GET', KEYS[#KEYS]) or '0')\n"
    "if tonumber(ARGV[#ARGV]) < seen then\n"
    "  return redis.error_reply('STALE a token lower than the highest that was seen')\n"
    "end\n"
    "redis.call('SET', KEYS[#KEYS], ARGV[#ARGV])\n";

static lk_script *fenced_script(void)
{
    char *text = NULL;

    if (asprintf(&text, "%s%s", fence_check, app_script_named("purchase")->source) < 0) return NULL;
    lk_script *script = lk_script_new(&(struct lk_script_source){.name = "fenced", .source = text});
    free(text);
    return script;
}

/* purchase.lua behind the check: one key and one argument more. */
static lk_status eval_fenced(const struct purchase_eval *purchase, uint64_t token, lk_reply **reply,
                             struct lk_error *err)
{
    struct lk_bytes keys[KEY_VOID + 2];
    struct lk_bytes *args = calloc(purchase->eval.arg_count + 1, sizeof *args);
    lk_script *script = fenced_script();
    lk_status status = LK_NO_MEMORY;
    char fence_key[SALE_KEY_ROOM];
    char number[24];

    (void)snprintf(fence_key, sizeof fence_key, "seckill:{%s}:fence", purchase->ctx->sale_id);
    (void)snprintf(number, sizeof number, "%" PRIu64, token);
    if (args && script) {
        memcpy(keys, purchase->eval.keys, sizeof *keys * (KEY_VOID + 1));
        keys[KEY_VOID + 1] = lk_bytes_of(fence_key);
        memcpy(args, purchase->eval.args, sizeof *args * purchase->eval.arg_count);
        args[purchase->eval.arg_count] = lk_bytes_of(number);
        status = lk_client_eval(purchase->ctx->client,
                                &(struct lk_eval){.script = script,
                                                  .keys = keys,
                                                  .key_count = KEY_VOID + 2,
                                                  .args = args,
                                                  .arg_count = purchase->eval.arg_count + 1},
                                purchase->ctx->limit_ms, reply, err);
    }
    lk_script_free(script);
    free(args);
    return status;
}

static struct guard_result fencing_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        lock = lk_fenced_new(ctx->client, purchase.keys.text[KEY_LOCK], &err);
    if (lock)
        status = lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = ctx->lease_ms}, &err);
    if (status == LK_OK) {
        status = eval_fenced(&purchase, lk_lock_fence(lock), &reply, &err);
        if (status == LK_SERVER && strncmp(err.text, "STALE", 5) == 0) status = LK_NOT_OWNER;
        (void)lk_lock_release(lock, NULL); /* else the lease ends it */
    }
    lk_lock_free(lock);
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard way_fencing = {
    .name = "fencing",
    .idea = "lockkit's fenced lock; the resource refuses a token lower than it has seen",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = fencing_sell,
};

/* ---- a lost answer, taken for a "no" ---------------------------------------------------------------- */

static bool has_order(const struct purchase_eval *purchase, const char *buyer)
{
    struct lk_bytes words[] = {LK_BYTES("HGET"), purchase->keys.key[KEY_ORDERS],
                               lk_bytes_of(buyer)};
    lk_reply *reply = NULL;
    lk_status status = lk_client_call(purchase->ctx->client, &(struct lk_command){words, 3}, 1,
                                      purchase->ctx->limit_ms, &reply, NULL);
    bool is_there = status != LK_OK || lk_reply_type_of(reply) != LK_REPLY_NIL;

    lk_reply_free(reply);
    return is_there;
}

static struct guard_result unmarked_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                         size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        status = lk_client_eval(ctx->client, &purchase.eval, ctx->limit_ms, &reply, &err);
    if (status == LK_UNKNOWN && !has_order(&purchase, batch[0]->buyer)) status = LK_UNREACHABLE;
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard way_unmarked = {
    .name = "unmarked",
    .idea = "after a lost answer look for the order, and believe what is found",
    .flaw = "what still lies in a dead connection arrives after the look, and sells",
    .expected = VERDICT_OVERSELLS,
    .sell = unmarked_sell,
};
