/*
 * signature.c: what a payment provider's events are signed with. The MACs are of RFC 4231's HMAC,
 * made by `printf %s "1000.{}" | openssl dgst -sha256 -hmac KEY`.
 */
#include "auth/signature.h"
#include "test/support/testing.h"

#define KEY     "0123456789abcdef0123456789abcdef"
#define OTHER   "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
#define OF_KEY  "c7ea93f355d456d4313e3955b50df7bc69628f35e9728bfd2b3221d0062e2857"
#define OF_NEXT "9bdd6bb3dfe456e4f5bb99adece747136ec0bc5f49984c736c7183e09baabaf7"
#define ZEROS   "0000000000000000000000000000000000000000000000000000000000000000"

static struct token_keys keys_of(const char *first, const char *second)
{
    const char *const texts[] = {first, second};
    struct token_keys keys = {0};

    for (size_t i = 0; i < 2 && texts[i]; i++) {
        keys.key[i].len = strlen(texts[i]);
        memcpy(keys.key[i].bytes, texts[i], keys.key[i].len);
        keys.count++;
    }
    return keys;
}

TEST(a_signature_is_of_one_key_one_moment_and_every_byte)
{
    static const struct {
        const char *header, *body;
        int64_t now_s;
        signature_status expected;
    } rows[] = {
        {"t=1000,v1=" OF_KEY, "{}", 1000, SIGNATURE_GOOD},
        {"t=1000,v1=" OF_KEY, "{}", 1299, SIGNATURE_GOOD},
        {"t=1000,v1=" OF_KEY, "{}", 701, SIGNATURE_GOOD},
        {"t=1000,v1=" OF_KEY, "{}", 1301, SIGNATURE_STALE},
        {"t=1000,v1=" OF_KEY, "{}", 699, SIGNATURE_STALE},
        {"t=1000,v1=" OF_NEXT, "{}", 1000, SIGNATURE_GOOD}, /* the second key */
        {"t=1000,v1=" ZEROS ",v1=" OF_KEY, "{}", 1000, SIGNATURE_GOOD},
        {"t=1000,v1=" ZEROS, "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v1=" OF_KEY, "{ }", 1000, SIGNATURE_BAD},
        {"t=1001,v1=" OF_KEY, "{}", 1000, SIGNATURE_BAD},
        {"t=01000,v1=" OF_KEY, "{}", 1000, SIGNATURE_BAD}, /* the text is signed, not the number */
        {"t=1000", "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v1=", "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v1=" OF_KEY "0", "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v1=" OF_KEY ",", "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v0=" OF_KEY, "{}", 1000, SIGNATURE_BAD},
        {"v1=" OF_KEY ",t=1000", "{}", 1000, SIGNATURE_BAD},
        {"t=,v1=" OF_KEY, "{}", 1000, SIGNATURE_BAD},
        {"t=-1000,v1=" OF_KEY, "{}", 1000, SIGNATURE_BAD},
        {"t=1000000000000000000000,v1=" OF_KEY, "{}", 1000, SIGNATURE_BAD},
        {"t=1000,v1=" ZEROS ",v1=" ZEROS ",v1=" ZEROS ",v1=" ZEROS ",v1=" OF_KEY, "{}", 1000,
         SIGNATURE_BAD}, /* more than are looked at */
        {"t", "{}", 1000, SIGNATURE_BAD},
        {"", "{}", 1000, SIGNATURE_BAD},
        {NULL, "{}", 1000, SIGNATURE_BAD},
    };
    struct token_keys keys = keys_of(KEY, OTHER);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (signature_check(&keys, rows[i].header, rows[i].body, strlen(rows[i].body),
                            rows[i].now_s) != rows[i].expected)
            fail_msg("row %zu: %s", i, rows[i].header ? rows[i].header : "(none)");
    }
}

TEST(without_keys_nothing_is_good_and_nothing_is_signed)
{
    struct token_keys none = {0};
    char hex[SIGNATURE_HEX_SIZE];

    assert_int_equal(signature_check(&none, "t=1000,v1=" OF_KEY, "{}", 2, 1000), SIGNATURE_BAD);
    assert_false(signature_make(&none, "a", 1, hex));
}

TEST(what_we_sign_is_by_the_first_key)
{
    struct token_keys keys = keys_of(KEY, OTHER);
    char hex[SIGNATURE_HEX_SIZE];

    assert_true(signature_make(&keys, "1000.{}", 7, hex));
    assert_string_equal(hex, OF_KEY);
}
