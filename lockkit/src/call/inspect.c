/*
 * Inspect a lock: a script returns facts, and the layout is derived from them here, the most specific fact
 * first. Threads: any.
 */
#include "lockkit/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/name.h"
#include "base/slot.h"
#include "eval.h"
#include "layout.h"

_Static_assert(LK_INSPECT_KEY_MAX == LKI_KEY_MAX + 1, "a key fits with its NUL");
_Static_assert((int)LK_INSPECT_OWNER_MAX >= (int)LKI_OWNER_MAX, "an owner fits");

/* The answer of inspect.lua, by index. */
enum fact {
    FACT_TYPE,
    FACT_TTL,
    FACT_SIZE,
    FACT_ROWS,
    FACT_MODE,
    FACT_FENCE,
    FACT_WAITERS,
    FACT_QUEUE,
    FACT_OUT,
    FACT_PERMITS,
    FACT_ENDED,
};

/* ---- from facts to a lock -------------------------------------------------------------------- */

static bool is_text(const lk_reply *reply, const char *text)
{
    struct lk_bytes bytes = lk_reply_bytes(reply);

    return bytes.len == strlen(text) && bytes.data && memcmp(bytes.data, text, bytes.len) == 0;
}

static int64_t left_of(long long ttl)
{
    return ttl == -1 ? LK_INSPECT_FOREVER : (ttl > 0 ? ttl : 0);
}

static struct lk_holder *add_holder(struct lk_inspection *out, struct lk_bytes owner,
                                    int64_t left_ms)
{
    struct lk_holder *holder = &out->holders[out->holder_count++];

    lki_layout_copy(owner, holder->owner, sizeof holder->owner);
    holder->holds = 1;
    holder->left_ms = left_ms;
    return holder;
}

/* Read the owners of a hash; in a read/write lock's each reader has a lease of its own. False: it is no lock. */
static bool read_owners(const lk_reply *rows, bool has_mode, struct lk_inspection *out)
{
    for (size_t i = 0; i < lk_reply_count(rows) && out->holder_count < LK_INSPECT_ROWS; i++) {
        const lk_reply *row = lk_reply_at(rows, i);
        struct lk_bytes field = lk_reply_bytes(lk_reply_at(row, 0));
        bool is_writer = false;
        int64_t holds = 0;

        if (has_mode && is_text(lk_reply_at(row, 0), "mode")) continue;
        if (!lki_layout_is_owner(field, has_mode ? &is_writer : NULL)) return false;
        if (!lki_layout_read_number(lk_reply_bytes(lk_reply_at(row, 1)), &holds) || holds < 1)
            return false;
        int64_t left_ms = has_mode && !is_writer ? left_of(lk_reply_integer(lk_reply_at(row, 2), 0))
                                                 : out->left_ms;
        struct lk_holder *holder = add_holder(out, field, left_ms);
        holder->holds = holds;
        holder->is_writer = is_writer;
    }
    return out->holder_count > 0;
}

static lk_layout read_hash(const lk_reply *facts, struct lk_inspection *out)
{
    bool reads = is_text(lk_reply_at(facts, FACT_MODE), "read");
    bool writes = is_text(lk_reply_at(facts, FACT_MODE), "write");
    bool has_mode = reads || writes;
    long long size = lk_reply_integer(lk_reply_at(facts, FACT_SIZE), 0);

    if (!read_owners(lk_reply_at(facts, FACT_ROWS), has_mode, out)) {
        out->holder_count = 0;
        return LK_LAYOUT_OTHER;
    }
    out->holder_count = (size_t)(has_mode ? size - 1 : size);
    if (has_mode) return reads ? LK_LAYOUT_READ : LK_LAYOUT_WRITE;
    if (out->waiter_count > 0) return LK_LAYOUT_FAIR;
    return out->fence > 0 ? LK_LAYOUT_FENCED : LK_LAYOUT_REENTRANT;
}

static void read_permits(const lk_reply *facts, struct lk_inspection *out)
{
    const lk_reply *rows = lk_reply_at(facts, FACT_PERMITS);

    for (size_t i = 0; i < lk_reply_count(rows) && i < LK_INSPECT_ROWS; i++) {
        const lk_reply *row = lk_reply_at(rows, i);
        struct lk_holder *holder =
            add_holder(out, (struct lk_bytes){0}, lk_reply_integer(lk_reply_at(row, 1), 0));

        lki_layout_copy_hex(lk_reply_bytes(lk_reply_at(row, 0)), holder->owner,
                            sizeof holder->owner);
    }
    out->holder_count = (size_t)lk_reply_integer(lk_reply_at(facts, FACT_OUT), 0);
    out->number += lk_reply_integer(lk_reply_at(facts, FACT_ENDED), 0); /* given back at next use */
}

static lk_layout read_string(const lk_reply *facts, struct lk_inspection *out)
{
    struct lk_bytes value = lk_reply_bytes(lk_reply_at(lk_reply_at(facts, FACT_ROWS), 0));
    bool is_whole = lk_reply_integer(lk_reply_at(facts, FACT_SIZE), 0) == (long long)value.len;
    bool has_end = out->left_ms != LK_INSPECT_FOREVER;
    bool has_permits = lk_reply_integer(lk_reply_at(facts, FACT_OUT), 0) +
                           lk_reply_integer(lk_reply_at(facts, FACT_ENDED), 0) >
                       0;

    if (!is_whole) return LK_LAYOUT_OTHER;
    if (lki_layout_is_hex_token(value) || (has_end && lki_layout_is_token(value))) {
        (void)add_holder(out, value, out->left_ms);
        return LK_LAYOUT_MUTEX;
    }
    if (!lki_layout_read_number(value, &out->number)) return LK_LAYOUT_OTHER;
    if (has_permits) {
        read_permits(facts, out);
        return LK_LAYOUT_PERMITS;
    }
    return has_end ? LK_LAYOUT_OTHER : LK_LAYOUT_NUMBER;
}

static void read_related(const lk_reply *facts, struct lk_inspection *out)
{
    const lk_reply *rows = lk_reply_at(facts, FACT_QUEUE);
    int64_t fence = 0;

    out->waiter_count = (size_t)lk_reply_integer(lk_reply_at(facts, FACT_WAITERS), 0);
    for (size_t i = 0; i < lk_reply_count(rows) && i < LK_INSPECT_ROWS; i++) {
        const lk_reply *row = lk_reply_at(rows, i);

        lki_layout_copy(lk_reply_bytes(lk_reply_at(row, 0)), out->waiters[i].owner,
                        sizeof out->waiters[i].owner);
        out->waiters[i].left_ms = lk_reply_integer(lk_reply_at(row, 1), 0);
    }
    if (lki_layout_read_number(lk_reply_bytes(lk_reply_at(facts, FACT_FENCE)), &fence) && fence > 0)
        out->fence = (uint64_t)fence;
}

static void read_facts(const lk_reply *facts, struct lk_inspection *out)
{
    const lk_reply *type = lk_reply_at(facts, FACT_TYPE);

    out->left_ms = left_of(lk_reply_integer(lk_reply_at(facts, FACT_TTL), 0));
    read_related(facts, out);
    if (is_text(type, "none")) {
        out->layout = LK_LAYOUT_NONE;
    } else if (is_text(type, "string")) {
        out->layout = read_string(facts, out);
    } else if (is_text(type, "hash")) {
        out->layout = read_hash(facts, out);
    } else {
        out->layout = LK_LAYOUT_OTHER;
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The names of the helper keys. */
struct related {
    char *queue, *windows, *fence, *permits, *holds; /* owned */
};

static bool name_related(const char *key, struct related *out)
{
    out->queue = lki_name_prefix("redisson_lock_queue", key);
    out->windows = lki_name_prefix("redisson_lock_timeout", key);
    out->fence = lki_name_prefix("redisson_lock_token", key);
    out->permits = lki_name_suffix(key, "timeout");
    out->holds = lki_name_suffix(key, "");
    return out->queue && out->windows && out->fence && out->permits && out->holds;
}

static void related_done(struct related *related)
{
    free(related->queue);
    free(related->windows);
    free(related->fence);
    free(related->permits);
    free(related->holds);
}

/* Whether one script may access all of them; not if a cluster has them in several slots. */
static bool is_together(lk_client *client, const char *key, const struct related *related)
{
    int slot = lki_slot_of(key, strlen(key));

    return lk_client_primaries(client) == 1 ||
           (lki_slot_of(related->queue, strlen(related->queue)) == slot &&
            lki_slot_of(related->permits, strlen(related->permits)) == slot);
}

static lk_status ask(lk_client *client, const char *key, const struct related *related,
                     lk_reply **out_facts, struct lk_error *err)
{
    char rows[LKI_NUMBER_MAX];
    struct lki_call call = {
        .script = "inspect",
        .preamble = "inspect_related",
        .keys = {lk_bytes_of(key), lk_bytes_of(related->queue), lk_bytes_of(related->windows),
                 lk_bytes_of(related->fence), lk_bytes_of(related->permits)},
        .key_count = is_together(client, key, related) ? 5 : 1,
        .args = {lki_number(rows, LK_INSPECT_ROWS), lk_bytes_of(related->holds)},
        .arg_count = 2};

    return lki_call_reply(client, &call, lki_context_deadline(client, 0), out_facts, err);
}

lk_status lk_inspect(lk_client *client, const char *key, struct lk_inspection *out,
                     struct lk_error *err)
{
    size_t len = key ? strnlen(key, LK_INSPECT_KEY_MAX) : 0;
    struct related related = {0};
    lk_reply *facts = NULL;
    lk_status status = lki_context_check(client, err);

    if (status != LK_OK) return status;
    if (!out || len < 1 || len > LKI_KEY_MAX)
        return LKI_FAIL(err, LK_INVALID, "a lock's key has 1 to %d bytes", LKI_KEY_MAX);
    if (client->backend) return client->backend->inspect(client, key, false, out, err);
    status = name_related(key, &related) ? ask(client, key, &related, &facts, err)
                                         : LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    if (status == LK_OK) {
        memset(out, 0, sizeof *out);
        memcpy(out->key, key, len);
        read_facts(facts, out);
        lk_reply_free(facts);
    }
    related_done(&related);
    return status;
}
