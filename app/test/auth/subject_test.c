/*
 * subject.c: the canonical form of what issuers call buyers. Digests by `printf %s SUBJECT | sha256sum`.
 */
#include "auth/subject.h"
#include "test/support/testing.h"

#define X64 "0123456789012345678901234567890123456789012345678901234567890123"

TEST(plain_ones_are_their_own_form)
{
    static const char *const rows[] = {"a", "alice", "al-ice_9", "sha256", "SHA256-x", X64};
    char form[BUYER_ID_MAX + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(subject_read(rows[i], form));
        assert_string_equal(form, rows[i]);
    }
}

TEST(any_other_becomes_its_digest)
{
    static const struct {
        const char *subject, *form;
    } rows[] = {
        {"auth0|5f7c", "sha256-Zi3QpZZa-i_EUjkZ92LB_Dn2mo78rO5Uzn1OzsDt_hc"},
        {"alice@example.com", "sha256-_42YGfwOEr8NJIkuRZh-JJoo3Og2qFytYOKOqqjG2XY"},
        {"\xe7\xa7\x92\xe6\x9d\x80 7", "sha256-dWVfNr7x8IlbHnRtZoiG4fY3I-_Yw1JBuLvmQF1dYvM"},
        {"sha256-x",
         "sha256-5gZlTNy2YA18i8RU9Pv-4KI_RqRlPw88lE1Sv5wa1aI"}, /* else it could be somebody else's form */
    };
    char form[BUYER_ID_MAX + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(subject_read(rows[i].subject, form));
        assert_string_equal(form, rows[i].form);
        assert_true(sale_buyer_id_is_valid(form));
    }
}

TEST(a_form_is_of_one_subject)
{
    static const char *const rows[] = {"alice|", "Alice|", "alice |", " alice|", X64 "0", X64 "00"};
    char form[2][BUYER_ID_MAX + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            assert_true(subject_read(rows[i], form[0]) && subject_read(rows[k], form[1]));
            assert_int_equal(strcmp(form[0], form[1]) == 0, i == k);
        }
    }
    assert_true(subject_read("alice|", form[0]) && subject_read(form[0], form[1]));
    assert_string_not_equal(form[0],
                            form[1]); /* who calls himself by another's form is another one */
}

TEST(what_is_not_printable_utf8_of_255_bytes_is_none)
{
    static const char override[] = {'\xe2', '\x80', '\xae', '\0'}; /* right to left */
    static const char *const rows[] = {
        "", "a\nb", "a\x7f", "\xff\xfe", "a\xc3", "\xc2\x85", override, "\xed\xa0\x80", "\xc0\x80",
    };
    char form[BUYER_ID_MAX + 1] = "kept";
    char longest[SUBJECT_MAX + 2];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_false(subject_read(rows[i], form));
    memset(longest, '|', sizeof longest);
    longest[SUBJECT_MAX + 1] = '\0';
    assert_false(subject_read(longest, form));
    assert_string_equal(form, "kept");
    longest[SUBJECT_MAX] = '\0';
    assert_true(subject_read(longest, form));
}
