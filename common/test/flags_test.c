/*
 * The command line: every kind of flag, words between flags, one clear line for each bad word, and the help.
 */
#include "common/flags.h"
#include "test/support/testing.h"

enum { WORDS_MAX = 8 };

struct told {
    bool is_loud;
    const char *text;
    struct flag_texts texts, files;
    uint64_t number;
    double share;
    int64_t seconds_ms, span_ms;
    size_t taken, seen;
};

static struct told told;
static struct failure failure;

static bool take_even(const struct flag *flag, void *to, const char *value, struct failure *why)
{
    struct told *out = to;

    out->taken = strlen(value);
    return out->taken % 2 == 0 || failure_set(why, "--%s: is odd", flag->name);
}

static void count_seen(const struct flag *flag, void *to)
{
    struct told *out = to;

    out->seen++;
}

#define AT(field) offsetof(struct told, field)

static const struct flag rows[] = {
    {"loud", FLAG_SWITCH, AT(is_loud), .help = "a switch"},
    {"text", FLAG_TEXT, AT(text), .value = "TEXT", .help = "one line\nand another"},
    {"texts", FLAG_TEXTS, AT(texts), .value = "TEXT...", .help = "many", .takes_more = true},
    {"number", FLAG_NUMBER, AT(number), 1, INT64_MAX, "N", .help = "a number"},
    {.help = "\nOthers:"},
    {"share", FLAG_SHARE, AT(share), .value = "X", .help = "a share"},
    {"seconds", FLAG_SECONDS, AT(seconds_ms), 50, 60000, "S", .help = "seconds"},
    {"span", FLAG_SPAN, AT(span_ms), 0, INT32_MAX, "MS", .help = "a span"},
    {"even", FLAG_TAKEN, .value = "WORD", .help = "of even length", .take = take_even},
    {"hidden", .kind = FLAG_SWITCH, .offset = AT(is_loud)},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
};

static struct flags flags = {
    .program = "told",
    .head = "told [FLAGS]\n",
    .tail = "\nThe end.\n",
    .list = rows,
    .count = sizeof rows / sizeof rows[0],
    .column = 10,
    .seen = count_seen,
};
static const struct flag files = {.name = "FILE", .kind = FLAG_TEXTS, .offset = AT(files)};

/* Words with blanks between them; they live until the next call. */
static flags_answer read_words(const char *words)
{
    static char copy[256];
    char *argv[WORDS_MAX] = {copy};
    char *rest = NULL;
    int argc = 1;

    (void)snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    told = (struct told){0};
    failure.text[0] = '\0';
    return flags_read(&flags, argc, argv, &told, &failure);
}

TEST(each_kind_goes_to_its_field)
{
    assert_int_equal(FLAGS_READ, read_words("--loud --text=a=b --number 9223372036854775807"));
    assert_true(told.is_loud);
    assert_string_equal("a=b", told.text);
    assert_true(told.number == INT64_MAX);
    assert_int_equal(3, told.seen);
    assert_int_equal(FLAGS_READ, read_words("--share 0.25 --seconds=0.05 --even four"));
    assert_true(told.share > 0.249 && told.share < 0.251);
    assert_int_equal(50, told.seconds_ms);
    assert_int_equal(4, told.taken);
    assert_int_equal(FLAGS_READ, read_words("--text --loud")); /* a value may look like a flag */
    assert_string_equal("--loud", told.text);
}

TEST(a_span_has_a_unit_or_is_in_ms)
{
    static const struct {
        const char *words;
        int64_t ms;
    } spans[] = {{"--span 0", 0},
                 {"--span 500", 500},
                 {"--span=7ms", 7},
                 {"--span 30s", 30000},
                 {"--span 5m", 300000},
                 {"--span 2h", 7200000},
                 {"--span 596h", 2145600000}};

    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        assert_int_equal(FLAGS_READ, read_words(spans[i].words));
        assert_int_equal(spans[i].ms, told.span_ms);
    }
}

TEST(words_that_are_no_flags_have_a_taker)
{
    assert_int_equal(FLAGS_READ, read_words("--texts a b --loud"));
    assert_int_equal(2, told.texts.count);
    assert_string_equal("b", told.texts.list[1]);
    flags.words = &files;
    assert_int_equal(FLAGS_READ, read_words("- --texts a b --loud c -"));
    assert_int_equal(2, told.texts.count);
    assert_int_equal(3, told.files.count);
    assert_string_equal("c", told.files.list[1]);
    flags.words = NULL;
    assert_int_equal(FLAGS_BAD, read_words("--texts a --loud b"));
}

TEST(help_and_version_end_it)
{
    assert_int_equal(FLAGS_HELP, read_words("--loud --help --nonsense"));
    assert_int_equal(FLAGS_VERSION, read_words("--version --help"));
    assert_int_equal(FLAGS_BAD, read_words("--nonsense --help"));
}

TEST(a_bad_word_is_named_and_no_value_of_one)
{
    static const struct {
        const char *words, *says;
    } bad[] = {
        {"word", "do not know what to do with \"word\" (try --help)"},
        {"--", "do not know what to do with \"--\" (try --help)"},
        {"-l", "do not know what to do with \"-l\" (try --help)"},
        {"--lod=secret", "no flag \"--lod\" (did you mean --loud?)"},
        {"--frobnicate", "no flag \"--frobnicate\" (try --help)"},
        {"--loud=1", "--loud: takes no value"},
        {"--help=1", "--help: takes no value"},
        {"--text", "--text: the value is missing"},
        {"--text=", "--text: is empty"},
        {"--number 0", "--number: \"0\" is not a number from 1 to 9223372036854775807"},
        {"--number 9223372036854775808",
         "--number: \"9223372036854775808\" is not a number from 1 to 9223372036854775807"},
        {"--number +1", "--number: \"+1\" is not a number from 1 to 9223372036854775807"},
        {"--number 1x", "--number: \"1x\" is not a number from 1 to 9223372036854775807"},
        {"--share 1.1", "--share: \"1.1\" is not a share from 0 to 1"},
        {"--share nan", "--share: \"nan\" is not a share from 0 to 1"},
        {"--seconds 0.04", "--seconds: \"0.04\" is not a number from 0.05 to 60"},
        {"--span 597h",
         "--span: \"597h\" is no time like 500, 500ms, 30s, 5m or 2h, at most 24 days"},
        {"--span 5x", "--span: \"5x\" is no time like 500, 500ms, 30s, 5m or 2h, at most 24 days"},
        {"--span -1", "--span: \"-1\" is no time like 500, 500ms, 30s, 5m or 2h, at most 24 days"},
        {"--span 100000000000000000000000000000000s",
         "--span: \"100000000000000000000000000000000s\" is no time like 500, 500ms, 30s, 5m or "
         "2h, "
         "at most 24 days"},
        {"--even odd", "--even: is odd"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(FLAGS_BAD, read_words(bad[i].words));
        assert_string_equal(bad[i].says, failure.text);
    }
}

TEST(there_is_a_limit_of_texts)
{
    char flag[] = "--texts=a";
    struct flag_words words = {1, (char *[]){flag}, 0};

    told.texts.count = FLAG_TEXTS_MAX;
    assert_int_equal(FLAGS_BAD, flags_read_one(&flags, &words, &told, &failure));
    assert_string_equal("--texts: more than 1024", failure.text);
    assert_int_equal(FLAG_TEXTS_MAX, told.texts.count);
}

TEST(the_help_is_the_table)
{
    char said[1024];
    FILE *to = tmpfile();

    assert_non_null(to);
    flags_help(&flags, to);
    rewind(to);
    said[fread(said, 1, sizeof said - 1, to)] = '\0';
    assert_int_equal(0, fclose(to));
    assert_string_equal("told [FLAGS]\n"
                        "  --loud     a switch\n"
                        "  --text TEXT one line\n"
                        "             and another\n"
                        "  --texts TEXT... many\n"
                        "  --number N a number\n"
                        "\nOthers:\n"
                        "  --share X  a share\n"
                        "  --seconds S seconds\n"
                        "  --span MS  a span\n"
                        "  --even WORD of even length\n"
                        "  --help     this text\n"
                        "  --version  the version\n"
                        "\nThe end.\n",
                        said);
}
