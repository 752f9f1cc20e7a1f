/*
 * The observer: looks at locks, stock and orders behind everybody's back, on a connection of its own
 * that no actor is stopped by. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stage_inside.h"

enum { LOOK_MS = 1 };

/* NULL: it is down. */
static lk_client *client_of(const struct stage *stage, unsigned server)
{
    return server == 0 ? stage->observer : servers_client(stage->servers, server);
}

static void print_label(struct stage *stage, struct lk_bytes value, char *out, size_t size)
{
    FILE *text = fmemopen(out, size, "w");

    if (!text) return;
    if (value.data) tap_print(stage->tap, "?", value, text);
    (void)fclose(text); /* what does not fit is cut */
    out[size - 1] = '\0';
}

/* Who is in a lock's hash, "A#1,B#1": its fields, but a read/write lock's mode. */
static void print_owners(struct stage *stage, const lk_reply *fields, char *out, size_t size)
{
    char label[LABEL_SIZE] = "";
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < lk_reply_count(fields) && used < size; i++) {
        struct lk_bytes field = lk_reply_bytes(lk_reply_at(fields, i));

        if (field.data && strcmp(field.data, "mode") == 0) continue;
        print_label(stage, field, label, sizeof label);
        used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "," : "", label);
    }
}

static bool observe_lock(struct stage *stage, size_t i, struct lab_state *out)
{
    const char *key = stage->run->locks[i];
    lk_client *client = client_of(stage, stage->run->lock_servers[i]);

    out->lock[i].lease = LAB_DOWN;
    if (!client) return true;
    lk_reply *ttl = SERVERS_ASK(client, "PTTL", key);
    lk_reply *string = SERVERS_ASK(client, "GET", key);
    lk_reply *fields = SERVERS_ASK(client, "HKEYS", key);
    bool is_string = lk_reply_type_of(string) == LK_REPLY_STRING;
    long long left_ms = lk_reply_integer(ttl, -3);

    if (is_string) {
        print_label(stage, lk_reply_bytes(string), out->lock[i].owner, sizeof out->lock[i].owner);
    } else {
        print_owners(stage, fields, out->lock[i].owner, sizeof out->lock[i].owner);
    }
    out->lock[i].lease = LAB_FREE;
    if (left_ms == -1) out->lock[i].lease = LAB_FOR_EVER;
    if (left_ms >= 0) out->lock[i].lease = LAB_LEASED;
    lk_reply_free(ttl);
    lk_reply_free(string);
    lk_reply_free(fields);
    return left_ms != -3;
}

/* "ORDER_ID:BUYER:KEY" */
static void read_row(const char *row, struct lab_state *out)
{
    size_t at = out->order_count++;
    size_t id = strcspn(row, ":");
    const char *buyer = row[id] ? row + id + 1 : "";

    if (at >= LAB_ROWS_MAX) return;
    (void)snprintf(out->orders[at].order, sizeof out->orders[at].order, "%.*s", (int)id, row);
    (void)snprintf(out->orders[at].buyer, sizeof out->orders[at].buyer, "%.*s",
                   (int)strcspn(buyer, ":"), buyer);
}

static void observe_orders(struct stage *stage, struct lab_state *out)
{
    lk_reply *entries = SERVERS_ASK(stage->observer, "XRANGE", STAGE_KEY("ledger"), "-", "+");

    for (size_t i = 0; i < lk_reply_count(entries); i++) {
        const lk_reply *fields = lk_reply_at(lk_reply_at(entries, i), 1);

        for (size_t k = 0; k + 1 < lk_reply_count(fields); k += 2) {
            if (strcmp(lk_reply_bytes(lk_reply_at(fields, k)).data, "order") == 0)
                read_row(lk_reply_bytes(lk_reply_at(fields, k + 1)).data, out);
        }
    }
    lk_reply_free(entries);
}

bool observe(struct stage *stage, struct lab_state *out)
{
    lk_reply *stock = SERVERS_ASK(stage->observer, "GET", STAGE_KEY("stock"));
    struct lk_bytes text = lk_reply_bytes(stock);
    bool is_there = stock != NULL;

    *out = (struct lab_state){.stock = text.data ? strtoll(text.data, NULL, 10) : 0};
    lk_reply_free(stock);
    for (size_t i = 0; is_there && i < stage->run->lock_count; i++)
        is_there = observe_lock(stage, i, out);
    if (is_there) observe_orders(stage, out);
    return is_there;
}

static bool has_lapsed(lk_client *client, const char *key)
{
    int64_t deadline_ms = clock_mono_ms() + STAGE_LIMIT_MS;
    long long left_ms = 0;

    while (left_ms != -2) {
        lk_reply *reply = SERVERS_ASK(client, "PTTL", key);

        left_ms = lk_reply_integer(reply, 0);
        lk_reply_free(reply);
        if (tap_is_interrupted() || clock_mono_ms() >= deadline_ms) return false;
        if (left_ms != -2) clock_pause_ms(LOOK_MS);
    }
    return true;
}

/* On one server. False: there was no lease, or it does not end. */
static bool lapse_on(struct stage *stage, unsigned server, const char *key, struct tap_calls *out)
{
    lk_client *client = client_of(stage, server);
    lk_reply *reply = client ? SERVERS_ASK(client, "PEXPIRE", key, "1") : NULL;
    bool was_there = lk_reply_integer(reply, 0) == 1;
    char *command = NULL;

    lk_reply_free(reply);
    if (!was_there) return false;
    if (asprintf(&command, "PEXPIRE %s 1", key) < 0) command = NULL;
    (void)tap_calls_add(
        out, (struct tap_call){.command = command, .reply = strdup("1"), .server = server});
    return has_lapsed(client, key);
}

bool observe_lapse(struct stage *stage, const char *key, struct tap_calls *out)
{
    bool is_there = false;

    if (stage->run->server_count == 0) return lapse_on(stage, 0, key, out);
    for (unsigned server = 1; server <= stage->run->server_count; server++)
        is_there |= lapse_on(stage, server, key, out);
    return is_there;
}

bool observe_lapse_first(struct stage *stage, const char *key, struct tap_calls *out)
{
    lk_reply *members = SERVERS_ASK(stage->observer, "ZRANGE", key, "0", "0");
    struct lk_bytes first = lk_reply_bytes(lk_reply_at(members, 0));
    char label[LABEL_SIZE];
    char *command = NULL;
    bool was_there = first.data != NULL;

    if (was_there) {
        lk_reply *reply = SERVERS_ASK(stage->observer, "ZADD", key, "1", first.data);

        was_there = lk_reply_integer(reply, -1) == 0;
        lk_reply_free(reply);
        print_label(stage, first, label, sizeof label);
        if (asprintf(&command, "ZADD %s 1 %s", key, label) < 0) command = NULL;
        (void)tap_calls_add(out, (struct tap_call){.command = command, .reply = strdup("0")});
    }
    lk_reply_free(members);
    return was_there;
}
