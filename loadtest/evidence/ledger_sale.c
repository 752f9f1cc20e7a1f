/*
 * A sale, read from its keys. Pages of PAGE entries keep replies small. What makes no sense is
 * noted as a fact, for the auditor. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger_internal.h"

enum {
    KEY_MAX = 80,
    WORDS_MAX = 7,
    PAGE = 1000,
    CURSOR_MAX = 32,
    ENTRY_ID_MAX = 64,
    LEASE_WAIT_MS = 5000, /* a longer lease is believed */
    LEASE_SLACK_MS = 200,
    LOOK_EVERY_MS = 10,
    SEGMENTS_MAX = 32,
    GENERATION_MAX = 8,
};

/* Words that end with NULL; the second one is a part of the sale, whose key goes in its place. */
static lk_reply *ask(struct ledger *ledger, const char *sale, const char *const words[],
                     struct failure *failure)
{
    const char *with_key[WORDS_MAX + 1] = {NULL};
    char key[KEY_MAX];

    (void)snprintf(key, sizeof key, "seckill:{%s}:%s", sale, words[1]);
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        with_key[i] = i == 1 ? key : words[i];
    return ledger_ask(ledger, with_key, failure);
}

static bool ask_integer(struct ledger *ledger, const char *sale, const char *const words[],
                        int64_t *out_number, struct failure *failure)
{
    lk_reply *reply = ask(ledger, sale, words, failure);

    if (reply) *out_number = lk_reply_integer(reply, 0);
    lk_reply_free(reply);
    return reply != NULL;
}

/* The first meaningless thing is kept, as "WHERE: TEXT". */
static bool note_malformed(struct facts *facts, const char *where, const char *text)
{
    char words[160];

    if (facts->malformed) return true;
    int length = snprintf(words, sizeof words, "%s: %.100s", where, text ? text : "(no text)");
    facts->malformed = facts_text(facts, words, strnlen(words, (size_t)length));
    return facts->malformed != NULL;
}

/* "A:B:C" cut at the first two colons; false when there are not two, or A or B is empty. */
static bool cut_at_colons(const char *text, const char **out_second, const char **out_third)
{
    const char *first = strchr(text, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;

    if (!second || first == text || second == first + 1) return false;
    *out_second = first + 1;
    *out_third = second + 1;
    return true;
}

static bool row_is_whole(const struct row *row)
{
    return row->order && row->buyer && row->rid;
}

/* ---- the parts of a sale ---- */

/* A sale in segments has that one key, "COUNT:GENERATION", of which follow the ids of its segments, which are
 * sales by themselves: "ID.GENERATION.NUMBER". */
struct segments {
    unsigned count; /* 0: it is in one piece */
    char generation[GENERATION_MAX + 1];
};

static bool read_map(const char *text, struct segments *out)
{
    char *generation = NULL;
    long count = strtol(text, &generation, 10);

    if (count < 1 || count > SEGMENTS_MAX || *generation++ != ':') return false;
    if (strspn(generation, "0123456789abcdef") != strlen(generation)) return false;
    out->count = (unsigned)count;
    return snprintf(out->generation, sizeof out->generation, "%s", generation) == GENERATION_MAX;
}

static bool find_segments(struct ledger *ledger, const char *sale, struct segments *out,
                          struct failure *failure)
{
    lk_reply *reply = ask(ledger, sale, (const char *[]){"GET", "segments", NULL}, failure);
    const char *text = ledger_reply_text(reply);
    bool is_answered = reply != NULL;

    out->count = 0;
    bool is_read = !text || read_map(text, out);
    lk_reply_free(reply);
    return is_answered &&
           (is_read || failure_set(failure, "seckill:{%s}:segments does not tell them", sale));
}

static void name_segment(const char *sale, const struct segments *segments, unsigned number,
                         char out[KEY_MAX])
{
    (void)snprintf(out, KEY_MAX, "%.28s.%s.%u", sale, segments->generation, number);
}

static lk_reply *ask_field(struct ledger *ledger, const char *sale, const char *name,
                           struct failure *failure)
{
    return ask(ledger, sale, (const char *[]){"HGET", "sale", name, NULL}, failure);
}

static bool read_sale_hash(struct ledger *ledger, const char *sale, struct facts *facts,
                           struct failure *failure)
{
    const struct {
        const char *name;
        int64_t *number; /* stays as it is when there is none */
    } fields[] = {{"initial", &facts->initial},     {"restocked", &facts->restocked},
                  {"epoch", &facts->epoch},         {"starts_ms", &facts->starts_ms},
                  {"ends_ms", &facts->ends_ms},     {"window_ms", &facts->window_ms},
                  {"amount", &facts->amount},       {"paid", &facts->paid},
                  {"cancelled", &facts->cancelled}, {"expired", &facts->expired}};
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"state", &facts->state}, {"currency", &facts->currency}};
    int64_t is_there = 0;

    if (!ask_integer(ledger, sale, (const char *[]){"EXISTS", "sale", NULL}, &is_there, failure))
        return false;
    if (!is_there) return failure_set(failure, "no sale \"%s\" in this Redis", sale);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lk_reply *reply = ask_field(ledger, sale, fields[i].name, failure);
        if (!reply) return false;
        (void)ledger_reply_number(reply, fields[i].number);
        lk_reply_free(reply);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lk_reply *reply = ask_field(ledger, sale, texts[i].name, failure);
        const char *text = ledger_reply_text(reply);
        if (text) *texts[i].text = facts_text(facts, text, strlen(text));
        lk_reply_free(reply);
        if (!reply) return false;
    }
    return !facts->window_ms ||
           ask_integer(ledger, sale, (const char *[]){"ZCARD", "due", NULL}, &facts->due, failure);
}

static bool read_stock(struct ledger *ledger, const char *sale, int64_t *out_left,
                       struct failure *failure)
{
    lk_reply *reply = ask(ledger, sale, (const char *[]){"GET", "stock", NULL}, failure);
    if (!reply) return false;
    bool is_number = ledger_reply_number(reply, out_left);
    lk_reply_free(reply);
    return is_number || failure_set(failure, "seckill:{%s}:stock holds no number", sale);
}

typedef bool read_number(struct ledger *ledger, const char *sale, int64_t *out_number,
                         struct failure *failure);

/* Of all segments; false: it is in one piece, or one has none. */
static bool sum_up(struct ledger *ledger, const char *sale, read_number *read, int64_t *out_sum,
                   struct failure *failure)
{
    struct segments segments;
    int64_t sum = 0;

    if (!find_segments(ledger, sale, &segments, failure)) return false;
    for (unsigned i = 0; i < segments.count; i++) {
        char id[KEY_MAX];
        int64_t number = 0;

        name_segment(sale, &segments, i, id);
        if (!read(ledger, id, &number, failure)) return false;
        sum += number;
    }
    if (segments.count) *out_sum = sum;
    return segments.count > 0;
}

bool ledger_sale_stock(struct ledger *ledger, const char *sale, int64_t *out_left,
                       struct failure *failure)
{
    return read_stock(ledger, sale, out_left, failure) ||
           (ledger_is_connected(ledger) && sum_up(ledger, sale, read_stock, out_left, failure));
}

/* ---- what is paid for later ---- */

enum { PARTS_MAX = 8 };

/* Cut a copy of "A:B:C" at its colons; how many parts: at most PARTS_MAX, 0 when out of memory. */
static size_t cut(struct facts *facts, const char *text, const char *out_parts[PARTS_MAX])
{
    size_t length = strlen(text);
    char *copy = strdup(text);
    size_t count = 0;

    for (char *rest = copy; rest && count < PARTS_MAX; count++) {
        const char *part = strsep(&rest, ":");
        out_parts[count] = facts_text(facts, part, strnlen(part, length));
        if (!out_parts[count]) break;
    }
    free(copy);
    return count;
}

static bool add_pay(struct facts *facts, struct pay_fact pay)
{
    return pay.order && pay.buyer && facts_add_pay(facts, pay);
}

static const struct pay_word {
    const char *state, *event; /* of a key; of the ledger */
    pay_step step;
} pay_words[] = {
    {"held", "sold", PAY_HELD},
    {"paid", "paid", PAY_PAID},
    {"cancelled", "cancelled", PAY_CANCELLED},
    {"expired", "expired", PAY_EXPIRED},
    {"owed", "refund-owed", PAY_OWED},
    {"sent", "refund-sent", PAY_SENT},
    {"done", "refund-done", PAY_DONE},
};

static const struct pay_word *find_state(const char *state, size_t length)
{
    for (size_t i = 0; i < sizeof pay_words / sizeof *pay_words; i++)
        if (strlen(pay_words[i].state) == length && strncmp(pay_words[i].state, state, length) == 0)
            return &pay_words[i];
    return NULL;
}

static const struct pay_word *find_event(const char *event)
{
    for (size_t i = 0; i < sizeof pay_words / sizeof *pay_words; i++)
        if (strcmp(pay_words[i].event, event) == 0) return &pay_words[i];
    return NULL;
}

/* "ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON:STATE:MS"; "order:ORDER_ID" says where to look for it. */
static bool add_refund(struct facts *facts, const char *payment, const char *value)
{
    const char *parts[PARTS_MAX];

    if (payment && strncmp(payment, "order:", 6) == 0) return true;
    size_t count = payment && value ? cut(facts, value, parts) : 0;
    const struct pay_word *word = count == 7 ? find_state(parts[5], strlen(parts[5])) : NULL;
    if (!word || word->step < PAY_OWED) return note_malformed(facts, "refunds", payment);
    struct pay_fact pay = {.source = PAY_BY_KEYS,
                           .step = word->step,
                           .order = parts[0],
                           .buyer = parts[1],
                           .payment = facts_text(facts, payment, strlen(payment)),
                           .amount = strtoll(parts[2], NULL, 10),
                           .currency = parts[3],
                           .reason = parts[4]};
    return pay.payment && add_pay(facts, pay);
}

/* "ORDER_ID:BUYER" and more, or "PAYMENT:ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON" of an entry. */
static bool add_moved(struct facts *facts, struct ledger_entry *entry, const struct pay_word *word,
                      const char *value)
{
    const char *parts[PARTS_MAX];
    size_t count = cut(facts, value, parts);
    struct pay_fact pay = {
        .source = PAY_BY_LEDGER, .step = word->step, .amount = -1, .entry = facts->log_count};

    if (count < (word->step < PAY_OWED ? 2 : 6)) return note_malformed(facts, "ledger", value);
    pay.order = parts[word->step >= PAY_OWED];
    pay.buyer = parts[1 + (word->step >= PAY_OWED)];
    if (word->step == PAY_PAID && count > 2) pay.payment = parts[2];
    if (word->step == PAY_CANCELLED || word->step == PAY_EXPIRED) entry->returned++;
    if (word->step >= PAY_OWED) {
        pay.payment = parts[0];
        pay.amount = strtoll(parts[3], NULL, 10);
        pay.currency = parts[4];
        pay.reason = parts[5];
    }
    return add_pay(facts, pay);
}

/* ---- orders ---- */

/* What its row says of an order that is paid for later. */
static bool add_state(struct facts *facts, const struct row *row, const char *state, size_t length)
{
    const struct pay_word *word = find_state(state, length);

    if (!facts->window_ms) return true;
    if (!word || word->step > PAY_EXPIRED) return note_malformed(facts, "orders", row->buyer);
    return add_pay(facts, (struct pay_fact){.source = PAY_BY_KEYS,
                                            .step = word->step,
                                            .order = row->order,
                                            .buyer = row->buyer,
                                            .amount = -1});
}

static bool add_order(struct facts *facts, const char *buyer, const char *value)
{
    const char *state = NULL;
    const char *key = NULL;

    if (!buyer || !*buyer) return note_malformed(facts, "orders", "a buyer");
    if (!value || !cut_at_colons(value, &state, &key))
        return note_malformed(facts, "orders", buyer);
    struct row row = {
        .order = facts_text(facts, value, (size_t)(state - 1 - value)),
        .buyer = facts_text(facts, buyer, strlen(buyer)),
    };
    if (row.buyer) row.rid = facts_rid(facts, key, strlen(key), row.buyer);
    return row_is_whole(&row) && facts_add_order(facts, row) &&
           add_state(facts, &row, state, (size_t)(key - 1 - state));
}

/* One of the hashes of a sale, what is done with each of its fields, and how far it was read. */
struct hash {
    const char *part;
    bool (*add)(struct facts *facts, const char *field, const char *value);
    char cursor[CURSOR_MAX];
};

/* One HSCAN page. */
static bool read_hash_page(struct ledger *ledger, const char *sale, struct hash *hash,
                           struct facts *facts, struct failure *failure)
{
    const char *const scan[] = {"HSCAN", hash->part, hash->cursor, "COUNT", "1000", NULL};
    lk_reply *reply = ask(ledger, sale, scan, failure);
    bool is_good = true;

    if (!reply) return false;
    const char *next = ledger_reply_text(lk_reply_at(reply, 0));
    const lk_reply *page = lk_reply_at(reply, 1);
    if (!next || !page) {
        lk_reply_free(reply);
        return failure_set(failure, "Redis: HSCAN answered something else");
    }
    for (size_t i = 0; is_good && i + 1 < lk_reply_count(page); i += 2)
        is_good = hash->add(facts, ledger_reply_text(lk_reply_at(page, i)),
                            ledger_reply_text(lk_reply_at(page, i + 1)));
    (void)snprintf(hash->cursor, CURSOR_MAX, "%s", next);
    lk_reply_free(reply);
    return is_good || failure_set(failure, "out of memory");
}

static bool read_hash(struct ledger *ledger, const char *sale, struct hash hash,
                      struct facts *facts, struct failure *failure)
{
    do {
        if (!read_hash_page(ledger, sale, &hash, facts, failure)) return false;
    } while (strcmp(hash.cursor, "0") != 0);
    return true;
}

static bool read_orders(struct ledger *ledger, const char *sale, struct facts *facts,
                        struct failure *failure)
{
    if (!read_hash(ledger, sale, (struct hash){"orders", add_order, "0"}, facts, failure) ||
        (facts->window_ms &&
         !read_hash(ledger, sale, (struct hash){"refunds", add_refund, "0"}, facts, failure)))
        return false;
    facts_drop_repeated_orders(facts, facts_piece(facts).orders.from);
    return true;
}

/* "ORDER_ID:BUYER:KEY" */
static bool add_sold(struct facts *facts, const char *text)
{
    const char *buyer = NULL;
    const char *key = NULL;

    if (!cut_at_colons(text, &buyer, &key)) return note_malformed(facts, "ledger", text);
    struct row row = {
        .order = facts_text(facts, text, (size_t)(buyer - 1 - text)),
        .buyer = facts_text(facts, buyer, (size_t)(key - 1 - buyer)),
    };
    if (row.buyer) row.rid = facts_rid(facts, key, strlen(key), row.buyer);
    return row_is_whole(&row) && facts_add_sold(facts, row);
}

static bool add_field(struct facts *facts, struct ledger_entry *entry, const lk_reply *name_reply,
                      const lk_reply *value_reply)
{
    const char *name = ledger_reply_text(name_reply);
    const char *value = ledger_reply_text(value_reply);

    if (!name || !value) return note_malformed(facts, "ledger", entry->id);
    const char **text = strcmp(name, "event") == 0 ? &entry->event
                        : strcmp(name, "key") == 0 ? &entry->key
                                                   : NULL;
    if (text) return (*text = facts_text(facts, value, strlen(value))) != NULL;
    const struct {
        const char *name;
        int64_t *number;
    } fields[] = {{"left", &entry->left},        {"initial", &entry->initial},
                  {"units", &entry->units},      {"sellable_ms", &entry->sellable_ms},
                  {"epoch", &entry->epoch},      {"ends_ms", &entry->ends_ms},
                  {"pay_by", &entry->pay_by_ms}, {"move", &entry->move},
                  {"to", &entry->peer},          {"from", &entry->peer}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0 &&
            !ledger_reply_number(value_reply, fields[i].number))
            return note_malformed(facts, fields[i].name, value);
    return true;
}

/* What an entry, whose event is known, names: orders, refunds. */
static bool add_named(struct facts *facts, struct ledger_entry *entry, const char *name,
                      const char *value)
{
    const struct pay_word *word = entry->event ? find_event(entry->event) : NULL;
    bool is_refund = name && strcmp(name, "refund") == 0;

    if (!name || !value || (!is_refund && strcmp(name, "order") != 0)) return true;
    if (is_refund && (!word || word->step < PAY_OWED))
        return note_malformed(facts, "refund", value);
    if (is_refund || (word && word->step != PAY_HELD)) return add_moved(facts, entry, word, value);
    if (entry->event && strcmp(entry->event, "payment-failed") == 0) return true;
    entry->sold++;
    return add_sold(facts, value) &&
           (!facts->window_ms || !word || add_moved(facts, entry, word, value));
}

/* An entry is a pair: its id, and an array of names and values. */
static bool add_entry(struct facts *facts, const lk_reply *pair)
{
    struct ledger_entry entry = {.left = INT64_MIN, .initial = -1, .epoch = -1, .ends_ms = -1};
    const char *id = ledger_reply_text(lk_reply_at(pair, 0));
    const lk_reply *fields = lk_reply_at(pair, 1);

    if (!id || !lk_reply_count(fields)) return note_malformed(facts, "ledger", "an entry");
    entry.id = facts_text(facts, id, strlen(id));
    if (!entry.id) return false;
    for (size_t i = 0; i + 1 < lk_reply_count(fields); i += 2)
        if (!add_field(facts, &entry, lk_reply_at(fields, i), lk_reply_at(fields, i + 1)))
            return false;
    for (size_t i = 0; i + 1 < lk_reply_count(fields); i += 2)
        if (!add_named(facts, &entry, ledger_reply_text(lk_reply_at(fields, i)),
                       ledger_reply_text(lk_reply_at(fields, i + 1))))
            return false;
    if (!entry.event || entry.left == INT64_MIN)
        return note_malformed(facts, "ledger entry without event or left", entry.id);
    return facts_add_log(facts, entry);
}

/* One XRANGE page from `start`; writes where the next one starts, "" at the end. */
static bool read_log_page(struct ledger *ledger, const char *sale, char start[ENTRY_ID_MAX],
                          struct facts *facts, struct failure *failure)
{
    const char *const range[] = {"XRANGE", "ledger", start, "+", "COUNT", "1000", NULL};
    lk_reply *reply = ask(ledger, sale, range, failure);
    bool is_good = true;

    if (!reply) return false;
    size_t count = lk_reply_count(reply);
    start[0] = '\0';
    for (size_t i = 0; is_good && i < count; i++) {
        const lk_reply *pair = lk_reply_at(reply, i);
        const char *id = ledger_reply_text(lk_reply_at(pair, 0));
        is_good = add_entry(facts, pair);
        if (id && count == PAGE) (void)snprintf(start, ENTRY_ID_MAX, "(%s", id);
    }
    lk_reply_free(reply);
    return is_good || failure_set(failure, "out of memory");
}

static bool read_log(struct ledger *ledger, const char *sale, struct facts *facts,
                     struct failure *failure)
{
    char start[ENTRY_ID_MAX] = "-";

    while (start[0])
        if (!read_log_page(ledger, sale, start, facts, failure)) return false;
    return true;
}

/* As PTTL says: -2 no such key, -1 no lease. */
static bool ask_lock(struct ledger *ledger, const char *sale, const char *lock, int64_t *out_ms,
                     struct failure *failure)
{
    return ask_integer(ledger, sale, (const char *[]){"PTTL", lock, NULL}, out_ms, failure);
}

/* Nobody buys any more, so whoever holds the lock has died, or forgot to give it back. The worst is kept. */
static bool read_lock(struct ledger *ledger, const char *sale, const char *lock,
                      struct facts *facts, struct failure *failure)
{
    int64_t now_ms = 0;
    lock_left found = LOCK_NONE;

    if (!ask_lock(ledger, sale, lock, &now_ms, failure)) return false;
    int64_t lock_ms = now_ms < 0 ? -1 : now_ms;
    bool is_worth_waiting = now_ms >= 0 && now_ms <= LEASE_WAIT_MS;
    int64_t deadline_ms = clock_ms() + now_ms + LEASE_SLACK_MS;
    while (is_worth_waiting && now_ms >= 0 && clock_ms() < deadline_ms) {
        clock_sleep_ms(LOOK_EVERY_MS);
        if (!ask_lock(ledger, sale, lock, &now_ms, failure)) return false;
    }
    if (now_ms < 0)
        found = now_ms == -1 ? LOCK_ENDLESS : LOCK_NONE;
    else
        found = is_worth_waiting ? LOCK_OUTLIVES : LOCK_LEASED;
    if (found <= facts->lock) return true;
    facts->lock = found;
    facts->lock_ms = lock_ms;
    return true;
}

static bool read_piece(struct ledger *ledger, const char *sale, struct facts *facts,
                       struct failure *failure)
{
    struct failure about_stock; /* a stock that is no number is a finding, not a failure */

    if (!read_sale_hash(ledger, sale, facts, failure)) return false;
    if (!read_orders(ledger, sale, facts, failure)) return false;
    if (!read_log(ledger, sale, facts, failure)) return false;
    if (!read_lock(ledger, sale, "lock", facts, failure)) return false;
    facts->has_stock = read_stock(ledger, sale, &facts->left, &about_stock);
    return ledger_is_connected(ledger) || failure_set(failure, "%s", about_stock.text);
}

/* "NUMBER:UNITS:TARGET" */
static bool read_moving(const char *text, struct move_pending *out)
{
    int64_t *numbers[] = {&out->number, &out->units, &out->target};

    for (size_t i = 0; i < 3; i++) {
        char *end = NULL;
        *numbers[i] = strtoll(text, &end, 10);
        if (end == text || *end != (i < 2 ? ':' : '\0')) return false;
        text = end + 1;
    }
    return true;
}

/* What a segment has and a sale in one piece has not. */
static bool read_moves(struct ledger *ledger, const char *segment, struct piece *piece,
                       struct facts *facts, struct failure *failure)
{
    static const char *const names[] = {"moved", "moves", "moving"};
    int64_t *numbers[] = {&piece->moved, &piece->moves};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lk_reply *reply = ask_field(ledger, segment, names[i], failure);
        const char *text = ledger_reply_text(reply);
        bool is_read = !text || (i < 2 ? ledger_reply_number(reply, numbers[i])
                                       : read_moving(text, &piece->moving));
        bool is_good = reply && (is_read || note_malformed(facts, names[i], text));

        lk_reply_free(reply);
        if (!is_good) return false;
    }
    return true;
}

/* Its own numbers, and its orders behind those of the segments before it. The first has one lock more. */
static bool read_segment(struct ledger *ledger, const char *segment, struct facts *facts,
                         struct failure *failure)
{
    facts->initial = facts->epoch = -1;
    facts->restocked = facts->left = 0;
    facts->state = NULL;
    if (!read_piece(ledger, segment, facts, failure) ||
        (facts->segment_count == 0 && !read_lock(ledger, segment, "turn", facts, failure)))
        return false;
    struct piece piece = facts_piece(facts);
    return read_moves(ledger, segment, &piece, facts, failure) &&
           (facts_add_segment(facts, piece) || failure_set(failure, "out of memory"));
}

bool ledger_sale_read(struct ledger *ledger, const char *sale, struct facts *facts,
                      struct failure *failure)
{
    struct segments segments;

    if (!find_segments(ledger, sale, &segments, failure)) return false;
    if (segments.count == 0) return read_piece(ledger, sale, facts, failure);
    for (unsigned i = 0; i < segments.count; i++) {
        char id[KEY_MAX];

        name_segment(sale, &segments, i, id);
        if (!read_segment(ledger, id, facts, failure)) return false;
    }
    facts_join_segments(facts);
    return true;
}

static bool count_orders(struct ledger *ledger, const char *sale, int64_t *out_count,
                         struct failure *failure)
{
    return ask_integer(ledger, sale, (const char *[]){"HLEN", "orders", NULL}, out_count, failure);
}

bool ledger_sale_order_count(struct ledger *ledger, const char *sale, int64_t *out_count,
                             struct failure *failure)
{
    struct failure ignored; /* there are none: it is in one piece */

    if (!count_orders(ledger, sale, out_count, failure)) return false;
    return *out_count > 0 || sum_up(ledger, sale, count_orders, out_count, &ignored) ||
           ledger_is_connected(ledger);
}

bool ledger_sale_id_is_valid(const char *sale)
{
    size_t length = strspn(sale, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length <= SALE_ID_MAX && sale[length] == '\0';
}
