/*
 * The query of a list of sales.
 */
#include "serve/sale_list.h"
#include "test/support/testing.h"

#define LONGEST "a123456789b123456789c123456789d123456789"

TEST(a_query_is_read_or_named)
{
    static const struct {
        const char *query;
        const char *wrong; /* NULL: nothing */
        size_t limit;
        const char *after;
    } rows[] = {
        {NULL, NULL, 100, ""},
        {"", NULL, 100, ""},
        {"&&", NULL, 100, ""},
        {"limit=1", NULL, 1, ""},
        {"limit=100", NULL, 100, ""},
        {"limit=007", NULL, 7, ""},
        {"after=cup-2", NULL, 100, "cup-2"},
        {"after=" LONGEST, NULL, 100, LONGEST},
        {"limit=7&after=cup", NULL, 7, "cup"},
        {"&after=cup&&limit=7&", NULL, 7, "cup"},
        {"_=1&limit=7&limited=0&x", NULL, 7, ""},
        {"limit", NULL, 100, ""},
        {"limit=", "limit", 0, NULL},
        {"limit=0", "limit", 0, NULL},
        {"limit=000", "limit", 0, NULL},
        {"limit=101", "limit", 0, NULL},
        {"limit=1000", "limit", 0, NULL},
        {"limit=-1", "limit", 0, NULL},
        {"limit=+1", "limit", 0, NULL},
        {"limit= 1", "limit", 0, NULL},
        {"limit=7x", "limit", 0, NULL},
        {"limit=99999999999999999999", "limit", 0, NULL},
        {"after=", "after", 0, NULL},
        {"after=&limit=7", "after", 0, NULL},
        {"after=CUP", "after", 0, NULL},
        {"after=cup%20", "after", 0, NULL},
        {"after=" LONGEST "e", "after", 0, NULL},
        {"limit=7&after=b\xc3\xa4r", "after", 0, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sale_list_query query;
        const char *wrong = sale_list_query_read(rows[i].query, &query);

        if (!wrong != !rows[i].wrong) print_message("%s: %s\n", rows[i].query, wrong ? wrong : "");
        assert_int_equal(!wrong, !rows[i].wrong);
        if (wrong) {
            assert_string_equal(wrong, rows[i].wrong);
        } else {
            assert_int_equal(query.limit, rows[i].limit);
            assert_string_equal(query.after.text, rows[i].after);
        }
    }
}
