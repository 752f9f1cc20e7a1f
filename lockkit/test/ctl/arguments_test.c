/*
 * The command line of lockctl, and what is shown of names and URLs.
 */
#include <unistd.h>

#include "ctl/arguments.h"
#include "ctl/kinds.h"
#include "test/support/testing.h"

enum { WORDS_MAX = 24, SAID_MAX = 2048 };

static struct arguments arguments;
static const struct ctl_request *request = &arguments.request;
static char said[SAID_MAX];

/* The words behind the program's name, up to NULL; what is complained of is in `said`. */
static int parse(const char *const *words, const char *servers)
{
    static char text[WORDS_MAX][700];
    static char urls[256];
    static char *argv[WORDS_MAX + 1]; /* the request keeps them */
    int argc = 1;
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);

    memset((void *)argv, 0, sizeof argv);
    argv[0] = text[0];
    for (; words[argc - 1]; argc++) {
        (void)snprintf(text[argc], sizeof text[0], "%s", words[argc - 1]);
        argv[argc] = text[argc];
    }
    if (servers) (void)snprintf(urls, sizeof urls, "%s", servers);
    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    int status = arguments_parse(argc, argv, servers ? urls : NULL, &arguments);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    (void)fclose(file);
    return status;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL}, NULL)
#define RUN(...)   PARSE("run", __VA_ARGS__, "--", "true")

static void assert_kind(const char *kind, const char *name)
{
    assert_string_equal("", said);
    assert_string_equal(kind, request->kind->name);
    assert_string_equal(name, request->name);
}

TEST(defaults_are_those_of_the_help)
{
    assert_int_equal(CTL_OK, RUN("--lock", "job"));
    assert_kind("mutex", "job");
    assert_int_equal(CTL_FOREVER, request->wait_ms);
    assert_int_equal(0, request->lease_ms); /* lockkit's own */
    assert_int_equal(5000, request->grace_ms);
    assert_int_equal(CTL_ON_LOST_TERM, request->on_lost);
    assert_false(request->is_not_renewed || request->is_verbose);
    assert_int_equal(1, request->url_count);
    assert_null(request->urls[0]); /* lockkit's own */
    assert_string_equal("true", request->command[0]);
    assert_null(request->command[1]);
}

TEST(every_flag_is_taken)
{
    assert_int_equal(CTL_OK, RUN("--lock=permits:p", "--wait", "0", "--lease=45s", "--no-renew",
                                 "--on-lost", "ignore", "--grace", "2m", "--permits", "3",
                                 "--redis", "redis://h", "--verbose"));
    assert_kind("permits", "p");
    assert_int_equal(0, request->wait_ms);
    assert_int_equal(45000, request->lease_ms);
    assert_int_equal(120000, request->grace_ms);
    assert_int_equal(3, request->permits);
    assert_int_equal(CTL_ON_LOST_IGNORE, request->on_lost);
    assert_true(request->is_not_renewed && request->is_verbose);
    assert_string_equal("redis://h", request->urls[0]);
    assert_null(request->password_file);
    assert_int_equal(CTL_OK, RUN("--lock", "x", "--redis-password", "/p", "--redis-loader=/l"));
    assert_string_equal("/p", request->password_file);
    assert_string_equal("/l", request->loader_file);
    assert_int_equal(CTL_OK,
                     RUN("--lock", "x", "--redis-ca", "/ca", "--redis-cert=/c", "--redis-key=/k",
                         "--redis-server-name", "h", "--redis-insecure", "--sentinel-password=/s"));
    assert_string_equal("/ca", request->tls.ca_file);
    assert_string_equal("/c", request->tls.cert_file);
    assert_string_equal("/k", request->tls.key_file);
    assert_string_equal("h", request->tls.server_name);
    assert_true(request->tls.is_unverified);
    assert_string_equal("/s", request->sentinel_file);

    assert_int_equal(CTL_OK, PARSE("list", "--match", "a*", "--all", "--json"));
    assert_string_equal("a*", request->match);
    assert_true(request->has_numbers && request->is_json);
    assert_int_equal(CTL_OK, PARSE("inspect", "name", "--redis-password=/p"));
    assert_string_equal("/p", request->password_file);
    assert_int_equal(CTL_OK, PARSE("break", "name", "--yes"));
    assert_string_equal("name", request->name);
    assert_true(request->is_confirmed);
}

TEST(a_kind_stands_before_the_first_colon)
{
    assert_int_equal(CTL_OK, RUN("--lock", "fair:a:b"));
    assert_kind("fair", "a:b");
    assert_int_equal(CTL_OK, RUN("--lock", "mutex:mutex:"));
    assert_kind("mutex", "mutex:");
    for (size_t i = 0; kinds_at(i); i++) {
        char lock[64];

        if (kinds_at(i)->is_redlock) continue;
        (void)snprintf(lock, sizeof lock, "%s:x", kinds_at(i)->name);
        assert_int_equal(CTL_OK, RUN("--lock", lock));
        assert_kind(kinds_at(i)->name, "x");
    }
}

TEST(a_name_may_have_colons)
{
    assert_int_equal(CTL_OK, RUN("--lock", "job:nightly"));
    assert_kind("mutex", "job:nightly");
    assert_int_equal(CTL_OK, RUN("--lock", "shop:cart:17:"));
    assert_kind("mutex", "shop:cart:17:");
    assert_int_equal(CTL_OK, RUN("--lock", ":x"));
    assert_kind("mutex", ":x");
}

TEST(several_servers_make_a_redlock)
{
    static const char *const words[] = {"run", "--lock", "x", "true", NULL};

    assert_int_equal(CTL_OK, parse(words, " redis://a  redis://b\tredis://c "));
    assert_kind("redlock", "x");
    assert_int_equal(3, request->url_count);
    assert_string_equal("redis://b", request->urls[1]);
    assert_int_equal(CTL_OK, RUN("--lock", "redlock:x", "--redis", "a", "--redis", "b"));
    assert_kind("redlock", "x");
    assert_int_equal(CTL_USAGE, RUN("--lock", "redlock:x"));
    assert_int_equal(CTL_USAGE, RUN("--lock", "fair:x", "--redis", "a", "--redis", "b"));
    assert_int_equal(CTL_OK, parse(words, "")); /* set, but empty */
    assert_kind("mutex", "x");
}

TEST(flags_on_the_line_win_over_the_environment)
{
    static const char *const words[] = {"run",          "--lock", "x", "--redis",
                                        "redis://mine", "true",   NULL};

    assert_int_equal(CTL_OK, parse(words, "redis://a redis://b"));
    assert_kind("mutex", "x");
    assert_int_equal(1, request->url_count);
    assert_string_equal("redis://mine", request->urls[0]);
}

TEST(a_leader_has_a_name_and_a_command)
{
    assert_int_equal(CTL_OK, PARSE("lead", "job", "--lease", "5s", "--", "true", "--json"));
    assert_kind("fenced", "job");
    assert_int_equal(5000, request->lease_ms);
    assert_string_equal("--json", request->command[1]);
    assert_int_equal(CTL_OK, PARSE("lead", "--redis", "a", "--redis", "b", "job", "--", "true"));
    assert_kind("redlock", "job");
    assert_int_equal(CTL_OK, PARSE("lead", "--on", "postgres://h/d", "job", "--", "true"));
    assert_int_equal(CTL_OK, PARSE("lead", "fair:job", "--", "true"));
    assert_kind("fair", "job");
    assert_int_equal(CTL_USAGE, PARSE("lead", "job", "true"));
    assert_int_equal(CTL_USAGE, PARSE("lead", "job"));
    assert_int_equal(CTL_USAGE, PARSE("lead", "--", "true"));
}

TEST(the_commands_words_are_left_alone)
{
    assert_int_equal(CTL_OK, PARSE("run", "--lock", "x", "--", "--help", "--", "--lock"));
    assert_string_equal("--help", request->command[0]);
    assert_string_equal("--", request->command[1]);
    assert_string_equal("--lock", request->command[2]);
    assert_false(arguments.is_help);
    assert_int_equal(CTL_OK, PARSE("run", "--lock", "x", "env", "--help"));
    assert_string_equal("env", request->command[0]);
    assert_int_equal(CTL_OK, PARSE("inspect", "--", "--json"));
    assert_string_equal("--json", request->name);
}

TEST(help_and_version_are_asked_for)
{
    assert_int_equal(CTL_OK, PARSE("--help"));
    assert_true(arguments.is_help);
    assert_null(arguments.command);
    assert_int_equal(CTL_OK, PARSE("run", "--help"));
    assert_true(arguments.is_help);
    assert_non_null(arguments.command);
    assert_int_equal(CTL_OK, PARSE("--version"));
    assert_true(arguments.is_version);
    assert_int_equal(CTL_OK, parse((const char *const[]){NULL}, NULL));
    assert_null(arguments.command);
}

TEST(what_is_wrong_is_named_with_the_way_out)
{
    static const struct {
        const char *words[8];
        const char *said;
    } cases[] = {
        {{"rnu"}, "rnu: no such command; did you mean run?"},
        {{"unlock"}, "unlock: no such command; lockctl --help lists them"},
        {{"run", "--lok", "x"}, "no flag \"--lok\" (did you mean --lock?)"},
        {{"run", "--frobnicate"}, "no flag \"--frobnicate\" (try --help)"},
        {{"run", "--redsi=redis://:secret@h"}, "no flag \"--redsi\" (did you mean --redis?)"},
        {{"run", "--lock", "x"}, "the command to run is missing"},
        {{"run", "--lock", "x", "--"}, "the command to run is missing"},
        {{"run", "true"}, "--lock KIND:NAME is missing"},
        {{"run", "--lock"}, "--lock: the value is missing"},
        {{"run", "--lock", "fiar:x", "true"}, "did you mean fair:x?"},
        {{"run", "--lock", "fiar:x", "true"}, "is mutex:fiar:x"},
        {{"run", "--lock", "fair:", "true"}, "\"fair:\" has no name"},
        {{"run", "--lock", "", "true"}, "\"\" has no name"},
        {{"run", "--lock", "a", "--lock", "b", "true"}, "one lock only"},
        {{"run", "--lock", "a", "--wait", "5x", "true"}, "--wait: \"5x\" is no time like"},
        {{"run", "--lock", "a", "--wait", "-1", "true"}, "--wait: \"-1\" is no time like"},
        {{"run", "--lock", "a", "--lease", "600h", "true"}, "at most 24 days"},
        {{"run", "--lock", "a", "--lease", "99999999999999999999", "true"}, "no time like"},
        {{"run", "--lock", "a", "--on-lost", "stop", "true"}, "not term, kill or ignore"},
        {{"run", "--lock", "a", "--no-renew=1", "true"}, "--no-renew: takes no value"},
        {{"run", "--lock", "a", "--permits", "3", "true"}, "--permits goes with"},
        {{"run", "--lock", "permits:a", "--permits", "0", "true"}, "not a number from 1"},
        {{"run", "--lock", "permits:a", "--permits", "3s", "true"}, "not a number from 1"},
        {{"inspect"}, "the lock's name is missing; usage: lockctl inspect NAME"},
        {{"inspect", "a", "b"}, "\"b\" is one word too many"},
        {{"inspect", "a\nb", "a\nb"}, "\"a\\x0ab\" is one word too many"},
        {{"inspect", ""}, "at least one byte"},
        {{"list", "a"}, "\"a\" is one word too many"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(CTL_USAGE, parse(cases[i].words, NULL));
        if (!strstr(said, cases[i].said)) fail_msg("%zu: %s", i, said);
        assert_memory_equal("lockctl: ", said, 9);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
        assert_null(strstr(said, "secret"));
    }
}

TEST(a_label_has_no_secret)
{
    static const struct {
        const char *url, *label;
    } cases[] = {
        {"redis://h:1/2", "redis://h:1/2"},
        {"redis://:secret@h:1", "redis://h:1"},
        {"redis://u:sec/ret@h", "redis://h"},
        {"redis://u:secr@et@h", "redis://h"},
        {"redis+sentinel://u:secret@a,b/name", "redis+sentinel://a,b/name"},
        {"unix:///run/me@home", "unix:///run/me@home"},
        {"secret@h", "h"},
        {"redis://h\n", "redis://h\\x0a"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char label[64];

        ctl_url_label(cases[i].url, label, sizeof label);
        assert_string_equal(cases[i].label, label);
    }
}

TEST(what_is_not_printable_is_escaped_and_fits)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"plain \xc3\xa9 \xe6\x9c\xab \xf0\x9f\x94\x92",
         "plain \xc3\xa9 \xe6\x9c\xab \xf0\x9f\x94\x92"},
        {"\t\x7f\\", "\\x09\\x7f\\x5c"},
        {"\xff\xc3(", "\\xff\\xc3("},
        {"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"}, /* overlong, surrogate */
        {"\xc2\x9b"
         "31m\xe2\x80\xa8",
         "\\xc2\\x9b"
         "31m\\xe2\\x80\\xa8"},     /* CSI, a line's end */
        {"\xe2\x82", "\\xe2\\x82"}, /* cut short */
    };
    char shown[80];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ctl_escape(cases[i].text, shown, sizeof shown);
        assert_string_equal(cases[i].shown, shown);
    }
    for (size_t size = 6; size < 40; size++) {
        char small[40];

        memset(small, 'x', sizeof small);
        ctl_escape("\xff\xff\xff\xf0\x9f\x94\x92\xff\xff", small, size);
        assert_true(strlen(small) < size);
    }
}
