/*
 * SHA-1: the examples of the standard, every length around a block, and what embeds scripts.
 */
#include "base/sha1.h"
#include "test/support/testing.h"
#include "wire/script.h"

TEST(the_standards_examples_come_out)
{
    static const struct {
        const char *text;
        const char *digest;
    } rows[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    };
    char digest[LKI_SHA1_LEN + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lki_sha1(rows[i].text, strlen(rows[i].text), digest);
        assert_string_equal(digest, rows[i].digest);
    }
}

TEST(a_million_letters_come_out)
{
    enum { MILLION = 1000000 };
    char *text = malloc(MILLION);
    char digest[LKI_SHA1_LEN + 1];

    assert_non_null(text);
    memset(text, 'a', MILLION);
    lki_sha1(text, MILLION, digest);
    assert_string_equal(digest, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    free(text);
}

/* Of n letters "a": sha1sum's word for the lengths at which the padding changes. */
TEST(the_padding_is_right_at_every_length)
{
    static const struct {
        size_t len;
        const char *digest;
    } rows[] = {
        {1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
        {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
        {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
        {57, "f08f24908d682555111be7ff6f004e78283d989a"},
        {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"},
        {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
        {65, "11655326c708d70319be2610e8a57d9a5b959d3b"},
        {119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"},
        {120, "f34c1488385346a55709ba056ddd08280dd4c6d6"},
        {128, "ad5b3fdbcb526778c2839d2f151ea753995e26a0"},
    };
    char text[BUFSIZ];
    char digest[LKI_SHA1_LEN + 1];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lki_sha1(text, rows[i].len, digest);
        assert_string_equal(digest, rows[i].digest);
    }
}

TEST(embedded_scripts_have_the_digest_of_the_build)
{
    char digest[LKI_SHA1_LEN + 1];

    for (const struct lk_script_source *row = lki_script_all(); row->name; row++) {
        lki_sha1(row->source, strlen(row->source), digest);
        assert_string_equal(digest, row->sha1);
    }
}
