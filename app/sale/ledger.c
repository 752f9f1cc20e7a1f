/*
 * Ids and entries of a ledger. No I/O: any thread.
 */
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char **text, uint64_t *out)
{
    uint64_t number = 0;

    if (**text < '0' || **text > '9') return false;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');

        if (number > (UINT64_MAX - digit) / 10) return false;
        number = number * 10 + digit;
    }
    *out = number;
    return true;
}

bool ledger_id_parse(const char *text, struct ledger_id *out)
{
    struct ledger_id id;

    if (!read_number(&text, &id.ms) || *text++ != '-' || !read_number(&text, &id.seq)) return false;
    if (*text) return false;
    *out = id;
    return true;
}

void ledger_id_format(struct ledger_id id, char out[LEDGER_ID_SIZE])
{
    (void)snprintf(out, LEDGER_ID_SIZE, "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
}

int ledger_id_compare(struct ledger_id left, struct ledger_id right)
{
    if (left.ms != right.ms) return left.ms < right.ms ? -1 : 1;
    if (left.seq != right.seq) return left.seq < right.seq ? -1 : 1;
    return 0;
}

static const struct {
    const char *event;
    int adds;
} payments[] = {{"paid", 0},        {"cancelled", -1},  {"expired", -1},    {"payment-failed", 0},
                {"refund-owed", 0}, {"refund-sent", 0}, {"refund-done", 0}, {"restored", 0},
                {"moved-out", 0},   {"moved-in", 0}};

enum { PAYMENT_COUNT = sizeof payments / sizeof payments[0] };

static size_t payment_named(const char *event)
{
    size_t i = 0;

    while (i < PAYMENT_COUNT && strcmp(payments[i].event, event) != 0)
        i++;
    return i;
}

int ledger_event_adds(const char *event)
{
    size_t i = payment_named(event);

    return i < PAYMENT_COUNT ? payments[i].adds : 1;
}

bool ledger_event_is_of_payment(const char *event)
{
    return payment_named(event) < PAYMENT_COUNT;
}

/* A number in decimal; the fallback when it is none. */
static int64_t number_or(struct lk_bytes text, int64_t fallback)
{
    char *end = NULL;
    int64_t number = text.data && text.len > 0 ? strtoll(text.data, &end, 10) : 0;

    return end && end == text.data + text.len ? number : fallback;
}

static bool is_word(struct lk_bytes bytes, const char *word)
{
    return bytes.data && bytes.len == strlen(word) && memcmp(bytes.data, word, bytes.len) == 0;
}

static void note_field(struct lk_bytes name, struct lk_bytes value, struct ledger_entry *out)
{
    if (is_word(name, "order")) {
        out->orders++;
    } else if (is_word(name, "event") && value.data) {
        (void)snprintf(out->event, sizeof out->event, "%s", value.data);
    } else if (is_word(name, "left")) {
        out->left = number_or(value, 0);
        out->has_left = true;
    } else if (is_word(name, "units")) {
        out->units = number_or(value, 0);
    } else if (is_word(name, "sellable_ms")) {
        out->sellable_ms = number_or(value, 0);
    } else if (is_word(name, "starts_ms")) {
        out->starts_ms = number_or(value, -1);
    } else if (is_word(name, "ends_ms")) {
        out->ends_ms = number_or(value, -1);
    }
}

bool ledger_entry_read(const lk_reply *reply, struct ledger_entry *out)
{
    struct lk_bytes id = lk_reply_bytes(lk_reply_at(reply, 0));
    const lk_reply *fields = lk_reply_at(reply, 1);
    struct ledger_entry entry = {.starts_ms = -1, .ends_ms = -1};

    if (!id.data || !ledger_id_parse(id.data, &entry.id)) return false;
    for (size_t i = 0; i + 1 < lk_reply_count(fields); i += 2)
        note_field(lk_reply_bytes(lk_reply_at(fields, i)),
                   lk_reply_bytes(lk_reply_at(fields, i + 1)), &entry);
    entry.orders *= ledger_event_adds(entry.event);
    *out = entry;
    return true;
}
