/*
 * FLAWED on purpose: read, decide, write, with nothing that keeps others from doing the same in
 * between. Two instances (or two threads with --batch 1) read the same stock and both sell it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "sale_keys.h"
#include "store.h"

/* What one batch reads, and what it decides from that. */
struct reading {
    struct sale_keys keys;
    struct sale sale;
    bool is_missing; /* there is no such sale */
    lk_reply *held;  /* owned: the buyers' orders, in the order of the batch */
};

/* Nothing was written yet, whatever it answers. That there is no such sale is an answer too. */
static lk_status load_sale(const struct guard_ctx *ctx, struct store *store, struct reading *out,
                           struct lk_error *err)
{
    store_status status = store_load_sale(store, ctx->sale_id, &out->sale, err);

    out->is_missing = status == STORE_NOT_FOUND;
    return status == STORE_OK || out->is_missing ? LK_OK : LK_UNREACHABLE;
}

static lk_status read_all(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                          struct reading *out, struct lk_error *err)
{
    struct store *store = store_new(ctx->client, ctx->instance);
    struct lk_bytes *words = calloc(2 + count, sizeof *words);
    lk_status status = LK_NO_MEMORY;

    if (!store || !words) goto out;
    sale_keys_make(ctx->sale_id, &out->keys);
    words[0] = LK_BYTES("HMGET");
    words[1] = out->keys.key[KEY_ORDERS];
    for (size_t i = 0; i < count; i++)
        words[2 + i] = lk_bytes_of(batch[i]->buyer);
    status = lk_client_call(ctx->client, &(struct lk_command){words, 2 + count}, 1, ctx->limit_ms,
                            &out->held, err);
    if (status == LK_OK && lk_reply_type_of(out->held) != LK_REPLY_ARRAY) status = LK_SERVER;
    if (status == LK_OK) status = load_sale(ctx, store, out, err);
    if (status != LK_OK) lk_reply_free(out->held);

out:
    free(words);
    store_free(store);
    return status;
}

static void decide(struct reading *reading, size_t index, struct purchase *purchase)
{
    struct lk_bytes held = lk_reply_bytes(lk_reply_at(reading->held, index));
    struct order order = {0};

    if (reading->is_missing) {
        purchase->outcome = OUTCOME_NO_SALE;
        return;
    }
    purchase->retry_ms = reading->sale.starts_ms - reading->sale.now_ms;
    if (order_parse(held, &order)) {
        bool is_same = purchase->key[0] != '\0' && strcmp(order.key, purchase->key) == 0;

        purchase->outcome = is_same ? OUTCOME_REPLAYED : OUTCOME_ALREADY_ORDERED;
        memcpy(purchase->order_id, order.id, sizeof order.id);
        return;
    }
    switch (sale_state_of(&reading->sale)) {
    case SALE_UPCOMING:
        purchase->outcome = OUTCOME_NOT_STARTED;
        return;
    case SALE_PAUSED:
        purchase->outcome = OUTCOME_PAUSED;
        return;
    case SALE_ENDED:
        purchase->outcome = OUTCOME_ENDED;
        return;
    case SALE_SOLD_OUT:
    case SALE_STATE_COUNT:
        purchase->outcome = OUTCOME_SOLD_OUT;
        return;
    case SALE_ACTIVE:
        break;
    }
    purchase->outcome = OUTCOME_CREATED;
    reading->sale.left--;
}

/* Write one order the way a careless programmer would: stock, order, ledger, one after the other. */
static lk_status write_order(const struct guard_ctx *ctx, const struct reading *reading,
                             int64_t left, const struct purchase *purchase, struct lk_error *err)
{
    char units[24];
    char value[ORDER_ID_MAX + IDEMPOTENCY_KEY_MAX + 8];
    char row[ORDER_ID_MAX + BUYER_ID_MAX + IDEMPOTENCY_KEY_MAX + 3];
    lk_reply *replies[3] = {0};

    (void)snprintf(units, sizeof units, "%lld", (long long)left);
    (void)snprintf(value, sizeof value, "%s:held:%s", purchase->order_id, purchase->key);
    (void)snprintf(row, sizeof row, "%s:%s:%s", purchase->order_id, purchase->buyer, purchase->key);
    struct lk_bytes set[] = {LK_BYTES("SET"), reading->keys.key[KEY_STOCK], lk_bytes_of(units)};
    struct lk_bytes hset[] = {LK_BYTES("HSET"), reading->keys.key[KEY_ORDERS],
                              lk_bytes_of(purchase->buyer), lk_bytes_of(value)};
    struct lk_bytes xadd[] = {LK_BYTES("XADD"),
                              reading->keys.key[KEY_LEDGER],
                              LK_BYTES("*"),
                              LK_BYTES("event"),
                              LK_BYTES("sold"),
                              LK_BYTES("by"),
                              lk_bytes_of(ctx->instance),
                              LK_BYTES("epoch"),
                              LK_BYTES("1"),
                              LK_BYTES("left"),
                              lk_bytes_of(units),
                              LK_BYTES("order"),
                              lk_bytes_of(row)};
    const struct lk_command commands[] = {{set, 3}, {hset, 4}, {xadd, 13}};
    lk_status status = lk_client_call(ctx->client, commands, 3, ctx->limit_ms, replies, err);
    for (size_t i = 0; i < 3; i++) {
        /* Its flaw is the lost update, not that it would call a refused write an order. */
        if (lk_reply_type_of(replies[i]) == LK_REPLY_ERROR) status = LK_SERVER;
        lk_reply_free(replies[i]);
    }
    return status;
}

static struct guard_result none_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct reading reading = {0};

    if (read_all(ctx, batch, count, &reading, &result.error) != LK_OK) return result;
    result.status = GUARD_DONE;
    for (size_t i = 0; i < count && result.status == GUARD_DONE; i++) {
        decide(&reading, i, batch[i]);
        if (batch[i]->outcome == OUTCOME_CREATED &&
            write_order(ctx, &reading, reading.sale.left, batch[i], &result.error) != LK_OK) {
            result.status = GUARD_UNKNOWN;
        }
    }
    lk_reply_free(reading.held);
    return result;
}

const struct guard guard_none = {
    .name = "none",
    .idea = "read, decide, write, without any protection",
    .flaw = "two readers see the same unit and both sell it (lost update)",
    .expected = VERDICT_OVERSELLS,
    .sell = none_sell,
};
