/*
 * A secret is the first line of a file, or all of it; what is none is told and not shown.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "common/secret.h"
#include "test/support/testing.h"

static char path[] = "/tmp/secret_test-XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(path);
}

static void write_file(const char *text, size_t len)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

TEST(the_first_line_is_the_secret)
{
    static const struct {
        const char *file, *line;
    } rows[] = {
        {"geheim", "geheim"},         {"geheim\n", "geheim"},           {"geheim\r\n", "geheim"},
        {"geheim\nmore\n", "geheim"}, {"a@b:c/d", "a@b:c/d"},           {" x \r\nsecond\n", " x "},
        {"a b: c \n", "a b: c "},     {"caf\xc3\xa9\n", "caf\xc3\xa9"},
    };
    char line[SECRET_SIZE];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(rows[i].file, strlen(rows[i].file));
        assert_true(secret_read_line("--flag", path, line, NULL));
        assert_string_equal(line, rows[i].line);
    }
    write_file("x\n\0\n", 4);
    assert_true(secret_read_line("--flag", path, line, NULL));
    assert_string_equal(line, "x");
}

TEST(what_is_no_line_is_named_and_not_shown)
{
    static const struct {
        const char *file;
        size_t len;
        const char *says;
    } rows[] = {
        {"", 0, "its first line is empty"},
        {"\n", 1, "its first line is empty"},
        {"\nsecret\n", 8, "its first line is empty"},
        {"\r\nsecret", 8, "its first line is empty"},
        {"sec\0ret\n", 8, "its first line is no text"},
        {"sec\tret\n", 8, "its first line is no text"},
        {"secret\x7f", 7, "its first line is no text"},
    };
    char line[SECRET_SIZE] = "as before";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char says[128];
        struct failure failure;

        write_file(rows[i].file, rows[i].len);
        assert_false(secret_read_line("--flag", path, line, &failure));
        (void)snprintf(says, sizeof says, "--flag: %s: %s", path, rows[i].says);
        assert_string_equal(failure.text, says);
        assert_string_equal(line, "as before");
    }
}

TEST(the_longest_is_taken_and_one_more_byte_is_not)
{
    static const char *const ends[] = {"", "\n", "\r\n", "\nmore"};
    char text[SECRET_SIZE + 8];
    char line[SECRET_SIZE];

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct failure failure;

        memset(text, 'p', sizeof text);
        memcpy(text + SECRET_SIZE - 1, ends[i], strlen(ends[i]));
        write_file(text, SECRET_SIZE - 1 + strlen(ends[i]));
        assert_true(secret_read_line("--flag", path, line, &failure));
        assert_int_equal(strlen(line), SECRET_SIZE - 1);
        text[SECRET_SIZE - 1] = 'p';
        memcpy(text + SECRET_SIZE, ends[i], strlen(ends[i]));
        write_file(text, SECRET_SIZE + strlen(ends[i]));
        assert_false(secret_read_line("--flag", path, line, &failure));
        assert_non_null(strstr(failure.text, "longer than 1024 bytes"));
        assert_null(strstr(failure.text, "ppp"));
    }
}

TEST(all_bytes_but_the_newline_at_the_end_are_a_key)
{
    struct failure failure;
    char bytes[5];
    size_t len = 0;

    write_file("\0\r\n\n", 4);
    assert_true(secret_read(path, bytes, sizeof bytes, &len, &failure));
    assert_int_equal(len, 3);
    write_file("1234\n", 5);
    assert_true(secret_read(path, bytes, sizeof bytes, &len, &failure));
    assert_int_equal(len, 4);
    assert_memory_equal(bytes, "1234", 4);
    write_file("12345", 5);
    assert_false(secret_read(path, bytes, sizeof bytes, &len, &failure));
    assert_non_null(strstr(failure.text, "a secret has at most 4 bytes"));
}

TEST(a_file_that_cannot_be_read_is_named)
{
    char line[SECRET_SIZE];
    struct failure failure;

    assert_false(secret_read_line("--flag", "/nowhere/secret", line, &failure));
    assert_string_equal(failure.text, "--flag: /nowhere/secret: No such file or directory");
    assert_false(secret_read_line("--flag", "/", line, &failure));
    assert_string_equal(failure.text, "--flag: /: Is a directory");
}

TEST(a_new_one_is_ours_alone_and_replaces_none)
{
    char line[SECRET_SIZE];
    struct failure failure;
    struct stat info;

    assert_false(secret_make(path, &failure));
    assert_int_equal(unlink(path), 0);
    assert_true(secret_make(path, &failure));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_true(secret_read_line("--flag", path, line, &failure));
    assert_int_equal(strspn(line, "0123456789abcdef"), 64);
    assert_int_equal(strlen(line), 64);
}

GROUP(make_file, remove_file);
