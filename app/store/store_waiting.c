/*
 * See store_waiting.h. Any thread.
 */
#include "store_waiting.h"

#include "base/hex.h"
#include "store_internal.h"
#include "store_segments.h"

enum { HEX_SIZE = 2 * WAITING_SECRET_SIZE + 1, PLACE_PARTS = 1000 };

static bool from_hex(const lk_reply *reply, unsigned char out[WAITING_SECRET_SIZE])
{
    char text[HEX_SIZE];

    return store_to_text(reply, text, sizeof text) && hex_read(text, out, WAITING_SECRET_SIZE);
}

static bool read_step(const lk_reply *reply, struct waiting_step *out)
{
    out->admitted = lk_reply_integer(lk_reply_at(reply, 0), 0) / PLACE_PARTS;
    out->last = lk_reply_integer(lk_reply_at(reply, 1), 0);
    out->drawn = lk_reply_integer(lk_reply_at(reply, 2), WAITING_NO_DRAW);
    out->is_over = lk_reply_integer(lk_reply_at(reply, 5), 0) == 1;
    out->admit = lk_reply_integer(lk_reply_at(reply, 6), 0);
    out->starts_in_ms = lk_reply_integer(lk_reply_at(reply, 7), 0);
    return from_hex(lk_reply_at(reply, 3), out->key) && from_hex(lk_reply_at(reply, 4), out->seed);
}

static store_status step_in(struct store *store, const char *id, bool has_units,
                            struct waiting_step *out, struct lk_error *err)
{
    struct sale_keys keys;
    char key[HEX_SIZE];
    char seed[HEX_SIZE];
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    hex_write(out->key, sizeof out->key, key);
    hex_write(out->seed, sizeof out->seed, seed);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_WAITING], keys.key[KEY_STOCK]};
    const struct lk_bytes args[] = {lk_bytes_of(key), lk_bytes_of(seed),
                                    lk_bytes_of(has_units ? "1" : "0")};
    store_status status = store_run(
        store, STORE_WAITING_STEP,
        (struct lk_eval){.keys = used, .key_count = 3, .args = args, .arg_count = 3}, &reply, err);
    if (status == STORE_OK && lk_reply_count(reply) == 0)
        status = STORE_NOT_FOUND;
    else if (status == STORE_OK && !read_step(reply, out))
        status = store_failed(err, NULL);
    lk_reply_free(reply);
    return status;
}

/* The waiting room of a sale in segments is its first one's. */
static store_status find_first(struct store *store, const char *id, struct sale_id *out,
                               struct lk_error *err)
{
    struct sale sale;
    store_status status = store_find_segments(store, id, &sale, err);

    if (status == STORE_OK) segment_id(id, sale.segments.generation, 0, out);
    return status;
}

store_status store_waiting_step(struct store *store, const char *id, struct waiting_step *out,
                                struct lk_error *err)
{
    struct sale sale;
    struct sale_id first;
    store_status status = step_in(store, id, false, out, err);

    if (status != STORE_NOT_FOUND) return status;
    status = store_load_segmented(store, id, &sale, err);
    if (status != STORE_OK) return status;
    segment_id(id, sale.segments.generation, 0, &first);
    return step_in(store, first.text, sale.left > 0, out, err);
}

static store_status join_in(struct store *store, const char *id, const char *buyer,
                            int64_t *out_number, struct lk_error *err)
{
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_WAITING],
                                    keys.key[KEY_PLACES]};
    const struct lk_bytes args[] = {lk_bytes_of(buyer)};
    store_status status = store_run(
        store, STORE_WAITING_JOIN,
        (struct lk_eval){.keys = used, .key_count = 3, .args = args, .arg_count = 1}, &reply, err);
    if (status == STORE_OK) *out_number = lk_reply_integer(reply, 0);
    if (status == STORE_OK && *out_number <= 0) status = STORE_NOT_FOUND;
    lk_reply_free(reply);
    return status;
}

store_status store_waiting_join(struct store *store, const char *id, const char *buyer,
                                int64_t *out_number, struct lk_error *err)
{
    struct sale_id first;
    store_status status = join_in(store, id, buyer, out_number, err);

    if (status != STORE_NOT_FOUND) return status;
    status = find_first(store, id, &first, err);
    return status == STORE_OK ? join_in(store, first.text, buyer, out_number, err) : status;
}
