/*
 * The first line of a file as a secret: what is one, and what is said of what is none.
 */
#include <unistd.h>

#include "gate/secret_file.h"
#include "test/support/testing.h"

enum { SIZE = 9 /* of the line and its NUL */ };

static char path[] = "/tmp/seckill-secret-XXXXXX";

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
        const char *file;
        const char *line;
    } rows[] = {
        {"geheim", "geheim"},         {"geheim\n", "geheim"},   {"geheim\r\n", "geheim"},
        {"geheim\nmore\n", "geheim"}, {"12345678", "12345678"}, {"12345678\n", "12345678"},
        {"a b: c \n", "a b: c "},     {"x\n\0\n", "x"},         {"caf\xc3\xa9\n", "caf\xc3\xa9"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[SIZE];
        struct start_error why = {0};

        write_file(rows[i].file, strlen(rows[i].file));
        assert_true(secret_file_read_line(path, line, sizeof line, &why));
        assert_string_equal(line, rows[i].line);
    }
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
        {"123456789", 9, "a secret has at most 8 bytes"},
        {"123456789\n", 10, "a secret has at most 8 bytes"},
        {"sec\0ret\n", 8, "its first line is no text"},
        {"sec\tret\n", 8, "its first line is no text"},
        {"secret\x7f", 7, "its first line is no text"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[SIZE];
        char says[128];
        struct start_error why = {0};

        write_file(rows[i].file, rows[i].len);
        assert_false(secret_file_read_line(path, line, sizeof line, &why));
        (void)snprintf(says, sizeof says, "%s: %s", path, rows[i].says);
        assert_string_equal(why.text, says);
    }
}

TEST(a_file_that_is_not_there_is_named)
{
    char line[SIZE];
    struct start_error why = {0};

    assert_false(secret_file_read_line("/nowhere/secret", line, sizeof line, &why));
    assert_string_equal(why.text, "/nowhere/secret: No such file or directory");
    assert_false(secret_file_read_line("/", line, sizeof line, &why));
    assert_string_equal(why.text, "/: Is a directory");
}

GROUP(make_file, remove_file);
