/*
 * seckillctl key and token: what they write is what seckilld takes, the same seed gives the same
 * lines, and wrong words are told.
 */
#include <sys/stat.h>

#include "auth/token.h"
#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

#define NOW "2026-11-20T10:00:00Z"

enum { OUT_SIZE = 16384, PATH_SIZE = APP_PATH_SIZE + 16, NOW_S = 1795168800, LINES = 50 };

struct fixture {
    char dir[APP_PATH_SIZE];
    char key[PATH_SIZE];
    struct token_rules rules;
    char out[OUT_SIZE];
};

static int ctl(struct fixture *self, const char *const *words)
{
    return app_run("seckillctl", words, self->out, sizeof self->out);
}

#define CTL(self, ...) ctl((self), (const char *const[]){__VA_ARGS__, NULL})

SET_UP(struct fixture, self)
{
    struct start_error why = {0};

    app_folder_make(self->dir);
    (void)snprintf(self->key, sizeof self->key, "%s/key", self->dir);
    self->rules.keys.count = 1;
    assert_true(CTL(self, "key", "--out", self->key) == 0 &&
                token_key_read(self->key, &self->rules.keys.key[0], &why));
}

TEAR_DOWN(struct fixture, self)
{
    app_folder_remove(self->dir);
}

TEST(a_key_is_random_ours_alone_and_never_overwritten, struct fixture *self)
{
    char other[PATH_SIZE];
    struct token_key key = {0};
    struct start_error why = {0};
    struct stat info;

    assert_int_equal(stat(self->key, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    (void)snprintf(other, sizeof other, "%s/other", self->dir);
    assert_int_equal(CTL(self, "key", "--out", other), 0);
    assert_string_equal(self->out, "");
    assert_true(token_key_read(other, &key, &why));
    assert_int_equal(key.len, 64);
    assert_memory_not_equal(key.bytes, self->rules.keys.key[0].bytes, key.len);
    assert_int_equal(CTL(self, "key", "--out", self->key), 1);
    assert_non_null(strstr(self->out, "File exists"));
}

TEST(one_token_is_printed_alone, struct fixture *self)
{
    struct token token = {.buyer = ""};
    long long now_s = clock_unix_ms() / 1000;

    assert_int_equal(CTL(self, "token", "--key", self->key, "--sub", "alice"), 0);
    self->out[strcspn(self->out, "\n")] = '\0';
    assert_int_equal(token_check(&self->rules, NULL, self->out, now_s + 3500, &token), TOKEN_GOOD);
    assert_string_equal(token.buyer, "alice");
    assert_int_equal(token_check(&self->rules, NULL, self->out, now_s + 3700, &token),
                     TOKEN_EXPIRED);
    assert_int_equal(
        CTL(self, "token", "--key", self->key, "--sub", "alice", "--ttl", "5", "--now", NOW), 0);
    self->out[strcspn(self->out, "\n")] = '\0';
    assert_int_equal(token_check(&self->rules, NULL, self->out, NOW_S + 4, &token), TOKEN_GOOD);
    assert_int_equal(token_check(&self->rules, NULL, self->out, NOW_S + 5, &token), TOKEN_EXPIRED);
}

TEST(lines_are_a_buyer_and_its_token, struct fixture *self)
{
    char *rest = NULL;
    int count = 0;

    assert_int_equal(CTL(self, "token", "--key", self->key, "--count", "50", "--from-seed", "7",
                         "--prefix", "vip", "--now", NOW),
                     0);
    for (char *line = strtok_r(self->out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *blank = strchr(line, ' ');
        struct token token = {.buyer = ""};

        assert_non_null(blank);
        *blank = '\0';
        assert_int_equal(token_check(&self->rules, NULL, blank + 1, NOW_S, &token), TOKEN_GOOD);
        assert_string_equal(token.buyer, line);
        assert_memory_equal(line, "vip-", 4);
        count++;
    }
    assert_int_equal(count, LINES);
}

static size_t read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(out, 1, size - 1, file) : 0;

    if (file) (void)fclose(file);
    out[len] = '\0';
    return len;
}

TEST(the_same_seed_gives_the_same_file, struct fixture *self)
{
    char path[PATH_SIZE];
    char first[OUT_SIZE] = "";
    struct stat info;

    (void)snprintf(path, sizeof path, "%s/tokens", self->dir);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(CTL(self, "token", "--key", self->key, "--count=20", "--from-seed=9",
                             "--now", NOW, "--out", path),
                         0);
        assert_true(read_file(path, i == 0 ? first : self->out, OUT_SIZE) > 0);
    }
    assert_string_equal(first, self->out);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(
        CTL(self, "token", "--key", self->key, "--count=20", "--from-seed=10", "--now", NOW), 0);
    assert_string_not_equal(first, self->out);
}

TEST(wrong_words_are_exit_2, struct fixture *self)
{
    static const char *const cases[][6] = {
        {NULL},
        {"--sub", "a", "--count", "2", "--from-seed", "1"},
        {"--sub", "a\nb"},
        {"--sub", ""},
        {"--sub", "a", "--ttl", "0"},
        {"--sub", "a", "--ttl", "-1"},
        {"--sub", "a", "--now", "noon"},
        {"--sub", "a", "--prefix", "b"},
        {"--count", "2"},
        {"--count", "0", "--from-seed", "1"},
        {"--count", "10000001", "--from-seed", "1"},
        {"--count", "2", "--from-seed", "x"},
        {"--count", "2", "--from-seed", "1", "--prefix", "a:"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *words[10] = {"token", "--key", self->key};

        for (size_t n = 0; n < 6 && cases[i][n]; n++)
            words[3 + n] = cases[i][n];
        assert_int_equal(ctl(self, words), 2);
        assert_memory_equal(self->out, "seckillctl: ", strlen("seckillctl: "));
    }
    assert_int_equal(CTL(self, "token", "--sub", "a"), 2);
    assert_int_equal(CTL(self, "token", "--sub", "a", "--key", "/nothing/here"), 2);
    assert_int_equal(CTL(self, "key"), 2);
    assert_int_equal(CTL(self, "key", "--out", "/nothing/here"), 1);
}
