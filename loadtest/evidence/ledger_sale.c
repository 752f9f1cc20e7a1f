/*
 * A sale, read from its keys. Pages of PAGE entries keep replies small. What makes no sense is
 * noted as a fact, for the auditor. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/moment.h"
#include "ledger_inside.h"

enum {
    KEY_MAX = 80,
    WORDS_MAX = 7,
    PAGE = 1000,
    CURSOR_MAX = 32,
    ENTRY_ID_MAX = 64,
    LEASE_WAIT_MS = 5000, /* a longer lease is believed */
    LEASE_SLACK_MS = 200,
    LOOK_EVERY_MS = 10,
};

/* Words that end with NULL; the second one is a part of the sale, whose key goes in its place. */
static struct redisReply *ask(struct ledger *ledger, const char *sale, const char *const words[],
                              struct failure *failure)
{
    const char *argv[WORDS_MAX];
    char key[KEY_MAX];
    int argc = 0;

    (void)snprintf(key, sizeof key, "seckill:{%s}:%s", sale, words[1]);
    for (; words[argc]; argc++)
        argv[argc] = argc == 1 ? key : words[argc];
    return ledger_ask(ledger, argc, argv, failure);
}

static bool ask_integer(struct ledger *ledger, const char *sale, const char *const words[],
                        int64_t *out_number, struct failure *failure)
{
    struct redisReply *reply = ask(ledger, sale, words, failure);

    if (reply) *out_number = ledger_reply_integer(reply);
    ledger_reply_free(reply);
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

static struct redisReply *ask_field(struct ledger *ledger, const char *sale, const char *name,
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
    } fields[] = {{"initial", &facts->initial},
                  {"restocked", &facts->restocked},
                  {"epoch", &facts->epoch},
                  {"starts_ms", &facts->starts_ms},
                  {"ends_ms", &facts->ends_ms}};
    int64_t is_there = 0;

    if (!ask_integer(ledger, sale, (const char *[]){"EXISTS", "sale", NULL}, &is_there, failure))
        return false;
    if (!is_there) return failure_set(failure, "no sale \"%s\" in this Redis", sale);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct redisReply *reply = ask_field(ledger, sale, fields[i].name, failure);
        if (!reply) return false;
        (void)ledger_reply_number(reply, fields[i].number);
        ledger_reply_free(reply);
    }
    struct redisReply *reply = ask_field(ledger, sale, "state", failure);
    const char *text = ledger_reply_text(reply);
    if (text) facts->state = facts_text(facts, text, strlen(text));
    ledger_reply_free(reply);
    return reply != NULL;
}

bool ledger_sale_stock(struct ledger *ledger, const char *sale, int64_t *out_left,
                       struct failure *failure)
{
    struct redisReply *reply = ask(ledger, sale, (const char *[]){"GET", "stock", NULL}, failure);
    if (!reply) return false;
    bool is_number = ledger_reply_number(reply, out_left);
    ledger_reply_free(reply);
    return is_number || failure_set(failure, "seckill:{%s}:stock holds no number", sale);
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
    return row_is_whole(&row) && facts_add_order(facts, row);
}

/* One HSCAN page; writes the next cursor. */
static bool read_orders_page(struct ledger *ledger, const char *sale, char cursor[CURSOR_MAX],
                             struct facts *facts, struct failure *failure)
{
    const char *const scan[] = {"HSCAN", "orders", cursor, "COUNT", "1000", NULL};
    struct redisReply *reply = ask(ledger, sale, scan, failure);
    bool is_good = true;

    if (!reply) return false;
    const char *next = ledger_reply_text(ledger_reply_at(reply, 0));
    const struct redisReply *page = ledger_reply_at(reply, 1);
    if (!next || !page) {
        ledger_reply_free(reply);
        return failure_set(failure, "Redis: HSCAN answered something else");
    }
    for (size_t i = 0; is_good && i + 1 < ledger_reply_count(page); i += 2)
        is_good = add_order(facts, ledger_reply_text(ledger_reply_at(page, i)),
                            ledger_reply_text(ledger_reply_at(page, i + 1)));
    (void)snprintf(cursor, CURSOR_MAX, "%s", next);
    ledger_reply_free(reply);
    return is_good || failure_set(failure, "out of memory");
}

static bool read_orders(struct ledger *ledger, const char *sale, struct facts *facts,
                        struct failure *failure)
{
    char cursor[CURSOR_MAX] = "0";

    do {
        if (!read_orders_page(ledger, sale, cursor, facts, failure)) return false;
    } while (strcmp(cursor, "0") != 0);
    facts_drop_repeated_orders(facts);
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

static bool add_field(struct facts *facts, struct ledger_entry *entry,
                      const struct redisReply *name_reply, const struct redisReply *value_reply)
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
    } fields[] = {{"left", &entry->left},   {"initial", &entry->initial},
                  {"units", &entry->units}, {"sellable_ms", &entry->sellable_ms},
                  {"epoch", &entry->epoch}, {"ends_ms", &entry->ends_ms}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0 &&
            !ledger_reply_number(value_reply, fields[i].number))
            return note_malformed(facts, fields[i].name, value);
    if (strcmp(name, "order") != 0) return true;
    entry->sold++;
    return add_sold(facts, value);
}

/* An entry is a pair: its id, and an array of names and values. */
static bool add_entry(struct facts *facts, const struct redisReply *pair)
{
    struct ledger_entry entry = {.left = INT64_MIN, .initial = -1, .epoch = -1, .ends_ms = -1};
    const char *id = ledger_reply_text(ledger_reply_at(pair, 0));
    const struct redisReply *fields = ledger_reply_at(pair, 1);

    if (!id || !ledger_reply_count(fields)) return note_malformed(facts, "ledger", "an entry");
    entry.id = facts_text(facts, id, strlen(id));
    if (!entry.id) return false;
    for (size_t i = 0; i + 1 < ledger_reply_count(fields); i += 2)
        if (!add_field(facts, &entry, ledger_reply_at(fields, i), ledger_reply_at(fields, i + 1)))
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
    struct redisReply *reply = ask(ledger, sale, range, failure);
    bool is_good = true;

    if (!reply) return false;
    size_t count = ledger_reply_count(reply);
    start[0] = '\0';
    for (size_t i = 0; is_good && i < count; i++) {
        const struct redisReply *pair = ledger_reply_at(reply, i);
        const char *id = ledger_reply_text(ledger_reply_at(pair, 0));
        is_good = add_entry(facts, pair);
        if (id && count == PAGE) (void)snprintf(start, ENTRY_ID_MAX, "(%s", id);
    }
    ledger_reply_free(reply);
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
static bool ask_lock(struct ledger *ledger, const char *sale, int64_t *out_ms,
                     struct failure *failure)
{
    return ask_integer(ledger, sale, (const char *[]){"PTTL", "lock", NULL}, out_ms, failure);
}

/* Nobody buys any more, so whoever holds the lock has died, or forgot to give it back. */
static bool read_lock(struct ledger *ledger, const char *sale, struct facts *facts,
                      struct failure *failure)
{
    int64_t now_ms = 0;

    if (!ask_lock(ledger, sale, &now_ms, failure)) return false;
    facts->lock_ms = now_ms < 0 ? -1 : now_ms;
    bool is_worth_waiting = now_ms >= 0 && now_ms <= LEASE_WAIT_MS;
    int64_t deadline_ms = moment_ms() + now_ms + LEASE_SLACK_MS;
    while (is_worth_waiting && now_ms >= 0 && moment_ms() < deadline_ms) {
        moment_sleep_ms(LOOK_EVERY_MS);
        if (!ask_lock(ledger, sale, &now_ms, failure)) return false;
    }
    if (now_ms < 0)
        facts->lock = now_ms == -1 ? LOCK_ENDLESS : LOCK_NONE;
    else
        facts->lock = is_worth_waiting ? LOCK_OUTLIVES : LOCK_LEASED;
    return true;
}

bool ledger_sale_read(struct ledger *ledger, const char *sale, struct facts *facts,
                      struct failure *failure)
{
    struct failure about_stock; /* a stock that is no number is a finding, not a failure */

    if (!read_sale_hash(ledger, sale, facts, failure)) return false;
    if (!read_orders(ledger, sale, facts, failure)) return false;
    if (!read_log(ledger, sale, facts, failure)) return false;
    if (!read_lock(ledger, sale, facts, failure)) return false;
    facts->has_stock = ledger_sale_stock(ledger, sale, &facts->left, &about_stock);
    return ledger_is_connected(ledger) || failure_set(failure, "%s", about_stock.text);
}

bool ledger_sale_order_count(struct ledger *ledger, const char *sale, int64_t *out_count,
                             struct failure *failure)
{
    return ask_integer(ledger, sale, (const char *[]){"HLEN", "orders", NULL}, out_count, failure);
}

bool ledger_sale_id_is_valid(const char *sale)
{
    size_t length = strspn(sale, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length <= SALE_ID_MAX && sale[length] == '\0';
}
