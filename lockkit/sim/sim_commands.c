/*
 * See sim_commands.h: a function per command, and their table at the bottom. Only options that are used are
 * implemented. Source: the reference at redis.io/commands, and the answers of Redis 7.0 (sim_itest.c).
 */
#include "sim_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_keys.h"

struct call {
    const struct sim_word *words;
    size_t count;
    struct sim_text *out;
    struct sim_key *key; /* of the first word; NULL: there is none */
};

static const char not_an_integer[] = "-ERR value is not an integer or out of range\r\n";

static void say(const struct call *call, const char *text)
{
    sim_text_add(call->out, text, strlen(text));
}

static long long integer(const struct call *call, size_t place)
{
    long long number = 0;

    (void)sim_word_integer(call->words[place], &number);
    return number;
}

static bool is_wrong_type(const struct call *call, enum sim_type type)
{
    if (!call->key || call->key->type == type) return false;
    say(call, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    return true;
}

static struct sim_key *make(struct call *call, enum sim_type type)
{
    if (!call->key) call->key = sim_key_make(call->words[1], type);
    return call->key;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

static void del(struct call *call)
{
    long long gone = 0;

    for (size_t i = 1; i < call->count; i++) {
        struct sim_key *key = sim_key_find(call->words[i]);

        if (key) sim_key_delete(key);
        gone += key != NULL;
    }
    sim_text_integer(call->out, gone);
}

static void exists(struct call *call)
{
    long long there = 0;

    for (size_t i = 1; i < call->count; i++)
        there += sim_key_find(call->words[i]) != NULL;
    sim_text_integer(call->out, there);
}

static void type(struct call *call)
{
    sim_text_print(call->out, "+%s\r\n", sim_type_name(call->key ? call->key->type : SIM_NONE));
}

static void pttl(struct call *call)
{
    if (!call->key)
        sim_text_integer(call->out, -2);
    else if (call->key->ends_ms == INT64_MAX)
        sim_text_integer(call->out, -1);
    else
        sim_text_integer(call->out, call->key->ends_ms - sim_keys_now_ms());
}

static void pexpire(struct call *call)
{
    long long ms = 0;

    if (!sim_word_integer(call->words[2], &ms)) {
        say(call, not_an_integer);
        return;
    }
    sim_text_integer(call->out, call->key != NULL);
    if (call->key && ms <= 0)
        sim_key_delete(call->key);
    else if (call->key)
        call->key->ends_ms = sim_keys_now_ms() + ms;
}

/* "*text*" alone. */
static void keys(struct call *call)
{
    struct sim_word wanted = {call->words[1].data + 1, call->words[1].len - 2};
    struct sim_text found = {0};
    size_t count = 0;

    for (size_t i = 0; sim_key_at(i); i++) {
        struct sim_word name = sim_word_of(&sim_key_at(i)->name);

        if (!memmem(name.data, name.len, wanted.data, wanted.len)) continue;
        sim_text_bulk(&found, name);
        count++;
    }
    sim_text_array(call->out, count);
    sim_text_add(call->out, found.data, found.len);
    sim_text_done(&found);
}

/* ---- strings ---------------------------------------------------------------------------------------- */

static struct sim_word value_of(const struct call *call)
{
    return call->key ? sim_word_of(&call->key->items[0].value) : (struct sim_word){"", 0};
}

static void put(struct call *call, struct sim_word value)
{
    struct sim_key *key = make(call, SIM_STRING);

    if (key->count == 0) (void)sim_item_insert(key, 0);
    sim_text_set(&key->items[0].value, value);
}

static void get(struct call *call)
{
    if (call->key)
        sim_text_bulk(call->out, value_of(call));
    else
        sim_text_nil(call->out);
}

static void set(struct call *call)
{
    bool is_new_only = false;
    long long ms = 0;

    for (size_t i = 3; i < call->count; i++) {
        if (sim_word_means(call->words[i], "NX")) {
            is_new_only = true;
        } else if (sim_word_means(call->words[i], "PX") && i + 1 < call->count) {
            if (!sim_word_integer(call->words[++i], &ms)) {
                say(call, not_an_integer);
                return;
            }
            if (ms <= 0) {
                say(call, "-ERR invalid expire time in 'set' command\r\n");
                return;
            }
        } else {
            say(call, "-ERR syntax error\r\n");
            return;
        }
    }
    if (is_new_only && call->key) {
        sim_text_nil(call->out);
        return;
    }
    if (call->key && call->key->type != SIM_STRING) {
        sim_key_delete(call->key);
        call->key = NULL;
    }
    put(call, call->words[2]);
    call->key->ends_ms = ms > 0 ? sim_keys_now_ms() + ms : INT64_MAX;
    say(call, "+OK\r\n");
}

static void add(struct call *call, long long more)
{
    char digits[32];
    long long number = 0;

    if (is_wrong_type(call, SIM_STRING)) return;
    if (call->key && !sim_word_integer(value_of(call), &number)) {
        say(call, not_an_integer);
        return;
    }
    number += more;
    put(call, (struct sim_word){digits, (size_t)snprintf(digits, sizeof digits, "%lld", number)});
    sim_text_integer(call->out, number);
}

static void incr(struct call *call)
{
    add(call, 1);
}

static void incrby(struct call *call)
{
    long long more = 0;

    if (sim_word_integer(call->words[2], &more))
        add(call, sim_word_means(call->words[0], "DECRBY") ? -more : more);
    else
        say(call, not_an_integer);
}

static void string_length(struct call *call)
{
    sim_text_integer(call->out, (long long)value_of(call).len);
}

/* From the front alone. */
static void getrange(struct call *call)
{
    struct sim_word value = value_of(call);
    size_t last = (size_t)integer(call, 3);

    if (value.len > last + 1) value.len = last + 1;
    sim_text_bulk(call->out, value);
}

/* ---- hashes ----------------------------------------------------------------------------------------- */

static void hget(struct call *call)
{
    const struct sim_item *item = sim_item_find(call->key, call->words[2]);

    if (item)
        sim_text_bulk(call->out, sim_word_of(&item->value));
    else
        sim_text_nil(call->out);
}

static void hexists(struct call *call)
{
    sim_text_integer(call->out, sim_item_find(call->key, call->words[2]) != NULL);
}

/* Also HSETNX, which keeps an existing value. */
static void hset(struct call *call)
{
    bool is_new_only = sim_word_means(call->words[0], "HSETNX");
    long long added = 0;

    for (size_t i = 2; i + 1 < call->count; i += 2) {
        struct sim_key *key = make(call, SIM_HASH);
        struct sim_item *item = sim_item_find(key, call->words[i]);

        if (item && is_new_only) continue;
        if (!item) {
            item = sim_item_insert(key, key->count);
            sim_text_set(&item->name, call->words[i]);
            added++;
        }
        sim_text_set(&item->value, call->words[i + 1]);
    }
    sim_text_integer(call->out, added);
}

/* Fields or members: also ZREM. */
static void remove_items(struct call *call)
{
    long long gone = 0;

    for (size_t i = 2; i < call->count && call->key; i++) {
        struct sim_item *item = sim_item_find(call->key, call->words[i]);

        if (item && sim_item_remove(call->key, item)) call->key = NULL;
        gone += item != NULL;
    }
    sim_text_integer(call->out, gone);
}

static void count_items(struct call *call)
{
    sim_text_integer(call->out, call->key ? (long long)call->key->count : 0);
}

static void hgetall(struct call *call)
{
    sim_text_array(call->out, call->key ? 2 * call->key->count : 0);
    for (size_t i = 0; call->key && i < call->key->count; i++) {
        sim_text_bulk(call->out, sim_word_of(&call->key->items[i].name));
        sim_text_bulk(call->out, sim_word_of(&call->key->items[i].value));
    }
}

/* All at once, whatever COUNT says. */
static void hscan(struct call *call)
{
    if (call->count > 4 && integer(call, 4) < 1) {
        say(call, "-ERR syntax error\r\n");
        return;
    }
    sim_text_array(call->out, 2);
    sim_text_bulk(call->out, SIM_WORD("0"));
    hgetall(call);
}

/* ---- lists ------------------------------------------------------------------------------------------ */

static void rpush(struct call *call)
{
    for (size_t i = 2; i < call->count; i++) {
        struct sim_key *key = make(call, SIM_LIST);

        sim_text_set(&sim_item_insert(key, key->count)->value, call->words[i]);
    }
    count_items(call);
}

static void lpop(struct call *call)
{
    if (!call->key) {
        sim_text_nil(call->out);
        return;
    }
    sim_text_bulk(call->out, sim_word_of(&call->key->items[0].value));
    (void)sim_item_remove(call->key, call->key->items);
}

/* A place, from the end when it is less than 0. */
static long long place_in(const struct call *call, size_t word)
{
    long long place = integer(call, word);
    long long count = call->key ? (long long)call->key->count : 0;

    return place < 0 ? place + count : place;
}

static void lindex(struct call *call)
{
    long long place = place_in(call, 2);

    if (call->key && place >= 0 && place < (long long)call->key->count)
        sim_text_bulk(call->out, sim_word_of(&call->key->items[place].value));
    else
        sim_text_nil(call->out);
}

static void lpos(struct call *call)
{
    for (size_t i = 0; call->key && i < call->key->count; i++) {
        if (!sim_word_equals(sim_word_of(&call->key->items[i].value), call->words[2])) continue;
        sim_text_integer(call->out, (long long)i);
        return;
    }
    sim_text_nil(call->out);
}

/* BEFORE alone. */
static void linsert(struct call *call)
{
    size_t i = 0;

    while (call->key && i < call->key->count &&
           !sim_word_equals(sim_word_of(&call->key->items[i].value), call->words[3]))
        i++;
    bool is_there = call->key && i < call->key->count;
    if (is_there) sim_text_set(&sim_item_insert(call->key, i)->value, call->words[4]);
    sim_text_integer(call->out, is_there ? (long long)call->key->count : (call->key ? -1 : 0));
}

/* The places of LRANGE and ZRANGE; false: there are none. */
static bool range(const struct call *call, size_t *out_first, size_t *out_last)
{
    long long first = place_in(call, 2);
    long long last = place_in(call, 3);

    if (first < 0) first = 0;
    if (!call->key || first > last || first >= (long long)call->key->count) return false;
    if (last >= (long long)call->key->count) last = (long long)call->key->count - 1;
    *out_first = (size_t)first;
    *out_last = (size_t)last;
    return true;
}

static void lrange(struct call *call)
{
    size_t first = 1, last = 0;

    (void)range(call, &first, &last);
    sim_text_array(call->out, last + 1 - first);
    for (size_t i = first; i <= last; i++)
        sim_text_bulk(call->out, sim_word_of(&call->key->items[i].value));
}

/* All that are equal (count 0). */
static void lrem(struct call *call)
{
    long long gone = 0;

    for (size_t i = 0; call->key && i < call->key->count;) {
        if (!sim_word_equals(sim_word_of(&call->key->items[i].value), call->words[3])) {
            i++;
            continue;
        }
        if (sim_item_remove(call->key, &call->key->items[i])) call->key = NULL;
        gone++;
    }
    sim_text_integer(call->out, gone);
}

/* ---- sorted sets ------------------------------------------------------------------------------------ */

static void print_score(struct sim_text *out, double score)
{
    char digits[64];
    int len = snprintf(digits, sizeof digits,
                       fabs(score) < 1e17 && score == floor(score) ? "%.0f" : "%.17g", score);

    if (isinf(score)) len = snprintf(digits, sizeof digits, score > 0 ? "inf" : "-inf");
    sim_text_bulk(out, (struct sim_word){digits, (size_t)len});
}

/* "5", "(5", "+inf". */
static bool read_score(struct sim_word word, double *out, bool *out_is_open)
{
    char digits[64];
    char *end = NULL;

    *out_is_open = word.len > 0 && word.data[0] == '(';
    if (*out_is_open) word = (struct sim_word){word.data + 1, word.len - 1};
    if (word.len == 0 || word.len >= sizeof digits) return false;
    memcpy(digits, word.data, word.len);
    digits[word.len] = '\0';
    *out = strtod(digits, &end);
    return *end == '\0';
}

static void zscore(struct call *call)
{
    const struct sim_item *item = sim_item_find(call->key, call->words[2]);

    if (item)
        print_score(call->out, item->score);
    else
        sim_text_nil(call->out);
}

struct zadd {
    bool is_new_only, is_old_only, is_greater_only, is_increment;
};

/* Of one member: whether something was done. */
static bool zadd_one(struct call *call, const struct zadd *how, double score,
                     struct sim_word member)
{
    const struct sim_item *item = sim_item_find(call->key, member);

    if (item ? how->is_new_only : how->is_old_only) return false;
    if (item && how->is_increment) score += item->score;
    if (item && how->is_greater_only && score <= item->score) return false;
    sim_item_score(make(call, SIM_ZSET), member, score);
    return true;
}

static void zadd(struct call *call)
{
    struct zadd how = {0};
    bool is_open = false;
    long long added = 0;
    double score = 0;
    size_t i = 2;

    for (; i < call->count; i++) {
        if (sim_word_means(call->words[i], "NX"))
            how.is_new_only = true;
        else if (sim_word_means(call->words[i], "XX"))
            how.is_old_only = true;
        else if (sim_word_means(call->words[i], "GT"))
            how.is_greater_only = true;
        else if (sim_word_means(call->words[i], "INCR"))
            how.is_increment = true;
        else
            break;
    }
    for (size_t k = i; k + 1 < call->count; k += 2) {
        if (read_score(call->words[k], &score, &is_open)) continue;
        say(call, "-ERR value is not a valid float\r\n");
        return;
    }
    if (is_wrong_type(call, SIM_ZSET)) return;
    for (; i + 1 < call->count; i += 2) {
        bool is_new = !sim_item_find(call->key, call->words[i + 1]);

        (void)read_score(call->words[i], &score, &is_open);
        bool is_done = zadd_one(call, &how, score, call->words[i + 1]);
        added += is_new && is_done;
        if (how.is_increment && is_done)
            print_score(call->out, sim_item_find(call->key, call->words[i + 1])->score);
        else if (how.is_increment)
            sim_text_nil(call->out);
    }
    if (!how.is_increment) sim_text_integer(call->out, added);
}

static void zrange(struct call *call)
{
    bool has_scores = call->count > 4;
    size_t first = 1, last = 0;

    (void)range(call, &first, &last);
    sim_text_array(call->out, (last + 1 - first) * (has_scores ? 2 : 1));
    for (size_t i = first; i <= last; i++) {
        sim_text_bulk(call->out, sim_word_of(&call->key->items[i].name));
        if (has_scores) print_score(call->out, call->key->items[i].score);
    }
}

/* The items between two scores are beside one another: from here, so many. */
static bool between(struct call *call, size_t *out_first, size_t *out_count)
{
    double least = 0, most = 0;
    bool is_open_below = false, is_open_above = false;

    *out_first = *out_count = 0;
    if (!read_score(call->words[2], &least, &is_open_below) ||
        !read_score(call->words[3], &most, &is_open_above)) {
        say(call, "-ERR min or max is not a float\r\n");
        return false;
    }
    if (is_wrong_type(call, SIM_ZSET)) return false;
    for (size_t i = 0; call->key && i < call->key->count; i++) {
        double score = call->key->items[i].score;

        if (is_open_below ? score <= least : score < least) {
            *out_first = i + 1;
            continue;
        }
        *out_count += is_open_above ? score < most : score <= most;
    }
    return true;
}

static void zcount(struct call *call)
{
    size_t first = 0, count = 0;

    if (between(call, &first, &count)) sim_text_integer(call->out, (long long)count);
}

/* With WITHSCORES and LIMIT 0 n. */
static void zrangebyscore(struct call *call)
{
    size_t first = 0, count = 0;

    bool has_scores = call->count > 4;

    if (!between(call, &first, &count)) return;
    if (call->count > 7 && count > (size_t)integer(call, 7)) count = (size_t)integer(call, 7);
    sim_text_array(call->out, has_scores ? 2 * count : count);
    for (size_t i = first; i < first + count; i++) {
        sim_text_bulk(call->out, sim_word_of(&call->key->items[i].name));
        if (has_scores) print_score(call->out, call->key->items[i].score);
    }
}

static void zremrangebyscore(struct call *call)
{
    size_t first = 0, count = 0;

    if (!between(call, &first, &count)) return;
    for (size_t i = 0; i < count; i++)
        (void)sim_item_remove(call->key, &call->key->items[first]);
    sim_text_integer(call->out, (long long)count);
}

/* ---- the server itself ------------------------------------------------------------------------------- */

static void now(struct call *call)
{
    char digits[32];
    long long ms = sim_keys_now_ms();

    sim_text_array(call->out, 2);
    sim_text_bulk(call->out, (struct sim_word){digits, (size_t)snprintf(digits, sizeof digits,
                                                                        "%lld", ms / 1000)});
    sim_text_bulk(call->out, (struct sim_word){digits, (size_t)snprintf(digits, sizeof digits,
                                                                        "%lld", ms % 1000 * 1000)});
}

static void ping(struct call *call)
{
    say(call, "+PONG\r\n");
}

static void info(struct call *call)
{
    char text[160];
    int len = snprintf(text, sizeof text,
                       "# Server\r\nredis_version:7.0.15\r\nrun_id:%040d\r\nrole:master\r\n",
                       51 + sim_keys_used());

    sim_text_bulk(call->out, (struct sim_word){text, (size_t)len});
}

/* COMMAND INFO: the commands that lockkit asks for (DELIFEQ, DELEX) do not exist here. */
static void command_info(struct call *call)
{
    sim_text_array(call->out, call->count - 2);
    for (size_t i = 2; i < call->count; i++)
        say(call, "*-1\r\n");
}

/* No replicas. */
static void zero(struct call *call)
{
    sim_text_integer(call->out, 0);
}

/* ---- the table --------------------------------------------------------------------------------------- */

static const struct command {
    const char *name;
    size_t words;       /* at least */
    enum sim_type type; /* of the key that it is for; NONE: of any, or it has none */
    bool has_key;
    void (*act)(struct call *call);
    enum { READS, WRITES, TAKES } does; /* TAKES: memory, too */
} commands[] = {
    {"COMMAND", 3, SIM_NONE, false, command_info, READS},
    {"DECRBY", 3, SIM_NONE, true, incrby, TAKES},
    {"DEL", 2, SIM_NONE, false, del, WRITES},
    {"EXISTS", 2, SIM_NONE, false, exists, READS},
    {"GET", 2, SIM_STRING, true, get, READS},
    {"GETRANGE", 4, SIM_STRING, true, getrange, READS},
    {"HDEL", 3, SIM_HASH, true, remove_items, WRITES},
    {"HEXISTS", 3, SIM_HASH, true, hexists, READS},
    {"HGET", 3, SIM_HASH, true, hget, READS},
    {"HGETALL", 2, SIM_HASH, true, hgetall, READS},
    {"HLEN", 2, SIM_HASH, true, count_items, READS},
    {"HSCAN", 3, SIM_HASH, true, hscan, READS},
    {"HSET", 4, SIM_HASH, true, hset, TAKES},
    {"HSETNX", 4, SIM_HASH, true, hset, TAKES},
    {"INCR", 2, SIM_STRING, true, incr, TAKES},
    {"INCRBY", 3, SIM_NONE, true, incrby, TAKES},
    {"INFO", 1, SIM_NONE, false, info, READS},
    {"KEYS", 2, SIM_NONE, false, keys, READS},
    {"LINDEX", 3, SIM_LIST, true, lindex, READS},
    {"LINSERT", 5, SIM_LIST, true, linsert, TAKES},
    {"LLEN", 2, SIM_LIST, true, count_items, READS},
    {"LPOP", 2, SIM_LIST, true, lpop, WRITES},
    {"LPOS", 3, SIM_LIST, true, lpos, READS},
    {"LRANGE", 4, SIM_LIST, true, lrange, READS},
    {"LREM", 4, SIM_LIST, true, lrem, WRITES},
    {"PEXPIRE", 3, SIM_NONE, true, pexpire, WRITES},
    {"PING", 1, SIM_NONE, false, ping, READS},
    {"PTTL", 2, SIM_NONE, true, pttl, READS},
    {"RPUSH", 3, SIM_LIST, true, rpush, TAKES},
    {"SET", 3, SIM_NONE, true, set, TAKES},
    {"STRLEN", 2, SIM_STRING, true, string_length, READS},
    {"TIME", 1, SIM_NONE, false, now, READS},
    {"TYPE", 2, SIM_NONE, true, type, READS},
    {"WAIT", 3, SIM_NONE, false, zero, READS},
    {"ZADD", 4, SIM_NONE, true, zadd, TAKES},
    {"ZCARD", 2, SIM_ZSET, true, count_items, READS},
    {"ZCOUNT", 4, SIM_NONE, true, zcount, READS},
    {"ZRANGE", 4, SIM_ZSET, true, zrange, READS},
    {"ZRANGEBYSCORE", 4, SIM_NONE, true, zrangebyscore, READS},
    {"ZREM", 3, SIM_ZSET, true, remove_items, WRITES},
    {"ZREMRANGEBYSCORE", 4, SIM_NONE, true, zremrangebyscore, WRITES},
    {"ZSCORE", 3, SIM_ZSET, true, zscore, READS},
};

/* ---- what a server refuses that is not well ---------------------------------------------------------- */

static struct {
    enum sim_ailment ailments[SIM_SERVERS];
    bool is_script, is_dirty; /* a script runs; and has written */
} state;

void sim_commands_ail(enum sim_ailment ailment)
{
    state.ailments[sim_keys_used()] = ailment;
}

void sim_commands_script(bool is_begun)
{
    state.is_script = is_begun;
    state.is_dirty = false;
}

static bool has(enum sim_ailment ailment)
{
    return state.ailments[sim_keys_used()] == ailment;
}

bool sim_commands_load(struct sim_text *out)
{
    if (has(SIM_LOADING))
        sim_text_print(out, "-LOADING Redis is loading the dataset in memory\r\n");
    return has(SIM_LOADING);
}

static bool refuse(const struct command *command, struct sim_text *out)
{
    bool is_exempt = state.is_script && state.is_dirty; /* it goes on to its end */
    size_t before = out->len;

    if (command->act != info && command->act != command_info) (void)sim_commands_load(out);
    if (has(SIM_READONLY) && command->does != READS)
        sim_text_print(out, "-READONLY You can't write against a read only replica.\r\n");
    if (has(SIM_FULL) && command->does == TAKES && !is_exempt)
        sim_text_print(out, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    state.is_dirty |= command->does != READS && out->len == before;
    return out->len > before;
}

bool sim_command(const struct sim_word *words, size_t count, struct sim_text *out)
{
    struct call call = {.words = words, .count = count, .out = out};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const struct command *it = &commands[i];

        if (!sim_word_means(words[0], it->name)) continue;
        if (count < it->words) {
            sim_text_print(out, "-ERR wrong number of arguments for '%.*s' command\r\n",
                           (int)words[0].len, words[0].data);
            return true;
        }
        if (refuse(it, out)) return true;
        if (it->has_key) call.key = sim_key_find(words[1]);
        if (it->type == SIM_NONE || !is_wrong_type(&call, it->type)) it->act(&call);
        return true;
    }
    return false;
}
