/*
 * The proxy's command line: links, their names, every flag, and one clear line for each bad word.
 */
#include "proxy/proxy_options.h"
#include "test/support/lt_command.h"
#include "test/support/testing.h"

/* Parse words separated by blanks. */
static bool parse(const char *words, struct proxy_options *options, struct failure *failure)
{
    static struct lt_command line;

    lt_command_make(&line, NULL, "proxy %s", words);
    return proxy_options_parse(line.argc, line.words, options, failure);
}

TEST(links_are_numbered_or_named)
{
    static const struct {
        const char *name, *listen_at, *server;
    } wanted[] = {
        {"link1", "127.0.0.1:0", "127.0.0.1:6379"},
        {"replica", "[::1]:7001", "unix:///tmp/r.sock"},
        {"link3", "unix:///tmp/p.sock", "127.0.0.1:6380"},
    };
    struct proxy_options options;

    assert_true(parse("--listen 127.0.0.1:0 --to 127.0.0.1:6379 "
                      "--link replica=[::1]:7001,unix:///tmp/r.sock "
                      "--listen=unix:///tmp/p.sock --to=127.0.0.1:6380",
                      &options, NULL));

    assert_int_equal(3, options.link_count);
    for (size_t i = 0; i < options.link_count; i++) {
        assert_string_equal(wanted[i].name, options.links[i].name);
        assert_string_equal(wanted[i].listen_at, options.links[i].listen_at.text);
        assert_string_equal(wanted[i].server, options.links[i].server.text);
    }
    assert_int_equal(1, options.seed);
    assert_null(options.control);
    assert_null(options.log);
    assert_null(options.schedule);
}

TEST(every_other_flag_is_taken)
{
    struct proxy_options options;

    assert_true(parse("--link a=127.0.0.1:0,127.0.0.1:1 --control c --log l --schedule=s --seed 77",
                      &options, NULL));

    assert_string_equal("c", options.control);
    assert_string_equal("l", options.log);
    assert_string_equal("s", options.schedule);
    assert_int_equal(77, options.seed);
}

TEST(help_and_version_need_no_link)
{
    struct proxy_options options;

    assert_true(parse("--help", &options, NULL));
    assert_true(options.is_help);
    assert_true(parse("--version", &options, NULL));
    assert_true(options.is_version);
}

TEST(every_bad_word_is_named)
{
    static const struct {
        const char *words, *failure;
    } bad[] = {
        {"", "no link: give --listen and --to (try --help)"},
        {"now", "do not know what to do with \"now\" (try --help)"},
        {"--fast", "no flag \"--fast\" (try --help)"},
        {"--help=yes", "--help: takes no value"},
        {"--seed", "--seed: the value is missing"},
        {"--seed x", "--seed: \"x\" is not a number from 0 to 9223372036854775807"},
        {"--seed -1", "--seed: \"-1\" is not a number from 0 to 9223372036854775807"},
        {"--control=", "--control: is empty"},
        {"--to 127.0.0.1:1", "--to: goes behind its --listen"},
        {"--listen 127.0.0.1:0", "--listen: its --to is missing"},
        {"--listen 127.0.0.1:0 --listen 127.0.0.1:0", "--listen: give its --to first"},
        {"--listen 127.0.0.1:0 --link a=127.0.0.1:0,127.0.0.1:1", "--listen: give its --to first"},
        {"--listen 127.0.0.1", "--listen: \"127.0.0.1\" is neither HOST:PORT nor unix:///path"},
        {"--listen :80", "--listen: \":80\" is neither HOST:PORT nor unix:///path"},
        {"--listen ::1:80", "--listen: \"::1:80\" is neither HOST:PORT nor unix:///path"},
        {"--listen 127.0.0.1:x", "--listen: \"127.0.0.1:x\" is neither HOST:PORT nor unix:///path"},
        {"--listen unix://", "--listen: \"\" is not a path of 1 to 107 bytes"},
        {"--link a", "--link: \"a\" is not NAME=LISTEN,TO"},
        {"--link a=127.0.0.1:0", "--link: \"a=127.0.0.1:0\" is not NAME=LISTEN,TO"},
        {"--link =127.0.0.1:0,127.0.0.1:1",
         "--link: \"=127.0.0.1:0,127.0.0.1:1\" does not begin with NAME= ([A-Za-z0-9_-], 1 to 31)"},
        {"--link a=127.0.0.1:0,127.0.0.1:1 --link a=127.0.0.1:0,127.0.0.1:1",
         "two links are named \"a\""},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct failure failure = {.text = ""};
        struct proxy_options options = {.seed = 99};

        assert_false(parse(bad[i].words, &options, &failure));

        assert_string_equal(bad[i].failure, failure.text);
        assert_int_equal(99, options.seed);
    }
}

TEST(there_is_a_limit_of_links)
{
    char words[2048] = "";
    struct failure failure = {.text = ""};
    struct proxy_options options;
    size_t length = 0;

    for (int i = 0; i <= PROXY_LINKS_MAX; i++)
        length += (size_t)snprintf(words + length, sizeof words - length,
                                   "--listen 127.0.0.1:0 --to=127.0.0.1:1 ");

    assert_false(parse(words, &options, &failure));
    assert_string_equal("more than 16 links", failure.text);
}
