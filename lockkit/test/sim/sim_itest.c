/*
 * The simulator beside a real server: what it answers to each of its commands, and what lockkit's scripts
 * do to the same keys in both. Then the simulator at work, and that it finds what is wrong on purpose.
 * link: -Wl,--no-as-needed -llua5.1
 */
#include <fcntl.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "sim/sim_commands.h"
#include "sim/sim_server.h"
#include "sim/sim_threads.h"
#include "test/support/lk_ctl.h"
#include "test/support/lk_support.h"
#include "test/support/testing.h"
#include "wire/script.h"

enum {
    WORDS_MAX = 24,
    TEXT_MAX = 4096,
    CALLS = 20000,
    RUNS = 5000,
    SLACK = 60000,
    LIMIT_MS = 380000 /* beside other programs that compute */
};

LKS_SERVER(lks_server_start(NULL));

/* Nothing is put in place of these here; NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
#define REAL(type, name, parameters, ...)                                                          \
    type __real_##name parameters;                                                                 \
    type __real_##name parameters                                                                  \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    _Static_assert(true, "")
REAL(int, close, (int fd), return close(fd));
REAL(int, fcntl, (int fd, int command, ...), return fcntl(fd, command));
REAL(ssize_t, read, (int fd, void *out, size_t room), return read(fd, out, room));
REAL(ssize_t, write, (int fd, const void *bytes, size_t len), return write(fd, bytes, len));
REAL(void, redisFree, (redisContext * context), redisFree(context));
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* ---- answers as text ----------------------------------------------------------------------------------- */

static uint64_t chance = 20;

static unsigned draw(unsigned bound)
{
    chance = chance * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)((chance >> 33) * bound >> 31);
}

/* Of an error the first word: who is behind says more, each in its own words. */
static void describe(const lk_reply *reply, char *out) /* NOLINT(misc-no-recursion) */
{
    struct lk_bytes words = lk_reply_bytes(reply);
    size_t used = strlen(out);

    switch (lk_reply_type_of(reply)) {
    case LK_REPLY_INTEGER:
        (void)snprintf(out + used, TEXT_MAX - used, "%lld ", lk_reply_integer(reply, 0));
        break;
    case LK_REPLY_ERROR:
        (void)snprintf(out + used, TEXT_MAX - used, "-%.*s ", (int)strcspn(words.data, " "),
                       words.data);
        break;
    case LK_REPLY_STRING:
        (void)snprintf(out + used, TEXT_MAX - used, "%.*s ", (int)words.len, words.data);
        break;
    case LK_REPLY_NIL:
        (void)snprintf(out + used, TEXT_MAX - used, "nil ");
        break;
    case LK_REPLY_ARRAY:
        (void)snprintf(out + used, TEXT_MAX - used, "[ ");
        for (size_t i = 0; i < lk_reply_count(reply); i++)
            describe(lk_reply_at(reply, i), out);
        used = strlen(out);
        (void)snprintf(out + used, TEXT_MAX - used, "] ");
        break;
    }
}

/* Word by word; times and what is left of keys differ a little. */
static bool is_alike(const char *one, const char *other)
{
    char *one_end = NULL, *other_end = NULL;

    while (*one && *other) {
        long long a = strtoll(one, &one_end, 10);
        long long b = strtoll(other, &other_end, 10);

        if (one_end > one && *one_end == ' ' && *other_end == ' ' && a > SLACK &&
            llabs(a - b) < SLACK) {
            one = one_end;
            other = other_end;
        } else if (*one++ != *other++) {
            return false;
        }
    }
    return *one == *other;
}

static void ask_real(const char *const *words, char out[TEXT_MAX])
{
    lk_reply *reply = lks_ask_words(server, words);

    out[0] = '\0';
    describe(reply, out);
    lk_reply_free(reply);
}

static void ask_simulated(const char *const *words, char out[TEXT_MAX])
{
    struct sim_word parts[WORDS_MAX];
    struct sim_text text = {0};
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    size_t count = 0;

    for (; words[count]; count++)
        parts[count] = (struct sim_word){words[count], strlen(words[count])};
    sim_server_ask(parts, count, &text);
    assert_int_equal(REDIS_OK, redisReaderFeed(reader, text.data, text.len));
    assert_int_equal(REDIS_OK, redisReaderGetReply(reader, &reply));
    assert_non_null(reply);
    out[0] = '\0';
    describe(reply, out);
    freeReplyObject(reply);
    redisReaderFree(reader);
    sim_text_done(&text);
}

static void ask_both(const char *const *words)
{
    char real[TEXT_MAX], simulated[TEXT_MAX], said[TEXT_MAX] = "";

    ask_real(words, real);
    ask_simulated(words, simulated);
    if (is_alike(real, simulated)) return;
    for (size_t i = 0; words[i]; i++)
        (void)snprintf(said + strlen(said), sizeof said - strlen(said), "%.200s ", words[i]);
    fail_msg("%s:\n real      %s\n simulated %s", said, real, simulated);
}

static void forget_all(void)
{
    sim_threads_begin(1);
    sim_server_begin((int64_t)time(NULL) * 1000 - sim_now() / SIM_MS);
    lk_reply_free(lks_ask_words(server, (const char *const[]){"FLUSHALL", NULL}));
}

/* ---- commands ------------------------------------------------------------------------------------------ */

/* k: a key, m: a member, n: a small number, t: milliseconds. */
static const char *const commands[] = {"DECRBY k n",
                                       "DEL k",
                                       "DEL k k",
                                       "EXISTS k",
                                       "EXISTS k k",
                                       "GET k",
                                       "GETRANGE k 0 2",
                                       "HDEL k m",
                                       "HDEL k m m",
                                       "HEXISTS k m",
                                       "HGET k m",
                                       "HGETALL k",
                                       "HLEN k",
                                       "HSCAN k 0 COUNT 100",
                                       "HSET k m n",
                                       "HSET k m n m m",
                                       "HSETNX k m n",
                                       "INCR k",
                                       "INCRBY k n",
                                       "INCRBY k m",
                                       "LINDEX k n",
                                       "LINDEX k -1",
                                       "LLEN k",
                                       "LPOP k",
                                       "LPOS k m",
                                       "LINSERT k BEFORE m n",
                                       "LRANGE k n n",
                                       "LRANGE k 0 -1",
                                       "LREM k 0 m",
                                       "PEXPIRE k t",
                                       "PEXPIRE k m",
                                       "PEXPIRE k 0",
                                       "PTTL k",
                                       "RPUSH k m",
                                       "RPUSH k m m",
                                       "SET k n",
                                       "SET k m",
                                       "SET k m PX t",
                                       "SET k m NX PX t",
                                       "SET k m NX",
                                       "SET k m PX 0",
                                       "SET k m PX",
                                       "STRLEN k",
                                       "TYPE k",
                                       "ZADD k n m",
                                       "ZADD k NX n m",
                                       "ZADD k XX n m",
                                       "ZADD k GT n m",
                                       "ZADD k XX INCR n m",
                                       "ZADD k n m n m",
                                       "ZADD k m m",
                                       "ZCARD k",
                                       "ZCOUNT k (n +inf",
                                       "ZCOUNT k 0 n",
                                       "ZRANGE k 0 -1",
                                       "ZRANGE k n n WITHSCORES",
                                       "ZRANGEBYSCORE k (n +inf WITHSCORES LIMIT 0 n",
                                       "ZRANGEBYSCORE k -inf n",
                                       "ZREM k m",
                                       "ZREMRANGEBYSCORE k 0 n",
                                       "ZSCORE k m",
                                       "HLEN",
                                       "NOSUCH k",
                                       "PUBLISH m m",
                                       "SCRIPT FLUSH",
                                       "EVALSHA 0123456789012345678901234567890123456789 0"};

static const char *word_for(char letter)
{
    static const char *const keys[] = {"s", "h", "l", "z", "x", "y"};
    static const char *const members[] = {"a", "b", "c", "ab", "abc"};
    static const char *const numbers[] = {"0", "1", "2", "3", "-1", "7"};
    static const char *const spans[] = {"500000", "900000", "1300000"};

    switch (letter) {
    case 'k':
        return keys[draw(6)];
    case 'm':
        return members[draw(5)];
    case 'n':
        return numbers[draw(6)];
    default:
        return spans[draw(3)];
    }
}

static void ask_anything(int calls)
{
    for (int i = 0; i < calls; i++) {
        char line[128];
        const char *words[WORDS_MAX] = {0};
        size_t count = 0;
        char *rest = NULL;

        (void)snprintf(line, sizeof line, "%s",
                       commands[draw(sizeof commands / sizeof commands[0])]);
        for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            bool is_letter = word[1] == '\0' && strchr("kmnt", word[0]);

            words[count++] = is_letter ? word_for(word[0]) : strcmp(word, "(n") == 0 ? "(1" : word;
        }
        ask_both(words);
    }
}

TEST(every_command_answers_as_redis_does)
{
    forget_all();
    ask_anything(CALLS);
}

/* ---- scripts ------------------------------------------------------------------------------------------- */

static void look_at(const char *key)
{
    ask_both((const char *const[]){"GET", key, NULL});
    ask_both((const char *const[]){"HGETALL", key, NULL});
    ask_both((const char *const[]){"LRANGE", key, "0", "-1", NULL});
    ask_both((const char *const[]){"ZRANGE", key, "0", "-1", "WITHSCORES", NULL});
    ask_both((const char *const[]){"PTTL", key, NULL});
}

/* With what stands in front of it; false: it stands in front of others. */
static bool write_script(const struct lk_script_source *script, char text[4 * TEXT_MAX])
{
    static const char *const fronts[][2] = {{"fair_", "fair_queue"},
                                            {"permits_", "permits_sweep"},
                                            {"inspect", "inspect_related"},
                                            {"rw_", "rw_queue"}};
    const char *front = "";

    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        if (strcmp(script->name, fronts[i][1]) == 0) return false;
        if (strncmp(script->name, fronts[i][0], strlen(fronts[i][0])) == 0)
            front = lki_script_named(fronts[i][1])->source;
    }
    (void)snprintf(text, sizeof(char[4 * TEXT_MAX]), "%s\n%s", front, script->source);
    return !strstr(script->name, "_guard");
}

/* With any words, which mostly are not those that it is for. */
static void run_scripts(int runs, bool is_anew)
{
    static const char *const arguments[] = {"a",  "b",    "0", "400000", "500000",
                                            "-1", "read", ""}; /* no span that ends meanwhile */
    static const char *const keys[] = {"k1", "k2", "k3", "k4", "k5"};
    size_t count = 0;
    char text[4 * TEXT_MAX];

    while (lki_script_all()[count].name)
        count++;
    for (int i = 0; i < runs; i++) {
        const char *words[WORDS_MAX] = {"EVAL", text, "5"};

        if (is_anew && i % 20 == 0) forget_all();
        if (!write_script(&lki_script_all()[draw((unsigned)count)], text)) continue;
        for (size_t k = 0; k < 5; k++)
            words[3 + k] = keys[draw(10) == 0 ? draw(5) : k];
        for (size_t a = 0; a < 4; a++)
            words[8 + a] = arguments[draw(8)];
        if (draw(2) == 0) words[11] = "1";
        ask_both(words);
        for (size_t k = 0; k < 5; k++)
            look_at(keys[k]);
    }
}

TEST(every_script_does_as_in_redis)
{
    run_scripts(RUNS, true);
}

/* Full, and then a replica of nobody; scripts go on when they have written. */
TEST(what_a_server_refuses_that_is_not_well)
{
    static const struct {
        enum sim_ailment ailment;
        const char *const begin[5], *const end[5];
    } rows[] = {
        {SIM_FULL, {"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
        {SIM_READONLY, {"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
    };

    forget_all();
    ask_anything(CALLS / 10);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lk_reply_free(lks_ask_words(server, rows[i].begin));
        sim_commands_ail(rows[i].ailment);
        ask_anything(CALLS / 10);
        run_scripts(RUNS / 10, false);
        lk_reply_free(lks_ask_words(server, rows[i].end));
        sim_commands_ail(SIM_WELL);
    }
}

/* ---- at work ------------------------------------------------------------------------------------------- */

static struct lkc_program program;

static int simulate(const char *const *words)
{
    program.limit_ms = LIMIT_MS;
    lkc_start_program(&program, "simulate", words);
    return lkc_finish(&program);
}

/* Of each of 17 kinds as many as find the mutants' faults. */
TEST(three_hundred_seeds_of_each_kind_find_nothing)
{
    if (simulate((const char *const[]){"--seeds", "5100", NULL}) != 0) fail_msg("%s", program.out);
    print_message("# %s", program.out);
}

TEST(flawed_locks_are_found_and_found_again)
{
    static const char *const kinds[] = {"flawed-release", "flawed-acquire"};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(1, simulate((const char *const[]){"--kind", kinds[i], NULL}));
        lkc_expect("FOUND by seed ", program.out);
        lkc_expect("simulate: trace ", program.err); /* twice the same */
    }
}

TEST(a_wrong_word_is_refused)
{
    assert_int_equal(2, simulate((const char *const[]){"--kind", "none", NULL}));
    lkc_expect("there is no \"none\"", program.err);
    assert_int_equal(2, simulate((const char *const[]){"--seeds", "0", NULL}));
}
