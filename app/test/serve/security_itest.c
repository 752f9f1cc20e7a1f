/*
 * What browsers and faults could give away; what clients try byte by byte is in hostile_itest.c. Each
 * answer has the headers that keep a browser safe,
 * and tells nothing of what is behind it.
 */
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "serve/routes.h"
#include "test/support/app_fixture.h"

enum { OUT_SIZE = 128 * 1024, PATH_LEN = 128, LINE_LEN = 512 };

#define SALES "/api/v1/sales"
#define ADMIN "/api/v1/admin/sales"

static char redis_dir[APP_PATH_SIZE]; /* so that nobody else writes into seckilld.log */
static char heard[OUT_SIZE];

SET_UP(struct app_fixture, self)
{
    app_fixture_begin(self);
    app_folder_make(redis_dir);
    assert_true(app_start_redis(&self->redis, redis_dir));
    app_fixture_start(self,
                      (const char *const[]){"--redis", self->redis.redis, "--log-format", "json",
                                            "--log-level", "debug", "--class", "1", NULL},
                      "cup");
}

TEAR_DOWN(struct app_fixture, self)
{
    (void)app_fixture_end(self); /* how it ends is service_itest's matter */
    app_folder_remove(redis_dir);
}

/* Imported names stand in the program's string table: what is not in it cannot be called. */
static bool program_names(const char *symbol)
{
    char path[PATH_LEN];
    const char *folder = secure_getenv("BUILD_DIR");
    FILE *file = NULL;
    char *bytes = NULL;
    size_t size = 0;
    bool is_there = false;

    (void)snprintf(path, sizeof path, "%s/seckilld", folder ? folder : "build/release");
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, size, file), size);
    (void)fclose(file);
    is_there = memmem(bytes, size, symbol, strlen(symbol)) != NULL;
    free(bytes);
    return is_there;
}

TEST(the_library_never_reads_a_form)
{
    assert_true(program_names("mg_start2")); /* so it would be found */
    assert_false(program_names("mg_handle_form_request"));
    assert_false(program_names("mg_get_var"));
    assert_false(program_names("mg_send_file"));
}

/* All commands until a mark that we send ourselves. */
static void read_monitor(struct app_fixture *self, int fd)
{
    (void)app_ask_redis(self->redis.redis, "EXISTS", "end-of-test");
    (void)app_receive(fd, heard, sizeof heard, "\"end-of-test\"", 5000);
    assert_non_null(strstr(heard, "\"end-of-test\""));
}

TEST(redis_gets_each_value_as_one_argument, struct app_fixture *self)
{
    static const char *const lines[] = {
        "] \"HGET\" \"seckill:{cup}:orders\" \"anna\"\r\n",
        "] \"GET\" \"seckill:{cup}:stock\"\r\n",
    };
    static const char *const keys[] = {" \"seckill:{cup}:sale\" ", " \"seckill:{cup}:stock\" ",
                                       " \"seckill:{cup}:orders\" ", " \"seckill:{cup}:ledger\" ",
                                       " \"seckill:{cup}:lock\" "};
    char order[32];
    char argument[96];
    int fd = app_monitor(redis_dir);
    const char *line = NULL;

    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", "\"key-1\"", &self->reply), 201);
    (void)snprintf(order, sizeof order, "%s", app_member(&self->reply, "id"));
    app_http(&(struct app_call){.base = self->service.buyers,
                                .path = SALES "/cup/orders/me",
                                .user = "anna"},
             &self->reply);
    (void)app_get(self, self->service.buyers, SALES "/cup");
    read_monitor(self, fd);
    (void)close(fd);

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!strstr(heard, lines[i])) fail_msg("missing %s in:\n%s", lines[i], heard);
    }
    /* The purchase itself: one script, keys under one hash tag, buyer and key whole. */
    line = strstr(heard, "] \"EVALSHA\" ");
    if (!line) {
        fail_msg("no purchase in:\n%s", heard);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_true(strstr(line, keys[i]) && strstr(line, keys[i]) < strchr(line, '\n'));
    (void)snprintf(argument, sizeof argument, " \"anna\" \"%s\" \"key-1\" ", order);
    if (!strstr(line, argument)) fail_msg("no%sin:\n%.700s", argument, line);
}

TEST(pages_of_other_origins_are_told_nothing, struct app_fixture *self)
{
    const char *const bases[] = {self->service.buyers, self->service.admin};
    static const char *const methods[] = {"OPTIONS", "GET", "POST"};
    struct route_text route;

    for (size_t i = 0; routes_at(i, &route); i++) {
        for (size_t m = 0; m < 6; m++) {
            const char *method = methods[m / 2];

            if (strstr(route.path, "/events") && strcmp(method, "GET") == 0) method = "HEAD";
            app_http(&(struct app_call){.method = method,
                                        .base = bases[m % 2],
                                        .path = route.path,
                                        .headers = {"Origin: http://elsewhere",
                                                    "Access-Control-Request-Method: POST",
                                                    "Access-Control-Request-Headers: x-user-id"}},
                     &self->reply);
            assert_true(self->reply.status > 0);
            assert_null(strcasestr(self->reply.headers, "\r\nAccess-Control-"));
            assert_null(strcasestr(self->reply.headers, "\r\nVary:"));
        }
    }
}

/* Every header is one that we know; those that keep a browser safe are there. */
static void assert_headers_are_safe(const char *headers, const char *what)
{
    static const char *const needed[] = {"\r\nX-Content-Type-Options: nosniff\r\n",
                                         "\r\nContent-Security-Policy: default-src 'none'; ",
                                         "frame-ancestors 'none'\r\n",
                                         "\r\nReferrer-Policy: no-referrer\r\n",
                                         "\r\nCache-Control: no-",
                                         "\r\nContent-Type: "};
    static const char *const known[] = {
        "Date",         "Content-Type",    "Cache-Control",        "X-Content-Type-Options",
        "Connection",   "Content-Length",  "Transfer-Encoding",    "Content-Security-Policy",
        "Allow",        "Location",        "Retry-After",          "WWW-Authenticate",
        "X-Request-Id", "Referrer-Policy", "Idempotency-Replayed", "X-Accel-Buffering",
        "ETag",         "Keep-Alive"};
    char copy[4096];
    char *rest = NULL;
    const char *end = strstr(headers, "\r\n\r\n");

    (void)snprintf(copy, sizeof copy, "%.*s", end ? (int)(end - headers) + 2 : 4000, headers);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!strstr(copy, needed[i])) fail_msg("%s: no%s in\n%s", what, needed[i], headers);
    }
    /* Only what is a page may run anything, and then only what is ours. */
    if (!strstr(copy, "\r\nETag: "))
        assert_non_null(strstr(copy, "default-src 'none'; frame-ancestors 'none'\r\n"));
    assert_null(strstr(copy, "unsafe"));
    assert_null(strstr(copy, "*"));
    (void)strtok_r(copy, "\r\n", &rest); /* the status */
    for (char *line = strtok_r(NULL, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        bool is_known = false;

        line[strcspn(line, ":")] = '\0';
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || strcmp(line, known[i]) == 0;
        if (!is_known) fail_msg("%s: header %s", what, line);
    }
}

/* "/a/{id}/b" -> "/a/cup/b" */
static void fill_path(const char *pattern, const char *id, char out[PATH_LEN])
{
    const char *open = strchr(pattern, '{');
    const char *close = strchr(pattern, '}');

    if (open && close) {
        (void)snprintf(out, PATH_LEN, "%.*s%s%s", (int)(open - pattern), pattern, id, close + 1);
    } else {
        (void)snprintf(out, PATH_LEN, "%s", pattern);
    }
}

static void assert_route_is_safe(struct app_fixture *self, const struct route_text *route,
                                 const char *id)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "DELETE"};
    const char *const bases[] = {self->service.buyers, self->service.admin};
    bool is_stream = strstr(route->path, "/events") != NULL;
    char path[PATH_LEN];

    fill_path(route->path, id, path);
    for (size_t m = 0; m < 4; m++) {
        for (size_t who = 0; who < 6; who++) { /* port, and nobody or somebody or an impostor */
            if (is_stream && m == 0 && who % 2 == 0) continue; /* has no end: HEAD will do */
            app_http(&(struct app_call){.method = methods[m],
                                        .base = bases[who % 2],
                                        .path = path,
                                        .user = who < 2 ? NULL : "anna",
                                        .token = who < 4   ? NULL
                                                 : who % 2 ? app_token(self->dir)
                                                           : "not-a-token",
                                        .headers = {"X-Request-Id: r-1"}},
                     &self->reply);
            if (self->reply.status == 0) fail_msg("%s %s: no answer", methods[m], path);
            assert_headers_are_safe(self->reply.headers, path);
        }
    }
}

TEST(every_route_answers_with_safe_headers, struct app_fixture *self)
{
    struct route_text route;

    for (size_t i = 0; routes_at(i, &route); i++) {
        assert_route_is_safe(self, &route, "none");
        assert_route_is_safe(self, &route, "cup");
        assert_route_is_safe(self, &route, "CUP");
    }
    (void)app_get(self, self->service.buyers, "/problems/sold-out");
    assert_non_null(strstr(self->reply.headers, "Content-Type: text/html; charset=utf-8\r\n"));
    assert_headers_are_safe(self->reply.headers, "a page");
}

static void assert_tells_nothing(struct app_fixture *self, const char *path)
{
    char host[64] = "localhost";
    const char *const secrets[] = {self->dir, redis_dir, "own.sock",     "unix:", "127.0.0.1",
                                   host,      "refused", "No such file", ".c:",   "redis-server"};

    (void)gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        if (strlen(secrets[i]) > 2 && strcasestr(self->reply.body, secrets[i]))
            fail_msg("%s: \"%s\" in %s", path, secrets[i], self->reply.body);
    }
    assert_headers_are_safe(self->reply.headers, path);
}

/* A body that the route takes; NULL: none. */
static const char *body_for(const struct route_text *route)
{
    if (strcmp(route->method, "GET") == 0) return NULL;
    if (strcmp(route->method, "PATCH") == 0) return "{\"title\":\"x\"}";
    if (strstr(route->path, "/restock")) return "{\"units\":1}";
    if (strstr(route->path, "/class/seats")) return "{\"name\":\"ann\"}";
    return strcmp(route->path, ADMIN) == 0 ? "{\"id\":\"a\",\"stock\":1}" : "{}";
}

TEST(faults_tell_nothing_of_what_is_behind, struct app_fixture *self)
{
    struct route_text route;
    char path[PATH_LEN];
    size_t failed = 0;

    app_kill(&self->redis);
    for (size_t i = 0; routes_at(i, &route); i++) {
        struct app_call call = {
            .method = route.method, .path = path, .user = "anna", .body = body_for(&route)};

        if (strcmp(route.path, "/version") == 0) continue; /* names the instance, on purpose */
        fill_path(route.path, "cup", path);
        call.base = route.is_for_buyers ? self->service.buyers : self->service.admin;
        if (route.needs_token) call.token = app_token(self->dir);
        app_http(&call, &self->reply);
        if (self->reply.status == 0) fail_msg("%s %s: no answer", route.method, path);
        if (self->reply.status < 500) continue;
        assert_tells_nothing(self, path);
        failed++;
    }
    assert_true(failed >= 12);
}
