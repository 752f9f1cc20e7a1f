/*
 * The operators' file: what may stand in it, whose a token is, and what happens when it changes.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "auth/operators.h"
#include "test/support/testing.h"

#define KEY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY_C "cccccccccccccccccccccccccccccccc"

static char path[64];

BEFORE_EACH()
{
    (void)snprintf(path, sizeof path, "/tmp/seckill-operators-%ld", (long)getpid());
    (void)unlink(path);
}

AFTER_EACH()
{
    (void)unlink(path);
}

static void put(const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* "NAME ROLE" of whose token it is; "": nobody's. */
static const char *whose(struct operators *operators, const char *token)
{
    static char shown[64];
    struct operator_known known;

    if (!operators_find(operators, token, &known)) return "";
    (void)snprintf(shown, sizeof shown, "%s %s", known.name, operators_role_name(known.role));
    return shown;
}

TEST(each_line_is_a_token)
{
    struct start_error why = {""};

    put("# of the shop\n" KEY_A "\n\nmaja@shop\tread " KEY_B "\r\n  maja@shop admin " KEY_C);
    struct operators *operators = operators_new(path, &why);
    assert_non_null(operators);
    assert_string_equal(whose(operators, KEY_A), "operator admin");
    assert_string_equal(whose(operators, KEY_B), "maja@shop read");
    assert_string_equal(whose(operators, KEY_C), "maja@shop admin");
    assert_string_equal(whose(operators, ""), "");
    assert_string_equal(whose(operators, KEY_A "a"), "");
    assert_string_equal(whose(operators, "maja@shop"), "");
    operators_free(operators);
}

TEST(a_bad_line_is_named_without_its_token)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", ": no token is in it"},
        {"# nobody\n", ": no token is in it"},
        {"short", ":1: a token has 32 to 256 visible ASCII characters"},
        {KEY_A "\x7f", ":1: a token has 32 to 256 visible ASCII characters"},
        {KEY_A "\nmaja read " KEY_A, ":2: this token is that of a line above"},
        {"maja " KEY_A, ":1: is neither TOKEN nor NAME ROLE TOKEN"},
        {"maja root " KEY_A, ":1: is neither TOKEN nor NAME ROLE TOKEN"},
        {"ma/ja read " KEY_A, ":1: is neither TOKEN nor NAME ROLE TOKEN"},
        {"m23456789012345678901234567890123 read " KEY_A, ":1: is neither TOKEN nor"},
        {"maja read " KEY_A " x", ":1: is neither TOKEN nor NAME ROLE TOKEN"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct start_error why = {""};

        put(rows[i].text);
        assert_null(operators_new(path, &why));
        assert_memory_equal(why.text, path, strlen(path));
        assert_memory_equal(why.text + strlen(path), rows[i].says, strlen(rows[i].says));
        assert_null(strstr(why.text, "aaaa"));
    }
}

TEST(a_file_that_changes_is_read_again_and_a_bad_one_changes_nothing)
{
    struct start_error why = {""};

    char given[sizeof path];

    put("maja admin " KEY_A "\n");
    memcpy(given, path, sizeof given);
    struct operators *operators = operators_new(given, &why);
    memset(given, 'x', sizeof given);                    /* it was a copy's */
    put("maja admin " KEY_A "\nmaja admin " KEY_B "\n"); /* both are good, while they change */
    assert_string_equal(whose(operators, KEY_A), "maja admin");
    assert_string_equal(whose(operators, KEY_B), "maja admin");
    put("maja operate " KEY_B "\n# " KEY_A "\n");
    assert_string_equal(whose(operators, KEY_A), "");
    assert_string_equal(whose(operators, KEY_B), "maja operate");
    put("nonsense\n");
    assert_string_equal(whose(operators, KEY_B), "maja operate");
    assert_int_equal(unlink(path), 0);
    assert_string_equal(whose(operators, KEY_B), "maja operate");
    put("lee read " KEY_C "\n");
    assert_string_equal(whose(operators, KEY_B), "");
    assert_string_equal(whose(operators, KEY_C), "lee read");
    operators_free(operators);
}
