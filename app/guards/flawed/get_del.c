/*
 * FLAWED on purpose: each acquisition has a value of its own, and the holder looks for it before it
 * deletes; but GET and DEL are two commands, and the lock can become somebody else's in between. (And
 * nothing looks before the write.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "crude_lock.h"

enum { VALUE_SIZE = 128 };

/* Unlike that of any other sell: no process sells twice under one attempt. */
static void make_value(const struct guard_ctx *ctx, char out[VALUE_SIZE])
{
    (void)snprintf(out, VALUE_SIZE, "%s#%" PRId64, ctx->process, ctx->attempt);
}

static lk_status take(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err)
{
    return crude_lock_set_nx_px(hand, lock->arg, err);
}

static void get_then_del(const struct crude_lock *lock, struct by_hand *hand)
{
    const char *const words[CRUDE_WORDS_MAX] = {"GET", hand->keys.text[KEY_LOCK]};
    lk_reply *reply = NULL;
    struct lk_error err;
    bool is_ours = false;

    if (crude_lock_ask(hand->ctx, words, &reply, &err) == LK_OK)
        is_ours = lk_reply_type_of(reply) == LK_REPLY_STRING &&
                  strcmp(lk_reply_bytes(reply).data, lock->arg) == 0;
    lk_reply_free(reply);
    if (is_ours) crude_lock_del(lock, hand);
}

static struct guard_result get_del_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    char value[VALUE_SIZE];

    make_value(ctx, value);
    return crude_lock_sell_by(
        &(struct crude_lock){.take = take, .give = get_then_del, .arg = value}, ctx, batch, count);
}

const struct guard guard_get_del = {
    .name = "get-del",
    .idea = "SET NX PX, then GET, compare, DEL",
    .flaw = "between GET and DEL the lock can become somebody else's",
    .expected = VERDICT_OVERSELLS,
    .sell = get_del_sell,
};
