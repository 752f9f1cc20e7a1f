/*
 * Sales and orders in Redis, through lockkit's connections. Steps that two clients could race on are
 * Lua (app/scripts); the rest are plain reads. Any thread.
 */
#include "store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_scripts.h"
#include "store_inside.h"

enum { SCAN_COUNT = 1000 }; /* orders per page */

static const char *const script_names[] = {STORE_SCRIPT_LIST(LIST_NAME)};

/* The fields of a sale, in the order in which they are read. */
static const char *const sale_fields[STORE_SALE_FIELDS] = {
    "title", "initial", "starts_ms", "ends_ms", "state", "guard", "epoch", "restocked", "cool"};

static const struct lk_bytes all_sales = {.data = "seckill:sales",
                                          .len = sizeof "seckill:sales" - 1};

struct store *store_new(lk_client *client, const char *instance,
                        const struct deployment *deployment)
{
    struct store *store = calloc(1, sizeof *store);

    if (!store) return NULL;
    store->client = client;
    store->instance = instance;
    store->deployment = deployment;
    for (size_t i = 0; i < STORE_SCRIPT_COUNT; i++) {
        store->scripts[i] = lk_script_new(app_scripts_named(script_names[i]));
        if (store->scripts[i]) continue;
        store_free(store);
        return NULL;
    }
    return store;
}

void store_set_wait(struct store *store, int64_t wait_ms)
{
    store->wait_ms = wait_ms;
}

void store_free(struct store *store)
{
    if (!store) return;
    for (size_t i = 0; i < STORE_SCRIPT_COUNT; i++)
        lk_script_free(store->scripts[i]);
    free(store);
}

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

/* What an error answer means: a server that does not serve now has executed nothing. */
static store_status status_of_words(const char *words)
{
    static const char *const away[] = {"CLUSTERDOWN", "LOADING",  "MASTERDOWN",
                                       "READONLY",    "TRYAGAIN", "NOREPLICAS"};

    for (size_t i = 0; i < sizeof away / sizeof away[0]; i++) {
        if (strncmp(words, away[i], strlen(away[i])) == 0) return STORE_UNAVAILABLE;
    }
    return STORE_FAILED;
}

/* Whether any of the replies is an error, which is then put into *err; else STORE_OK. */
static store_status find_failure(lk_reply *const *replies, size_t count, struct lk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (lk_reply_type_of(replies[i]) != LK_REPLY_ERROR) continue;
        (void)store_failed(err, replies[i]);
        return status_of_words(lk_reply_bytes(replies[i]).data);
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
    return status == LK_SERVER ? status_of_words(own.text) : status_of(status);
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

/* ---- sales ------------------------------------------------------------------------------------- */

store_status store_ping(struct store *store, struct lk_error *err)
{
    int64_t ignored = 0;

    return store_time_ms(store, &ignored, err);
}

store_status store_time_ms(struct store *store, int64_t *out_ms, struct lk_error *err)
{
    struct lk_bytes word = LK_BYTES("TIME");
    lk_reply *reply = NULL;
    store_status status = store_ask(store, &(struct lk_command){&word, 1}, 1, &reply, err);

    if (status == STORE_OK && !store_to_time_ms(reply, out_ms)) status = store_failed(err, reply);
    lk_reply_free(reply);
    return status;
}

store_status store_create_sale(struct store *store, const struct sale *sale, struct lk_error *err)
{
    struct sale_keys keys;
    char initial[24];
    char starts[24];
    char ends[24];
    struct lk_bytes list[] = {LK_BYTES("SADD"), all_sales, lk_bytes_of(sale->id)};
    lk_reply *reply = NULL;

    /* Listed first: an id on the list without a sale is skipped, a sale off the list is lost. */
    store_status status = store_ask(store, &(struct lk_command){list, 3}, 1, &reply, err);
    if (status != STORE_OK) return status;
    lk_reply_free(reply);
    reply = NULL;
    (void)snprintf(initial, sizeof initial, "%" PRId64, sale->initial);
    (void)snprintf(starts, sizeof starts, "%" PRId64, sale->starts_ms);
    (void)snprintf(ends, sizeof ends, "%" PRId64, sale->ends_ms);
    sale_keys_make(sale->id, &keys);
    const struct lk_bytes args[] = {
        lk_bytes_of(store->instance), lk_bytes_of(sale->title), lk_bytes_of(initial),
        lk_bytes_of(starts),          lk_bytes_of(ends),        lk_bytes_of(sale->guard)};
    status =
        store_run(store, STORE_CREATE,
                  (struct lk_eval){.keys = keys.key, .key_count = 4, .args = args, .arg_count = 6},
                  &reply, err);
    if (status == STORE_OK && lk_reply_integer(lk_reply_at(reply, 0), 0) != 1)
        status = STORE_EXISTS;
    lk_reply_free(reply);
    return status;
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
        (lk_reply_type_of(lk_reply_at(fields, 7)) == LK_REPLY_NIL ||
         store_to_number(lk_reply_at(fields, 7), &out->restocked)) &&
        store_to_number(lk_reply_at(answers, ABOUT_STOCK), &stock) &&
        store_to_time_ms(lk_reply_at(answers, ABOUT_TIME), &out->now_ms);
    out->orders = lk_reply_integer(lk_reply_at(answers, ABOUT_ORDERS), 0);
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

/* All of one moment: a restock between two of them would make units out of nothing. */
enum { ASK_MULTI, ASK_ABOUT, ASK_EXEC = ASK_ABOUT + ABOUT_COUNT, SALE_COMMANDS };

store_status store_load_sales(struct store *store, const struct sale_id *ids, size_t count,
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

store_status store_load_sale(struct store *store, const char *id, struct sale *out_sale,
                             struct lk_error *err)
{
    struct sale_id one = {""};
    struct sale sale;

    (void)snprintf(one.text, sizeof one.text, "%s", id);
    store_status status = store_load_sales(store, &one, 1, &sale, err);
    if (status == STORE_OK && !sale.id[0]) return STORE_NOT_FOUND;
    if (status == STORE_OK) *out_sale = sale;
    return status;
}

static int compare_ids(const void *left, const void *right)
{
    const struct sale_id *a = left;
    const struct sale_id *b = right;

    return strcmp(a->text, b->text);
}

store_status store_list_ids(struct store *store, struct sale_id **out_ids, size_t *out_count,
                            struct lk_error *err)
{
    struct lk_bytes words[] = {LK_BYTES("SMEMBERS"), all_sales};
    lk_reply *reply = NULL;
    size_t count = 0;
    store_status status = store_ask(store, &(struct lk_command){words, 2}, 1, &reply, err);

    if (status != STORE_OK) return status;
    struct sale_id *ids = calloc(lk_reply_count(reply) + 1, sizeof *ids);
    for (size_t i = 0; ids && i < lk_reply_count(reply); i++) {
        char *id = ids[count].text;

        if (store_to_text(lk_reply_at(reply, i), id, sizeof ids->text) && sale_id_is_valid(id))
            count++;
    }
    lk_reply_free(reply);
    if (!ids) return STORE_FAILED;
    qsort(ids, count, sizeof *ids, compare_ids);
    *out_ids = ids;
    *out_count = count;
    return STORE_OK;
}

/* ---- orders ------------------------------------------------------------------------------------ */

/* Copy up to the next colon, or all for the last part; false when it does not fit. */
static bool take_part(struct lk_bytes *rest, bool is_last, char *out, size_t size)
{
    const char *colon = memchr(rest->data, ':', rest->len);
    size_t len = is_last || !colon ? rest->len : (size_t)(colon - rest->data);

    if ((!is_last && !colon) || len >= size) return false;
    memcpy(out, rest->data, len);
    out[len] = '\0';
    if (!is_last) *rest = (struct lk_bytes){.data = colon + 1, .len = rest->len - len - 1};
    return true;
}

bool store_parse_order(struct lk_bytes value, struct order *out_order)
{
    if (!value.data) return false;
    return take_part(&value, false, out_order->id, sizeof out_order->id) &&
           take_part(&value, false, out_order->state, sizeof out_order->state) &&
           take_part(&value, true, out_order->key, sizeof out_order->key);
}

static store_status ask_order(struct store *store, const struct sale_keys *keys, const char *buyer,
                              lk_reply **reply, struct lk_error *err)
{
    const struct lk_bytes words[] = {LK_BYTES("HGET"), keys->key[KEY_ORDERS], lk_bytes_of(buyer)};

    return store_ask(store, &(struct lk_command){words, 3}, 1, reply, err);
}

/* The same, and replicas have what is told. */
static store_status ask_kept_order(struct store *store, const struct sale_keys *keys,
                                   const char *buyer, lk_reply **reply, struct lk_error *err)
{
    const struct lk_bytes arg = lk_bytes_of(buyer);
    const struct lk_eval eval = {
        .keys = &keys->key[KEY_ORDERS], .key_count = 1, .args = &arg, .arg_count = 1};

    return store_run(store, STORE_CONFIRM, eval, reply, err);
}

store_status store_find_order(struct store *store, const char *id, const char *buyer,
                              struct order *out_order, struct lk_error *err)
{
    struct sale_keys keys;
    struct order order = {0};
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    store_status status = ask_order(store, &keys, buyer, &reply, err);
    const lk_reply *held = reply;
    if (status == STORE_OK && deployment_is_synced(store->deployment) &&
        lk_reply_type_of(held) != LK_REPLY_NIL) {
        lk_reply_free(reply);
        reply = NULL;
        status = ask_kept_order(store, &keys, buyer, &reply, err);
        held = lk_reply_at(reply, 0);
    }
    if (status != STORE_OK) return status;
    if (lk_reply_type_of(held) == LK_REPLY_NIL) {
        status = STORE_NOT_FOUND;
    } else if (store_parse_order(lk_reply_bytes(held), &order)) {
        (void)snprintf(order.buyer, sizeof order.buyer, "%s", buyer);
        *out_order = order;
    } else {
        status = store_failed(err, NULL);
    }
    lk_reply_free(reply);
    return status;
}

/* Hand out one page of HSCAN; false when `each` has had enough. */
static bool hand_out(const lk_reply *page, store_each *each, void *arg)
{
    for (size_t i = 0; i + 1 < lk_reply_count(page); i += 2) {
        struct order order = {0};

        if (!store_to_text(lk_reply_at(page, i), order.buyer, sizeof order.buyer)) continue;
        if (!store_parse_order(lk_reply_bytes(lk_reply_at(page, i + 1)), &order)) continue;
        if (!each(&order, arg)) return false;
    }
    return true;
}

/* A cursor means something only to the server that gave it. */
static store_status server_changed(struct lk_error *err)
{
    if (err) {
        *err = (struct lk_error){.code = LK_UNKNOWN, .where = __func__};
        (void)snprintf(err->text, sizeof err->text, "another server took over amid the orders");
    }
    return STORE_UNKNOWN;
}

store_status store_scan_orders(struct store *store, const char *id, store_each *each, void *arg,
                               struct lk_error *err)
{
    unsigned changes = deployment_changes(store->deployment);
    struct sale_keys keys;
    char cursor[24] = "0";
    char page_size[8];
    bool goes_on = true;

    sale_keys_make(id, &keys);
    (void)snprintf(page_size, sizeof page_size, "%d", SCAN_COUNT);
    do {
        struct lk_bytes words[] = {LK_BYTES("HSCAN"), keys.key[KEY_ORDERS], lk_bytes_of(cursor),
                                   LK_BYTES("COUNT"), lk_bytes_of(page_size)};
        lk_reply *reply = NULL;
        store_status status = store_ask(store, &(struct lk_command){words, 5}, 1, &reply, err);

        if (status != STORE_OK) return status;
        if (!store_to_text(lk_reply_at(reply, 0), cursor, sizeof cursor))
            status = store_failed(err, NULL);
        if (status == STORE_OK) goes_on = hand_out(lk_reply_at(reply, 1), each, arg);
        lk_reply_free(reply);
        if (status != STORE_OK) return status;
    } while (goes_on && strcmp(cursor, "0") != 0);
    return deployment_changes(store->deployment) == changes ? STORE_OK : server_changed(err);
}
