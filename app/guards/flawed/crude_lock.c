/*
 * See crude_lock.h. Any thread.
 */
#include "crude_lock.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "guards/shared/back_off.h"

static lk_status take_in_time(const struct crude_lock *lock, struct by_hand *hand,
                              struct lk_error *err)
{
    int64_t deadline_ms = clock_mono_ms() + hand->ctx->wait_ms;
    lk_status status = lock->take(lock, hand, err);

    for (unsigned tries = 0; status == LK_BUSY && clock_mono_ms() < deadline_ms; tries++) {
        back_off(tries, deadline_ms);
        status = lock->take(lock, hand, err);
    }
    return status;
}

struct guard_result crude_lock_sell_by(const struct crude_lock *lock, const struct guard_ctx *ctx,
                                       struct purchase **batch, size_t count)
{
    int64_t deadline_ms = clock_mono_ms() + ctx->limit_ms;
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;

    if (by_hand_make(ctx, batch, count, &hand)) {
        lk_status status = take_in_time(lock, &hand, &result.error);

        if (status == LK_OK) {
            result = by_hand_sell(&hand, deadline_ms, NULL);
            lock->give(lock, &hand);
        } else if (status == LK_BUSY) {
            result.status = GUARD_BUSY;
        }
    }
    by_hand_done(&hand);
    return result;
}

struct guard_result crude_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                    size_t count)
{
    return crude_lock_sell_by(ctx->guard->way, ctx, batch, count);
}

/* ---- locks in Redis -------------------------------------------------------------------------------- */

static const char *lock_key(const struct by_hand *hand)
{
    return hand->keys.text[KEY_LOCK];
}

lk_status crude_lock_ask(const struct guard_ctx *ctx, const char *const words[CRUDE_WORDS_MAX],
                         lk_reply **out_reply, struct lk_error *err)
{
    struct lk_bytes args[CRUDE_WORDS_MAX];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    while (words[command.count]) {
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    lk_status status = lk_client_call(ctx->client, &command, 1, ctx->limit_ms, &reply, err);
    if (status != LK_OK) return status;
    if (lk_reply_type_of(reply) == LK_REPLY_ERROR) {
        *err = (struct lk_error){.code = LK_SERVER, .where = __func__};
        (void)snprintf(err->text, sizeof err->text, "%s", lk_reply_bytes(reply).data);
        lk_reply_free(reply);
        return LK_SERVER;
    }
    *out_reply = reply;
    return LK_OK;
}

lk_status crude_lock_setnx(const struct by_hand *hand, struct lk_error *err)
{
    const char *const words[CRUDE_WORDS_MAX] = {"SETNX", lock_key(hand), hand->ctx->instance};
    lk_reply *reply = NULL;
    lk_status status = crude_lock_ask(hand->ctx, words, &reply, err);

    if (status == LK_OK && lk_reply_integer(reply, 0) != 1) status = LK_BUSY;
    lk_reply_free(reply);
    return status;
}

lk_status crude_lock_set_nx_px(const struct by_hand *hand, const char *value, struct lk_error *err)
{
    char lease[24];
    const char *const words[CRUDE_WORDS_MAX] = {"SET", lock_key(hand), value, "NX", "PX", lease};
    lk_reply *reply = NULL;

    (void)snprintf(lease, sizeof lease, "%" PRId64, hand->ctx->lease_ms);
    lk_status status = crude_lock_ask(hand->ctx, words, &reply, err);
    if (status == LK_OK && lk_reply_type_of(reply) == LK_REPLY_NIL) status = LK_BUSY;
    lk_reply_free(reply);
    return status;
}

void crude_lock_del(const struct crude_lock *lock, struct by_hand *hand)
{
    const char *const words[CRUDE_WORDS_MAX] = {"DEL", lock_key(hand)};
    lk_reply *reply = NULL;
    struct lk_error err;

    (void)lock;
    (void)crude_lock_ask(hand->ctx, words, &reply, &err); /* if it fails, nobody here can do more */
    lk_reply_free(reply);
}
