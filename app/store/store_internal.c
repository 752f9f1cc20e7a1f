/*
 * See store_internal.h. Any thread.
 */
#include "store_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields of a sale, in the order in which they are read. */
static const char *const sale_fields[STORE_SALE_FIELDS] = {
    "title",     "initial", "starts_ms", "ends_ms", "state",   "guard",     "epoch",
    "restocked", "cool",    "window_ms", "amount",  "paid",    "cancelled", "expired",
    "currency",  "admit",   "draw",      "moving",  "ended_ms"};

/* ---- small steps ----------------------------------------------------------------------------- */

static store_status status_of(lk_status status)
{
    switch (status) {
    case LK_OK:
        return STORE_OK;
    case LK_BUSY:
    case LK_EXHAUSTED: /* no free connection */
    case LK_UNREACHABLE:
        return STORE_UNAVAILABLE;
    case LK_UNKNOWN:
    case LK_UNSYNCED: /* there, but it may be lost yet */
        return STORE_UNKNOWN;
    case LK_NOT_OWNER:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_CANCELLED:
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_SERVER:
    case LK_STATUS_COUNT:
        break;
    }
    return STORE_FAILED;
}

store_status store_failed(struct lk_error *err, const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);

    if (err) {
        *err = (struct lk_error){.code = LK_SERVER, .where = __func__};
        (void)snprintf(err->text, sizeof err->text, "%s",
                       words.data ? words.data : "Redis gave an answer of unexpected type");
    }
    return STORE_FAILED;
}

/* fork_check.lua's error: nothing was executed, as with all errors that lockkit calls temporary. */
static store_status status_of_refusal(lk_refusal refusal, const char *words)
{
    bool is_away = refusal == LK_REFUSAL_NOT_NOW || refusal == LK_REFUSAL_NOT_HERE;

    return is_away || strncmp(words, "UNCHECKED", 9) == 0 ? STORE_UNAVAILABLE : STORE_FAILED;
}

/* Whether any of the replies is an error, which is then put into *err; else STORE_OK. */
static store_status find_failure(lk_reply *const *replies, size_t count, struct lk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (lk_reply_type_of(replies[i]) != LK_REPLY_ERROR) continue;
        (void)store_failed(err, replies[i]);
        return status_of_refusal(lk_reply_refusal(replies[i]), lk_reply_bytes(replies[i]).data);
    }
    return STORE_OK;
}

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
}

store_status store_ask(struct store *store, const struct lk_command *commands, size_t count,
                       lk_reply **replies, struct lk_error *err)
{
    store_status status =
        status_of(lk_client_call(store->client, commands, count, store->wait_ms, replies, err));

    if (status != STORE_OK) return status;
    status = find_failure(replies, count, err);
    if (status != STORE_OK) free_replies(replies, count);
    return status;
}

store_status store_ask_at_once(struct store *store, const struct lk_command *commands, size_t count,
                               lk_reply **answers, struct lk_error *err)
{
    const struct lk_bytes multi = LK_BYTES("MULTI");
    const struct lk_bytes exec = LK_BYTES("EXEC");
    struct lk_command sent[STORE_AT_ONCE_MAX + 2] = {{&multi, 1}};
    lk_reply *replies[STORE_AT_ONCE_MAX + 2] = {0};

    assert(count <= STORE_AT_ONCE_MAX);
    memcpy(sent + 1, commands, count * sizeof *sent);
    sent[count + 1] = (struct lk_command){&exec, 1};
    store_status status = store_ask(store, sent, count + 2, replies, err);
    if (status != STORE_OK) return status;
    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        const lk_reply *answer = lk_reply_at(replies[count + 1], i);

        if (!answer || lk_reply_type_of(answer) == LK_REPLY_ERROR)
            status = store_failed(err, answer);
    }
    if (status == STORE_OK) {
        *answers = replies[count + 1];
        replies[count + 1] = NULL;
    }
    free_replies(replies, count + 2);
    return status;
}

store_status store_run(struct store *store, enum store_script which, struct lk_eval eval,
                       lk_reply **reply, struct lk_error *err)
{
    struct lk_error own = {0};

    eval.script = store->scripts[which];
    lk_status status = lk_client_eval(store->client, &eval, 0, reply, &own);
    if (status != LK_OK && err) *err = own;
    return status == LK_SERVER ? status_of_refusal(LK_REFUSAL_OURS, own.text) : status_of(status);
}

bool store_to_number(const lk_reply *reply, int64_t *out)
{
    struct lk_bytes text = lk_reply_bytes(reply);
    char *end = NULL;

    if (!text.data || text.len == 0) return false;
    int64_t number = strtoll(text.data, &end, 10);
    if (end != text.data + text.len) return false;
    *out = number;
    return true;
}

bool store_to_text(const lk_reply *reply, char *out, size_t size)
{
    struct lk_bytes text = lk_reply_bytes(reply);

    if (!text.data || text.len >= size) return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

/* { seconds, microseconds } of TIME */
bool store_to_time_ms(const lk_reply *reply, int64_t *out_ms)
{
    int64_t seconds = 0;
    int64_t microseconds = 0;

    if (!store_to_number(lk_reply_at(reply, 0), &seconds)) return false;
    if (!store_to_number(lk_reply_at(reply, 1), &microseconds)) return false;
    *out_ms = seconds * 1000 + microseconds / 1000;
    return true;
}

/* ---- a sale in one piece ------------------------------------------------------------------------------ */

enum { CREATE_ARGS = 11, CREATE_NUMBERS = 7 };

/* The arguments of create_sale.lua. */
struct create_args {
    char numbers[CREATE_NUMBERS][24];
    struct lk_bytes args[CREATE_ARGS];
    size_t count;
};

static void add_create_args(struct create_args *out, const char *const texts[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        out->args[out->count++] = lk_bytes_of(texts[i]);
}

static void make_create_args(const struct store *store, const struct sale *sale,
                             struct create_args *out)
{
    const int64_t values[CREATE_NUMBERS] = {
        sale->initial,        sale->starts_ms,     sale->ends_ms,         sale->payment.window_ms,
        sale->payment.amount, sale->waiting.admit, sale->waiting.is_drawn};

    for (size_t i = 0; i < CREATE_NUMBERS; i++)
        (void)snprintf(out->numbers[i], sizeof out->numbers[i], "%" PRId64, values[i]);
    out->count = 0;
    add_create_args(out,
                    (const char *const[]){store->instance, sale->title, out->numbers[0],
                                          out->numbers[1], out->numbers[2], sale->guard},
                    6);
    if (sale->payment.window_ms > 0)
        add_create_args(
            out, (const char *const[]){out->numbers[3], out->numbers[4], sale->payment.currency},
            3);
    if (sale->waiting.admit > 0)
        add_create_args(out, (const char *const[]){out->numbers[5], out->numbers[6]}, 2);
}

store_status store_create_piece(struct store *store, const struct sale *sale, struct lk_error *err)
{
    struct sale_keys keys;
    struct create_args words;
    lk_reply *reply = NULL;

    sale_keys_make(sale->id, &keys);
    make_create_args(store, sale, &words);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_STOCK], keys.key[KEY_ORDERS],
                                    keys.key[KEY_LEDGER], keys.key[KEY_SEGMENTS]};
    store_status status =
        store_run(store, STORE_CREATE,
                  (struct lk_eval){
                      .keys = used, .key_count = 5, .args = words.args, .arg_count = words.count},
                  &reply, err);
    if (status == STORE_OK && lk_reply_integer(lk_reply_at(reply, 0), 0) != 1)
        status = STORE_EXISTS;
    lk_reply_free(reply);
    return status;
}

/* The counters: a missing one means that no order has been in that state yet. */
static bool read_payment(const lk_reply *fields, struct sale_payment *out)
{
    int64_t *const numbers[] = {&out->window_ms, &out->amount, &out->paid, &out->cancelled,
                                &out->expired};
    enum { FIRST = 9, COUNT = sizeof numbers / sizeof numbers[0] };

    if (lk_reply_type_of(lk_reply_at(fields, FIRST)) == LK_REPLY_NIL) return true;
    for (size_t i = 0; i < COUNT; i++) {
        const lk_reply *field = lk_reply_at(fields, FIRST + i);

        if (lk_reply_type_of(field) == LK_REPLY_NIL && i >= 2) continue;
        if (!store_to_number(field, numbers[i])) return false;
    }
    return store_to_text(lk_reply_at(fields, FIRST + COUNT), out->currency, sizeof out->currency);
}

static bool read_waiting(const lk_reply *fields, struct sale_waiting *out)
{
    enum { FIRST = 15 };

    int64_t drawn = 0;

    if (lk_reply_type_of(lk_reply_at(fields, FIRST)) == LK_REPLY_NIL) return true;
    if (!store_to_number(lk_reply_at(fields, FIRST + 1), &drawn)) return false;
    out->is_drawn = drawn == 1;
    return store_to_number(lk_reply_at(fields, FIRST), &out->admit);
}

/* Digits, up to and with the character `end`. */
static bool take_number(const char **at, char end, int64_t *out)
{
    char *rest = NULL;

    *out = strtoll(*at, &rest, 10);
    bool is_one = rest != *at && *rest == end && *out >= 0;
    *at = rest + (*rest != '\0');
    return is_one;
}

bool store_read_move(const lk_reply *reply, struct sale_move *out)
{
    char text[72] = "";
    const char *at = text;
    int64_t target = 0;

    if (lk_reply_type_of(reply) == LK_REPLY_NIL) return true;
    bool is_read = store_to_text(reply, text, sizeof text) && take_number(&at, ':', &out->number) &&
                   take_number(&at, ':', &out->units) && take_number(&at, '\0', &target) &&
                   target < SALE_SEGMENTS_MAX;
    out->target = (unsigned)target;
    return is_read;
}

static bool read_number_if_any(const lk_reply *field, int64_t *out)
{
    return lk_reply_type_of(field) == LK_REPLY_NIL || store_to_number(field, out);
}

static bool read_sale(const char *id, const lk_reply *answers, struct sale *out)
{
    const lk_reply *fields = lk_reply_at(answers, ABOUT_FIELDS);
    const char *cool = lk_reply_bytes(lk_reply_at(fields, 8)).data;
    int64_t stock = 0;

    (void)snprintf(out->id, sizeof out->id, "%s", id);
    bool is_read =
        store_to_text(lk_reply_at(fields, 0), out->title, sizeof out->title) &&
        store_to_number(lk_reply_at(fields, 1), &out->initial) &&
        store_to_number(lk_reply_at(fields, 2), &out->starts_ms) &&
        store_to_number(lk_reply_at(fields, 3), &out->ends_ms) &&
        store_to_text(lk_reply_at(fields, 4), out->stored_state, sizeof out->stored_state) &&
        store_to_text(lk_reply_at(fields, 5), out->guard, sizeof out->guard) &&
        store_to_number(lk_reply_at(fields, 6), &out->epoch) &&
        read_number_if_any(lk_reply_at(fields, 7), &out->restocked) &&
        read_payment(fields, &out->payment) && read_waiting(fields, &out->waiting) &&
        store_read_move(lk_reply_at(fields, 17), &out->moving) &&
        read_number_if_any(lk_reply_at(fields, 18), &out->ended_ms) &&
        store_to_number(lk_reply_at(answers, ABOUT_STOCK), &stock) &&
        store_to_time_ms(lk_reply_at(answers, ABOUT_TIME), &out->now_ms);
    out->orders = lk_reply_integer(lk_reply_at(answers, ABOUT_ORDERS), 0) - out->payment.cancelled -
                  out->payment.expired;
    if (cool) sale_read_lots(out, cool);
    sale_set_stock(out, stock);
    return is_read;
}

void store_ask_about(struct sale_question *self, const char *id, struct lk_command out[ABOUT_COUNT])
{
    static const struct lk_bytes time = {.data = "TIME", .len = 4};

    sale_keys_make(id, &self->keys);
    self->fields[0] = LK_BYTES("HMGET");
    self->fields[1] = self->keys.key[KEY_SALE];
    for (size_t i = 0; i < STORE_SALE_FIELDS; i++)
        self->fields[2 + i] = lk_bytes_of(sale_fields[i]);
    self->stock[0] = LK_BYTES("GET");
    self->stock[1] = self->keys.key[KEY_STOCK];
    self->orders[0] = LK_BYTES("HLEN");
    self->orders[1] = self->keys.key[KEY_ORDERS];
    out[ABOUT_FIELDS] = (struct lk_command){self->fields, 2 + STORE_SALE_FIELDS};
    out[ABOUT_STOCK] = (struct lk_command){self->stock, 2};
    out[ABOUT_TIME] = (struct lk_command){&time, 1};
    out[ABOUT_ORDERS] = (struct lk_command){self->orders, 2};
}

store_status store_read_about(const char *id, const lk_reply *answers, struct sale *out,
                              struct lk_error *err)
{
    struct sale sale = {0};

    for (size_t i = 0; i < ABOUT_ORDERS; i++) {
        const lk_reply *answer = lk_reply_at(answers, i);

        if (!answer || lk_reply_type_of(answer) == LK_REPLY_ERROR) return store_failed(err, answer);
    }
    if (lk_reply_type_of(lk_reply_at(lk_reply_at(answers, ABOUT_FIELDS), 4)) == LK_REPLY_NIL)
        return STORE_NOT_FOUND;
    if (!read_sale(id, answers, &sale)) return store_failed(err, NULL);
    *out = sale;
    return STORE_OK;
}

/* All are read at one moment: with a restock in between, the sum would have units that do not exist. */
enum { ASK_MULTI, ASK_ABOUT, ASK_EXEC = ASK_ABOUT + ABOUT_COUNT, SALE_COMMANDS };

store_status store_load_pieces(struct store *store, const struct sale_id *ids, size_t count,
                               struct sale *out_sales, struct lk_error *err)
{
    static const struct lk_bytes multi = {.data = "MULTI", .len = 5};
    static const struct lk_bytes exec = {.data = "EXEC", .len = 4};
    struct sale_question *questions = calloc(count, sizeof *questions);
    struct lk_command *commands = calloc(count * SALE_COMMANDS, sizeof *commands);
    lk_reply **replies = calloc(count * SALE_COMMANDS, sizeof *replies);
    store_status status = questions && commands && replies ? STORE_OK : STORE_FAILED;

    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        struct lk_command *of_sale = &commands[i * SALE_COMMANDS];

        of_sale[ASK_MULTI] = (struct lk_command){&multi, 1};
        store_ask_about(&questions[i], ids[i].text, of_sale + ASK_ABOUT);
        of_sale[ASK_EXEC] = (struct lk_command){&exec, 1};
    }
    if (status == STORE_OK)
        status = store_ask(store, commands, count * SALE_COMMANDS, replies, err);
    bool is_told = status == STORE_OK;
    for (size_t i = 0; i < count && is_told; i++) {
        const lk_reply *answers = replies[i * SALE_COMMANDS + ASK_EXEC];

        out_sales[i] = (struct sale){0};
        if (store_read_about(ids[i].text, answers, &out_sales[i], err) == STORE_FAILED)
            status = STORE_FAILED;
    }
    if (replies) free_replies(replies, count * SALE_COMMANDS);
    free(replies);
    free(commands);
    free(questions);
    return status;
}
