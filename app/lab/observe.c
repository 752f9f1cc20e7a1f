/*
 * The observer: looks at locks, stock and orders behind everybody's back, on a connection of its own
 * that no actor is stopped by. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lab/stage_inside.h"

enum { WORDS = 4, LOOK_MS = 1 };

/* One command of up to four words, NULL behind the last; NULL when there is no answer. */
static lk_reply *ask(struct stage *stage, const char *const words[WORDS + 1])
{
    struct lk_bytes args[WORDS];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    while (words[command.count]) {
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    if (lk_client_call(stage->observer, &command, 1, STAGE_LIMIT_MS, &reply, NULL) != LK_OK)
        return NULL;
    return reply;
}

#define ASK(stage, ...) ask((stage), (const char *const[WORDS + 1]){__VA_ARGS__})

static void print_label(struct stage *stage, struct lk_bytes value, char *out, size_t size)
{
    FILE *text = fmemopen(out, size, "w");

    if (!text) return;
    if (value.data) tap_print(stage->tap, "?", value, text);
    (void)fclose(text); /* what does not fit is cut */
    out[size - 1] = '\0';
}

static bool observe_lock(struct stage *stage, size_t i, struct lab_state *out)
{
    const char *key = stage->run->locks[i];
    lk_reply *ttl = ASK(stage, "PTTL", key);
    lk_reply *string = ASK(stage, "GET", key);
    lk_reply *fields = ASK(stage, "HKEYS", key);
    bool is_string = lk_reply_type_of(string) == LK_REPLY_STRING;
    long long left_ms = lk_reply_integer(ttl, -3);

    print_label(stage, lk_reply_bytes(is_string ? string : lk_reply_at(fields, 0)),
                out->lock[i].owner, sizeof out->lock[i].owner);
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
    lk_reply *entries = ASK(stage, "XRANGE", STAGE_KEY("ledger"), "-", "+");

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
    lk_reply *stock = ASK(stage, "GET", STAGE_KEY("stock"));
    struct lk_bytes text = lk_reply_bytes(stock);
    bool is_there = stock != NULL;

    *out = (struct lab_state){.stock = text.data ? strtoll(text.data, NULL, 10) : 0};
    lk_reply_free(stock);
    for (size_t i = 0; is_there && i < stage->run->lock_count; i++)
        is_there = observe_lock(stage, i, out);
    if (is_there) observe_orders(stage, out);
    return is_there;
}

bool observe_lapse(struct stage *stage, const char *key, struct tap_call *out)
{
    int64_t deadline_ms = clock_mono_ms() + STAGE_LIMIT_MS;
    lk_reply *reply = ASK(stage, "PEXPIRE", key, "1");
    bool was_there = lk_reply_integer(reply, 0) == 1;
    long long left_ms = 0;

    lk_reply_free(reply);
    if (asprintf(&out->command, "PEXPIRE %s 1", key) < 0) out->command = NULL;
    out->reply = strdup(was_there ? "1" : "0");
    while (was_there && left_ms != -2) {
        if (clock_mono_ms() >= deadline_ms) return false;
        reply = ASK(stage, "PTTL", key);
        left_ms = lk_reply_integer(reply, 0);
        lk_reply_free(reply);
        if (left_ms != -2) clock_pause_ms(LOOK_MS);
    }
    return was_there;
}
