/*
 * The command line: defaults, every flag, and one clear line for each bad word.
 */
#include "run/options.h"
#include "test/support/lt_command.h"
#include "test/support/testing.h"

/* Parse words separated by blanks. */
static bool parse(const char *words, struct options *options, struct failure *failure)
{
    static struct lt_command line;

    lt_command_make(&line, NULL, "loadtest %s", words);
    return options_parse(line.argc, line.words, options, failure);
}

#define RUNNING "--url http://h:1 --admin-url http://h:2 --admin-token f --redis redis://h "

/* What a field must hold: a number of that size, or without a size a text (NULL: none). */
struct wanted {
    const char *field;
    size_t offset, size;
    long number;
    const char *text;
};

#define FIELD(name) #name, offsetof(struct options, name)
#define NUMBER(name, number)                                                                       \
    {                                                                                              \
        FIELD(name), sizeof(((struct options *)NULL)->name), number, NULL                          \
    }
#define TEXT(name, text)                                                                           \
    {                                                                                              \
        FIELD(name), 0, 0, text                                                                    \
    }

static const struct {
    const char *words;
    struct wanted wanted[11]; /* the last has no field */
} good[] = {
    /* The demo. */
    {"",
     {TEXT(guard, "mutex"), NUMBER(batch, 0), NUMBER(instances, 2), NUMBER(connection_steps, 1),
      NUMBER(connections[0], 2000), NUMBER(stock, 500), NUMBER(buyers, 20000), NUMBER(repeat, 1),
      TEXT(out, "build/loadtest"), TEXT(against, NULL)}},
    {"", {NUMBER(is_quiet, 0), NUMBER(has_tokens, 0), NUMBER(pace, 0)}},
    {"--guard=none --batch 8 --connections=10 --quiet --out x",
     {TEXT(guard, "none"), NUMBER(batch, 8), NUMBER(connections[0], 10), TEXT(out, "x"),
      NUMBER(is_quiet, 1)}},
    {"--tokens --buyers 1000000", {NUMBER(has_tokens, 1), TEXT(token_key, NULL)}},
    {RUNNING "--tokens --token-key /run/secrets/key",
     {NUMBER(has_tokens, 1), TEXT(token_key, "/run/secrets/key")}},
    {"--pace 1000 --buyers 20000 --stock 15000", {NUMBER(pace, 1000)}},
    /* 3000 ask, 300 of them twice, 290 win and ask again: within the hour. */
    {"--buyers 3000 --retry-share 0.1 --stock 290 --pace 1", {NUMBER(pace, 1)}},

    {"--segments 3", {NUMBER(segments, 3)}},

    /* Which Redis, and how it lets us in. */
    {"--redis redis://auditor@h --redis-password f", {TEXT(redis_password, "f")}},
    {"--redis redis+sentinel://u:p@a,b/main", {TEXT(redis_password, NULL)}},
    {"--redis rediss+sentinel://a/m --redis-ca=a --redis-cert=b --redis-key=c "
     "--redis-server-name=d --redis-insecure --sentinel-password=e",
     {TEXT(tls.ca_file, "a"), TEXT(tls.cert_file, "b"), TEXT(tls.key_file, "c"),
      TEXT(tls.server_name, "d"), NUMBER(tls.is_unverified, 1), TEXT(sentinel_password, "e")}},
    {"--redis redis://h --redlock rediss://a --redis-ca a", {TEXT(tls.ca_file, "a")}},
    {"--redis redis+sentinel://a,b,c/main --sync-replicas 1 --sync-ms 50 --guard redlock "
     "--redlock redis://a,redis://b --allow-lost",
     {NUMBER(url_count, 0), NUMBER(instances, 2), TEXT(redis, "redis+sentinel://a,b,c/main"),
      NUMBER(sync_replicas, 1), NUMBER(sync_ms, 50), TEXT(redlock, "redis://a,redis://b"),
      NUMBER(allow_lost, 1)}},
    {"--url http://a:1 --url http://b:2 --url http://c:3 --admin-url http://a:9 --admin-token=t "
     "--redis unix:///r",
     {NUMBER(instances, 3), NUMBER(url_count, 3), TEXT(urls[1], "http://b:2"),
      TEXT(redis, "unix:///r")}},
    {"--pay 0.6 --cancel 0.4 --payer-faults all --fault kill:900",
     {NUMBER(window_ms, 2000), NUMBER(has_payer_faults, 1), NUMBER(faults.when_ms, 900),
      NUMBER(allow_errors, 1), NUMBER(batch, 0), NUMBER(stock, 500)}},
    /* What a fault waits for, unless something else was said. */
    {"--guard setnx --fault kill",
     {NUMBER(batch, 8), NUMBER(stock, 400), NUMBER(buyers, 800), NUMBER(pace, 400),
      NUMBER(connections[0], 48)}},
    {"--guard none --fault slow --batch 3 --stock 90",
     {NUMBER(batch, 3), NUMBER(stock, 90), NUMBER(buyers, 20000), NUMBER(pace, 0)}},
    {"--guard none --fault stop --buyers 20000", {NUMBER(pace, 4000), NUMBER(stock, 500)}},
    {"--guard none --fault stop --pace 9",
     {NUMBER(pace, 9), NUMBER(stock, 400), NUMBER(connections[0], 48)}},
    {"--guard all --fault stop,slow",
     {NUMBER(faults.kinds[FAULT_STOP], 1), NUMBER(faults.kinds[FAULT_KILL], 0), TEXT(fault, NULL)}},
    {"--pay 1 --window 5000 --payer-faults none",
     {NUMBER(window_ms, 5000), NUMBER(has_payer_faults, 0)}},

    /* A sweep, a bench, a comparison and a speed run have defaults of their own. */
    {"--sweep mutex,script",
     {TEXT(sweep, "mutex,script"), NUMBER(connection_steps, 3), NUMBER(connections[2], 1024),
      NUMBER(repeat, 5), NUMBER(duration_s, 1), TEXT(out, "build/sweep")}},
    {"--connections 8,64 --sweep all --seed 5 --repeat 2",
     {NUMBER(connection_steps, 2), NUMBER(repeat, 2)}},
    {"--bench",
     {NUMBER(repeat, 5), NUMBER(duration_s, 3), NUMBER(orders, 1000000), NUMBER(seed, 0),
      TEXT(out, "build/bench")}},
    {"--bench --seed 5 --only cost --only=redis", {NUMBER(seed, 5), NUMBER(only_count, 2)}},
    {"--guard mutex", {NUMBER(is_compare, 0)}},
    {"--guard all --seed 5",
     {NUMBER(is_compare, 1), NUMBER(repeat, 3), NUMBER(instances, 2), NUMBER(seed, 5)}},
    {"--guard postgres,none --postgres postgres://h/d",
     {TEXT(servers[OWN_POSTGRES], "postgres://h/d")}},
    {"--guard redlock,none --repeat 7", {NUMBER(is_compare, 1), NUMBER(repeat, 7)}},
    {"--against livez",
     {TEXT(against, "/livez"), NUMBER(instances, 1), NUMBER(connection_steps, 2),
      NUMBER(connections[0], 64), NUMBER(connections[1], 1024), NUMBER(repeat, 3),
      NUMBER(duration_s, 5), NUMBER(stock, 100000000)}},
    {"--against /api/v1/time --connections 1,2 --connections 3",
     {TEXT(against, "/api/v1/time"), NUMBER(connection_steps, 3), NUMBER(connections[0], 1),
      NUMBER(connections[1], 2), NUMBER(connections[2], 3)}},
};

static bool holds(const struct options *options, const struct wanted *wanted)
{
    const char *field = (const char *)options + wanted->offset;
    const char *text = NULL;
    long number = 0;

    memcpy(wanted->size ? (void *)&number : (void *)&text, field,
           wanted->size ? wanted->size : sizeof text);
    if (wanted->size) return number == wanted->number;
    return text && wanted->text ? strcmp(text, wanted->text) == 0 : text == wanted->text;
}

TEST(each_line_is_understood)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct failure failure = {.text = ""};
        struct options options;

        if (!parse(good[i].words, &options, &failure))
            fail_msg("%s: %s", good[i].words, failure.text);
        for (const struct wanted *wanted = good[i].wanted; wanted->field; wanted++)
            if (!holds(&options, wanted)) fail_msg("%s: %s", good[i].words, wanted->field);
    }
}

TEST(a_share_lies_between_nothing_and_all)
{
    struct options options;

    assert_true(parse("", &options, NULL));
    assert_true(options.retry_share > 0.199 && options.retry_share < 0.201);
    assert_true(parse("--retry-share 0.5", &options, NULL));
    assert_true(options.retry_share > 0.499 && options.retry_share < 0.501);
}

static const struct {
    const char *words;
    const char *complaint;
} bad[] = {
    {"demo", "do not know what to do with \"demo\""},
    {"--", "do not know what to do with \"--\""},
    {"-q", "do not know what to do with \"-q\""},
    {"--frobnicate", "no flag \"--frobnicate\""},
    {"--stoc 5", "no flag \"--stoc\""},
    {"--batch", "--batch: the value is missing"},
    {"--batch x", "--batch: \"x\" is not a number from 1 to 1024"},
    {"--batch 0", "--batch: \"0\" is not a number from 1 to 1024"},
    {"--batch 1025", "--batch: \"1025\" is not a number from 1 to 1024"},
    {"--batch 5x", "--batch: \"5x\""},
    {"--batch=", "--batch: \"\""},
    {"--stock 99999999999999999999", "--stock: \"99999999999999999999\""},
    {"--stock -1", "--stock: \"-1\""},
    {"--buyers 0", "--buyers: \"0\""},
    {"--retry-share 1.5", "--retry-share: \"1.5\" is not a share from 0 to 1"},
    {"--retry-share nan", "--retry-share: \"nan\""},
    {"--retry-share -0.1", "--retry-share: \"-0.1\""},
    {"--repeat 0", "--repeat: \"0\""},
    {"--repeat 101 --against livez", "--repeat: at most 100 rounds"},
    {"--quiet=yes", "--quiet: takes no value"},
    {"--guard=", "--guard: is empty"},
    {"--connections 64,1024", "--connections: a list goes with --against or --sweep"},
    {"--connections 64,,1 --against livez", "--connections: \"\""},
    {"--connections 1,2,3,4,5,6,7,8,9 --against livez", "--connections: more than 8 numbers"},
    {"--connections 1", "--connections: 1 are too few for 2 instances"},
    {"--connections 123456789012345678901", "--connections: \"123456789012345678901\""},
    {"--against page", "--against: \"page\" is neither livez nor a /path"},
    {"--url ftp://x", "--url: \"ftp://x\" is not http://HOST:PORT"},
    {"--url http://x:1", "--url: give --admin-url, --admin-token and --redis too"},
    {"--admin-url http://x:2", "go with --url only"},
    {"--keep", "--keep go with --url only"},
    {"--sync-replicas 1", "--sync-replicas: our own Redis has no replicas"},
    {"--redis redis://h --sync-ms 5", "--sync-ms: goes with --sync-replicas"},
    {"--sync-replicas 0", "--sync-replicas: \"0\" is not a number from 1 to 16"},
    {"--guard redlock", "--guard redlock: give its servers"},
    {"--redis-password f", "--redis-password: goes with --redis"},
    {"--redis-ca f", "--redis-ca: goes with --redis rediss://"},
    {"--redis redis://h --redis-insecure", "--redis-insecure: goes with --redis rediss://"},
    {"--redis rediss://h --sentinel-password f",
     "--sentinel-password: goes with --redis redis+sen"},
    {"--tokens --url http://x:1 --admin-url http://x:2 --admin-token t --redis unix:///r",
     "--tokens: with --url give --token-key"},
    {"--token-key k", "--token-key: goes with --url only"},
    {"--pace 0", "--pace: \"0\" is not a number from 1 to 1000000"},
    {"--pace 5 --against livez", "--pace: does not go with --against"},
    {"--pace 1 --buyers 5000", "at 1 per second take over an hour"},
    {"--allow-lost --against livez", "--allow-lost, --allow-errors: do not go with --against"},
    {"--allow-errors --against livez", "--allow-errors: do not go with --against"},
    {"--buyers 50 --connections 51", "--buyers: 50 are too few for 51 connections"},
    {"--redlock redis://a --url http://x:1 --admin-url http://x:2 --admin-token t --redis "
     "unix:///r",
     "--redlock: is set where the instances"},
    {"--postgres postgres://h/d --url http://x:1 --admin-url http://x:2 --admin-token t --redis "
     "unix:///r",
     "--postgres: is set where the instances"},
    {"--batch 2 --url http://x:1 --admin-url http://x:2 --admin-token t --redis unix:///r",
     "--batch: is set where the instances"},
    {"--tokens --against livez", "--tokens: does not go with --against"},
    {RUNNING "--tokens", "--tokens: with --url give --token-key, the key t"},
    {RUNNING "--token-key k", "--token-key: goes with --tokens only"},
    {"--tokens --token-key k", "--token-key: goes with --url only; ours get a ke"},
    {"--tokens --buyers 1000001", "--buyers: at most 1000000 with --tokens"},
    {"--tokens=yes", "--tokens: takes no value"},
    {"--sweep=", "--sweep: is empty"},
    {"--sweep all --guard script", "--guard: does not go with --sweep"},
    {"--sweep all --batch 4", "--batch: does not go with --sweep"},
    {"--sweep all --bench", "--bench: does not go with --sweep"},
    {"--sweep all --stock 5", "--stock: does not go with --sweep"},
    {"--sweep all --orders 5000", "--orders: does not go with --sweep"},
    {"--sweep all --repeat 101", "--repeat: at most 100 rounds with --sweep"},
    {"--bench --guard script", "--guard: does not go with --bench"},
    {"--bench --against livez", "--against: does not go with --bench"},
    {"--bench --connections 64", "--connections: does not go with --bench"},
    {"--bench --repeat 101", "--repeat: at most 100 rounds with --bench"},
    {"--bench --only speed", "--only: no figure's name starts with \"speed\""},
    {"--bench --orders 999", "--orders: \"999\" is not a number from 1000 to 100"},
    {"--window 5000", "go with --pay only"},
    {"--kill 5", "no flag \"--kill\""},
    {"--fault crash", "--fault: \"crash\" is none of pause, kill, stop, cut, slow"},
    {"--fault kill:soon", "--fault: \"soon\" is no number of ms"},
    {"--fault pause:5", "--fault: pause comes by itself"},
    {"--fault pause", "--fault pause: cannot touch guard mutex"},
    {"--guard fair --fault pause,kill", "--fault: one guard falls by one fault at a time"},
    {"--guard none --fault slow --redis redis://h", "--fault slow: does not go with --redis"},
    {"--guard none --fault slow --against livez", "--fault: does not go with --against"},
    {RUNNING "--fault kill", "--fault: does not go with --url"},
    {"--sweep all --fault kill", "--fault: does not go with --sweep"},
    {"--pay 0.6 --cancel 0.5", "--pay and --cancel: more than 1 together"},
    {"--pay 0.6 --payer-faults some", "--payer-faults: \"some\" is neither all nor none"},
    {"--pay 0.6 --window 999", "--window: \"999\" is not a number from 1000"},
    {"--pay 0.6 --tokens", "--pay: does not go with --tokens"},
    {"--pay 0.6 --guard all", "--pay: does not go with several guards"},
    {"--pay 0.6 --bench", "--pay: does not go with --bench"},
    {"--segments 3 --pay 1", "--segments: does not go with --pay"},
    {"--segments 33", "--segments: \"33\" is not a number from 1 to 32"},
    {"--seed 5", "--seed: goes with --bench, --sweep or several gu"},
    {"--orders 5000", "--orders and --only go with --bench only"},
    {"--only redis-memory", "--orders and --only go with --bench only"},
    {"--guard all --against livez", "--guard: only one guard goes with --against"},
    {"--guard all --tokens", "--guard: only one guard goes with --tokens"},
    {"--guard mutex,none --repeat 101", "--repeat: at most 100 rounds with several guards"},
    {"--guard a,b --url http://h:1 --admin-url http://h:2 --admin-token f --redis redis://h",
     "--guard: only one guard goes with --url"},
    {"--guard mutex --seed 5", "--seed: goes with --bench, --sweep or several gu"},
    {"--buyers 3000 --retry-share 0.1 --stock 310 --pace 1",
     "--pace: 3610 purchases at 1 per second take over"},
};

TEST(bad_word_gets_one_clear_line)
{
    struct failure failure;
    struct options options;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        failure.text[0] = '\0';
        bool is_parsed = parse(bad[i].words, &options, &failure);
        if (is_parsed || !strstr(failure.text, bad[i].complaint))
            print_message("%s: %s\n", bad[i].words, is_parsed ? "accepted" : failure.text);
        assert_false(is_parsed);
        assert_non_null(strstr(failure.text, bad[i].complaint));
        assert_null(strchr(failure.text, '\n'));
    }
}
