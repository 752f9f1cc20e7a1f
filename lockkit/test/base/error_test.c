/*
 * Every status and event has its own name; error texts are cut, never overrun.
 */
#include <errno.h>

#include "lockkit/event.h"

#include "base/error.h"
#include "test/support/testing.h"

TEST(every_status_has_a_name_and_a_meaning_of_its_own)
{
    for (int i = 0; i < LK_STATUS_COUNT; i++) {
        assert_true(strlen(lk_status_name((lk_status)i)) >= 2);
        assert_true(strlen(lk_status_meaning((lk_status)i)) >= 4);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(lk_status_name((lk_status)i), lk_status_name((lk_status)k));
            assert_string_not_equal(lk_status_meaning((lk_status)i),
                                    lk_status_meaning((lk_status)k));
        }
    }
    assert_int_equal(LK_OK, 0);
    assert_string_equal(lk_status_name(LK_NOT_OWNER), "not-owner");
}

TEST(every_event_has_a_name_of_its_own)
{
    for (int i = 0; i < LK_EVENT_COUNT; i++) {
        assert_true(strlen(lk_event_name((lk_event_type)i)) >= 3);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(lk_event_name((lk_event_type)i),
                                    lk_event_name((lk_event_type)k));
    }
}

TEST(a_value_that_is_none_has_a_name_too)
{
    assert_string_equal(lk_status_name(LK_STATUS_COUNT), "?");
    assert_string_equal(lk_status_meaning((lk_status)-1), "?");
    assert_string_equal(lk_event_name((lk_event_type)4711), "?");
}

TEST(failing_fills_the_error_and_answers_the_code)
{
    struct lk_error err = {.code = LK_BUSY, .sys_errno = 5, .text = "what was there before"};

    assert_int_equal(LKI_FAIL(&err, LK_SERVER, "%s:%d", "host", 6379), LK_SERVER);

    assert_int_equal(err.code, LK_SERVER);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.text, "host:6379");
    assert_string_equal(err.where, __func__);
}

TEST(the_error_is_optional)
{
    assert_int_equal(LKI_FAIL(NULL, LK_BUSY, "%d", 1), LK_BUSY);
}

TEST(a_system_error_is_put_into_words)
{
    struct lk_error err = {0};

    errno = ECONNREFUSED;
    assert_int_equal(LKI_FAIL_ERRNO(&err, LK_UNREACHABLE, "redis-2:6379"), LK_UNREACHABLE);

    assert_int_equal(err.sys_errno, ECONNREFUSED);
    assert_string_equal(err.text, "redis-2:6379: Connection refused");
}

TEST(a_long_text_is_cut_and_ends)
{
    struct {
        struct lk_error err;
        char fence[16];
    } box = {.fence = "fence"};
    char text[512];

    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    for (size_t len = 140; len < sizeof text; len++) { /* words are cut at every place */
        errno = ECONNREFUSED;
        (void)LKI_FAIL_ERRNO(&box.err, LK_SERVER, "%.*s", (int)len, text);
        assert_true(strlen(box.err.text) < sizeof box.err.text);
        assert_string_equal(box.fence, "fence");
    }
    assert_int_equal(strlen(box.err.text), sizeof box.err.text - 1);
}

/* A key may have 512 bytes, and what is said of it stands behind it. */
TEST(a_long_key_does_not_push_out_the_reason)
{
    char key[513];
    struct lk_error err = {0};

    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    (void)LKI_FAIL(&err, LK_LOST, "%s: the hold has ended", key);
    assert_memory_equal(err.text, "kkkk", 4);
    assert_non_null(strstr(err.text, "kk...kk"));
    assert_string_equal(strstr(err.text, ": "), ": the hold has ended");
    for (size_t i = 0; i + 1 < sizeof key; i += 2) /* no half of a character is left */
        memcpy(key + i, "é", 2);
    for (size_t cut = 0; cut < 4; cut++) {
        (void)LKI_FAIL(&err, LK_LOST, "%s: %.*s", key + 2 * cut, (int)cut, "yes");
        for (const char *c = strstr(err.text, "..."); (c[-2] & 0xff) != 0xc3;)
            fail_msg("%s", err.text);
        assert_int_equal(strstr(err.text, "...")[3] & 0xff, 0xc3);
    }
}
