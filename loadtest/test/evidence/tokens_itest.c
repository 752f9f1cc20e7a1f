/*
 * Buyers with tokens: a sale sold without X-User-Id passes its audit, and the runner finds the
 * token of any buyer.
 */
#include "evidence/tokens.h"
#include "test/support/lt_load.h"
#include "test/support/testing.h"

enum { BUYERS = 300 };

TEST(a_sale_to_buyers_with_tokens_passes)
{
    const char *said = lt_load_run(*state,
                                   "--tokens --buyers 1501 --stock 60 --connections 100 --repeat 2 "
                                   "--retry-share 0.4",
                                   0);

    assert_non_null(strstr(said, "sold 60 of 60"));
    assert_non_null(strstr(said, "2 of 2 sales passed"));
}

/* A flawed guard needs --lab, and --lab would trust X-User-Id. */
TEST(a_flawed_guard_is_refused_with_tokens)
{
    const char *said = lt_load_run(*state, "--tokens --guard none", 2);

    assert_non_null(strstr(said, "the sale was not created: status 403"));
}

TEST(every_buyer_of_the_file_is_found)
{
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *build_dir = getenv("BUILD_DIR");
    const struct lt_sandbox *sandbox = *state;
    char program[2 * LT_PATH_MAX];
    char line[1024];
    struct failure failure = {.text = ""};
    int count = 0;

    (void)snprintf(program, sizeof program, "%s/seckillctl",
                   build_dir ? build_dir : "build/release");
    struct tokens *tokens = tokens_make(program, sandbox->dir, NULL, BUYERS, &failure);
    assert_non_null(tokens);
    FILE *file = fopen(tokens_path(tokens), "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *blank = strchr(line, ' ');
        assert_non_null(blank);
        *blank = '\0';
        blank[1 + strcspn(blank + 1, "\n")] = '\0';
        assert_non_null(tokens_find(tokens, line));
        assert_string_equal(blank + 1, tokens_find(tokens, line));
        count++;
    }
    (void)fclose(file);
    assert_int_equal(BUYERS, count);
    assert_null(tokens_find(tokens, "nobody"));
    tokens_free(tokens);
}

TEST(tokens_that_cannot_be_made_are_told)
{
    const struct lt_sandbox *sandbox = *state;
    struct failure failure = {.text = ""};

    assert_null(tokens_make("/nothing/seckillctl", sandbox->dir, NULL, BUYERS, &failure));
    assert_non_null(strstr(failure.text, "seckillctl key"));
}

FIXTURE(lt_load_open, lt_load_close);
