/*
 * A secret is the first line of a file, and no complaint shows it.
 */
#include <unistd.h>

#include "base/secret.h"
#include "test/support/testing.h"

static bool read_text(const char *text, char secret[SECRET_MAX], struct failure *failure)
{
    char path[] = "/tmp/secret_test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
    assert_int_equal(0, close(fd));
    bool is_read = secret_read("--redis-password", path, secret, failure);
    assert_int_equal(0, unlink(path));
    return is_read;
}

TEST(the_first_line_is_the_secret)
{
    static const struct {
        const char *text, *secret;
    } rows[] = {
        {"open sesame\n", "open sesame"}, {"a@b:c/d", "a@b:c/d"}, {" x \r\nsecond\n", " x "}};
    char secret[SECRET_MAX];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(read_text(rows[i].text, secret, NULL));
        assert_string_equal(rows[i].secret, secret);
    }
}

TEST(what_is_no_secret_is_told)
{
    struct failure failure = {.text = ""};
    char secret[SECRET_MAX] = "as before";
    char text[SECRET_MAX + 8];

    assert_false(secret_read("--redis-password", "/nonexistent/file", secret, &failure));
    assert_non_null(strstr(failure.text, "--redis-password: /nonexistent/file: No such file"));
    assert_false(read_text("", secret, &failure));
    assert_non_null(strstr(failure.text, "the first line is empty"));
    assert_false(read_text("\nsecond\n", secret, &failure));
    memset(text, 'x', sizeof text);
    text[SECRET_MAX - 1] = '\0';
    assert_true(read_text(text, secret, &failure));
    assert_int_equal(SECRET_MAX - 1, strlen(secret));
    text[SECRET_MAX - 1] = 'x';
    text[SECRET_MAX] = '\0';
    assert_false(read_text(text, secret, &failure));
    assert_non_null(strstr(failure.text, "too long"));
    assert_null(strstr(failure.text, "xxx"));
}
