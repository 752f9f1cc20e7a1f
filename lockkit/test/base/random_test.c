/*
 * Tokens: their form, that they differ, and what happens when the kernel gives no randomness.
 * link: -Wl,--wrap=getrandom
 */
#include <errno.h>
#include <sys/random.h>

#include "base/random.h"
#include "test/support/testing.h"

static struct {
    int interrupted; /* this many calls fail with EINTR first */
    bool is_broken;
} kernel;

FAKE(ssize_t, getrandom, void *buffer, size_t len, unsigned flags)
{
    if (kernel.interrupted > 0) {
        kernel.interrupted--;
        errno = EINTR;
        return -1;
    }
    if (!kernel.is_broken) return __real_getrandom(buffer, len, flags);
    errno = ENOSYS;
    return -1;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST(a_token_is_32_lower_case_hex_digits)
{
    char token[LKI_TOKEN_LEN + 1];

    memset(token, 'x', sizeof token);
    assert_int_equal(lki_random_token(token, NULL), LK_OK);

    assert_int_equal(strlen(token), 32);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
}

TEST(ten_thousand_tokens_all_differ)
{
    enum { COUNT = 10000 };
    char(*tokens)[LKI_TOKEN_LEN + 1] = calloc(COUNT, sizeof *tokens);

    assert_non_null(tokens);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(lki_random_token(tokens[i], NULL), LK_OK);
    qsort(tokens, COUNT, sizeof *tokens, by_text);
    for (size_t i = 1; i < COUNT; i++)
        assert_string_not_equal(tokens[i - 1], tokens[i]);
    free(tokens);
}

TEST(every_digit_is_drawn_at_every_place)
{
    bool is_seen[LKI_TOKEN_LEN][16] = {0};
    char token[LKI_TOKEN_LEN + 1];

    for (int i = 0; i < 1000; i++) { /* a digit stays unseen once in 10^26 runs */
        assert_int_equal(lki_random_token(token, NULL), LK_OK);
        for (size_t k = 0; k < LKI_TOKEN_LEN; k++)
            is_seen[k][strchr("0123456789abcdef", token[k]) - "0123456789abcdef"] = true;
    }
    for (size_t k = 0; k < LKI_TOKEN_LEN; k++) {
        for (size_t digit = 0; digit < 16; digit++)
            assert_true(is_seen[k][digit]);
    }
}

TEST(an_interrupted_draw_is_repeated)
{
    char token[LKI_TOKEN_LEN + 1];

    kernel.interrupted = 3;
    assert_int_equal(lki_random_token(token, NULL), LK_OK);

    assert_int_equal(kernel.interrupted, 0);
}

TEST(without_randomness_there_is_no_token)
{
    char token[LKI_TOKEN_LEN + 1] = "unchanged";
    struct lk_error err = {0};

    kernel.is_broken = true;
    assert_int_equal(lki_random_token(token, &err), LK_INVALID);
    assert_int_equal(lki_random_below(1000), 0);
    kernel.is_broken = false;

    assert_string_equal(token, "unchanged");
    assert_int_equal(err.sys_errno, ENOSYS);
}

TEST(a_random_number_is_below_its_bound)
{
    for (int i = 0; i < 1000; i++)
        assert_in_range(lki_random_below(7), 0, 6);
    assert_int_equal(lki_random_below(1), 0);
    assert_int_equal(lki_random_below(0), 0);
    assert_int_equal(lki_random_below(-5), 0);
    assert_true(lki_random_below(INT64_MAX) >= 0);
}
