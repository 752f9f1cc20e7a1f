/*
 * Secrets out of files: the first line, and what is said of a file that has none.
 */
#include <unistd.h>

#include "ctl/secrets.h"
#include "test/support/testing.h"

enum { LONG = SECRET_MAX + 1 };

static char path[] = "/tmp/lockctl-secret-XXXXXX";
static char said[1024];

/* What is complained of is in `said`. */
static int read_secrets(const struct ctl_request *request, struct secrets *out)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);

    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    int status = secrets_read(request, out);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    (void)fclose(file);
    return status;
}

static void write_file(const char *text, size_t len)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(path);
}

TEST(nothing_is_read_that_was_not_named)
{
    struct secrets secrets;

    assert_int_equal(read_secrets(&(struct ctl_request){0}, &secrets), CTL_OK);
    assert_null(secrets.password);
    assert_null(secrets.loader);
    secrets_done(&secrets);
}

TEST(the_first_line_is_the_secret)
{
    static const struct {
        const char *text;
        const char *secret;
    } rows[] = {
        {"pass", "pass"},         {"pass\n", "pass"},         {"pass\r\n", "pass"},
        {"pass\nmore\n", "pass"}, {" p a:ss \n", " p a:ss "}, {"p\xc3\xa4ss", "p\xc3\xa4ss"},
    };
    const struct ctl_request request = {
        .password_file = path, .loader_file = path, .sentinel_file = path};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct secrets secrets;

        write_file(rows[i].text, strlen(rows[i].text));
        assert_int_equal(read_secrets(&request, &secrets), CTL_OK);
        assert_string_equal(secrets.password, rows[i].secret);
        assert_string_equal(secrets.loader, rows[i].secret);
        assert_string_equal(secrets.sentinel, rows[i].secret);
        secrets_done(&secrets);
        assert_null(secrets.password);
    }
}

TEST(the_longest_is_taken_and_one_more_byte_is_not)
{
    char text[LONG + 1];
    struct secrets secrets;
    const struct ctl_request request = {.password_file = path};

    memset(text, 'p', sizeof text);
    text[SECRET_MAX] = '\n';
    write_file(text, sizeof text);
    assert_int_equal(read_secrets(&request, &secrets), CTL_OK);
    assert_int_equal(strlen(secrets.password), SECRET_MAX);
    secrets_done(&secrets);
    text[SECRET_MAX] = 'p';
    write_file(text, LONG);
    assert_int_equal(read_secrets(&request, &secrets), CTL_USAGE);
    assert_non_null(strstr(said, "longer than 1024 bytes"));
    assert_null(strstr(said, "ppp"));
    secrets_done(&secrets);
}

TEST(a_file_without_a_secret_is_told)
{
    static const struct {
        const char *text;
        size_t len;
        const char *word;
    } rows[] = {
        {"", 0, "is empty"},
        {"\nhidden", 7, "is empty"},
        {"\r\n", 2, "is empty"},
        {"hid\0den", 7, "is no text"},
    };
    const struct ctl_request request = {.loader_file = path};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct secrets secrets;

        write_file(rows[i].text, rows[i].len);
        assert_int_equal(read_secrets(&request, &secrets), CTL_USAGE);
        assert_non_null(strstr(said, rows[i].word));
        assert_non_null(strstr(said, "--redis-loader"));
        assert_non_null(strstr(said, path));
        assert_null(strstr(said, "hid"));
        secrets_done(&secrets);
    }
}

TEST(a_file_that_cannot_be_read_is_told)
{
    struct secrets secrets;

    assert_int_equal(
        read_secrets(&(struct ctl_request){.password_file = "/nowhere/at/all"}, &secrets),
        CTL_USAGE);
    assert_non_null(strstr(said, "--redis-password: /nowhere/at/all: No such file"));
    secrets_done(&secrets);
    assert_int_equal(read_secrets(&(struct ctl_request){.password_file = "/tmp"}, &secrets),
                     CTL_USAGE);
    assert_non_null(strstr(said, "Is a directory"));
    secrets_done(&secrets);
}

GROUP(make_file, remove_file);
