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
#include <unistd.h>

#include "app_scripts.h"
#include "base/clock.h"
#include "store_internal.h"

enum { SCAN_COUNT = 1000 }; /* orders per page */

static const char *const script_names[] = {STORE_SCRIPT_LIST(LIST_NAME)};

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
    (void)snprintf(store->process, sizeof store->process, "%.60s.c%llx.%x", instance,
                   (unsigned long long)clock_unix_ms(), (unsigned)getpid());
    for (size_t i = 0; i < STORE_SCRIPT_COUNT; i++) {
        store->scripts[i] = i == STORE_EXPIRE_FENCED
                                ? APP_SCRIPTS_JOIN("fence_check", script_names[i])
                                : lk_script_new(app_scripts_named(script_names[i]));
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

bool store_keep_book(struct store *store)
{
    static const enum store_script checked[] = {STORE_CANCEL, STORE_PAY, STORE_REFUND};

    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        lk_script *script = APP_SCRIPTS_JOIN("fork_check", script_names[checked[i]]);

        if (!script) return false;
        lk_script_free(store->scripts[checked[i]]);
        store->scripts[checked[i]] = script;
    }
    store->is_booked = true;
    return true;
}

void store_free(struct store *store)
{
    if (!store) return;
    for (size_t i = 0; i < STORE_SCRIPT_COUNT; i++)
        lk_script_free(store->scripts[i]);
    free(store);
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

static store_status change_list(struct store *store, struct lk_bytes how, const char *id,
                                struct lk_error *err)
{
    struct lk_bytes list[] = {how, all_sales, lk_bytes_of(id)};
    lk_reply *reply = NULL;
    store_status status = store_ask(store, &(struct lk_command){list, 3}, 1, &reply, err);

    lk_reply_free(reply);
    return status;
}

store_status store_list_id(struct store *store, const char *id, struct lk_error *err)
{
    return change_list(store, lk_bytes_of("SADD"), id, err);
}

store_status store_unlist_id(struct store *store, const char *id, struct lk_error *err)
{
    return change_list(store, lk_bytes_of("SREM"), id, err);
}

store_status store_create_sale(struct store *store, const struct sale *sale, struct lk_error *err)
{
    /* Listed first: an id on the list without a sale is skipped, a sale off the list is lost. */
    store_status status = store_list_id(store, sale->id, err);

    if (status != STORE_OK) return status;
    return sale->segments.count > 0 ? store_create_segmented(store, sale, err)
                                    : store_create_piece(store, sale, err);
}

static bool is_of_segment(const char *id)
{
    return strchr(id, '.') != NULL;
}

store_status store_load_sales(struct store *store, const struct sale_id *ids, size_t count,
                              struct sale *out_sales, struct lk_error *err)
{
    store_status status = store_load_pieces(store, ids, count, out_sales, err);

    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        if (out_sales[i].id[0] || is_of_segment(ids[i].text)) continue;
        status = store_load_segmented(store, ids[i].text, &out_sales[i], err);
        if (status == STORE_NOT_FOUND) status = STORE_OK;
    }
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

/* The same, once replicas have the order. */
static store_status ask_kept_order(struct store *store, const struct sale_keys *keys,
                                   const char *buyer, lk_reply **reply, struct lk_error *err)
{
    const struct lk_bytes arg = lk_bytes_of(buyer);
    const struct lk_eval eval = {
        .keys = &keys->key[KEY_ORDERS], .key_count = 1, .args = &arg, .arg_count = 1};

    return store_run(store, STORE_CONFIRM, eval, reply, err);
}

/* There is no such order; or that is unknown, because the sale has to be rebuilt from the book first. */
static store_status status_of_none(struct store *store, const struct sale_keys *keys,
                                   struct lk_error *err)
{
    const struct lk_bytes words[] = {LK_BYTES("HEXISTS"), keys->key[KEY_SALE], LK_BYTES("rebuild")};
    const struct lk_eval check = {.keys = &keys->key[KEY_SALE], .key_count = 1};
    lk_reply *reply = NULL;
    store_status status = store->is_booked
                              ? store_run(store, STORE_CHECK, check, &reply, err)
                              : store_ask(store, &(struct lk_command){words, 3}, 1, &reply, err);

    if (status == STORE_OK)
        status = lk_reply_integer(reply, 0) == 1 ? STORE_UNAVAILABLE : STORE_NOT_FOUND;
    lk_reply_free(reply);
    return status;
}

static store_status find_order(struct store *store, const char *id, const char *buyer,
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
        status = status_of_none(store, &keys, err);
    } else if (store_parse_order(lk_reply_bytes(held), &order)) {
        (void)snprintf(order.buyer, sizeof order.buyer, "%s", buyer);
        *out_order = order;
    } else {
        status = store_failed(err, NULL);
    }
    lk_reply_free(reply);
    return status;
}

store_status store_find_order(struct store *store, const char *id, const char *buyer,
                              struct order *out_order, struct lk_error *err)
{
    struct sale_id home;
    store_status status = find_order(store, id, buyer, out_order, err);

    if (status != STORE_NOT_FOUND) return status;
    status = store_find_home(store, id, buyer, &home, err);
    return status == STORE_OK ? find_order(store, home.text, buyer, out_order, err) : status;
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

/* The receiver of the orders, and whether it has asked to stop. */
struct listener {
    store_each *each;
    void *arg;
    bool has_enough;
};

static store_status scan_piece(struct store *store, const char *id, struct listener *listener,
                               struct lk_error *err)
{
    unsigned changes = deployment_changes(store->deployment);
    struct sale_keys keys;
    char cursor[24] = "0";
    char page_size[8];

    sale_keys_make(id, &keys);
    (void)snprintf(page_size, sizeof page_size, "%d", SCAN_COUNT);
    while (!listener->has_enough) {
        struct lk_bytes words[] = {LK_BYTES("HSCAN"), keys.key[KEY_ORDERS], lk_bytes_of(cursor),
                                   LK_BYTES("COUNT"), lk_bytes_of(page_size)};
        lk_reply *reply = NULL;
        store_status status = store_ask(store, &(struct lk_command){words, 5}, 1, &reply, err);

        if (status != STORE_OK) return status;
        if (!store_to_text(lk_reply_at(reply, 0), cursor, sizeof cursor))
            status = store_failed(err, NULL);
        if (status == STORE_OK)
            listener->has_enough = !hand_out(lk_reply_at(reply, 1), listener->each, listener->arg);
        lk_reply_free(reply);
        if (status != STORE_OK) return status;
        if (strcmp(cursor, "0") == 0) break;
    }
    return deployment_changes(store->deployment) == changes ? STORE_OK : server_changed(err);
}

store_status store_scan_orders(struct store *store, const char *id, store_each *each, void *arg,
                               struct lk_error *err)
{
    struct listener listener = {each, arg, false};
    struct store_pieces pieces;
    store_status status = store_find_pieces(store, id, &pieces, err);

    if (status == STORE_NOT_FOUND) return scan_piece(store, id, &listener, err);
    for (unsigned i = 0; status == STORE_OK && i < pieces.count; i++)
        status = scan_piece(store, pieces.ids[i].text, &listener, err);
    return status;
}
