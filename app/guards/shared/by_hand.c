/*
 * See by_hand.h. Any thread.
 */
#include "by_hand.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"

enum {
    READ_STOCK, /* first: units that come between the two are not seen, or seen to cool */
    READ_SALE,
    READ_ORDERS,
    READ_VOID,
    READ_LEDGER, /* its type: a wrong one must show before anything is written */
    READ_TIME,
    DIGITS_MAX = 15,  /* as in purchase.lua */
    FIXED_WORDS = 32, /* of all commands, besides those per purchase */
    WORDS_PER_PURCHASE = 4,
};

static const char *const sale_fields[] = {"state", "starts_ms", "ends_ms", "epoch", "cool"};

bool by_hand_make(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                  struct by_hand *out)
{
    *out = (struct by_hand){.ctx = ctx, .batch = batch, .count = count};
    sale_keys_make(ctx->sale_id, &out->keys);
    out->answers = calloc(count, sizeof *out->answers);
    out->orders = calloc(count, sizeof *out->orders);
    out->words = calloc(FIXED_WORDS + WORDS_PER_PURCHASE * count, sizeof *out->words);
    return out->answers && out->orders && out->words;
}

void by_hand_done(struct by_hand *self)
{
    free(self->answers);
    free(self->orders);
    free(self->words);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Commands laid out one after the other in the words. */
struct layout {
    struct lk_command *command; /* the one being laid out */
    struct lk_bytes *next;
};

static void begin_command(struct layout *layout, struct lk_command *command, struct lk_bytes name)
{
    *command = (struct lk_command){.args = layout->next, .count = 1};
    layout->command = command;
    *layout->next++ = name;
}

static void add_word(struct layout *layout, struct lk_bytes word)
{
    *layout->next++ = word;
    layout->command->count++;
}

static void add_text(struct layout *layout, const char *text)
{
    add_word(layout, lk_bytes_of(text));
}

void by_hand_reads(struct by_hand *self, struct lk_command out[BY_HAND_READS])
{
    struct layout layout = {.next = self->words};

    begin_command(&layout, &out[READ_SALE], LK_BYTES("HMGET"));
    add_word(&layout, self->keys.key[KEY_SALE]);
    for (size_t i = 0; i < sizeof sale_fields / sizeof sale_fields[0]; i++)
        add_text(&layout, sale_fields[i]);
    begin_command(&layout, &out[READ_STOCK], LK_BYTES("GET"));
    add_word(&layout, self->keys.key[KEY_STOCK]);
    begin_command(&layout, &out[READ_ORDERS], LK_BYTES("HMGET"));
    add_word(&layout, self->keys.key[KEY_ORDERS]);
    for (size_t i = 0; i < self->count; i++)
        add_text(&layout, self->batch[i]->buyer);
    begin_command(&layout, &out[READ_VOID], LK_BYTES("HGET"));
    add_word(&layout, self->keys.key[KEY_VOID]);
    add_text(&layout, self->ctx->process);
    begin_command(&layout, &out[READ_LEDGER], LK_BYTES("XLEN"));
    add_word(&layout, self->keys.key[KEY_LEDGER]);
    begin_command(&layout, &out[READ_TIME], LK_BYTES("TIME"));
}

static lk_status fail(struct lk_error *err, const char *text)
{
    if (err) {
        *err = (struct lk_error){.code = LK_SERVER, .where = __func__};
        (void)snprintf(err->text, sizeof err->text, "%s", text);
    }
    return LK_SERVER;
}

static lk_status check_replies(lk_reply *const *replies, size_t count, struct lk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (lk_reply_type_of(replies[i]) == LK_REPLY_ERROR)
            return fail(err, lk_reply_bytes(replies[i]).data);
    }
    return LK_OK;
}

/* Digits, few enough to be exact in Lua too. */
static bool to_number(const lk_reply *reply, int64_t *out)
{
    struct lk_bytes text = lk_reply_bytes(reply);

    if (!text.data || text.len == 0 || text.len > DIGITS_MAX) return false;
    if (strspn(text.data, "0123456789") != text.len) return false;
    *out = strtoll(text.data, NULL, 10);
    return true;
}

static bool read_sale(const lk_reply *fields, const lk_reply *stock, const lk_reply *time,
                      struct sale *out)
{
    int64_t seconds = 0;
    int64_t microseconds = 0;
    int64_t units = 0;
    const char *cool = lk_reply_bytes(lk_reply_at(fields, 4)).data;

    (void)snprintf(out->stored_state, sizeof out->stored_state, "%s",
                   lk_reply_bytes(lk_reply_at(fields, 0)).data);
    if (!to_number(lk_reply_at(fields, 1), &out->starts_ms)) return false;
    if (!to_number(lk_reply_at(fields, 2), &out->ends_ms)) return false;
    if (!to_number(lk_reply_at(fields, 3), &out->epoch)) return false;
    if (!to_number(stock, &units)) return false;
    if (!to_number(lk_reply_at(time, 0), &seconds)) return false;
    if (!to_number(lk_reply_at(time, 1), &microseconds)) return false;
    out->now_ms = seconds * 1000 + microseconds / 1000;
    if (cool) sale_read_lots(out, cool);
    sale_set_stock(out, units);
    return true;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* There is an order already: is it by this very purchase? */
static void answer_held(const struct purchase *purchase, const char *id, const char *key,
                        struct by_hand_answer *out)
{
    bool is_same = purchase->key[0] != '\0' && strcmp(purchase->key, key) == 0;

    out->outcome = is_same ? OUTCOME_REPLAYED : OUTCOME_ALREADY_ORDERED;
    (void)snprintf(out->order_id, sizeof out->order_id, "%s", id);
}

/* A double click in one batch: the first one gets the order. */
static const struct purchase *find_sold(const struct by_hand *self, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (self->answers[i].outcome == OUTCOME_CREATED &&
            strcmp(self->batch[i]->buyer, self->batch[before]->buyer) == 0)
            return self->batch[i];
    }
    return NULL;
}

static void decide(struct by_hand *self, size_t i, const lk_reply *held)
{
    static const outcome outcomes[SALE_STATE_COUNT] = {
        [SALE_UPCOMING] = OUTCOME_NOT_STARTED, [SALE_ACTIVE] = OUTCOME_CREATED,
        [SALE_SOLD_OUT] = OUTCOME_SOLD_OUT,    [SALE_PAUSED] = OUTCOME_PAUSED,
        [SALE_ENDED] = OUTCOME_ENDED,
    };
    const struct purchase *sold = find_sold(self, i);
    struct by_hand_answer *answer = &self->answers[i];
    struct order order = {0};

    if (sold) {
        answer_held(self->batch[i], sold->order_id, sold->key, answer);
    } else if (lk_reply_type_of(held) != LK_REPLY_NIL) {
        /* An order that is none stops a second one all the same. */
        if (!store_parse_order(lk_reply_bytes(held), &order)) order = (struct order){0};
        answer_held(self->batch[i], order.id, order.key, answer);
    } else {
        answer->outcome = outcomes[sale_state_of(&self->sale)];
        if (answer->outcome == OUTCOME_CREATED) {
            self->sale.left--;
            self->sold++;
        }
    }
}

lk_status by_hand_decide(struct by_hand *self, lk_reply *const replies[BY_HAND_READS],
                         struct lk_error *err)
{
    int64_t attempt = -1;
    bool is_missing = lk_reply_type_of(lk_reply_at(replies[READ_SALE], 0)) == LK_REPLY_NIL;

    if (check_replies(replies, BY_HAND_READS, err) != LK_OK) return LK_SERVER;
    if (to_number(replies[READ_VOID], &attempt) && attempt >= self->ctx->attempt)
        return fail(err, "VOID this attempt was given up");
    self->sold = 0;
    self->sale = (struct sale){0};
    if (!is_missing &&
        !read_sale(replies[READ_SALE], replies[READ_STOCK], replies[READ_TIME], &self->sale))
        return fail(err, "BADSALE the sale's window, epoch or stock is no number");
    if (lk_reply_count(replies[READ_ORDERS]) != self->count)
        return fail(err, "HMGET gave an answer of unexpected shape");
    for (size_t i = 0; i < self->count; i++) {
        self->answers[i] = (struct by_hand_answer){.outcome = OUTCOME_NO_SALE};
        if (!is_missing) decide(self, i, lk_reply_at(replies[READ_ORDERS], i));
    }
    return LK_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void lay_out_orders(struct by_hand *self, struct layout *entry, struct layout *orders)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct purchase *purchase = self->batch[i];
        struct by_hand_order *order = &self->orders[i];

        if (self->answers[i].outcome != OUTCOME_CREATED) continue;
        (void)snprintf(order->value, sizeof order->value, "%s:held:%s", purchase->order_id,
                       purchase->key);
        (void)snprintf(order->row, sizeof order->row, "%s:%s:%s", purchase->order_id,
                       purchase->buyer, purchase->key);
        add_text(entry, "order");
        add_text(entry, order->row);
        add_text(orders, purchase->buyer);
        add_text(orders, order->value);
    }
}

void by_hand_writes(struct by_hand *self, struct lk_command out[BY_HAND_WRITES])
{
    struct layout entry = {.next = self->words};
    struct layout orders = {.next = self->words + FIXED_WORDS / 2 + 2 * self->count};

    (void)snprintf(self->left, sizeof self->left, "%" PRId64, self->sale.left + self->sale.cooling);
    (void)snprintf(self->epoch, sizeof self->epoch, "%" PRId64, self->sale.epoch);
    begin_command(&entry, &out[0], LK_BYTES("XADD"));
    add_word(&entry, self->keys.key[KEY_LEDGER]);
    add_text(&entry, "*");
    add_text(&entry, "event");
    add_text(&entry, "sold");
    add_text(&entry, "by");
    add_text(&entry, self->ctx->instance);
    add_text(&entry, "epoch");
    add_text(&entry, self->epoch);
    add_text(&entry, "left");
    add_text(&entry, self->left);
    begin_command(&orders, &out[1], LK_BYTES("HSET"));
    add_word(&orders, self->keys.key[KEY_ORDERS]);
    lay_out_orders(self, &entry, &orders);
    begin_command(&orders, &out[2], LK_BYTES("SET"));
    add_word(&orders, self->keys.key[KEY_STOCK]);
    add_text(&orders, self->left);
}

void by_hand_set_outcomes(const struct by_hand *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct by_hand_answer *answer = &self->answers[i];
        struct purchase *purchase = self->batch[i];

        purchase->outcome = answer->outcome;
        if (answer->outcome == OUTCOME_ALREADY_ORDERED || answer->outcome == OUTCOME_REPLAYED)
            memcpy(purchase->order_id, answer->order_id, sizeof purchase->order_id);
        if (answer->outcome == OUTCOME_NOT_STARTED)
            purchase->retry_ms = self->sale.starts_ms - self->sale.now_ms;
    }
}

/* ---- there and back -------------------------------------------------------------------------- */

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
}

static lk_status read_and_decide(struct by_hand *self, int64_t limit_ms, struct lk_error *err)
{
    struct lk_command commands[BY_HAND_READS];
    lk_reply *replies[BY_HAND_READS] = {0};

    by_hand_reads(self, commands);
    lk_status status =
        lk_client_call(self->ctx->client, commands, BY_HAND_READS, limit_ms, replies, err);
    if (status == LK_OK) status = by_hand_decide(self, replies, err);
    free_replies(replies, BY_HAND_READS);
    return status;
}

lk_status by_hand_write(struct by_hand *self, struct lk_error *err)
{
    struct lk_command commands[BY_HAND_WRITES];
    lk_reply *replies[BY_HAND_WRITES] = {0};

    if (self->sold == 0) return LK_OK;
    by_hand_writes(self, commands);
    lk_status status = lk_client_call(self->ctx->client, commands, BY_HAND_WRITES,
                                      self->ctx->limit_ms, replies, err);
    if (status == LK_OK) status = check_replies(replies, BY_HAND_WRITES, err);
    free_replies(replies, BY_HAND_WRITES);
    return status;
}

void by_hand_pause(struct by_hand *self)
{
    if (!self->has_paused) guard_pause(self->ctx);
    self->has_paused = true;
}

static struct guard_result ended(guard_status status, const struct lk_error *err)
{
    return (struct guard_result){.status = status, .error = *err};
}

struct guard_result by_hand_sell(struct by_hand *self, int64_t deadline_ms, const lk_lock *lock)
{
    struct lk_error err = {0};
    int64_t left_ms = deadline_ms - clock_mono_ms();

    if (left_ms <= 0) return ended(GUARD_BUSY, &err);
    if (read_and_decide(self, left_ms, &err) != LK_OK) return ended(GUARD_UNAVAILABLE, &err);
    if (lock && !lk_held(lock)) return ended(GUARD_BUSY, &err);
    by_hand_pause(self);
    lk_status status = by_hand_write(self, &err);
    if (status == LK_UNREACHABLE) return ended(GUARD_UNAVAILABLE, &err);
    if (status != LK_OK) return ended(GUARD_UNKNOWN, &err);
    by_hand_set_outcomes(self);
    return ended(GUARD_DONE, &err);
}
