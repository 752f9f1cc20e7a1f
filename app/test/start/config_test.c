/*
 * Flags, environment and a file: defaults, who wins, and every kind of bad value.
 */
#include <unistd.h>

#include "sale/sale.h"
#include "start/config.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

enum { ARGS_MAX = 8, WORD_SIZE = 64 };

/* What the environment of these tests holds. */
static const char *no_env(const char *name)
{
    return NULL;
}

static const char *some_env(const char *name)
{
    if (strcmp(name, "SECKILL_BATCH") == 0) return "7";
    if (strcmp(name, "SECKILL_LAB") == 0) return "yes";
    if (strcmp(name, "SECKILL_REDIS") == 0) return ""; /* as not there */
    return NULL;
}

static const char *check_env(const char *name)
{
    return strcmp(name, "SECKILL_CHECK") == 0 ? "1" : NULL;
}

static const char *bad_env(const char *name)
{
    return strcmp(name, "SECKILL_BATCH") == 0 ? "many" : NULL;
}

/* argv of the last call: config borrows its strings. */
static char words_of_argv[ARGS_MAX][WORD_SIZE];

/* What came of the last call. */
static char shown[LISTEN_TEXT_SIZE];
static struct config config;
static struct start_error why;

static config_status read_words(const char *const *words, const char *(*env)(const char *))
{
    char *argv[ARGS_MAX] = {words_of_argv[0]};
    int argc = 1;

    config = (struct config){0};
    why = (struct start_error){0};
    for (; *words; words++, argc++) {
        (void)strncpy(words_of_argv[argc], *words, WORD_SIZE - 1);
        argv[argc] = words_of_argv[argc];
    }
    static char *const nothing[] = {NULL};

    return config_read(&(struct config_source){argc, argv, .env = env, .environment = nothing},
                       &config, &why);
}

#define READ(env, ...) read_words((const char *const[]){__VA_ARGS__, NULL}, env)

TEST(without_flags_it_has_its_defaults)
{
    assert_int_equal(read_words((const char *const[]){NULL}, no_env), CONFIG_RUN);
    assert_string_equal(listen_address_show(&config.listen.address[0], shown), "127.0.0.1:8080");
    assert_string_equal(listen_address_show(&config.admin_listen.address[0], shown),
                        "127.0.0.1:8081");
    assert_string_equal(config.data, "seckill-data");
    assert_string_equal(config.guard, "mutex");
    assert_null(config.redis);
    assert_null(config.servers[NEED_REDLOCK]);
    assert_null(config.redis_password);
    assert_null(config.redis_loader);
    assert_false(config.check);
    assert_int_equal(config.sync_replicas, 0);
    assert_int_equal(config.sync_ms, 100);
    assert_null(config.admin_token);
    assert_int_equal(config.connections, 4096);
    assert_int_equal(config.streams, 64);
    assert_int_equal(config.batch, 256);
    assert_int_equal(config.admit, 0);
    assert_int_equal(config.queue_ms, 500);
    assert_int_equal(config.lease_ms, 3000);
    assert_int_equal(config.deadline_ms, 2000);
    assert_int_equal(config.drain_ms, 300);
    assert_int_equal(config.log_level, LOG_INFO);
    assert_int_equal(config.log_format, LOG_AS_TEXT);
    assert_null(config.token_key);
    assert_null(config.token_key_2);
    assert_int_equal(config.rate.per_s, 0);
    assert_int_equal(config.address_rate.per_s, 0);
    assert_int_equal(config.trusted_proxies.count, 0);
    assert_false(config.lab);
    assert_int_equal(config.lab_pause.ms, 0);
    assert_true(sale_key_is_valid(config.instance));
}

TEST(flags_win_over_the_environment)
{
    assert_int_equal(READ(some_env, "--batch=9", "--log-level", "debug"), CONFIG_RUN);
    assert_int_equal(config.batch, 9);
    assert_int_equal(config.log_level, LOG_DEBUG);
    assert_true(config.lab);
    assert_null(config.redis);
    assert_int_equal(READ(some_env, "--instance", "a.b"), CONFIG_RUN);
    assert_int_equal(config.batch, 7);
    assert_string_equal(config.instance, "a.b");
}

TEST(bad_values_are_named)
{
    static const struct {
        const char *flag, *values, *says;
    } rows[] = {
        {"--batch", "x|1025|0|-1| 1|1 |99999999999999999999|", "is not a number from 1 to 1024"},
        {"--listen", "localhost:80|1.2.3.4|1.2.3.4:70000",
         "is no list of addresses like 127.0.0.1:8080,[::1]:8080"},
        {"--log-format", "xml", "is neither text nor json"},
        {"--log-level", "loud", "is not error, warn, info or debug"},
        {"--redis-fsync", "sometimes", "is not always, everysec or no"},
        {"--instance", "a b", "is not 1 to 64 of A-Z a-z 0-9 _ . -"},
        {"--lab", "maybe", "is neither true nor false"},
        {"--data", "", "is not usable"},
        {"--rate", "fast|5/s:0", "is not a rate like 5 or 5/s:20"},
        {"--lab-pause", "soon|0|200:|200:0|5s|600001|0000000000002001",
         "is not a pause in ms like 200 or 200:10"},
        {"--token-key", "", "is not usable"},
        {"--guard", "nope", "is no guard; --help lists them"},
        {"--guard", "redlock", "needs the servers of --redlock"},
        {"--guard", "postgres", "needs the servers of --postgres"},
        {"--sync-replicas", "17", "is not a number from 0 to 16"},
        {"--sync-ms", "0", "is not a number from 1 to 10000"},
        {"--address-rate", "fast", "is not a rate like 5 or 5/s:20"},
        {"--trusted-proxy", "10.0.0.1/8|", "is no list of networks like 10.0.0.0/8,fd00::1"},
        {"--drain-ms", "60001", "is not a number from 0 to 60000"},
        {"--redis-password", "", "is not usable"},
    };
    const char *value = NULL;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; (value = texts_at(rows[i].values, k)); k++) {
            char word[WORD_SIZE];
            char says[160];

            (void)snprintf(word, sizeof word, "%s=%s", rows[i].flag, value);
            (void)snprintf(says, sizeof says, "%s: \"%s\" %s", rows[i].flag, value, rows[i].says);
            assert_int_equal(READ(no_env, word), CONFIG_BAD);
            assert_string_equal(why.text, says);
        }
    }
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *words[3];
        const char *says;
    } cases[] = {
        {{"--batch"}, "--batch: a value is missing"},
        {{"--data", "a\nb"}, "--data: \"a\\x0ab\" is not usable"},
        {{"--lab-pause", "200"}, "--lab-pause is a fault for experiments: it needs --lab"},
        {{"--lab-ways", "a"}, "--lab-ways is for the lab: it needs --lab"},
        {{"--lab-payments", "own-clock"}, "--lab-payments is a fault for the lab: it needs --lab"},
        {{"--lab", "--lab-payments=x"}, "--lab-payments: \"x\" is no flaw of those in --help"},
        {{"--lab-segments", "put-in-first"},
         "--lab-segments is a fault for the lab: it needs --lab"},
        {{"--lab", "--lab-segments=own-clock"},
         "--lab-segments: \"own-clock\" is no flaw of those in --help"},
        {{"--token-key-2", "a"}, "--token-key-2 goes with --token-key"},
        {{"--sync-replicas=1"}, "--sync-replicas: the private Redis has no replicas; give --redis"},
        /* a password may be in it: it is never shown */
        {{"--redis", "redis://me:pass\nword@h"}, "--redis: this is not usable as a URL"},
        {{"--redlock=redis://:secret\x7f@h"}, "--redlock: this is not usable as a URL"},
        {{"--postgres=postgres://a:secret\x7f@h"}, "--postgres: this is not usable as a URL"},
        {{"--redis="}, "--redis: this is not usable as a URL"},
        {{"--redis-password", "f"},
         "--redis-password: the private Redis has no users; give --redis"},
        {{"--redis-loader", "f"}, "--redis-loader: the private Redis has no users; give --redis"},
        {{"--redis-ca=f"}, "--redis-ca: no URL of a Redis is rediss://"},
        {{"--redis=redis://rediss", "--redis-insecure"},
         "--redis-insecure: no URL of a Redis is rediss://"},
        {{"--redis=rediss://h", "--redis-key=k"}, "--redis-key: goes with --redis-cert"},
        {{"--redis=redis://h", "--sentinel-password=f"},
         "--sentinel-password: goes with --redis redis+sentinel://"},
        {{"--check", "--listen=127.0.0.1:0"},
         "--check: port 0 of --listen is any; name the one to ask"},
        {{"batch"}, "\"batch\" is no flag (did you mean --batch?)"},
        {{"--bacth", "1"}, "\"--bacth\" is no flag (did you mean --batch?)"},
        {{"--redsi=redis://:secret@h"}, "\"--redsi\" is no flag (did you mean --redis?)"},
        {{"--nothing-like-it"}, "\"--nothing-like-it\" is no flag; --help lists them"},
        {{"--config=/nowhere/c"}, "--config: /nowhere/c: No such file or directory"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_words(cases[i].words, no_env), CONFIG_BAD);
        assert_string_equal(why.text, cases[i].says);
    }
}

TEST(keys_and_rate_are_taken)
{
    assert_int_equal(READ(no_env, "--token-key", "a", "--token-key-2=b", "--rate=5/s:20"),
                     CONFIG_RUN);
    assert_string_equal(config.token_key, "a");
    assert_string_equal(config.token_key_2, "b");
    assert_int_equal(config.rate.per_s, 5);
    assert_int_equal(config.rate.burst, 20);
}

TEST(addresses_and_proxies_are_taken)
{
    assert_int_equal(READ(no_env, "--address-rate=50:100", "--trusted-proxy", "10.0.0.0/8,::1"),
                     CONFIG_RUN);
    assert_int_equal(config.address_rate.per_s, 50);
    assert_int_equal(config.address_rate.burst, 100);
    assert_int_equal(config.trusted_proxies.count, 2);
    assert_int_equal(config.trusted_proxies.at[0].bits, 96 + 8);
}

TEST(replicas_and_servers_of_a_redlock_are_taken)
{
    assert_int_equal(READ(no_env, "--redis=redis+sentinel://a,b/main", "--sync-replicas=2",
                          "--sync-ms", "250", "--guard=redlock", "--redlock=redis://a,redis://b"),
                     CONFIG_RUN);
    assert_string_equal(config.redis, "redis+sentinel://a,b/main");
    assert_string_equal(config.servers[NEED_REDLOCK], "redis://a,redis://b");
    assert_int_equal(config.sync_replicas, 2);
    assert_int_equal(config.sync_ms, 250);
}

TEST(the_wait_for_replicas_must_end_before_the_deadline)
{
    assert_int_equal(READ(no_env, "--redis=redis://a", "--sync-replicas=1", "--sync-ms=500",
                          "--deadline-ms=500"),
                     CONFIG_BAD);
    assert_string_equal(why.text, "--sync-ms: 500 is not less than --deadline-ms 500");
    assert_int_equal(READ(no_env, "--redis=redis://a", "--sync-ms=500", "--deadline-ms=500"),
                     CONFIG_RUN);
}

TEST(a_pause_is_taken_with_lab)
{
    static const struct {
        const char *text;
        int64_t ms;
        int64_t every;
    } rows[] = {{"200", 200, 1}, {"1:1", 1, 1}, {"600000:1000000", 600000, 1000000}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(READ(no_env, "--lab-pause", rows[i].text, "--lab"), CONFIG_RUN);
        assert_int_equal(config.lab_pause.ms, rows[i].ms);
        assert_int_equal(config.lab_pause.every, rows[i].every);
    }
}

TEST(a_bad_variable_is_named_as_such)
{
    assert_int_equal(read_words((const char *const[]){NULL}, bad_env), CONFIG_BAD);
    assert_string_equal(why.text, "SECKILL_BATCH: \"many\" is not a number from 1 to 1024");
}

TEST(an_unknown_variable_is_refused)
{
    static const struct {
        const char *variable, *says;
    } rows[] = {
        {"SECKILL_GAURD=secret", "\"SECKILL_GAURD\" is no variable (did you mean SECKILL_GUARD?)"},
        {"SECKILL_NOTHING_LIKE_IT=",
         "\"SECKILL_NOTHING_LIKE_IT\" is no variable; --help lists them"},
        {"SECKILL_CHECK=1", "\"SECKILL_CHECK\" is no variable; --help lists them"},
        {"SECKILL_ADMIN=http://127.0.0.1:8081", NULL}, /* seckillctl's */
        {"SECKILL_ADMIN_TOKEN=f", NULL},
        {"SECKILL=x", NULL},
        {"PATH=/bin", NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[WORD_SIZE];
        char *const environment[] = {text, NULL};
        char *argv[] = {words_of_argv[0]};

        (void)snprintf(text, sizeof text, "%s", rows[i].variable);
        config_status status =
            config_read(&(struct config_source){1, argv, .env = no_env, .environment = environment},
                        &config, &why);
        assert_int_equal(status, rows[i].says ? CONFIG_BAD : CONFIG_RUN);
        if (rows[i].says) assert_string_equal(why.text, rows[i].says);
    }
}

static char file_path[] = "/tmp/seckill-config-XXXXXX";

static config_status read_with_file(const char *text, const char *word,
                                    const char *(*env)(const char *))
{
    char flag[WORD_SIZE];
    (void)snprintf(file_path, sizeof file_path, "/tmp/seckill-config-XXXXXX");
    int fd = mkstemp(file_path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    (void)snprintf(flag, sizeof flag, "--config=%s", file_path);
    config_status status = READ(env, flag, word);
    (void)unlink(file_path);
    return status;
}

TEST(a_file_has_a_flag_on_each_line)
{
    assert_int_equal(read_with_file("# ours\n\n  batch = 5\nlab\nlisten 127.0.0.1:1\r\n"
                                    "listen=127.0.0.1:2\nqueue-ms\t7 \ndata a b",
                                    "--queue-ms=8", some_env),
                     CONFIG_RUN);
    assert_int_equal(config.batch, 7); /* a variable wins over a line, a flag over both */
    assert_int_equal(config.queue_ms, 8);
    assert_true(config.lab);
    assert_int_equal(config.listen.count, 2);
    assert_string_equal(config.data, "a b");
    assert_string_equal(config.guard, "mutex");
    assert_int_equal(read_with_file("listen 127.0.0.1:1\n", "--listen=127.0.0.1:2", no_env),
                     CONFIG_RUN);
    assert_int_equal(config.listen.count, 1);
}

TEST(what_is_wrong_in_a_file_is_said_with_its_line)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"lab\nbacth 7\n", ":2: \"bacth\" is no flag (did you mean batch?)"},
        {"redsi redis://:secret@h", ":1: \"redsi\" is no flag (did you mean redis?)"},
        {"batch x", ":1: --batch: \"x\" is not a number from 1 to 1024"},
        {"redis redis://:secret\x7f@h", ":1: --redis: this is not usable as a URL"},
        {"batch", ":1: --batch: a value is missing"},
        {"--batch 7", ":1: \"--batch\" is no flag (did you mean batch?)"},
        {"check", ":1: \"check\" is no flag; --help lists them"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char says[160];

        assert_int_equal(read_with_file(rows[i].text, NULL, no_env), CONFIG_BAD);
        (void)snprintf(says, sizeof says, "%s%s", file_path, rows[i].says);
        assert_string_equal(why.text, says);
    }
}

TEST(a_flawed_guard_needs_lab)
{
    assert_int_equal(READ(no_env, "--guard", "none"), CONFIG_BAD);
    assert_non_null(strstr(why.text, "--guard: \"none\" is flawed"));
    assert_int_equal(READ(no_env, "--guard", "none", "--lab"), CONFIG_RUN);
}

TEST(a_check_is_told_apart_and_has_no_variable)
{
    assert_int_equal(READ(no_env, "--check", "--listen=0.0.0.0:80"), CONFIG_CHECK);
    assert_string_equal(listen_address_show(&config.listen.address[0], shown), "0.0.0.0:80");
    assert_int_equal(READ(check_env, "--batch=1"), CONFIG_RUN);
    assert_int_equal(READ(no_env, "--check", "--batch=x"), CONFIG_BAD);
}

TEST(secrets_of_redis_are_files)
{
    assert_int_equal(
        READ(no_env, "--redis=redis://me@a", "--redis-password=p", "--redis-loader", "l"),
        CONFIG_RUN);
    assert_string_equal(config.redis_password, "p");
    assert_string_equal(config.redis_loader, "l");
}

static const char *tls_env(const char *name)
{
    if (strcmp(name, "SECKILL_REDIS") == 0) return "rediss+sentinel://h/main";
    if (strcmp(name, "SECKILL_REDIS_CA") == 0) return "ca";
    return strcmp(name, "SECKILL_REDIS_INSECURE") == 0 ? "yes" : NULL;
}

TEST(tls_is_for_rediss)
{
    assert_int_equal(READ(tls_env, "--redis-cert=c", "--redis-key=k", "--redis-server-name=n",
                          "--sentinel-password=s"),
                     CONFIG_RUN);
    assert_string_equal(config.redis_tls.ca_file, "ca");
    assert_string_equal(config.redis_tls.cert_file, "c");
    assert_string_equal(config.redis_tls.key_file, "k");
    assert_string_equal(config.redis_tls.server_name, "n");
    assert_true(config.redis_tls.is_unverified);
    assert_string_equal(config.sentinel_password, "s");
    assert_int_equal(READ(no_env, "--redis=redis://h", "--redis-ca=c",
                          "--redlock=redis://a,redis://b,rediss://c"),
                     CONFIG_RUN);
}

TEST(help_and_version_win_over_everything)
{
    assert_int_equal(READ(no_env, "--batch", "x", "--help"), CONFIG_HELP);
    assert_int_equal(READ(no_env, "--nope", "--version"), CONFIG_VERSION);
}
