/*
 * See store_flaw.h. Any thread.
 */
#include "store_flaw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store_internal.h"

enum { MOMENT_SIZE = 24, ROW_SIZE = 256, ASKED_MAX = 4 };

store_flaw store_flaw_find(const char *name)
{
    static const char *const names[] = {STORE_FLAW_LIST(LIST_NAME)};
    store_flaw flaw = FLAW_NONE;

    while (flaw < STORE_FLAW_COUNT && strcmp(names[flaw], name) != 0)
        flaw++;
    return flaw;
}

void store_flaw_set(struct store *store, store_flaw flaw, int64_t pause_ms)
{
    store->flaw = (int)flaw;
    store->flaw_pause_ms = pause_ms;
}

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const struct lk_bytes[]){__VA_ARGS__},                                                    \
            sizeof((const struct lk_bytes[]){__VA_ARGS__}) / sizeof(struct lk_bytes)               \
    }

/* An order's new state, in the ledger and wherever else it is written. */
struct move {
    struct sale_keys keys;
    struct order order;
    const char *event; /* and the state, and the field of the sale that counts them */
    const char *payment;
    char epoch[MOMENT_SIZE];
    char left[MOMENT_SIZE];
};

/* What the move starts from; whether it is held. */
static store_status look(struct store *store, const char *id, const char *buyer, struct move *move,
                         struct lk_error *err)
{
    lk_reply *replies[2] = {NULL};

    sale_keys_make(id, &move->keys);
    const struct lk_command commands[] = {
        WORDS(LK_BYTES("HGET"), move->keys.key[KEY_SALE], LK_BYTES("epoch")),
        WORDS(LK_BYTES("GET"), move->keys.key[KEY_STOCK])};
    store_status status = store_find_order(store, id, buyer, &move->order, err);
    if (status == STORE_OK) status = store_ask(store, commands, 2, replies, err);
    if (status == STORE_OK) {
        (void)store_to_text(replies[0], move->epoch, sizeof move->epoch);
        (void)store_to_text(replies[1], move->left, sizeof move->left);
    }
    lk_reply_free(replies[0]);
    lk_reply_free(replies[1]);
    return status;
}

/* Believe what was seen. */
static store_status write_down(struct store *store, const struct move *move, struct lk_error *err)
{
    const struct order *order = &move->order;
    const struct lk_bytes state = lk_bytes_of(move->event);
    const struct lk_bytes buyer = lk_bytes_of(order->buyer);
    const struct lk_bytes *key = move->keys.key;
    char line[ROW_SIZE];
    char row[ROW_SIZE];
    lk_reply *replies[ASKED_MAX] = {NULL};

    (void)snprintf(line, sizeof line, "%s:%s%s%s", order->id, order->buyer,
                   move->payment ? ":" : "", move->payment ? move->payment : "");
    (void)snprintf(row, sizeof row, "%s:%s:%s", order->id, move->event, order->key);
    const struct lk_command commands[ASKED_MAX] = {
        WORDS(LK_BYTES("XADD"), key[KEY_LEDGER], LK_BYTES("*"), LK_BYTES("event"), state,
              LK_BYTES("by"), lk_bytes_of(store->instance), LK_BYTES("epoch"),
              lk_bytes_of(move->epoch), LK_BYTES("left"), lk_bytes_of(move->left),
              LK_BYTES("order"), lk_bytes_of(line)),
        WORDS(LK_BYTES("HSET"), key[KEY_ORDERS], buyer, lk_bytes_of(row)),
        WORDS(LK_BYTES("HINCRBY"), key[KEY_SALE], state, LK_BYTES("1")),
        WORDS(LK_BYTES("ZREM"), key[KEY_DUE], buyer)};
    store_status status = store_ask(store, commands, ASKED_MAX, replies, err);
    for (size_t i = 0; i < ASKED_MAX; i++)
        lk_reply_free(replies[i]);
    return status;
}

store_status store_flaw_pay(struct store *store, const char *id, struct payment_event *event,
                            struct lk_error *err)
{
    struct move move = {.event = "paid", .payment = event->payment};
    bool is_money = strcmp(event->kind, "succeeded") == 0;
    store_status status = is_money ? look(store, id, event->buyer, &move, err) : STORE_OK;

    event->result = is_money ? PAY_LATE : PAY_NOTED;
    if (status != STORE_OK || strcmp(move.order.state, "held") != 0) return status;
    clock_pause_ms(store->flaw_pause_ms);
    event->result = PAY_PAID;
    return write_down(store, &move, err);
}

/* The buyer whose order is due first, by the instance's or Redis' clock; "": none. */
static store_status find_due(struct store *store, const struct sale_keys *keys, char *buyer,
                             struct lk_error *err)
{
    const struct lk_command time[] = {WORDS(LK_BYTES("TIME"))};
    int64_t now_ms = clock_unix_ms() + store->flaw_pause_ms;
    char now[MOMENT_SIZE];
    lk_reply *reply = NULL;
    store_status status = STORE_OK;

    if (store->flaw == FLAW_OWN_TIMERS) {
        status = store_ask(store, time, 1, &reply, err);
        (void)store_to_time_ms(reply, &now_ms);
        lk_reply_free(reply);
    }
    (void)snprintf(now, sizeof now, "%" PRId64, now_ms);
    const struct lk_command due[] = {WORDS(LK_BYTES("ZRANGEBYSCORE"), keys->key[KEY_DUE],
                                           LK_BYTES("-inf"), lk_bytes_of(now), LK_BYTES("LIMIT"),
                                           LK_BYTES("0"), LK_BYTES("1"))};
    reply = NULL;
    buyer[0] = '\0';
    if (status == STORE_OK) status = store_ask(store, due, 1, &reply, err);
    (void)store_to_text(lk_reply_at(reply, 0), buyer, BUYER_ID_MAX + 1);
    lk_reply_free(reply);
    return status;
}

store_status store_flaw_expire(struct store *store, const char *id, struct expiry *out,
                               struct lk_error *err)
{
    struct move move = {.event = "expired"};
    char buyer[BUYER_ID_MAX + 1];
    lk_reply *reply = NULL;

    sale_keys_make(id, &move.keys);
    const struct lk_command back[] = {
        WORDS(LK_BYTES("INCRBY"), move.keys.key[KEY_STOCK], LK_BYTES("1"))};
    store_status status = find_due(store, &move.keys, buyer, err);
    *out = (struct expiry){.most = out->most, .next_ms = buyer[0] ? 0 : -1};
    if (status != STORE_OK || !buyer[0]) return status;
    status = look(store, id, buyer, &move, err);
    if (status != STORE_OK) return status;
    if (store->flaw == FLAW_OWN_TIMERS) clock_pause_ms(store->flaw_pause_ms);
    status = store_ask(store, back, 1, &reply, err);
    out->left = lk_reply_integer(reply, 0);
    (void)snprintf(move.left, sizeof move.left, "%" PRId64, out->left);
    lk_reply_free(reply);
    if (status == STORE_OK) status = write_down(store, &move, err);
    out->expired = status == STORE_OK;
    return status;
}

/* ---- segments ---------------------------------------------------------------------------------------- */

bool store_flaw_is(const struct store *store, store_flaw flaw)
{
    return store->flaw == (int)flaw;
}

/* The steps of the sound protocol in the wrong order, with a move number that no segment has reserved. */
store_status store_flaw_take_units(struct store *store, const char *source, const char *target,
                                   int64_t units, struct lk_error *err)
{
    struct sale_move move = {.number = clock_mono_ns() / 1000, .units = units};
    store_status status = store_deposit_units(store, target, SALE_SEGMENTS_MAX - 1, &move, err);

    if (status != STORE_OK) return status;
    clock_pause_ms(store->flaw_pause_ms);
    move = (struct sale_move){.units = units, .target = SALE_SEGMENTS_MAX - 1};
    status = store_withdraw_units(store, source, &move, err);
    return status == STORE_OK && move.units > 0 ? store_settle_move(store, source, move.number, err)
                                                : status;
}
