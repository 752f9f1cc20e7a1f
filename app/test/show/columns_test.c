/*
 * Text on a terminal: Chinese takes two columns, and lines break where they may.
 */
#include "lab/show/columns.h"
#include "test/support/testing.h"

TEST(characters_have_their_width)
{
    static const struct {
        const char *text;
        size_t width;
    } table[] = {{"", 0},  {"lock", 4}, {"锁", 2},      {"锁 A", 4},
                 {"é", 1}, {"，", 2},   {"\xff\xfe", 2}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(columns_of(table[i].text, strlen(table[i].text)), table[i].width);
}

static void assert_wraps(const char *text, size_t width, const char *expected)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);

    assert_non_null(out);
    columns_wrap(out, text, ">", width);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

TEST(lines_break_at_spaces_else_between_characters)
{
    assert_wraps("one two three", 7, ">one two\n>three\n");
    assert_wraps("abcdefgh", 3, ">abc\n>def\n>gh\n");
    assert_wraps("库存还剩一盏", 5, ">库存\n>还剩\n>一盏\n");
    assert_wraps("A 拿锁", 4, ">A 拿\n>锁\n");
    assert_wraps("库存还剩，一盏", 8, ">库存还\n>剩，一盏\n"); /* no mark begins a line */
    assert_wraps("锁", 1, ">锁\n");                            /* at least one character */
    assert_wraps("", 5, "");
    assert_wraps("seckill:{lamp}:stock", 16, ">seckill:{lamp}:\n>stock\n");
    assert_wraps("a b:cdefghijk", 8, ">a\n>b:cdefgh\n>ijk\n");
}

TEST(cells_are_filled_up)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);

    assert_non_null(out);
    columns_print(out, "锁", strlen("锁"), 4);
    columns_print(out, "longer", 6, 4);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, "锁  longer");
    free(printed);
}
