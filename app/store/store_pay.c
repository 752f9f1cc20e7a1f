/*
 * See store_pay.h. Any thread.
 */
#include "store_pay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_flaw.h"
#include "store_internal.h"

enum { EVENT_WORDS = 7, NUMBER_SIZE = 24, REFUND_ROW_SIZE = 256 };

const char *store_pay_result_name(pay_result result)
{
    static const char *const names[] = {
#define RESULT_NAME(value, letter, name) [value] = (name),
        PAY_RESULT_LIST(RESULT_NAME)
#undef RESULT_NAME
    };

    return (unsigned)result < PAY_RESULT_COUNT ? names[result] : "?";
}

/* Decode the letter that a script has answered; false: unknown. */
static bool read_letter(const lk_reply *reply, const char *letters, unsigned *out)
{
    struct lk_bytes text = lk_reply_bytes(reply);
    const char *at = text.len == 1 ? strchr(letters, text.data[0]) : NULL;

    if (at) *out = (unsigned)(at - letters);
    return at != NULL;
}

/* ---- payments ------------------------------------------------------------------------------------ */

static bool read_results(const lk_reply *reply, struct payment_event *events, size_t count)
{
#define RESULT_LETTER(value, letter, name) letter,
    static const char letters[] = {PAY_RESULT_LIST(RESULT_LETTER) '\0'};
#undef RESULT_LETTER
    unsigned result = 0;

    for (size_t i = 0; i < count; i++) {
        if (!read_letter(lk_reply_at(reply, i), letters, &result)) return false;
        events[i].result = (pay_result)result;
    }
    return lk_reply_count(reply) == count;
}

static store_status pay_by_flaw(struct store *store, const char *id, struct payment_event *events,
                                size_t count, struct lk_error *err)
{
    store_status status = STORE_OK;

    for (size_t i = 0; status == STORE_OK && i < count; i++)
        status = store_flaw_pay(store, id, &events[i], err);
    return status;
}

store_status store_pay_events(struct store *store, const char *id, struct payment_event *events,
                              size_t count, struct lk_error *err)
{
    struct sale_keys keys;
    struct lk_bytes args[2 + EVENT_WORDS * EVENTS_AT_ONCE_MAX];
    char number[NUMBER_SIZE];
    size_t n = 0;
    lk_reply *reply = NULL;

    if (store->flaw == FLAW_LOOK_THEN_PAY) return pay_by_flaw(store, id, events, count, err);
    sale_keys_make(id, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE],   keys.key[KEY_STOCK], keys.key[KEY_ORDERS],
                                    keys.key[KEY_LEDGER], keys.key[KEY_DUE],   keys.key[KEY_EVENTS],
                                    keys.key[KEY_REFUNDS]};
    (void)snprintf(number, sizeof number, "%zu", count);
    args[n++] = lk_bytes_of(store->instance);
    args[n++] = lk_bytes_of(number);
    for (size_t i = 0; i < count; i++) {
        const char *const words[EVENT_WORDS] = {
            events[i].id,      events[i].kind,   events[i].buyer,   events[i].order,
            events[i].payment, events[i].amount, events[i].currency};

        for (size_t k = 0; k < EVENT_WORDS; k++)
            args[n++] = lk_bytes_of(words[k]);
    }
    store_status status = store_run(
        store, STORE_PAY,
        (struct lk_eval){.keys = used, .key_count = 7, .args = args, .arg_count = n}, &reply, err);
    if (status != STORE_OK) return status;
    if (lk_reply_count(reply) == 0) {
        status = STORE_NOT_FOUND;
    } else if (!read_results(reply, events, count)) {
        status = store_failed(err, NULL);
    }
    lk_reply_free(reply);
    return status;
}

/* ---- cancelled ------------------------------------------------------------------------------------- */

struct cancel {
    struct sale_keys keys;
    char attempt[NUMBER_SIZE];
    const struct order *order;
};

/* The attempt has been made void and can no longer be executed, so the order's present state is the result. */
static store_status settle_cancel(struct store *store, const struct cancel *cancel,
                                  cancel_end *out_end, struct lk_error *err)
{
    static const struct {
        const char *state;
        cancel_end end;
    } rows[] = {
        {"cancelled", CANCEL_DONE}, {"paid", CANCEL_IS_PAID}, {"expired", CANCEL_HAS_EXPIRED}};
    const struct lk_bytes used[] = {cancel->keys.key[KEY_VOID], cancel->keys.key[KEY_ORDERS]};
    const struct lk_bytes args[] = {lk_bytes_of(store->process), lk_bytes_of(cancel->attempt),
                                    lk_bytes_of(cancel->order->buyer)};
    struct order now = {0};
    lk_reply *reply = NULL;
    store_status status = store_run(
        store, STORE_RESOLVE,
        (struct lk_eval){.keys = used, .key_count = 2, .args = args, .arg_count = 3}, &reply, err);

    if (status != STORE_OK) return STORE_UNKNOWN;
    bool is_there = store_parse_order(lk_reply_bytes(lk_reply_at(reply, 0)), &now) &&
                    strcmp(now.id, cancel->order->id) == 0;
    lk_reply_free(reply);
    *out_end = CANCEL_NO_ORDER;
    for (size_t i = 0; is_there && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].state, now.state) == 0) *out_end = rows[i].end;
    }
    return is_there && strcmp(now.state, "held") == 0 ? STORE_UNAVAILABLE : STORE_OK;
}

static store_status cancel_in(struct store *store, const char *id, const struct order *order,
                              cancel_end *out_end, struct lk_error *err)
{
#define END_LETTER(value, letter) letter,
    static const char letters[] = {CANCEL_END_LIST(END_LETTER) '\0'};
#undef END_LETTER
    struct cancel cancel = {.order = order};
    unsigned end = 0;
    lk_reply *reply = NULL;

    sale_keys_make(id, &cancel.keys);
    (void)snprintf(cancel.attempt, sizeof cancel.attempt, "%" PRId64, ++store->attempts);
    const struct lk_bytes args[] = {lk_bytes_of(store->instance), lk_bytes_of(store->process),
                                    lk_bytes_of(cancel.attempt), lk_bytes_of(order->buyer),
                                    lk_bytes_of(order->id)};
    store_status status = store_run(
        store, STORE_CANCEL,
        (struct lk_eval){
            .keys = cancel.keys.key, .key_count = KEY_DUE + 1, .args = args, .arg_count = 5},
        &reply, err);
    if (status == STORE_UNKNOWN) return settle_cancel(store, &cancel, out_end, err);
    if (status == STORE_OK && !read_letter(reply, letters, &end)) status = store_failed(err, reply);
    if (status == STORE_OK) *out_end = (cancel_end)end;
    lk_reply_free(reply);
    return status;
}

store_status store_cancel_order(struct store *store, const char *id, const struct order *order,
                                cancel_end *out_end, struct lk_error *err)
{
    struct sale_id home;
    store_status status = cancel_in(store, id, order, out_end, err);

    if (status != STORE_OK || *out_end != CANCEL_NO_ORDER) return status;
    status = store_find_home(store, id, order->buyer, &home, err);
    if (status == STORE_NOT_FOUND) return STORE_OK; /* in one piece: there is none */
    return status == STORE_OK ? cancel_in(store, home.text, order, out_end, err) : status;
}

/* ---- expired --------------------------------------------------------------------------------------- */

store_status store_expire_orders(struct store *store, const char *id, uint64_t fence,
                                 struct expiry *out, struct lk_error *err)
{
    int64_t *const numbers[] = {&out->expired, &out->next_ms, &out->left, &out->stale};
    struct sale_keys keys;
    char count[NUMBER_SIZE];
    char token[NUMBER_SIZE];
    lk_reply *reply = NULL;

    if (store->flaw == FLAW_OWN_TIMERS || store->flaw == FLAW_OWN_CLOCK)
        return store_flaw_expire(store, id, out, err);
    sale_keys_make(id, &keys);
    (void)snprintf(count, sizeof count, "%u", out->most);
    (void)snprintf(token, sizeof token, "%" PRIu64, fence);
    const struct lk_bytes used[] = {keys.key[KEY_SALE],   keys.key[KEY_STOCK],
                                    keys.key[KEY_ORDERS], keys.key[KEY_LEDGER],
                                    keys.key[KEY_DUE],    keys.key[KEY_EXPIRER_FENCE]};
    const struct lk_bytes args[] = {lk_bytes_of(store->instance), lk_bytes_of(count),
                                    lk_bytes_of(token)};
    store_status status = store_run(store, fence > 0 ? STORE_EXPIRE_FENCED : STORE_EXPIRE,
                                    (struct lk_eval){.keys = used,
                                                     .key_count = fence > 0 ? 6 : 5,
                                                     .args = args,
                                                     .arg_count = fence > 0 ? 3 : 2},
                                    &reply, err);
    if (status != STORE_OK) return status;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i] = lk_reply_integer(lk_reply_at(reply, i), 0);
    lk_reply_free(reply);
    return STORE_OK;
}

/* ---- how it stands ----------------------------------------------------------------------------------- */

static void read_standing(const lk_reply *answers, struct order_standing *out)
{
    (void)store_to_number(lk_reply_at(answers, 0), &out->pay_by_ms);
    (void)store_to_time_ms(lk_reply_at(answers, 1), &out->now_ms);
}

static store_status get_refund(struct store *store, const struct sale_keys *keys, const char *field,
                               char out[REFUND_ROW_SIZE], struct lk_error *err)
{
    const struct lk_bytes words[] = {LK_BYTES("HGET"), keys->key[KEY_REFUNDS], lk_bytes_of(field)};
    lk_reply *reply = NULL;
    store_status status = store_ask(store, &(struct lk_command){words, 3}, 1, &reply, err);

    out[0] = '\0';
    (void)store_to_text(reply, out, REFUND_ROW_SIZE); /* untouched when there is none */
    lk_reply_free(reply);
    return status;
}

/* Of "ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON:STATE:MS". */
static void parse_refund(const char *row, struct order_refund *out)
{
    enum { AMOUNT = 2, CURRENCY = 3, STATE = 5 };

    for (int part = 0; *row; part++) {
        size_t len = strcspn(row, ":");

        if (part == AMOUNT) out->amount = strtoll(row, NULL, 10);
        if (part == CURRENCY)
            (void)snprintf(out->currency, sizeof out->currency, "%.*s", (int)len, row);
        if (part == STATE) (void)snprintf(out->state, sizeof out->state, "%.*s", (int)len, row);
        row += len + (row[len] == ':');
    }
}

/* By the order's payment. */
static store_status read_refund(struct store *store, const struct sale_keys *keys,
                                struct order_standing *out, struct lk_error *err)
{
    char field[8 + ORDER_ID_MAX];
    char payment[REFUND_ROW_SIZE];
    char row[REFUND_ROW_SIZE] = "";

    (void)snprintf(field, sizeof field, "order:%s", out->order.id);
    store_status status = get_refund(store, keys, field, payment, err);
    if (status == STORE_OK && payment[0]) status = get_refund(store, keys, payment, row, err);
    (void)snprintf(out->refund.payment, sizeof out->refund.payment, "%.*s", PAYMENT_ID_MAX,
                   payment);
    parse_refund(row, &out->refund);
    return status;
}

store_status store_order_standing(struct store *store, const char *id, const char *buyer,
                                  struct order_standing *out, struct lk_error *err)
{
    struct order_standing standing = {.pay_by_ms = 0};
    struct sale_keys keys;
    lk_reply *answers = NULL;
    store_status status = store_find_order(store, id, buyer, &standing.order, err);

    if (status != STORE_OK) return status;
    sale_keys_make(id, &keys);
    const struct lk_bytes due[] = {LK_BYTES("ZSCORE"), keys.key[KEY_DUE], lk_bytes_of(buyer)};
    const struct lk_bytes time[] = {LK_BYTES("TIME")};
    const struct lk_command commands[] = {{due, 3}, {time, 1}};
    status = store_ask_at_once(store, commands, 2, &answers, err);
    if (status == STORE_OK) {
        read_standing(answers, &standing);
        lk_reply_free(answers);
        if (standing.pay_by_ms == 0) status = read_refund(store, &keys, &standing, err);
    }
    if (status == STORE_OK) *out = standing;
    return status;
}

/* ---- refunds ----------------------------------------------------------------------------------------- */

store_status store_refund(struct store *store, const char *id, struct refund_note *note,
                          struct lk_error *err)
{
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_STOCK], keys.key[KEY_LEDGER],
                                    keys.key[KEY_REFUNDS]};
    const struct lk_bytes args[] = {lk_bytes_of(store->instance), lk_bytes_of(note->payment),
                                    lk_bytes_of(note->state)};
    store_status status = store_run(
        store, STORE_REFUND,
        (struct lk_eval){.keys = used, .key_count = 4, .args = args, .arg_count = 3}, &reply, err);

    if (status == STORE_OK) note->done = (int)lk_reply_integer(reply, 0);
    lk_reply_free(reply);
    return status;
}

store_status store_scan_refunds(struct store *store, const char *id, store_each_refund *each,
                                void *arg, struct lk_error *err)
{
    struct sale_keys keys;
    char cursor[NUMBER_SIZE] = "0";
    bool goes_on = true;

    sale_keys_make(id, &keys);
    do {
        struct lk_bytes words[] = {LK_BYTES("HSCAN"), keys.key[KEY_REFUNDS], lk_bytes_of(cursor),
                                   LK_BYTES("COUNT"), LK_BYTES("500")};
        lk_reply *reply = NULL;
        store_status status = store_ask(store, &(struct lk_command){words, 5}, 1, &reply, err);

        if (status == STORE_OK && !store_to_text(lk_reply_at(reply, 0), cursor, sizeof cursor))
            status = store_failed(err, NULL);
        const lk_reply *page = lk_reply_at(reply, 1);
        for (size_t i = 0; status == STORE_OK && goes_on && i + 1 < lk_reply_count(page); i += 2) {
            const char *payment = lk_reply_bytes(lk_reply_at(page, i)).data;

            if (!strchr(payment, ':'))
                goes_on = each(payment, lk_reply_bytes(lk_reply_at(page, i + 1)).data, arg);
        }
        lk_reply_free(reply);
        if (status != STORE_OK) return status;
    } while (goes_on && strcmp(cursor, "0") != 0);
    return STORE_OK;
}
