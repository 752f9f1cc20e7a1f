/*
 * No lock, but optimism: WATCH what is read, write in a transaction that Redis refuses when any of
 * it has changed since, and begin again. Two round trips for each try. Also an answer that writes
 * nothing ends in a transaction (an empty one), or its reads could be of different moments.
 *
 * Where replicas are waited for, WAIT follows EXEC in the same round trip.
 *
 * The void mark is watched too: once resolve.lua has given an attempt up, a transaction of it that
 * still lies in a dead connection is refused. Two things a script does better: the end of a sale is
 * judged when it is read, so a try under way at that moment may still sell; and Redis does not roll a
 * transaction back, so all that could refuse one of its commands is looked at before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "guards/base/guard.h"
#include "guards/shared/back_off.h"
#include "guards/shared/by_hand.h"
#include "guards/shared/purchase_eval.h"

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
}

/* Nothing was written yet: whatever goes wrong, it was not executed. */
static lk_status watch_and_decide(lk_session *session, struct by_hand *hand, int64_t limit_ms,
                                  struct lk_error *err)
{
    const struct lk_bytes watch[] = {LK_BYTES("WATCH"),         hand->keys.key[KEY_SALE],
                                     hand->keys.key[KEY_STOCK], hand->keys.key[KEY_ORDERS],
                                     hand->keys.key[KEY_VOID],  hand->keys.key[KEY_LEDGER]};
    struct lk_command commands[1 + BY_HAND_READS] = {{watch, 6}};
    lk_reply *replies[1 + BY_HAND_READS] = {0};

    by_hand_reads(hand, commands + 1);
    lk_status status =
        lk_session_call(session, commands, 1 + BY_HAND_READS, limit_ms, replies, err);
    if (status == LK_UNKNOWN) return LK_UNREACHABLE;
    if (status != LK_OK) return status;
    if (lk_reply_type_of(replies[0]) == LK_REPLY_ERROR) {
        status = LK_SERVER;
    } else {
        status = by_hand_decide(hand, replies + 1, err);
    }
    free_replies(replies, 1 + BY_HAND_READS);
    return status;
}

/* BUSY: something had changed. SERVER: refused as a whole. UNKNOWN also: executed in part. */
static lk_status read_exec(const lk_reply *exec)
{
    lk_reply_type type = lk_reply_type_of(exec);

    if (type == LK_REPLY_NIL) return LK_BUSY;
    if (type != LK_REPLY_ARRAY) return LK_SERVER;
    for (size_t i = 0; i < lk_reply_count(exec); i++) {
        if (lk_reply_type_of(lk_reply_at(exec, i)) == LK_REPLY_ERROR) return LK_UNKNOWN;
    }
    return LK_OK;
}

/* WAIT's words; the numbers are in here. */
struct wait_words {
    char replicas[12];
    char ms[24];
    struct lk_bytes words[3];
};

static struct lk_command wait_command(const struct deployment *deployment, int64_t limit_ms,
                                      struct wait_words *room)
{
    int64_t wait_ms = deployment->sync_ms < limit_ms ? deployment->sync_ms : limit_ms;

    (void)snprintf(room->replicas, sizeof room->replicas, "%u", deployment->sync_replicas);
    (void)snprintf(room->ms, sizeof room->ms, "%" PRId64, wait_ms);
    room->words[0] = LK_BYTES("WAIT");
    room->words[1] = lk_bytes_of(room->replicas);
    room->words[2] = lk_bytes_of(room->ms);
    return (struct lk_command){room->words, 3};
}

static lk_status write_unless_changed(lk_session *session, struct by_hand *hand, int64_t limit_ms,
                                      struct lk_error *err)
{
    const struct deployment *deployment = hand->ctx->deployment;
    const struct lk_bytes multi = LK_BYTES("MULTI");
    const struct lk_bytes exec = LK_BYTES("EXEC");
    struct lk_command commands[3 + BY_HAND_WRITES] = {{&multi, 1}};
    lk_reply *replies[3 + BY_HAND_WRITES] = {0};
    struct wait_words wait_words = {0};
    size_t count = 1;

    if (hand->sold > 0) {
        by_hand_writes(hand, commands + 1);
        count += BY_HAND_WRITES;
    }
    size_t exec_at = count;
    commands[count++] = (struct lk_command){&exec, 1};
    if (deployment_is_synced(deployment))
        commands[count++] = wait_command(deployment, limit_ms, &wait_words);
    lk_status status = lk_session_call(session, commands, count, limit_ms, replies, err);
    if (status != LK_OK) return status;
    status = read_exec(replies[exec_at]);
    if (status == LK_OK && count > exec_at + 1 &&
        lk_reply_integer(replies[exec_at + 1], -1) < (long long)deployment->sync_replicas)
        status = LK_UNSYNCED;
    free_replies(replies, count);
    return status;
}

static lk_status try_once(struct by_hand *hand, int64_t deadline_ms, struct lk_error *err)
{
    int64_t left_ms = deadline_ms - clock_mono_ms();
    lk_session *session = NULL;
    lk_status status = LK_BUSY;

    if (left_ms <= 0) return status;
    session = lk_session_open(hand->ctx->client, hand->keys.text[KEY_SALE], left_ms, err);
    if (!session) return LK_UNREACHABLE;
    status = watch_and_decide(session, hand, left_ms, err);
    if (status == LK_OK) by_hand_pause(hand);
    left_ms = deadline_ms - clock_mono_ms();
    if (status == LK_OK && left_ms <= 0) status = LK_BUSY;
    if (status == LK_OK) status = write_unless_changed(session, hand, left_ms, err);
    lk_session_close(session);
    return status;
}

static struct guard_result watch_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    int64_t begin_ms = clock_mono_ms();
    int64_t deadline_ms = begin_ms + ctx->limit_ms;
    int64_t tries_until_ms = begin_ms + ctx->wait_ms;
    struct purchase_eval purchase; /* settles a transaction whose answer was lost */
    struct by_hand hand;
    struct lk_error err = {0};
    lk_status status = LK_NO_MEMORY;
    bool is_made = by_hand_make(ctx, batch, count, &hand);

    if (purchase_eval_make(ctx, batch, count, &purchase) && is_made)
        status = try_once(&hand, deadline_ms, &err);
    for (unsigned tries = 0; status == LK_BUSY && clock_mono_ms() < tries_until_ms; tries++) {
        back_off(tries, tries_until_ms);
        status = try_once(&hand, deadline_ms, &err);
    }
    if (status == LK_OK) by_hand_set_outcomes(&hand);
    by_hand_done(&hand);
    if (status != LK_OK) return purchase_eval_end(&purchase, status, NULL, &err);
    purchase_eval_confirm(&purchase);
    free(purchase.args);
    return (struct guard_result){.status = GUARD_DONE};
}

const struct guard guard_watch = {
    .name = "watch",
    .idea = "no lock: WATCH, read, MULTI/EXEC, again when something changed",
    .expected = VERDICT_SOUND,
    .sell = watch_sell,
};
