/*
 * Only includer of hiredis in loadtest. Arguments go by length, never as built strings. Pages of
 * PAGE entries keep replies small. One connection, one thread.
 */
#include "ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

enum { PAGE = 1000, KEY_MAX = 80, CONNECT_S = 3, COMMAND_S = 10, DEFAULT_PORT = 6379 };

struct ledger {
    redisContext *redis; /* owned */
};

struct target {
    char host[256]; /* host name, or path of the socket */
    char user[128], pass[256];
    int port; /* 0: unix socket */
    int db;
};

/* ---- URL ---- */

static bool copy_part(char *out, size_t size, const char *from, size_t length)
{
    if (length >= size) return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

static bool read_number(const char *text, const char *end, int most, int *out_number)
{
    char *stop = NULL;
    errno = 0;
    long number = strtol(text, &stop, 10);
    if (stop == text || stop != end || errno || number < 0 || number > most) return false;
    *out_number = (int)number;
    return true;
}

/* user:pass@, :pass@ or nothing; moves *rest behind it. */
static bool read_login(const char **rest, struct target *target)
{
    const char *at = strrchr(*rest, '@');
    if (!at) return true;
    const char *colon = memchr(*rest, ':', (size_t)(at - *rest));
    if (!colon) return false;
    if (!copy_part(target->user, sizeof target->user, *rest, (size_t)(colon - *rest))) return false;
    if (!copy_part(target->pass, sizeof target->pass, colon + 1, (size_t)(at - colon - 1)))
        return false;
    *rest = at + 1;
    return true;
}

static bool read_url(const char *url, struct target *target)
{
    *target = (struct target){.port = 0};
    if (strncmp(url, "unix://", 7) == 0)
        return url[7] == '/' &&
               copy_part(target->host, sizeof target->host, url + 7, strlen(url + 7));
    if (strncmp(url, "redis://", 8) != 0) return false;
    const char *rest = url + 8;
    if (!read_login(&rest, target)) return false;
    size_t place = strcspn(rest, "/");
    const char *colon = memchr(rest, ':', place);
    size_t host = colon ? (size_t)(colon - rest) : place;
    target->port = DEFAULT_PORT;
    if (colon && !read_number(colon + 1, rest + place, 65535, &target->port)) return false;
    if (rest[place] == '/' && rest[place + 1] &&
        !read_number(rest + place + 1, rest + strlen(rest), 1000000, &target->db))
        return false;
    return host > 0 && target->port > 0 && copy_part(target->host, sizeof target->host, rest, host);
}

/* ---- commands ---- */

/* NULL: no answer or an error reply; `failure` says which. The reply is yours. */
static redisReply *ask(struct ledger *ledger, int argc, const char **argv, struct failure *failure)
{
    redisReply *reply = redisCommandArgv(ledger->redis, argc, argv, NULL);
    if (!reply) {
        (void)failure_set(failure, "Redis: %s", ledger->redis->errstr);
        return NULL;
    }
    if (reply->type != REDIS_REPLY_ERROR) return reply;
    (void)failure_set(failure, "Redis: %s: %s", argv[0], reply->str);
    freeReplyObject(reply);
    return NULL;
}

static bool command(struct ledger *ledger, int argc, const char **argv, struct failure *failure)
{
    redisReply *reply = ask(ledger, argc, argv, failure);
    if (!reply) return false;
    freeReplyObject(reply);
    return true;
}

static bool log_in(struct ledger *ledger, const struct target *target, struct failure *failure)
{
    if (target->pass[0] && target->user[0]) {
        const char *auth[] = {"AUTH", target->user, target->pass};
        if (!command(ledger, 3, auth, failure)) return false;
    } else if (target->pass[0]) {
        const char *auth[] = {"AUTH", target->pass};
        if (!command(ledger, 2, auth, failure)) return false;
    }
    char db[16];
    (void)snprintf(db, sizeof db, "%d", target->db);
    const char *select_db[] = {"SELECT", db};
    const char *ping[] = {"PING"};
    if (target->db > 0 && !command(ledger, 2, select_db, failure)) return false;
    return command(ledger, 1, ping, failure);
}

struct ledger *ledger_open(const char *url, struct failure *failure)
{
    struct timeval connect_limit = {.tv_sec = CONNECT_S};
    struct timeval command_limit = {.tv_sec = COMMAND_S};
    struct ledger *ledger = NULL;
    struct target target;

    if (!read_url(url, &target)) {
        (void)failure_set(
            failure, "\"%s\" is not redis://[user:pass@]host[:port][/db] or unix:///path", url);
        return NULL;
    }
    ledger = calloc(1, sizeof *ledger);
    if (!ledger) goto fail;
    ledger->redis = target.port ? redisConnectWithTimeout(target.host, target.port, connect_limit)
                                : redisConnectUnixWithTimeout(target.host, connect_limit);
    if (!ledger->redis) goto fail;
    if (ledger->redis->err) {
        (void)failure_set(failure, "Redis: %s: %s", target.host, ledger->redis->errstr);
        goto fail;
    }
    (void)redisSetTimeout(ledger->redis, command_limit); /* without it we would wait longer */
    if (!log_in(ledger, &target, failure)) goto fail;
    return ledger;

fail:
    if (!ledger || !ledger->redis) (void)failure_set(failure, "Redis: out of memory");
    ledger_close(ledger);
    return NULL;
}

void ledger_close(struct ledger *ledger)
{
    if (!ledger) return;
    if (ledger->redis) redisFree(ledger->redis);
    free(ledger);
}

/* ---- values ---- */

static void key_of(char out[KEY_MAX], const char *sale, const char *part)
{
    (void)snprintf(out, KEY_MAX, "seckill:{%s}:%s", sale, part);
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

static bool is_text(const redisReply *reply)
{
    return reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) &&
           strlen(reply->str) == (size_t)reply->len;
}

static bool number_of(const redisReply *reply, int64_t *out_number)
{
    char *stop = NULL;

    if (!is_text(reply) || reply->len == 0) return false;
    errno = 0;
    long long number = strtoll(reply->str, &stop, 10);
    if (*stop || errno) return false;
    *out_number = number;
    return true;
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

static bool read_sale_hash(struct ledger *ledger, const char *sale, struct facts *facts,
                           struct failure *failure)
{
    char key[KEY_MAX];

    key_of(key, sale, "sale");
    const char *exists[] = {"EXISTS", key};
    redisReply *reply = ask(ledger, 2, exists, failure);
    if (!reply) return false;
    bool is_there = reply->integer > 0;
    freeReplyObject(reply);
    if (!is_there) return failure_set(failure, "no sale \"%s\" in this Redis", sale);

    const char *get[] = {"HGET", key, "initial"};
    reply = ask(ledger, 3, get, failure);
    if (!reply) return false;
    if (!number_of(reply, &facts->initial)) facts->initial = -1;
    freeReplyObject(reply);
    return true;
}

bool ledger_stock(struct ledger *ledger, const char *sale, int64_t *out_left,
                  struct failure *failure)
{
    char key[KEY_MAX];

    key_of(key, sale, "stock");
    const char *get[] = {"GET", key};
    redisReply *reply = ask(ledger, 2, get, failure);
    if (!reply) return false;
    bool is_number = number_of(reply, out_left);
    freeReplyObject(reply);
    return is_number || failure_set(failure, "%s holds no number", key);
}

static bool add_order(struct facts *facts, const redisReply *buyer, const redisReply *value)
{
    const char *state = NULL;
    const char *key = NULL;

    if (!is_text(buyer) || buyer->len == 0) return note_malformed(facts, "orders", "a buyer");
    if (!is_text(value) || !cut_at_colons(value->str, &state, &key))
        return note_malformed(facts, "orders", buyer->str);
    struct row row = {
        .order = facts_text(facts, value->str, (size_t)(state - 1 - value->str)),
        .buyer = facts_text(facts, buyer->str, (size_t)buyer->len),
    };
    if (row.buyer) row.rid = facts_rid(facts, key, strlen(key), row.buyer);
    return row_is_whole(&row) && facts_add_order(facts, row);
}

/* One HSCAN page; writes the next cursor. */
static bool read_orders_page(struct ledger *ledger, const char *key, char cursor[32],
                             struct facts *facts, struct failure *failure)
{
    const char *scan[] = {"HSCAN", key, cursor, "COUNT", "1000"};
    redisReply *reply = ask(ledger, 5, scan, failure);
    bool is_good = true;

    if (!reply) return false;
    if (reply->elements != 2 || !is_text(reply->element[0])) {
        freeReplyObject(reply);
        return failure_set(failure, "Redis: HSCAN answered something else");
    }
    const redisReply *page = reply->element[1];
    for (size_t i = 0; is_good && i + 1 < page->elements; i += 2)
        is_good = add_order(facts, page->element[i], page->element[i + 1]);
    (void)snprintf(cursor, 32, "%s", reply->element[0]->str);
    freeReplyObject(reply);
    return is_good || failure_set(failure, "out of memory");
}

static bool read_orders(struct ledger *ledger, const char *sale, struct facts *facts,
                        struct failure *failure)
{
    char key[KEY_MAX];
    char cursor[32] = "0";

    key_of(key, sale, "orders");
    do {
        if (!read_orders_page(ledger, key, cursor, facts, failure)) return false;
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

static bool add_field(struct facts *facts, struct ledger_entry *entry, const redisReply *name,
                      const redisReply *value)
{
    if (!is_text(name) || !is_text(value)) return note_malformed(facts, "ledger", entry->id);
    if (strcmp(name->str, "event") == 0) {
        entry->event = facts_text(facts, value->str, (size_t)value->len);
        return entry->event != NULL;
    }
    if (strcmp(name->str, "left") == 0 && !number_of(value, &entry->left))
        return note_malformed(facts, "ledger left", value->str);
    if (strcmp(name->str, "initial") == 0 && !number_of(value, &entry->initial))
        return note_malformed(facts, "ledger initial", value->str);
    if (strcmp(name->str, "units") == 0 && !number_of(value, &entry->units))
        return note_malformed(facts, "ledger units", value->str);
    if (strcmp(name->str, "order") != 0) return true;
    entry->sold++;
    return add_sold(facts, value->str);
}

static bool add_entry(struct facts *facts, const redisReply *id, const redisReply *fields)
{
    struct ledger_entry entry = {.left = INT64_MIN, .initial = -1};

    if (!is_text(id) || !fields || fields->type != REDIS_REPLY_ARRAY)
        return note_malformed(facts, "ledger", "an entry");
    entry.id = facts_text(facts, id->str, (size_t)id->len);
    if (!entry.id) return false;
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (!add_field(facts, &entry, fields->element[i], fields->element[i + 1])) return false;
    if (!entry.event || entry.left == INT64_MIN)
        return note_malformed(facts, "ledger entry without event or left", entry.id);
    return facts_add_entry(facts, entry);
}

/* One XRANGE page from `start`; writes where the next one starts, "" at the end. */
static bool read_log_page(struct ledger *ledger, const char *key, char start[64],
                          struct facts *facts, struct failure *failure)
{
    const char *range[] = {"XRANGE", key, start, "+", "COUNT", "1000"};
    redisReply *reply = ask(ledger, 6, range, failure);
    bool is_good = true;

    if (!reply) return false;
    start[0] = '\0';
    for (size_t i = 0; is_good && i < reply->elements; i++) {
        const redisReply *entry = reply->element[i];
        bool is_pair = entry->type == REDIS_REPLY_ARRAY && entry->elements == 2;
        is_good = is_pair ? add_entry(facts, entry->element[0], entry->element[1])
                          : note_malformed(facts, "ledger", "an entry");
        if (is_pair && reply->elements == PAGE && is_text(entry->element[0]))
            (void)snprintf(start, 64, "(%s", entry->element[0]->str);
    }
    freeReplyObject(reply);
    return is_good || failure_set(failure, "out of memory");
}

static bool read_log(struct ledger *ledger, const char *sale, struct facts *facts,
                     struct failure *failure)
{
    char key[KEY_MAX];
    char start[64] = "-";

    key_of(key, sale, "ledger");
    while (start[0])
        if (!read_log_page(ledger, key, start, facts, failure)) return false;
    return true;
}

bool ledger_read_sale(struct ledger *ledger, const char *sale, struct facts *facts,
                      struct failure *failure)
{
    struct failure ignored; /* a stock that is no number is a finding, not a failure */

    if (!read_sale_hash(ledger, sale, facts, failure)) return false;
    if (!read_orders(ledger, sale, facts, failure)) return false;
    if (!read_log(ledger, sale, facts, failure)) return false;
    facts->has_stock = ledger_stock(ledger, sale, &facts->left, &ignored);
    return !ledger->redis->err || failure_set(failure, "Redis: %s", ledger->redis->errstr);
}

bool ledger_order_count(struct ledger *ledger, const char *sale, int64_t *out_count,
                        struct failure *failure)
{
    char key[KEY_MAX];

    key_of(key, sale, "orders");
    const char *count[] = {"HLEN", key};
    redisReply *reply = ask(ledger, 2, count, failure);
    if (!reply) return false;
    *out_count = reply->integer;
    freeReplyObject(reply);
    return true;
}

char *ledger_info(struct ledger *ledger, const char *section, struct failure *failure)
{
    const char *info[] = {"INFO", section};
    redisReply *reply = ask(ledger, 2, info, failure);
    if (!reply) return NULL;
    char *text = reply->str ? strdup(reply->str) : NULL;
    freeReplyObject(reply);
    if (!text) (void)failure_set(failure, "Redis: INFO %s: no text, or out of memory", section);
    return text;
}

void ledger_setting(struct ledger *ledger, const char *name, char out_value[LEDGER_VERSION_MAX])
{
    const char *get[] = {"CONFIG", "GET", name};
    redisReply *reply = ask(ledger, 3, get, NULL);
    bool is_pair = reply && reply->elements == 2 && is_text(reply->element[1]);

    (void)snprintf(out_value, LEDGER_VERSION_MAX, "%s", is_pair ? reply->element[1]->str : "?");
    if (reply) freeReplyObject(reply);
}

void ledger_version(struct ledger *ledger, char out_version[LEDGER_VERSION_MAX])
{
    const char *info[] = {"INFO", "server"};
    redisReply *reply = ask(ledger, 2, info, NULL);
    const char *found = reply && reply->str ? strstr(reply->str, "redis_version:") : NULL;

    (void)snprintf(out_version, LEDGER_VERSION_MAX, "?");
    if (found) {
        found += strlen("redis_version:");
        (void)copy_part(out_version, LEDGER_VERSION_MAX, found, strcspn(found, "\r\n"));
    }
    if (reply) freeReplyObject(reply);
}

bool ledger_sale_id_is_valid(const char *sale)
{
    size_t length = strspn(sale, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length <= SALE_ID_MAX && sale[length] == '\0';
}
