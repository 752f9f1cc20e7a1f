/*
 * See purchase_eval.h. Any thread.
 */
#include "purchase_eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"

enum {
    HEAD_ARGS = 4,
    ARGS_PER_PURCHASE = 3,
    FENCE_ARGS = 1,
    HEAD_ANSWERS = 3,
    RESOLVE_MIN_MS = 200, /* one attempt gets so long, also past the limit of the sell */
    RESOLVE_MAX_MS = 1000,
    RESOLVE_PAUSE_MS = 20, /* between two attempts to learn what became of a lost answer */
};

bool purchase_eval_make(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                        struct purchase_eval *out)
{
    struct lk_bytes *next =
        calloc(HEAD_ARGS + ARGS_PER_PURCHASE * count + FENCE_ARGS, sizeof *next);

    *out = (struct purchase_eval){.args = next,
                                  .ctx = ctx,
                                  .batch = batch,
                                  .batch_count = count,
                                  .begin_ms = clock_mono_ms(),
                                  .changes = deployment_changes(ctx->deployment)};
    if (!next) return false;
    sale_keys_make(ctx->sale_id, &out->keys);
    (void)snprintf(out->attempt, sizeof out->attempt, "%" PRId64, ctx->attempt);
    (void)snprintf(out->count, sizeof out->count, "%zu", count);
    *next++ = lk_bytes_of(ctx->instance);
    *next++ = lk_bytes_of(ctx->process);
    *next++ = lk_bytes_of(out->attempt);
    *next++ = lk_bytes_of(out->count);
    for (size_t i = 0; i < count; i++) {
        *next++ = lk_bytes_of(batch[i]->buyer);
        *next++ = lk_bytes_of(batch[i]->order_id);
        *next++ = lk_bytes_of(batch[i]->key);
    }
    out->eval = (struct lk_eval){.script = ctx->purchase,
                                 .keys = out->keys.key,
                                 .key_count = KEY_DUE + 1,
                                 .args = out->args,
                                 .arg_count = (size_t)(next - out->args)};
    return true;
}

void purchase_eval_show_fence(struct purchase_eval *self, uint64_t token)
{
    _Static_assert((int)KEY_FENCE == (int)KEY_DUE + 1,
                   "the fence is the key behind purchase.lua's");

    if (self->ctx->guard->needs != NEED_NOTHING) {
        (void)snprintf(self->fence_key, sizeof self->fence_key, "%s-%s", self->keys.text[KEY_FENCE],
                       self->ctx->guard->name);
        self->keys.key[KEY_FENCE] = lk_bytes_of(self->fence_key);
    }
    (void)snprintf(self->fence, sizeof self->fence, "%" PRIu64, token);
    self->args[self->eval.arg_count++] = lk_bytes_of(self->fence);
    self->eval.key_count = KEY_FENCE + 1;
    self->eval.script = self->ctx->fenced;
}

/* A letter, and nothing or a number behind it that Lua can hold. */
static bool read_moment(struct lk_bytes text, int64_t *out_ms)
{
    enum { DIGITS_MAX = 15 };

    if (text.len > 1 + DIGITS_MAX) return false;
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *out_ms = *out_ms * 10 + (text.data[i] - '0');
    }
    return true;
}

/* 'C', 'C<ms>', 'R<id>', 'A<id>', 'X<id>', 'Y<id>', 'S', 'S<ms>', 'N', 'E', 'P'; false for anything else. */
static bool read_answer(const lk_reply *answer, int64_t until_start_ms, struct purchase *purchase)
{
    static const struct {
        char letter;
        enum { NOTHING, ORDER, MOMENT } names; /* what follows, if it does */
        outcome outcome;
    } letters[] = {{'C', MOMENT, OUTCOME_CREATED},        {'R', ORDER, OUTCOME_REPLAYED},
                   {'A', ORDER, OUTCOME_ALREADY_ORDERED}, {'X', ORDER, OUTCOME_WAS_CANCELLED},
                   {'Y', ORDER, OUTCOME_HAS_EXPIRED},     {'S', MOMENT, OUTCOME_SOLD_OUT},
                   {'N', NOTHING, OUTCOME_NOT_STARTED},   {'E', NOTHING, OUTCOME_ENDED},
                   {'P', NOTHING, OUTCOME_PAUSED}};
    struct lk_bytes text = lk_reply_bytes(answer);
    int64_t moment_ms = 0;
    size_t i = 0;

    if (text.len == 0 || text.len > ORDER_ID_MAX) return false;
    while (i < sizeof letters / sizeof letters[0] && letters[i].letter != text.data[0])
        i++;
    if (i == sizeof letters / sizeof letters[0]) return false;
    if (letters[i].names == NOTHING && text.len > 1) return false;
    if (letters[i].names == MOMENT && !read_moment(text, &moment_ms)) return false;
    purchase->outcome = letters[i].outcome;
    if (letters[i].names == ORDER) { /* never the id that was offered: it is nobody's order */
        memcpy(purchase->order_id, text.data + 1, text.len - 1);
        purchase->order_id[text.len - 1] = '\0';
    }
    if (purchase->outcome == OUTCOME_NOT_STARTED) purchase->retry_ms = until_start_ms;
    if (purchase->outcome == OUTCOME_CREATED) purchase->pay_by_ms = moment_ms;
    if (purchase->outcome == OUTCOME_SOLD_OUT && text.len > 1)
        purchase->retry_ms = moment_ms > 0 ? moment_ms : 1; /* it is due just now */
    return true;
}

static bool read_answers(const lk_reply *reply, struct purchase **batch, size_t count)
{
    bool is_sale = lk_reply_integer(lk_reply_at(reply, 0), -1) >= 0;
    int64_t until_start_ms = lk_reply_integer(lk_reply_at(reply, 1), 0);

    if (lk_reply_count(reply) != HEAD_ANSWERS + (is_sale ? count : 0)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_sale) {
            batch[i]->outcome = OUTCOME_NO_SALE;
        } else if (!read_answer(lk_reply_at(reply, HEAD_ANSWERS + i), until_start_ms, batch[i])) {
            return false;
        }
    }
    return true;
}

static guard_status status_of(lk_status status)
{
    switch (status) {
    case LK_OK:
        return GUARD_DONE;
    case LK_BUSY:
    case LK_EXHAUSTED:
    case LK_CANCELLED:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_NOT_OWNER:
        return GUARD_BUSY;
    case LK_UNKNOWN:
        return GUARD_UNKNOWN;
    case LK_UNSYNCED:
        return GUARD_UNSYNCED;
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_UNREACHABLE:
    case LK_SERVER: /* the script checks everything before its first write */
    case LK_STATUS_COUNT:
        break;
    }
    return GUARD_UNAVAILABLE;
}

/* ---- lost answers -------------------------------------------------------------------------------- */

/* One try to settle the attempt. Afterwards it can never be executed any more. */
static lk_status resolve_once(const struct purchase_eval *self, int64_t limit_ms, lk_reply **reply,
                              struct lk_error *err)
{
    const struct lk_bytes keys[] = {self->keys.key[KEY_VOID], self->keys.key[KEY_ORDERS]};
    struct lk_bytes *args = calloc(2 + self->batch_count, sizeof *args);
    lk_status status = LK_NO_MEMORY;

    if (!args) return status;
    args[0] = lk_bytes_of(self->ctx->process);
    args[1] = lk_bytes_of(self->attempt);
    for (size_t i = 0; i < self->batch_count; i++)
        args[2 + i] = lk_bytes_of(self->batch[i]->buyer);
    const struct lk_eval eval = {.script = self->ctx->resolve,
                                 .keys = keys,
                                 .key_count = 2,
                                 .args = args,
                                 .arg_count = 2 + self->batch_count};
    status = lk_client_eval(self->ctx->client, &eval, limit_ms, reply, err);
    free(args);
    return status;
}

/*
 * What a buyer's order says about our purchase, now that ours cannot be executed later. No order: it
 * was not executed; but by another server's word only that server has none.
 */
static void settle(const lk_reply *held, bool is_same_server, struct purchase *purchase)
{
    struct order order = {0};

    if (!store_parse_order(lk_reply_bytes(held), &order)) {
        purchase->outcome = is_same_server ? OUTCOME_STORE_UNAVAILABLE : OUTCOME_UNKNOWN;
        return;
    }
    if (strcmp(order.state, "cancelled") == 0 || strcmp(order.state, "expired") == 0) {
        purchase->outcome = order.state[0] == 'c' ? OUTCOME_WAS_CANCELLED : OUTCOME_HAS_EXPIRED;
    } else if (strcmp(order.id, purchase->order_id) == 0) {
        purchase->outcome = OUTCOME_CREATED;
    } else if (purchase->key[0] != '\0' && strcmp(order.key, purchase->key) == 0) {
        purchase->outcome = OUTCOME_REPLAYED;
    } else {
        purchase->outcome = OUTCOME_ALREADY_ORDERED;
    }
    memcpy(purchase->order_id, order.id, sizeof order.id);
}

/* At least so long for one step past the limit of the sell, the wait for replicas included. */
static int64_t least_ms(const struct purchase_eval *self)
{
    const struct deployment *deployment = self->ctx->deployment;

    return RESOLVE_MIN_MS + (deployment_is_synced(deployment) ? deployment->sync_ms : 0);
}

/*
 * The answer to a batch was lost: find out, as long as the limit allows, and at least once.
 *
 * Across a failover too, although the question then goes to another server, that may know neither
 * the orders nor an earlier void mark:
 *   - What the old primary wrote and the new one has not got is mostly gone for good: the old one comes
 *     back as a replica, drops it, and refuses writes from then on. But a second failover right behind
 *     can make it primary again before it has dropped anything (seen: three in 2.3 s). So "no order" by
 *     another server than the one that was asked is no answer: it stays unknown.
 *   - Late bytes of the attempt lie in connections to the old primary, and only it can read them: as a
 *     replica it refuses them (READONLY), and before it knows that it is one, it writes what it will
 *     drop. The new primary has never been sent that attempt. (lockkit sends one again, to whom a
 *     server names, only while its call is under way: before we ask here.)
 *   - Asked before the failover, the old primary's answer is as good as any of its answers: with
 *     replicas waited for it is the replicas' too, order or void mark; without, it may be lost, as any
 *     order may that was accepted in the moments before.
 * What is left: the mark is lost by a failover after we asked, the server that was sent the attempt
 * becomes primary again by a second one, and bytes that the network has kept all the time reach it
 * then. That sells a unit to a buyer who was told to ask again; not one too many, and not a second one
 * to this buyer.
 */
static bool resolve(const struct purchase_eval *self)
{
    int64_t deadline_ms = self->begin_ms + self->ctx->limit_ms;
    int64_t pause_ms = self->ctx->again_ms ? self->ctx->again_ms : RESOLVE_PAUSE_MS;
    lk_reply *reply = NULL;
    struct lk_error err = {0};

    for (;;) {
        int64_t left_ms = deadline_ms - clock_mono_ms();

        if (left_ms > RESOLVE_MAX_MS) left_ms = RESOLVE_MAX_MS;
        if (left_ms < least_ms(self)) left_ms = least_ms(self);
        if (resolve_once(self, left_ms, &reply, &err) == LK_OK) break;
        if (clock_mono_ms() + pause_ms >= deadline_ms) return false;
        clock_pause_ms(pause_ms);
    }
    bool is_whole = lk_reply_count(reply) == self->batch_count;
    bool is_same_server = deployment_changes(self->ctx->deployment) == self->changes;
    for (size_t i = 0; is_whole && i < self->batch_count; i++)
        settle(lk_reply_at(reply, i), is_same_server, self->batch[i]);
    lk_reply_free(reply);
    return is_whole;
}

/* ---- replays ------------------------------------------------------------------------------------- */

/* Those to confirm, into args and list; how many. */
static size_t list_replays(const struct purchase_eval *self, struct lk_bytes *args,
                           struct purchase **list)
{
    size_t count = 0;

    for (size_t i = 0; i < self->batch_count; i++) {
        if (self->batch[i]->outcome != OUTCOME_REPLAYED) continue;
        args[count] = lk_bytes_of(self->batch[i]->buyer);
        list[count++] = self->batch[i];
    }
    return count;
}

/* The order may be gone by now: a failover in between. */
static bool is_still_held(const lk_reply *held, const struct purchase *purchase)
{
    struct order order = {0};

    return store_parse_order(lk_reply_bytes(held), &order) &&
           strcmp(order.id, purchase->order_id) == 0;
}

static void confirm(const struct purchase_eval *self, struct lk_bytes *args, struct purchase **list)
{
    size_t count = list_replays(self, args, list);
    int64_t left_ms = self->begin_ms + self->ctx->limit_ms - clock_mono_ms();
    const struct lk_eval eval = {.script = self->ctx->confirm,
                                 .keys = &self->keys.key[KEY_ORDERS],
                                 .key_count = 1,
                                 .args = args,
                                 .arg_count = count};
    lk_reply *reply = NULL;

    if (count == 0) return;
    if (left_ms < least_ms(self)) left_ms = least_ms(self);
    lk_status status = lk_client_eval(self->ctx->client, &eval, left_ms, &reply, NULL);
    for (size_t i = 0; i < count; i++) {
        if (status != LK_OK) {
            list[i]->outcome = OUTCOME_UNSYNCED; /* no replica said that it has it */
        } else if (!is_still_held(lk_reply_at(reply, i), list[i])) {
            list[i]->outcome = OUTCOME_UNKNOWN;
        }
    }
    lk_reply_free(reply);
}

void purchase_eval_confirm(const struct purchase_eval *self)
{
    struct lk_bytes *args = NULL;
    struct purchase **list = NULL;

    if (!deployment_is_synced(self->ctx->deployment)) return;
    args = calloc(self->batch_count, sizeof *args);
    list = calloc(self->batch_count, sizeof(struct purchase *));
    if (args && list) {
        confirm(self, args, list);
    } else {
        for (size_t i = 0; i < self->batch_count; i++) {
            if (self->batch[i]->outcome == OUTCOME_REPLAYED)
                self->batch[i]->outcome = OUTCOME_UNSYNCED;
        }
    }
    free(list);
    free(args);
}

struct guard_result purchase_eval_end(struct purchase_eval *self, lk_status status, lk_reply *reply,
                                      const struct lk_error *err)
{
    struct guard_result result = {.status = status_of(status), .error = *err};

    if (status == LK_OK && !read_answers(reply, self->batch, self->batch_count)) {
        result.status = GUARD_UNKNOWN;
        result.error.code = LK_SERVER;
        (void)snprintf(result.error.text, sizeof result.error.text,
                       "purchase.lua gave an answer of unexpected shape");
    }
    result.is_sold_out =
        result.status == GUARD_DONE && lk_reply_integer(lk_reply_at(reply, 0), -1) == 0;
    lk_reply_free(reply);
    if (result.status == GUARD_DONE) purchase_eval_confirm(self);
    if (status == LK_UNKNOWN && resolve(self)) result.status = GUARD_DONE; /* WAIT was behind it */
    free(self->args);
    return result;
}
