/*
 * Who may buy, on a real seckilld without --lab: tokens good and bad, keys that are changed, the
 * rate of one buyer, and that no secret gets into logs or command lines.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/token.h"
#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "test/support/app_forge.h"

#define KEY    "the first key has thirty-two bytes"
#define OLD    "the key before has enough of them too"
#define OTHER  "somebody else's key, long enough as well"

#define ORDERS "/api/v1/sales/cup/orders"

enum { PATH_SIZE = APP_PATH_SIZE + 16, LINE_SIZE = 16384, CLAIMS_SIZE = 12288 };

static char key_file[PATH_SIZE], old_key_file[PATH_SIZE];

static void write_file(const struct app_fixture *self, const char *name, const char *text,
                       char out_path[PATH_SIZE])
{
    int fd = -1;

    (void)snprintf(out_path, PATH_SIZE, "%.128s/%.12s", self->dir, name);
    fd = open(out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    (void)close(fd);
}

static bool start(struct app_fixture *self, const char *const *args)
{
    return app_start(&self->service, self->dir, args) &&
           app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":100}");
}

#define START(self, ...) start((self), (const char *const[]){__VA_ARGS__, NULL})

static void start_by_tokens(struct app_fixture *self)
{
    assert_true(START(self, "no-lab", "--token-key", key_file, "--token-key-2", old_key_file,
                      "--log-level", "debug"));
}

SET_UP(struct app_fixture, self)
{
    app_fixture_begin(self);
    write_file(self, "key", KEY "\n", key_file);
    write_file(self, "old-key", OLD "\n", old_key_file);
}

TEAR_DOWN(struct app_fixture, self)
{
    assert_int_equal(app_fixture_end(self), 0);
}

static long long now_s(void)
{
    return clock_unix_ms() / 1000;
}

/* A token for a buyer, good for a minute; the result is yours. */
static char *make_token(const char *key, const char *buyer)
{
    char claims[256];

    (void)snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"exp\":%lld}", buyer, now_s() + 60);
    return app_forge(&(struct forgery){.key = key, .claims = claims});
}

/* POST orders with these header lines (NULL: none). */
static void buy_with(struct app_fixture *self, const char *first, const char *second)
{
    app_http(&(struct app_call){.method = "POST",
                                .base = self->service.buyers,
                                .path = ORDERS,
                                .headers = {first, second}},
             &self->reply);
}

/* POST orders with this token, which is freed. */
static void buy(struct app_fixture *self, char *token)
{
    static char line[LINE_SIZE];

    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    free(token);
    buy_with(self, line, NULL);
}

static bool is_unauthenticated(const struct app_fixture *self)
{
    static const char challenge[] = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n";

    return app_is_problem(&self->reply, 401, "unauthenticated") &&
           strstr(self->reply.headers, challenge);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

TEST(the_token_alone_names_the_buyer, struct app_fixture *self)
{
    char line[512];
    char *token = make_token(KEY, "alice");

    start_by_tokens(self);
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    buy_with(self, line, "X-User-Id: mallory");
    app_assert_answer(&self->reply, 201, "{`buyer`:`alice`}");
    app_http(&(struct app_call){.base = self->service.buyers, .path = ORDERS "/me", .token = token},
             &self->reply);
    app_assert_answer(&self->reply, 200, "{`buyer`:`alice`}");
    buy(self, token);
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
}

TEST(tokens_of_both_keys_are_good, struct app_fixture *self)
{
    start_by_tokens(self);
    buy(self, make_token(KEY, "alice"));
    assert_int_equal(self->reply.status, 201);
    buy(self, make_token(OLD, "bobby"));
    assert_int_equal(self->reply.status, 201);
    buy(self, make_token(OTHER, "carol"));
    assert_true(is_unauthenticated(self));
}

/* On one connection, so that the thread that answers has seen the good token before. */
TEST(a_connection_may_change_its_buyer, struct app_fixture *self)
{
    static const struct {
        const char *key, *buyer, *expected;
    } steps[] = {
        {KEY, "alice", "HTTP/1.1 201 "}, {KEY, "alice", "HTTP/1.1 409 "},
        {KEY, "bobby", "HTTP/1.1 201 "}, {OTHER, "alice", "HTTP/1.1 401 "},
        {KEY, "alice", "HTTP/1.1 409 "}, {OLD, "bobby", "HTTP/1.1 409 "},
    };
    int fd = -1;
    char request[1024];

    start_by_tokens(self);
    fd = app_connect(self->service.buyers);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char *token = make_token(steps[i].key, steps[i].buyer);

        (void)snprintf(request, sizeof request,
                       "POST " ORDERS " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       token);
        free(token);
        assert_true(app_send(fd, request, strlen(request)));
        (void)app_receive(fd, self->out, sizeof self->out, "}\n", 5000);
        assert_memory_equal(self->out, steps[i].expected, strlen(steps[i].expected));
    }
    (void)close(fd);
}

TEST(a_token_expires_also_on_an_open_connection, struct app_fixture *self)
{
    int fd = -1;
    char claims[128];
    char request[1024];
    char *token = NULL;

    start_by_tokens(self);
    fd = app_connect(self->service.buyers);
    (void)snprintf(claims, sizeof claims, "{\"sub\":\"alice\",\"exp\":%lld}",
                   now_s() - 7); /* with the leeway 3 s are left */
    token = app_forge(&(struct forgery){.key = KEY, .claims = claims});
    (void)snprintf(request, sizeof request,
                   "GET " ORDERS "/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n",
                   token);
    free(token);
    assert_true(fd >= 0);
    assert_true(app_send(fd, request, strlen(request)));
    (void)app_receive(fd, self->out, sizeof self->out, "}\n", 5000);
    assert_non_null(strstr(self->out, "HTTP/1.1 404 "));
    while (!strstr(self->out, "HTTP/1.1 401 ")) {
        assert_true(app_send(fd, request, strlen(request)));
        assert_true(app_receive(fd, self->out, sizeof self->out, "}\n", 5000) > 0);
        clock_pause_ms(100);
    }
    assert_non_null(strstr(self->out, "exp: the token has expired."));
    (void)close(fd);
}

/* ---- the other port, the lab ----------------------------------------------------------------- */

TEST(buyers_are_no_operators_and_operators_no_buyers, struct app_fixture *self)
{
    struct app_call call = {.path = "/api/v1/admin/sales"};
    char *token = make_token(KEY, "alice");

    start_by_tokens(self);
    call.base = self->service.admin;
    call.token = token;
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 403, "forbidden"));
    call.token = NULL;
    call.user = "alice";
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 401, "unauthenticated"));
    free(token);
    buy(self, strdup(app_token(self->dir)));
    assert_true(is_unauthenticated(self));
}

TEST(in_the_lab_a_token_still_wins, struct app_fixture *self)
{
    char line[512];
    char *token = make_token(KEY, "alice");

    assert_true(START(self, "--token-key", key_file));
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    buy_with(self, line, "X-User-Id: carol");
    assert_string_equal(app_member(&self->reply, "buyer"), "alice");
    buy_with(self, "X-User-Id: carol", NULL);
    assert_string_equal(app_member(&self->reply, "buyer"), "carol");
    buy_with(self, "X-User-Id: dave", "Authorization: Bearer x");
    assert_true(is_unauthenticated(self));
    free(token);
}

/* ---- keys ------------------------------------------------------------------------------------ */

TEST(a_bad_key_is_one_line_and_exit_2, struct app_fixture *self)
{
    static const struct {
        const char *text, *says; /* text NULL: no file */
    } cases[] = {
        {"", "at least 32 bytes"},
        {"\n", "at least 32 bytes"},
        {"thirty-one bytes are not enough", "at least 32 bytes"},
        {NULL, "No such file or directory"},
    };
    static const char *const flags[] = {"--token-key", "--token-key-2"};
    char path[PATH_SIZE];

    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const char *flag = flags[i % 2];
        const char *const args[] = {"--data", self->dir, flag, path, "--token-key", key_file, NULL};
        const char *const only[] = {"--data", self->dir, flag, path, NULL};

        write_file(self, "bad", cases[i / 2].text ? cases[i / 2].text : "", path);
        if (!cases[i / 2].text) (void)unlink(path);
        assert_int_equal(app_run("seckilld", i % 2 ? args : only, self->out, sizeof self->out), 2);
        assert_non_null(strstr(self->out, flag));
        assert_non_null(strstr(self->out, path));
        assert_non_null(strstr(self->out, cases[i / 2].says));
        assert_ptr_equal(strchr(self->out, '\n'), self->out + strlen(self->out) - 1);
    }
}

static size_t read_file(struct app_fixture *self, const char *path)
{
    size_t len = 0;
    FILE *file = fopen(path, "re");

    if (file) {
        len = fread(self->out, 1, sizeof self->out - 1, file);
        (void)fclose(file);
    }
    for (size_t i = 0; i < len; i++) { /* command lines are words with a NUL behind each */
        if (self->out[i] == '\0') self->out[i] = ' ';
    }
    self->out[len] = '\0';
    return len;
}

TEST(a_key_open_to_others_is_worth_a_warning, struct app_fixture *self)
{
    assert_int_equal(chmod(key_file, 0644), 0);
    assert_true(START(self, "no-lab", "--token-key", key_file, "--token-key-2", old_key_file));
    const char *log = app_file(self->dir, "seckilld.log");
    assert_non_null(strstr(log, " warn "));
    assert_non_null(strstr(log, "/key: others may read"));
    assert_null(strstr(log, "old-key"));
}

TEST(no_secret_is_written_anywhere, struct app_fixture *self)
{
    char path[PATH_SIZE];
    char *good = make_token(KEY, "alice");
    char *bad = make_token(OTHER, "alice");
    struct stat info;

    start_by_tokens(self);
    for (int i = 0; i < 3; i++) {
        buy(self, strdup(good));
        buy(self, strdup(bad));
        buy_with(self, "Authorization: Bearer a\x1b[2J\\nb", NULL);
    }
    (void)snprintf(path, sizeof path, "/proc/%d/environ", self->service.pid);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, 0); /* not dumpable: no longer ours, also when we are not root */
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", self->service.pid);
    assert_true(read_file(self, path) > 0);
    assert_null(strstr(self->out, KEY));
    assert_int_equal(app_stop(&self->service), 0);
    (void)snprintf(path, sizeof path, "%s/seckilld.log", self->dir);
    assert_true(read_file(self, path) > 0);
    assert_null(strstr(self->out, strrchr(good, '.') + 1));
    assert_null(strstr(self->out, strrchr(bad, '.') + 1));
    assert_null(strstr(self->out, "eyJ"));
    assert_null(strstr(self->out, "[2J"));
    assert_null(strstr(self->out, KEY));
    assert_null(strstr(self->out, app_token(self->dir)));
    free(bad);
    free(good);
}

/* ---- the rate -------------------------------------------------------------------------------- */

static bool is_over_quota(const struct app_fixture *self)
{
    const char *header = strstr(self->reply.headers, "Retry-After: ");
    long seconds = header ? strtol(header + strlen("Retry-After: "), NULL, 10) : 0;

    return app_is_problem(&self->reply, 429, "quota-exceeded") && seconds >= 1 && seconds <= 30;
}

TEST(who_asks_too_often_is_told_so, struct app_fixture *self)
{
    assert_true(START(self, "no-lab", "--token-key", key_file, "--rate", "1/s:3"));
    buy(self, make_token(KEY, "alice"));
    assert_int_equal(self->reply.status, 201);
    buy(self, make_token(KEY, "alice"));
    assert_int_equal(self->reply.status, 409);
    buy(self, make_token(KEY, "alice"));
    assert_int_equal(self->reply.status, 409);
    for (int i = 0; i < 20 && self->reply.status == 409; i++) /* it may have been refilled */
        buy(self, make_token(KEY, "alice"));
    assert_true(is_over_quota(self));
    buy(self, make_token(KEY, "bobby"));
    assert_int_equal(self->reply.status, 201);
}

/* With a Redis that stands still, only what does not ask it is answered at once. */
TEST(a_refused_request_does_not_reach_redis, struct app_fixture *self)
{
    pid_t redis = 0;

    assert_true(START(self, "--rate", "1:1"));
    redis = app_redis_child_of(&self->service);
    assert_true(redis > 0);
    for (int i = 0; i < 5 && self->reply.status != 429; i++) {
        app_buy(self->service.buyers, "cup", "alice", NULL, &self->reply);
        (void)kill(redis, SIGSTOP);
        app_buy(self->service.buyers, "cup", "alice", NULL, &self->reply);
        (void)kill(redis, SIGCONT);
    }
    assert_true(is_over_quota(self));
}

TEST(the_limited_are_counted, struct app_fixture *self)
{
    assert_true(START(self, "--rate", "1:1"));
    for (int i = 0; i < 5; i++)
        app_buy(self->service.buyers, "cup", "alice", NULL, &self->reply);
    assert_true(is_over_quota(self));
    app_http(&(struct app_call){.base = self->service.admin, .path = "/metrics"}, &self->reply);
    assert_non_null(strstr(self->reply.body, "\nseckill_rate_limited_total "));
    assert_null(strstr(self->reply.body, "\nseckill_rate_limited_total 0\n"));
}

TEST(without_a_rate_nobody_is_limited, struct app_fixture *self)
{
    assert_true(START(self, "--batch", "1"));
    for (int i = 0; i < 50; i++) {
        app_buy(self->service.buyers, "cup", "alice", NULL, &self->reply);
        assert_int_not_equal(self->reply.status, 429);
    }
}
