/*
 * Reads what an audit needs: numbers and the end of the ledger in one atomic step, then the ledger
 * up to that end. It only grows, so what is walked belongs to these numbers. Any thread.
 */
#include <stdio.h>
#include <string.h>

#include "sale/ledger.h"
#include "store_admin.h"
#include "store_internal.h"

enum { WALK_MAX = 1000000, PAGE_SIZE = 500, TRIES = 5 };

static int64_t number_or_none(const lk_reply *reply)
{
    int64_t number = AUDIT_NONE;

    if (lk_reply_type_of(reply) == LK_REPLY_INTEGER) return lk_reply_integer(reply, 0);
    (void)store_to_number(reply, &number); /* untouched when it is none */
    return number;
}

static int64_t *number_named(const char *name, struct audit_entry *entry, int64_t *out_epoch)
{
    if (strcmp(name, "left") == 0) return &entry->left;
    if (strcmp(name, "initial") == 0) return &entry->initial;
    if (strcmp(name, "units") == 0) return &entry->units;
    return strcmp(name, "epoch") == 0 ? out_epoch : NULL;
}

/* An entry of XRANGE: { id, { name, value, ... } }. Strings are borrowed from the reply. */
static struct audit_entry read_entry(const lk_reply *reply, int64_t *out_epoch)
{
    struct lk_bytes id = lk_reply_bytes(lk_reply_at(reply, 0));
    const lk_reply *fields = lk_reply_at(reply, 1);
    struct audit_entry entry = {.id = id.data ? id.data : "",
                                .event = "",
                                .left = AUDIT_NONE,
                                .initial = AUDIT_NONE,
                                .units = AUDIT_NONE};

    *out_epoch = AUDIT_NONE;
    for (size_t i = 0; i + 1 < lk_reply_count(fields); i += 2) {
        const char *name = lk_reply_bytes(lk_reply_at(fields, i)).data;
        const char *value = lk_reply_bytes(lk_reply_at(fields, i + 1)).data;
        int64_t *number = name ? number_named(name, &entry, out_epoch) : NULL;

        if (number) *number = number_or_none(lk_reply_at(fields, i + 1));
        if (name && value && strcmp(name, "event") == 0) entry.event = value;
        if (name && strcmp(name, "order") == 0) entry.orders++;
    }
    entry.orders *= ledger_event_adds(entry.event);
    return entry;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

enum { ASK_SALE, ASK_ORDERS, ASK_STOCK, ASK_ENTRIES, ASK_LAST, ASK_TIME, ASKED };
enum {
    SALE_STATE,
    SALE_INITIAL,
    SALE_RESTOCKED,
    SALE_EPOCH,
    SALE_CANCELLED,
    SALE_EXPIRED,
    SALE_MOVED,
    SALE_MOVING,
    SALE_FROM, /* each segment's; a sale in one piece has none */
    SALE_FIELDS = SALE_FROM + SALE_SEGMENTS_MAX
};

/* A segment's numbers about moves. */
struct moves {
    struct sale_move moving;
    int64_t from[SALE_SEGMENTS_MAX]; /* the last that has arrived from each; 0: none */
};

static void read_moves(const lk_reply *sale, struct moves *out)
{
    *out = (struct moves){.moving = {0}};
    (void)store_read_move(lk_reply_at(sale, SALE_MOVING), &out->moving);
    for (unsigned i = 0; i < SALE_SEGMENTS_MAX; i++)
        (void)store_to_number(lk_reply_at(sale, SALE_FROM + i), &out->from[i]);
}

static void read_numbers(const lk_reply *answers, struct audit_reading *out)
{
    const lk_reply *sale = lk_reply_at(answers, ASK_SALE);
    const lk_reply *time = lk_reply_at(answers, ASK_TIME);
    const lk_reply *last = lk_reply_at(lk_reply_at(answers, ASK_LAST), 0);
    const struct audit_entry entry = read_entry(last, &out->last_epoch);
    bool was_restocked = lk_reply_type_of(lk_reply_at(sale, SALE_RESTOCKED)) != LK_REPLY_NIL;
    int64_t cancelled = 0;
    int64_t expired = 0;

    out->orders = number_or_none(lk_reply_at(answers, ASK_ORDERS));
    (void)store_to_number(lk_reply_at(sale, SALE_CANCELLED), &cancelled);
    (void)store_to_number(lk_reply_at(sale, SALE_EXPIRED), &expired);
    if (out->orders != AUDIT_NONE) out->orders -= cancelled + expired;
    out->left = number_or_none(lk_reply_at(answers, ASK_STOCK));
    out->initial = number_or_none(lk_reply_at(sale, SALE_INITIAL));
    out->restocked = was_restocked ? number_or_none(lk_reply_at(sale, SALE_RESTOCKED)) : 0;
    (void)store_to_number(lk_reply_at(sale, SALE_MOVED), &out->moved);
    out->epoch = number_or_none(lk_reply_at(sale, SALE_EPOCH));
    out->entries = number_or_none(lk_reply_at(answers, ASK_ENTRIES));
    out->now_ms =
        number_or_none(lk_reply_at(time, 0)) * 1000 + number_or_none(lk_reply_at(time, 1)) / 1000;
    out->last_left = entry.left;
    (void)snprintf(out->last_id, sizeof out->last_id, "%s", entry.id);
}

/* HMGET of a sale, and the names of its fields. */
struct fields {
    char from[SALE_SEGMENTS_MAX][sizeof "from:12"];
    struct lk_bytes words[2 + SALE_FIELDS];
};

static void ask_fields(struct lk_bytes key, struct fields *out)
{
    static const char *const names[SALE_FROM] = {"state",     "initial", "restocked", "epoch",
                                                 "cancelled", "expired", "moved",     "moving"};

    out->words[0] = lk_bytes_of("HMGET");
    out->words[1] = key;
    for (size_t i = 0; i < SALE_FROM; i++)
        out->words[2 + i] = lk_bytes_of(names[i]);
    for (size_t i = 0; i < SALE_SEGMENTS_MAX; i++) {
        (void)snprintf(out->from[i], sizeof out->from[i], "from:%zu", i % SALE_SEGMENTS_MAX);
        out->words[2 + SALE_FROM + i] = lk_bytes_of(out->from[i]);
    }
}

static store_status read_sale(struct store *store, const struct sale_keys *keys,
                              struct audit_reading *out, struct moves *out_moves,
                              struct lk_error *err)
{
    struct fields fields;

    ask_fields(keys->key[KEY_SALE], &fields);
    const struct lk_bytes orders[] = {LK_BYTES("HLEN"), keys->key[KEY_ORDERS]};
    const struct lk_bytes stock[] = {LK_BYTES("GET"), keys->key[KEY_STOCK]};
    const struct lk_bytes entries[] = {LK_BYTES("XLEN"), keys->key[KEY_LEDGER]};
    const struct lk_bytes last[] = {LK_BYTES("XREVRANGE"), keys->key[KEY_LEDGER], LK_BYTES("+"),
                                    LK_BYTES("-"),         LK_BYTES("COUNT"),     LK_BYTES("1")};
    const struct lk_bytes time[] = {LK_BYTES("TIME")};
    const struct lk_command commands[ASKED] = {[ASK_SALE] = {fields.words, 2 + SALE_FIELDS},
                                               [ASK_ORDERS] = {orders, 2},
                                               [ASK_STOCK] = {stock, 2},
                                               [ASK_ENTRIES] = {entries, 2},
                                               [ASK_LAST] = {last, 6},
                                               [ASK_TIME] = {time, 1}};
    lk_reply *answers = NULL;
    store_status status = store_ask_at_once(store, commands, ASKED, &answers, err);

    if (status != STORE_OK) return status;
    if (lk_reply_type_of(lk_reply_at(lk_reply_at(answers, ASK_SALE), SALE_STATE)) == LK_REPLY_NIL) {
        status = STORE_NOT_FOUND;
    } else {
        read_numbers(answers, out);
        read_moves(lk_reply_at(answers, ASK_SALE), out_moves);
    }
    lk_reply_free(answers);
    return status;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* One page from `start` to the last entry; *start moves behind it, or becomes "" at the end. */
static store_status walk_page(struct store *store, const struct sale_keys *keys, char start[56],
                              struct audit_reading *out, struct lk_error *err)
{
    char count[8];
    lk_reply *page = NULL;
    int64_t epoch = 0;

    (void)snprintf(count, sizeof count, "%d", PAGE_SIZE);
    struct lk_bytes words[] = {LK_BYTES("XRANGE"), keys->key[KEY_LEDGER],
                               lk_bytes_of(start), lk_bytes_of(out->last_id),
                               LK_BYTES("COUNT"),  lk_bytes_of(count)};
    store_status status = store_ask(store, &(struct lk_command){words, 6}, 1, &page, err);
    if (status != STORE_OK) return status;
    start[0] = '\0';
    for (size_t i = 0; i < lk_reply_count(page); i++) {
        const struct audit_entry entry = read_entry(lk_reply_at(page, i), &epoch);

        sale_audit_walk(&out->ledger, &entry);
        if (i == PAGE_SIZE - 1) (void)snprintf(start, 56, "(%s", entry.id);
    }
    lk_reply_free(page);
    return STORE_OK;
}

static store_status walk(struct store *store, const struct sale_keys *keys,
                         struct audit_reading *out, struct lk_error *err)
{
    char start[56] = "-";
    store_status status = STORE_OK;

    out->ledger = (struct audit_ledger){.initial = AUDIT_NONE, .left = AUDIT_NONE};
    if (!out->last_id[0] || out->entries > WALK_MAX) return STORE_OK;
    while (start[0] && status == STORE_OK)
        status = walk_page(store, keys, start, out, err);
    out->ledger.is_walked = out->ledger.entries == out->entries;
    return status;
}

static store_status read_piece(struct store *store, const char *id, struct audit_reading *out,
                               struct moves *out_moves, struct lk_error *err)
{
    struct sale_keys keys;

    *out = (struct audit_reading){.now_ms = 0};
    sale_keys_make(id, &keys);
    store_status status = read_sale(store, &keys, out, out_moves, err);
    return status == STORE_OK ? walk(store, &keys, out, err) : status;
}

/* Units in transit between segments. */
static int64_t units_on_their_way(const struct moves *moves, unsigned count)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct sale_move *move = &moves[i].moving;

        if (move->units > 0 &&
            (move->target >= count || move->number > moves[move->target].from[i]))
            sum += move->units;
    }
    return sum;
}

/* The numbers of each segment are of one moment and consistent, so their sums are, too. Moves are compared between
   segments that were read at different moments, if necessary again. */
static store_status read_pieces(struct store *store, const struct store_pieces *pieces,
                                struct audit_reading *all, struct lk_error *err)
{
    struct moves moves[SALE_SEGMENTS_MAX] = {0};
    struct audit_reading one;

    *all = (struct audit_reading){.parts = 0};
    for (unsigned i = 0; i < pieces->count; i++) {
        store_status status = read_piece(store, pieces->ids[i].text, &one, &moves[i], err);

        if (status == STORE_NOT_FOUND) continue; /* lost: see judge_ledger_end() */
        if (status != STORE_OK) return status;
        sale_audit_add(all, &one);
    }
    all->lost = pieces->count - all->parts;
    all->on_way = units_on_their_way(moves, pieces->count);
    return all->parts > 0 ? STORE_OK : STORE_NOT_FOUND;
}

static store_status read_segmented(struct store *store, const char *id, struct audit_reading *all,
                                   struct lk_error *err)
{
    struct store_pieces pieces;
    int64_t entries = -1;
    store_status status = store_find_pieces(store, id, &pieces, err);

    for (int tries = 0; status == STORE_OK && tries < TRIES; tries++) {
        status = read_pieces(store, &pieces, all, err);
        all->is_still = all->entries == entries; /* no entry was added between two readings */
        entries = all->entries;
        if (all->on_way == -all->moved || all->is_still) break;
    }
    return status;
}

store_status store_audit_sale(struct store *store, const char *id, struct sale_audit *out,
                              struct lk_error *err)
{
    struct audit_reading all;
    struct moves ignored;
    store_status status = read_piece(store, id, &all, &ignored, err);

    if (status == STORE_NOT_FOUND) status = read_segmented(store, id, &all, err);
    if (status != STORE_OK) return status;
    *out = (struct sale_audit){.reading = all};
    sale_audit_judge(out);
    return STORE_OK;
}
