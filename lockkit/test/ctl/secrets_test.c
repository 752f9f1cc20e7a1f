/*
 * Secrets out of files: the first line, and what is said of a file that has none.
 */
#include <unistd.h>

#include "ctl/secrets.h"
#include "test/support/testing.h"

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

TEST(each_that_was_named_is_read)
{
    const struct ctl_request request = {
        .password_file = path, .loader_file = path, .sentinel_file = path};
    struct secrets secrets;

    write_file("pass\nmore\n", 10);
    assert_int_equal(read_secrets(&request, &secrets), CTL_OK);
    assert_string_equal(secrets.password, "pass");
    assert_string_equal(secrets.loader, "pass");
    assert_string_equal(secrets.sentinel, "pass");
    secrets_done(&secrets);
    assert_null(secrets.password);
}

TEST(a_file_without_a_secret_is_told_and_not_shown)
{
    struct secrets secrets;

    write_file("hid\0den", 7);
    assert_int_equal(read_secrets(&(struct ctl_request){.loader_file = path}, &secrets), CTL_USAGE);
    assert_non_null(strstr(said, "--redis-loader"));
    assert_non_null(strstr(said, path));
    assert_non_null(strstr(said, "is no text"));
    assert_null(strstr(said, "hid"));
    secrets_done(&secrets);
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
