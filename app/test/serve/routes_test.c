/*
 * Which paths fit which patterns.
 */
#include "serve/routes.h"
#include "test/support/testing.h"

TEST(paths_fit_patterns_segment_by_segment)
{
    static const struct {
        const char *pattern, *path, *id; /* id NULL: does not fit; "": fits, but is no sale's id */
    } cases[] = {
        {"/livez", "/livez", ""},
        {"/livez", "/livez/", NULL},
        {"/livez", "/live", NULL},
        {"/livez", "", NULL},
        {"/s/{id}", "/s/a-1", "a-1"},
        {"/s/{id}", "/s/", NULL},
        {"/s/{id}", "/s", NULL},
        {"/s/{id}", "/s/a/b", NULL},
        {"/s/{id}", "/s/A", ""},
        {"/s/{id}", "/s/%61", ""},
        {"/s/{id}", "/s/..", ""},
        {"/s/{id}", "/s/0123456789012345678901234567890123456789",
         "0123456789012345678901234567890123456789"},
        {"/s/{id}", "/s/0123456789012345678901234567890123456789x", ""},
        {"/s/{id}/o/me", "/s/cup/o/me", "cup"},
        {"/s/{id}/o/me", "/s/cup/o/mee", NULL},
        {"/s/{id}/o/me", "/s/cup/o", NULL},
        {"/s/{id}/o/me", "/s//o/me", NULL},
        {"/s/{id}/o", "/s/a/b/o", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char id[SALE_ID_MAX + 1];

        assert_int_equal(routes_path_fits(cases[i].pattern, cases[i].path, id),
                         cases[i].id != NULL);
        if (cases[i].id) assert_string_equal(id, cases[i].id);
    }
}
