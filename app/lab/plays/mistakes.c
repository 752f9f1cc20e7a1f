/*
 * FLAWED on purpose, and only for the lab: three first tries that no fault is needed to break. Any thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "guards/flawed/crude_lock.h"
#include "scenarios.h"

static lk_status get_then_set(const struct crude_lock *lock, struct by_hand *hand,
                              struct lk_error *err)
{
    char lease[24];
    const char *key = hand->keys.text[KEY_LOCK];
    const char *const get[CRUDE_WORDS_MAX] = {"GET", key};
    const char *const set[CRUDE_WORDS_MAX] = {"SET", key, hand->ctx->instance, "PX", lease};
    lk_reply *reply = NULL;
    lk_status status = crude_lock_ask(hand->ctx, get, &reply, err);

    (void)lock;
    (void)snprintf(lease, sizeof lease, "%" PRId64, hand->ctx->lease_ms);
    if (status == LK_OK && lk_reply_type_of(reply) != LK_REPLY_NIL) status = LK_BUSY;
    lk_reply_free(reply);
    reply = NULL;
    if (status == LK_OK) status = crude_lock_ask(hand->ctx, set, &reply, err);
    lk_reply_free(reply);
    return status;
}

const struct guard scenario_guard_get_then_set = {
    .name = "get-then-set",
    .idea = "GET the lock, and SET it when there is none, then DEL",
    .flaw = "two who ask before either sets both find it free",
    .expected = VERDICT_OVERSELLS,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = get_then_set, .give = crude_lock_del},
};

static lk_status lock_buyer(const struct crude_lock *lock, struct by_hand *hand,
                            struct lk_error *err)
{
    (void)lock;
    (void)snprintf(hand->keys.text[KEY_LOCK], sizeof hand->keys.text[KEY_LOCK],
                   "seckill:{%s}:lock:%s", hand->ctx->sale_id, hand->batch[0]->buyer);
    return crude_lock_set_nx_px(hand, hand->ctx->instance, err);
}

const struct guard scenario_guard_per_buyer_lock = {
    .name = "per-buyer-lock",
    .idea = "SET NX PX on a lock of the buyer, so that buyers do not wait for each other",
    .flaw = "what they share is the stock, and nobody locks that",
    .expected = VERDICT_OVERSELLS,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = lock_buyer, .give = crude_lock_del},
};

/* The order, whatever DECR has answered. */
static lk_status write_order(struct by_hand *hand, struct lk_error *err)
{
    struct lk_command commands[BY_HAND_WRITES];
    lk_reply *replies[BY_HAND_WRITES] = {NULL};

    hand->answers[0].outcome = OUTCOME_CREATED;
    by_hand_writes(hand, commands);
    lk_status status =
        lk_client_call(hand->ctx->client, commands, BY_HAND_WRITES - 1, hand->ctx->limit_ms,
                       replies, err); /* the last sets the stock */
    for (size_t i = 0; i < BY_HAND_WRITES; i++)
        lk_reply_free(replies[i]);
    if (status == LK_OK) by_hand_set_outcomes(hand);
    return status;
}

static struct guard_result decr_blind_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                           size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;
    lk_reply *reply = NULL;

    if (by_hand_make(ctx, batch, count, &hand)) {
        const char *const decr[CRUDE_WORDS_MAX] = {"DECR", hand.keys.text[KEY_STOCK]};
        lk_status status = crude_lock_ask(ctx, decr, &reply, &result.error);

        if (status == LK_OK) status = write_order(&hand, &result.error);
        result.status = status == LK_OK ? GUARD_DONE : GUARD_UNKNOWN;
    }
    lk_reply_free(reply);
    by_hand_done(&hand);
    return result;
}

const struct guard scenario_guard_decr_blind = {
    .name = "decr-blind",
    .idea = "DECR is atomic: count down, then write the order",
    .flaw = "nobody has looked at what DECR answered: below zero there is nothing to sell",
    .expected = VERDICT_OVERSELLS,
    .sell = decr_blind_sell,
};
