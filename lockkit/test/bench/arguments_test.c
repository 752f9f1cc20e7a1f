/*
 * The command line of lockbench.
 */
#include "bench/arguments.h"
#include "test/support/testing.h"

enum { WORDS_MAX = 8 };

static struct arguments arguments;
static struct failure failure;

/* The words after the program's name, ending with NULL. */
static flags_answer parse(const char *const *words)
{
    static char text[WORDS_MAX][64];
    char *argv[WORDS_MAX + 1] = {text[0]};
    int argc = 1;

    for (; words[argc - 1]; argc++) {
        (void)strncpy(text[argc], words[argc - 1], sizeof text[0] - 1);
        argv[argc] = text[argc];
    }
    arguments = arguments_usual;
    return flags_read(&arguments_flags, argc, argv, &arguments, &failure);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

TEST(without_words_it_does_what_make_bench_does)
{
    assert_int_equal(FLAGS_READ, parse((const char *const[]){NULL}));

    assert_int_equal(5, arguments.repeat);
    assert_int_equal(1000, arguments.duration_ms);
    assert_int_equal(0, arguments.only.count);
    assert_null(arguments.json);
    assert_null(arguments.redis);
    assert_string_equal("build/interop", arguments.interop);
}

TEST(every_option_is_taken)
{
    assert_int_equal(FLAGS_READ, PARSE("--repeat", "3", "--duration=0.25", "--seed", "77"));
    assert_int_equal(3, arguments.repeat);
    assert_int_equal(250, arguments.duration_ms);
    assert_int_equal(77, arguments.seed);

    assert_int_equal(FLAGS_READ, PARSE("--only", "pair", "--only", "rate", "--json", "x.json"));
    assert_int_equal(2, arguments.only.count);
    assert_string_equal("rate", arguments.only.list[1]);
    assert_string_equal("x.json", arguments.json);

    assert_int_equal(FLAGS_READ, PARSE("--redis", "redis://h:1", "--interop", "d", "--list"));
    assert_string_equal("redis://h:1", arguments.redis);
    assert_string_equal("d", arguments.interop);
    assert_true(arguments.is_list);
    assert_int_equal(FLAGS_HELP, PARSE("--help"));
}

TEST(a_bad_word_is_named)
{
    static const struct {
        const char *words[3];
        const char *said;
    } cases[] = {
        {{"--repeat", "0"}, "--repeat: \"0\" is not a number from 1 to 50"},
        {{"--repeat", "51"}, "from 1 to 50"},
        {{"--repeat", "2.5"}, "--repeat: \"2.5\""},
        {{"--repeat", "two"}, "\"two\""},
        {{"--repeat", "2x"}, "\"2x\""},
        {{"--duration", "0.01"}, "from 0.05 to 60"},
        {{"--duration", "nan"}, "\"nan\""},
        {{"--seed", "-1"}, "--seed"},
        {{"--seed"}, "--seed: the value is missing"},
        {{"--fast"}, "no flag \"--fast\""},
        {{"fast"}, "do not know what to do with \"fast\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(FLAGS_BAD, parse(cases[i].words));
        if (!strstr(failure.text, cases[i].said))
            fail_msg("%s: %s", cases[i].words[0], failure.text);
    }
}
