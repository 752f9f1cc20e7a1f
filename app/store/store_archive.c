/*
 * Exports a sale as lines of JSON, key by key, so that it can be archived outside Redis. Plain reads; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sale/ledger.h"
#include "store_admin.h"
#include "store_internal.h"

enum {
    LINE_SIZE = 1 << 20,
    AT_SIZE = LEDGER_ID_SIZE + 1
}; /* an entry has up to 1,024 orders of 150 bytes */

struct archive {
    struct store *store;   /* borrowed, as are the next two */
    store_each_line *each; /* with what to tell */
    void *arg;
    struct lk_bytes key;
    struct text line;          /* its bytes are owned */
    char last[LEDGER_ID_SIZE]; /* the last entry told of */
};

static void begin_line(struct archive *self)
{
    self->line.len = 0;
    TEXT_ADD(&self->line, "{");
    text_add_member(&self->line, "key", self->key.data);
}

static bool end_line(struct archive *self)
{
    TEXT_ADD(&self->line, "}\n");
    return !self->line.is_cut && self->each(self->line.data, self->line.len, self->arg);
}

static bool write_string(struct archive *self, const lk_reply *value, char at[AT_SIZE])
{
    at[0] = '\0';
    if (lk_reply_type_of(value) == LK_REPLY_NIL) return true;
    begin_line(self);
    text_add_member(&self->line, "value", lk_reply_bytes(value).data);
    return end_line(self);
}

static bool write_fields(struct archive *self, const lk_reply *page, char at[AT_SIZE])
{
    const lk_reply *pairs = lk_reply_at(page, 1);
    bool goes_on = store_to_text(lk_reply_at(page, 0), at, AT_SIZE);

    for (size_t i = 0; goes_on && i + 1 < lk_reply_count(pairs); i += 2) {
        begin_line(self);
        text_add_member(&self->line, "field", lk_reply_bytes(lk_reply_at(pairs, i)).data);
        text_add_member(&self->line, "value", lk_reply_bytes(lk_reply_at(pairs, i + 1)).data);
        goes_on = end_line(self);
    }
    if (strcmp(at, "0") == 0) at[0] = '\0';
    return goes_on;
}

static bool write_entries(struct archive *self, const lk_reply *page, char at[AT_SIZE])
{
    size_t count = lk_reply_count(page);
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < count; i++) {
        const lk_reply *entry = lk_reply_at(page, i);
        const lk_reply *words = lk_reply_at(entry, 1);

        if (!store_to_text(lk_reply_at(entry, 0), self->last, sizeof self->last)) return false;
        begin_line(self);
        text_add_member(&self->line, "entry", self->last);
        text_add_name(&self->line, "words");
        for (size_t k = 0; k < lk_reply_count(words); k++) {
            text_add_string(&self->line, k == 0 ? "[" : ",");
            text_add_json(&self->line, lk_reply_bytes(lk_reply_at(words, k)).data);
        }
        TEXT_ADD(&self->line, "]");
        goes_on = end_line(self);
    }
    (void)snprintf(at, AT_SIZE, "%s%s", count > 0 ? "(" : "", count > 0 ? self->last : "");
    return goes_on;
}

/* A part of the export, and the command that reads one page of it. */
static const struct part {
    enum sale_key key;
    const char *first;
    bool (*tell)(struct archive *self, const lk_reply *page,
                 char at[AT_SIZE]); /* "": it was the last */
    const char *words[6];           /* NULL: the key, "": where it begins */
} parts[] = {{KEY_SALE, "0", write_fields, {"HSCAN", NULL, "", "COUNT", "1000"}},
             {KEY_STOCK, "0", write_string, {"GET", NULL}},
             {KEY_ORDERS, "0", write_fields, {"HSCAN", NULL, "", "COUNT", "1000"}},
             {KEY_REFUNDS, "0", write_fields, {"HSCAN", NULL, "", "COUNT", "1000"}},
             {KEY_LEDGER, "-", write_entries, {"XRANGE", NULL, "", "+", "COUNT", "100"}}};

static store_status write_part(struct archive *self, const struct part *part, struct lk_error *err)
{
    store_status status = STORE_OK;
    char at[AT_SIZE];

    (void)snprintf(at, sizeof at, "%s", part->first);
    while (at[0] && status == STORE_OK) {
        struct lk_bytes words[6] = {lk_bytes_of(part->words[0]), self->key};
        size_t count = 2;
        lk_reply *reply = NULL;

        for (; count < 6 && part->words[count]; count++)
            words[count] = lk_bytes_of(part->words[count][0] ? part->words[count] : at);
        status = store_ask(self->store, &(struct lk_command){words, count}, 1, &reply, err);
        if (status == STORE_OK && !part->tell(self, reply, at)) status = store_failed(err, NULL);
        lk_reply_free(reply);
    }
    return status;
}

store_status store_archive_sale(struct store *store, const char *id, store_each_line *each,
                                void *arg, struct lk_error *err)
{
    struct store_pieces pieces = {.count = 1};
    struct archive self = {store, each, arg, {0}, {malloc(LINE_SIZE), LINE_SIZE, 0, false}, ""};
    store_status status = store_find_pieces(store, id, &pieces, err);
    struct sale_keys keys;

    if (status == STORE_NOT_FOUND)
        (void)snprintf(pieces.ids[0].text, sizeof pieces.ids[0], "%s", id);
    if (status == STORE_NOT_FOUND) status = STORE_OK;
    if (!self.line.data) status = STORE_FAILED;
    for (size_t i = 0; status == STORE_OK && i < pieces.count * (sizeof parts / sizeof *parts);
         i++) {
        const struct part *part = &parts[i % (sizeof parts / sizeof *parts)];

        sale_keys_make(pieces.ids[i / (sizeof parts / sizeof *parts)].text, &keys);
        self.key = keys.key[part->key];
        status = write_part(&self, part, err);
    }
    if (status == STORE_OK) {
        self.line.len = 0;
        TEXT_ADD(&self.line, "{");
        text_add_member(&self.line, "archive", id);
        text_add_member(&self.line, "last", self.last);
        if (!end_line(&self)) status = store_failed(err, NULL);
    }
    free(self.line.data);
    return status;
}
