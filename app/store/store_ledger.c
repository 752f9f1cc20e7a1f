/*
 * See store_ledger.h. Plain reads; any thread.
 */
#include "store_ledger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_internal.h"

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
}

enum { ASK_LAST = ABOUT_COUNT, ASKED, SENT = ASKED + 2, LAST_WORDS = 6 };

static store_status read_moment(const char *id, const lk_reply *answers, struct sale_moment *out,
                                struct lk_error *err)
{
    const lk_reply *entry = lk_reply_at(lk_reply_at(answers, ASK_LAST), 0);
    const char *last = lk_reply_bytes(lk_reply_at(entry, 0)).data;
    struct sale_moment moment = {0};
    store_status status = store_read_about(id, answers, &moment.sale, err);

    if (status != STORE_OK) return status;
    moment.orders = moment.sale.orders;
    if (last && !ledger_id_parse(last, &moment.last)) return store_failed(err, NULL);
    *out = moment;
    return STORE_OK;
}

/* Each segment has its own ledger: the id of the last entry is replaced by the time of the reading. */
static store_status load_segmented_moment(struct store *store, const char *id,
                                          struct sale_moment *out, struct lk_error *err)
{
    struct sale_moment moment = {0};
    store_status status = store_load_segmented(store, id, &moment.sale, err);

    moment.orders = moment.sale.orders;
    moment.last.ms = (uint64_t)moment.sale.now_ms;
    if (status == STORE_OK) *out = moment;
    return status;
}

/* A transaction about one, and its words. */
struct moment_question {
    struct sale_question about;
    struct lk_bytes last[LAST_WORDS];
};

static void ask_moment(const char *id, struct moment_question *self, struct lk_command out[SENT])
{
    static const struct lk_bytes multi = {.data = "MULTI", .len = 5};
    static const struct lk_bytes exec = {.data = "EXEC", .len = 4};
    const struct lk_bytes last[LAST_WORDS] = {
        LK_BYTES("XREVRANGE"), {0}, LK_BYTES("+"), LK_BYTES("-"), LK_BYTES("COUNT"), LK_BYTES("1")};

    out[0] = (struct lk_command){&multi, 1};
    store_ask_about(&self->about, id, out + 1);
    memcpy(self->last, last, sizeof last);
    self->last[1] = self->about.keys.key[KEY_LEDGER];
    out[1 + ASK_LAST] = (struct lk_command){self->last, LAST_WORDS};
    out[1 + ASKED] = (struct lk_command){&exec, 1};
}

store_status store_load_moments(struct store *store, const struct sale_id *ids, size_t count,
                                struct sale_moment *out, struct lk_error *err)
{
    struct moment_question *questions = calloc(count, sizeof *questions);
    struct lk_command *commands = calloc(count * SENT, sizeof *commands);
    lk_reply **replies = calloc(count * SENT, sizeof *replies);
    store_status status = questions && commands && replies ? STORE_OK : STORE_FAILED;

    for (size_t i = 0; i < count && status == STORE_OK; i++)
        ask_moment(ids[i].text, &questions[i], &commands[i * SENT]);
    if (status == STORE_OK) status = store_ask(store, commands, count * SENT, replies, err);
    bool is_told = status == STORE_OK;
    for (size_t i = 0; i < count && is_told; i++) {
        store_status read = read_moment(ids[i].text, replies[i * SENT + SENT - 1], &out[i], err);

        if (read != STORE_OK) out[i].sale.id[0] = '\0';
        if (read != STORE_OK) status = read;
    }
    if (replies) free_replies(replies, count * SENT);
    free(replies);
    free(commands);
    free(questions);
    return status;
}

store_status store_load_moment(struct store *store, const char *id, struct sale_moment *out,
                               struct lk_error *err)
{
    struct sale_id one = {""};

    (void)snprintf(one.text, sizeof one.text, "%s", id);
    store_status status = store_load_moments(store, &one, 1, out, err);
    return status == STORE_NOT_FOUND ? load_segmented_moment(store, id, out, err) : status;
}

store_status store_find_entry(struct store *store, const char *id, struct ledger_id which,
                              struct ledger_entry *out, struct lk_error *err)
{
    struct sale_keys keys;
    char at[LEDGER_ID_SIZE];
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    ledger_id_format(which, at);
    struct lk_bytes words[] = {LK_BYTES("XRANGE"), keys.key[KEY_LEDGER], lk_bytes_of(at),
                               lk_bytes_of(at)};
    store_status status = store_ask(store, &(struct lk_command){words, 4}, 1, &reply, err);
    if (status != STORE_OK) return status;
    if (lk_reply_count(reply) == 0) {
        status = STORE_NOT_FOUND;
    } else if (!ledger_entry_read(lk_reply_at(reply, 0), out)) {
        status = store_failed(err, NULL);
    }
    lk_reply_free(reply);
    return status;
}

/* ---- pages ------------------------------------------------------------------------------------- */

enum { XREAD_WORDS = 6 };

/* XREAD of one page, and what its words point into. */
struct page_words {
    char key[SALE_KEY_ROOM];
    char after[LEDGER_ID_SIZE];
    char size[8];
    struct lk_bytes words[XREAD_WORDS];
};

static void make_words(const struct ledger_page *page, struct page_words *out)
{
    struct sale_keys keys;

    sale_keys_make(page->sale_id, &keys);
    memcpy(out->key, keys.text[KEY_LEDGER], sizeof out->key);
    ledger_id_format(page->after, out->after);
    (void)snprintf(out->size, sizeof out->size, "%d", LEDGER_PAGE);
    out->words[0] = LK_BYTES("XREAD");
    out->words[1] = LK_BYTES("COUNT");
    out->words[2] = lk_bytes_of(out->size);
    out->words[3] = LK_BYTES("STREAMS");
    out->words[4] = lk_bytes_of(out->key);
    out->words[5] = lk_bytes_of(out->after);
}

/* [[key, [entry...]]], or nil when there is nothing new. */
static bool read_page(const lk_reply *reply, struct ledger_page *page)
{
    const lk_reply *entries = lk_reply_at(lk_reply_at(reply, 0), 1);
    size_t count = lk_reply_count(entries);

    if (count > LEDGER_PAGE) return false;
    for (size_t i = 0; i < count; i++) {
        if (!ledger_entry_read(lk_reply_at(entries, i), &page->entries[i])) return false;
    }
    page->count = count;
    return true;
}

store_status store_read_ledgers(struct store *store, struct ledger_page *pages, size_t count,
                                int64_t *out_now_ms, struct lk_error *err)
{
    struct page_words words[LEDGER_PAGES];
    struct lk_command commands[LEDGER_PAGES + 1];
    lk_reply *replies[LEDGER_PAGES + 1] = {0};
    struct lk_bytes time = LK_BYTES("TIME");
    store_status status = STORE_OK;

    assert(count <= LEDGER_PAGES);
    for (size_t i = 0; i < count; i++) {
        make_words(&pages[i], &words[i]);
        commands[i] = (struct lk_command){words[i].words, XREAD_WORDS};
    }
    commands[count] = (struct lk_command){&time, 1};
    status = store_ask(store, commands, count + 1, replies, err);
    if (status != STORE_OK) return status;
    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        if (!read_page(replies[i], &pages[i])) status = store_failed(err, NULL);
    }
    if (status == STORE_OK && !store_to_time_ms(replies[count], out_now_ms))
        status = store_failed(err, NULL);
    free_replies(replies, count + 1);
    return status;
}
