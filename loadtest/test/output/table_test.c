/*
 * Tables on the screen, and the text of a cell that was measured several times.
 */
#include <math.h>

#include "base/spread.h"
#include "output/table.h"
#include "test/support/testing.h"

static void check(const char *cells, const char *shown)
{
    struct table table;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    table_open(&table, to);
    (void)fputs(cells, table.rows);
    table_close(&table);
    assert_int_equal(0, fclose(to));
    assert_string_equal(shown, text);
    free(text);
}

TEST(a_column_is_as_wide_as_its_widest_cell)
{
    check("a\tb\tc\n", "  a  b  c\n");
    check("name\tn\tx\na\t1000\ty\n", "  name  n     x\n  a     1000  y\n");
    check("\t\nab\t\n", "      \n  ab  \n");
    check("", "");
}

TEST(characters_are_counted_not_bytes)
{
    check("a ÷ b\tx\nabcdef\ty\n", "  a ÷ b   x\n  abcdef  y\n");
}

TEST(repeats_are_told_as_median_least_and_most)
{
    struct repeats repeats = {.count = 0};
    char text[SPREAD_TEXT_MAX];

    assert_string_equal("?", spread_text(&repeats, 0, text));
    spread_add(&repeats, (double)NAN);
    assert_string_equal("?", spread_text(&repeats, 0, text));
    spread_add(&repeats, 3);
    assert_string_equal("3.0", spread_text(&repeats, 1, text));
    spread_add(&repeats, 1);
    assert_string_equal("2 (1 .. 3)", spread_text(&repeats, 0, text));
    for (int i = 0; i < 2 * ROUNDS_MAX; i++)
        spread_add(&repeats, 1);
    assert_int_equal(ROUNDS_MAX, repeats.count);
}
