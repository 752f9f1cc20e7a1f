/*
 * The command line: defaults, every flag, and one clear line for each bad word.
 */
#include "run/options.h"
#include "test/support/testing.h"

enum { WORDS_MAX = 12 };

static char program[] = "loadtest";

/* Parse words separated by blanks. */
static bool parse(const char *words, struct options *options, struct failure *failure)
{
    static char text[512];
    char *argv[WORDS_MAX + 1] = {program};
    char *rest = NULL;
    int argc = 1;

    assert_true(strlen(words) < sizeof text);
    memcpy(text, words, strlen(words) + 1);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = word;
    }
    return options_parse(argc, argv, options, failure);
}

TEST(without_words_the_demo_runs)
{
    struct options options;

    assert_true(parse("", &options, NULL));

    assert_string_equal("mutex", options.guard);
    assert_int_equal(0, options.batch);
    assert_int_equal(2, options.instances);
    assert_int_equal(1, options.connection_steps);
    assert_int_equal(2000, options.connections[0]);
    assert_int_equal(500, options.stock);
    assert_int_equal(20000, options.buyers);
    assert_true(options.retry_share > 0.199 && options.retry_share < 0.201);
    assert_int_equal(1, options.repeat);
    assert_string_equal("build/loadtest", options.out);
    assert_null(options.against);
    assert_false(options.is_quiet);
    assert_false(options.has_tokens);
}

#define RUNNING "--url http://h:1 --admin-url http://h:2 --admin-token f --redis redis://h "

TEST(tokens_are_for_verification_runs)
{
    struct options options;

    assert_true(parse("--tokens --buyers 1000000", &options, NULL));
    assert_true(options.has_tokens);
    assert_null(options.token_key);
    assert_true(parse(RUNNING "--tokens --token-key /run/secrets/key", &options, NULL));
    assert_true(options.has_tokens);
    assert_string_equal("/run/secrets/key", options.token_key);
}

TEST(a_user_in_the_url_gets_a_password)
{
    struct options options;

    assert_true(parse("--redis redis://auditor@h --redis-password f", &options, NULL));
    assert_string_equal("f", options.redis_password);
    assert_true(parse("--redis redis+sentinel://u:p@a,b/main", &options, NULL));
    assert_null(options.redis_password);
}

TEST(what_tls_needs_is_taken)
{
    struct options options;

    assert_true(parse("--redis rediss+sentinel://a/m --redis-ca=a --redis-cert=b --redis-key=c "
                      "--redis-server-name=d --redis-insecure --sentinel-password=e",
                      &options, NULL));
    assert_string_equal("a", options.tls.ca_file);
    assert_string_equal("b", options.tls.cert_file);
    assert_string_equal("c", options.tls.key_file);
    assert_string_equal("d", options.tls.server_name);
    assert_true(options.tls.is_unverified);
    assert_string_equal("e", options.sentinel_password);
    assert_true(parse("--redis redis://h --redlock rediss://a --redis-ca a", &options, NULL));
}

TEST(a_paced_run_ends_within_the_hour)
{
    struct options options;

    assert_true(parse("", &options, NULL));
    assert_int_equal(0, options.pace);
    assert_true(parse("--pace 1000 --buyers 20000 --stock 15000", &options, NULL));
    assert_int_equal(1000, options.pace);
    /* 3000 ask, 300 of them twice, 290 win and ask again */
    assert_true(parse("--buyers 3000 --retry-share 0.1 --stock 290 --pace 1", &options, NULL));
}

TEST(a_sweep_has_its_own_defaults)
{
    struct options options;

    assert_true(parse("--sweep mutex,script", &options, NULL));
    assert_string_equal("mutex,script", options.sweep);
    assert_int_equal(3, options.connection_steps);
    assert_int_equal(1024, options.connections[2]);
    assert_int_equal(5, options.repeat);
    assert_int_equal(1, options.duration_s);
    assert_string_equal("build/sweep", options.out);
    assert_true(parse("--connections 8,64 --sweep all --seed 5 --repeat 2", &options, NULL));
    assert_int_equal(2, options.connection_steps);
    assert_int_equal(2, options.repeat);
}

TEST(the_bench_chooses_guards_and_connections_itself)
{
    struct options options;

    assert_true(parse("--bench", &options, NULL));
    assert_int_equal(5, options.repeat);
    assert_int_equal(3, options.duration_s);
    assert_int_equal(1000000, options.orders);
    assert_int_equal(0, options.seed);
    assert_string_equal("build/bench", options.out);
    assert_true(parse("--bench --seed 5 --only cost --only=redis", &options, NULL));
    assert_int_equal(5, options.seed);
    assert_int_equal(2, options.only_count);
}

TEST(several_guards_are_compared)
{
    struct options options;

    assert_true(parse("--guard mutex", &options, NULL));
    assert_false(options.is_compare);
    assert_true(parse("--guard all --seed 5", &options, NULL));
    assert_true(options.is_compare);
    assert_int_equal(3, options.repeat);
    assert_int_equal(2, options.instances);
    assert_int_equal(5, options.seed);
    assert_true(parse("--guard redlock,none --repeat 7", &options, NULL));
    assert_true(options.is_compare);
    assert_int_equal(7, options.repeat);
}

TEST(speed_run_has_its_own_defaults)
{
    struct options options;

    assert_true(parse("--against livez", &options, NULL));

    assert_string_equal("/livez", options.against);
    assert_int_equal(1, options.instances);
    assert_int_equal(2, options.connection_steps);
    assert_int_equal(64, options.connections[0]);
    assert_int_equal(1024, options.connections[1]);
    assert_int_equal(3, options.repeat);
    assert_int_equal(5, options.duration_s);
    assert_true(options.stock > 1000000);
}

TEST(flags_take_values_with_and_without_equals)
{
    struct options options;

    assert_true(parse("--guard=none --batch 8 --connections=10 --quiet --retry-share 0.5 --out x",
                      &options, NULL));

    assert_string_equal("none", options.guard);
    assert_int_equal(8, options.batch);
    assert_int_equal(10, options.connections[0]);
    assert_true(options.retry_share > 0.499 && options.retry_share < 0.501);
    assert_string_equal("x", options.out);
    assert_true(options.is_quiet);
}

TEST(connections_may_be_a_list_or_repeated)
{
    struct options options;

    assert_true(parse("--against /api/v1/time --connections 1,2 --connections 3", &options, NULL));

    assert_string_equal("/api/v1/time", options.against);
    assert_int_equal(3, options.connection_steps);
    assert_int_equal(1, options.connections[0]);
    assert_int_equal(2, options.connections[1]);
    assert_int_equal(3, options.connections[2]);
}

TEST(running_instances_are_as_many_as_urls)
{
    struct options options;

    assert_true(parse("--url http://a:1 --url http://b:2 --url http://c:3 --admin-url http://a:9 "
                      "--admin-token=t --redis unix:///r",
                      &options, NULL));

    assert_int_equal(3, options.instances);
    assert_int_equal(3, options.url_count);
    assert_string_equal("http://b:2", options.urls[1]);
    assert_string_equal("unix:///r", options.redis);
}

TEST(our_own_instances_may_use_a_redis_that_is_there)
{
    struct options options;

    assert_true(parse("--redis redis+sentinel://a,b,c/main --sync-replicas 1 --sync-ms 50 "
                      "--guard redlock --redlock redis://a,redis://b --allow-lost",
                      &options, NULL));

    assert_int_equal(0, options.url_count);
    assert_int_equal(2, options.instances);
    assert_string_equal("redis+sentinel://a,b,c/main", options.redis);
    assert_int_equal(1, options.sync_replicas);
    assert_int_equal(50, options.sync_ms);
    assert_string_equal("redis://a,redis://b", options.redlock);
    assert_true(options.allow_lost);
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
    {"--redis sentinel://h", "redis+sentinel://h1,h2,h3/NAME"},
    {"--redis redis+sentinel://h", "/NAME[/db]"},
    {"--sync-replicas 1", "--sync-replicas: our own Redis has no replicas"},
    {"--redis redis://h --sync-ms 5", "--sync-ms: goes with --sync-replicas"},
    {"--sync-replicas 0", "--sync-replicas: \"0\" is not a number from 1 to 16"},
    {"--guard redlock", "--guard redlock: give its servers"},
    {"--redis redis://auditor@h", "user \"auditor\" has no password: give --redis-password"},
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
    {"--allow-lost --against livez", "--allow-lost: does not go with --against"},
    {"--redlock redis://a --url http://x:1 --admin-url http://x:2 --admin-token t --redis "
     "unix:///r",
     "--redlock: is set where the instances"},
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
    {"--seed 5", "--seed: goes with --bench, --sweep or several gu"},
    {"--orders 5000", "--orders and --only go with --bench only"},
    {"--only redis-memory", "--orders and --only go with --bench only"},
    {"--guard all --against livez", "--guard: only one guard goes with --against"},
    {"--guard all --tokens", "--guard: only one guard goes with --tokens"},
    {"--guard mutex,none --repeat 101", "--repeat: at most 100 rounds with several guards"},
    {"--guard a,b --url http://h:1 --admin-url http://h:2 --admin-token f --redis redis://h",
     "--guard: only one guard goes with --url"},
    {"--guard mutex --seed 5", "--seed: goes with --bench, --sweep or several gu"},
    {"--redis redis+cluster://auditor@a,b", "--redis: user \"auditor\" has no password: give --"},
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
