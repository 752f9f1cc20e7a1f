/*
 * Buyers with tokens: a sale sold without X-User-Id passes its audit, and the runner finds the
 * token of any buyer.
 */
#include "evidence/tokens.h"
#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 60000, BUYERS = 300 };

static int open_place(void **state)
{
    static struct lt_place place;
    *state = &place;
    return lt_place_open(&place) ? 0 : -1;
}

static int close_place(void **state)
{
    lt_place_close(*state);
    return 0;
}

TEST(a_sale_to_buyers_with_tokens_passes)
{
    const struct lt_place *place = *state;
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {
        "loadtest",      "--tokens", "--buyers", "1501", "--stock",       "60",
        "--connections", "100",      "--repeat", "2",    "--retry-share", "0.4",
        "--out",         out,        NULL};
    static struct lt_outcome outcome;

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "sold 60 of 60"));
    assert_non_null(strstr(outcome.output, "2 of 2 sales passed"));
    assert_int_equal(0, lt_place_count_processes(place));
}

/* A flawed guard needs --lab, and --lab would trust X-User-Id. */
TEST(a_flawed_guard_is_refused_with_tokens)
{
    const struct lt_place *place = *state;
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest", "--tokens", "--guard", "none", "--out", out, NULL};
    static struct lt_outcome outcome;

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    assert_int_equal(3, outcome.status);
    assert_non_null(strstr(outcome.output, "the sale was not created: 403"));
}

TEST(every_buyer_of_the_file_is_found)
{
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *build_dir = getenv("BUILD_DIR");
    const struct lt_place *place = *state;
    char program[2 * LT_PATH_MAX];
    char line[1024];
    struct failure failure = {.text = ""};
    int count = 0;

    (void)snprintf(program, sizeof program, "%s/seckillctl",
                   build_dir ? build_dir : "build/release");
    struct tokens *tokens = tokens_make(program, place->dir, NULL, BUYERS, &failure);
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
    const struct lt_place *place = *state;
    struct failure failure = {.text = ""};

    assert_null(tokens_make("/nothing/seckillctl", place->dir, NULL, BUYERS, &failure));
    assert_non_null(strstr(failure.text, "seckillctl key"));
}

FIXTURE(open_place, close_place);
