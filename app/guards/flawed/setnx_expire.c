/*
 * FLAWED on purpose: an expiry, but in a command of its own; a holder that dies between the two leaves
 * a lock without one. Its pause is there, where a kill does the harm. The expiry is in seconds (EXPIRE),
 * as in the articles, rounded up; whoever takes longer than that has the flaw of set-del, too.
 */
#include <inttypes.h>
#include <stdio.h>

#include "crude_lock.h"

enum { MS_PER_S = 1000 };

static lk_status take(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err)
{
    char seconds[24];
    const char *const words[CRUDE_WORDS_MAX] = {"EXPIRE", hand->keys.text[KEY_LOCK], seconds};
    lk_reply *reply = NULL;
    lk_status status = crude_lock_setnx(hand, err);

    (void)lock;
    if (status != LK_OK) return status;
    by_hand_pause(hand);
    (void)snprintf(seconds, sizeof seconds, "%" PRId64,
                   (hand->ctx->lease_ms + MS_PER_S - 1) / MS_PER_S);
    status = crude_lock_ask(hand->ctx, words, &reply, err);
    lk_reply_free(reply);
    return status == LK_BUSY ? LK_UNREACHABLE : status; /* it is taken: do not try again */
}

const struct guard guard_setnx_expire = {
    .name = "setnx-expire",
    .idea = "SETNX, then EXPIRE in a second command, then DEL",
    .flaw = "a holder that dies between the two leaves a lock without an expiry",
    .expected = VERDICT_STUCK,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = take, .give = crude_lock_del},
};
