/*
 * The hostile table through HAProxy as it is deployed (docker/haproxy/haproxy.cfg, but for addresses):
 * the service answers as many requests as HAProxy has passed on, row by row. So none that HAProxy
 * takes for one is two to the service, nor the other way round.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/port.h"
#include "test/hostile/hostile_world.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum {
    PORTS = 3, /* of buyers, operators, the load test */
    SILENCE_MS = 700,
    AGREE_MS = 3000, /* /metrics may be a moment old */
    READY_MS = 20000,
    TEXT_SIZE = 256 * 1024,
    WHY_SIZE = 4096,
};

static const char haproxy[] = "build/tools/haproxy";
static const char config[] = "docker/haproxy/haproxy.cfg";

struct fixture {
    struct hostile_world world;
    struct app_process proxy;
    char front[APP_URL_SIZE];        /* HAProxy's door for buyers */
    char socket[APP_PATH_SIZE + 16]; /* and for its operator */
    char text[TEXT_SIZE];
    struct app_reply reply;
};

/* Each `from` in the text becomes `to`. */
static void replace(char *text, const char *from, const char *to)
{
    size_t from_len = strlen(from);
    size_t to_len = strlen(to);

    for (char *at = text; (at = strstr(at, from)); at += to_len) {
        if (strlen(text) + to_len >= TEXT_SIZE) abort();
        memmove(at + to_len, at + from_len, strlen(at + from_len) + 1);
        memcpy(at, to, to_len); /* NOLINT(bugprone-not-null-terminated-result): in its middle */
    }
}

/* The deployment's configuration with the addresses of here. */
static void write_config(struct fixture *self, const char *path, const int ports[PORTS])
{
    static const char *const doors[PORTS] = {"8080", "8081", "8090"};
    char from[64];
    char to[64];
    FILE *file = fopen(config, "re");

    assert_non_null(file);
    self->text[fread(self->text, 1, sizeof self->text - 1, file)] = '\0';
    (void)fclose(file);
    for (int i = 0; i < PORTS; i++) {
        (void)snprintf(from, sizeof from, "bind :%s", doors[i]);
        (void)snprintf(to, sizeof to, "bind 127.0.0.1:%d", ports[i]);
        replace(self->text, from, to);
        for (int server = 1; server <= 3; server++) {
            const char *base =
                i == 1 ? self->world.services[0].admin : self->world.services[0].buyers;

            (void)snprintf(from, sizeof from, "seckilld-%d:%s", server, doors[i]);
            (void)snprintf(to, sizeof to, "127.0.0.1%s", strrchr(base, ':'));
            replace(self->text, from, to);
        }
    }
    replace(self->text, "resolvers docker init-addr libc,none", "");
    replace(self->text, "/run/haproxy/admin.sock", self->socket);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(self->text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool proxy_is_ready(void *arg)
{
    struct fixture *self = arg;

    return app_status(&(struct app_call){.base = self->front, .path = "/api/v1/sales/cup"}) == 200;
}

SET_UP(struct fixture, self)
{
    static const char *const settings[] = {"HAPROXY_MAXCONN", "HAPROXY_SERVER_MAXCONN"};
    const int ports[PORTS] = {port_free(), port_free(), port_free()};
    char path[APP_PATH_SIZE + 16];
    const char *build = secure_getenv("BUILD_DIR");

    assert_true(hostile_world_open(&self->world, build ? build : "build/release", "info"));
    (void)snprintf(path, sizeof path, "%s/haproxy.cfg", self->world.redis_dir);
    (void)snprintf(self->socket, sizeof self->socket, "%s/ha.sock", self->world.redis_dir);
    (void)snprintf(self->front, sizeof self->front, "http://127.0.0.1:%d", ports[0]);
    write_config(self, path, ports);
    for (size_t i = 0; i < 2; i++)
        (void)setenv(settings[i], "100", 1);      /* NOLINT(concurrency-mt-unsafe): no threads */
    (void)setenv("HAPROXY_ADDRESS_RATE", "0", 1); /* NOLINT(concurrency-mt-unsafe) */
    if (access(haproxy, X_OK) != 0) fail_msg("%s is not there: make haproxy", haproxy);
    app_start_program(&self->proxy, haproxy, (const char *const[]){"-db", "-f", path, NULL},
                      self->world.redis_dir);
    assert_true(app_eventually(proxy_is_ready, self, READY_MS));
}

TEAR_DOWN(struct fixture, self)
{
    static char why[WHY_SIZE];
    bool good = false;

    (void)app_stop(&self->proxy);
    good = hostile_world_close(&self->world, why, sizeof why);
    if (!good) print_message("# %s\n", why);
    assert_true(good);
}

/* What HAProxy has passed on, by its own count. */
static long passed_on(struct fixture *self)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    long count = 0;

    (void)snprintf(where.sun_path, sizeof where.sun_path, "%.100s", self->socket);
    assert_int_equal(connect(fd, (const struct sockaddr *)&where, sizeof where), 0);
    assert_true(app_send(fd, "show stat\n", 10));
    (void)app_receive(fd, self->text, sizeof self->text, NULL, READY_MS);
    (void)close(fd);
    for (char *rest = self->text, *line = NULL; (line = strsep(&rest, "\n"));) {
        bool is_server = strstr(line, ",seckilld-") != NULL;

        for (int column = 0; is_server && column < 7 && line; column++) { /* stot */
            line = strchr(line, ',');
            if (line) line++;
        }
        if (is_server && line) count += strtol(line, NULL, 10);
    }
    return count;
}

/* What the service has answered, but for health checks and this very question. */
static long answered(struct fixture *self)
{
    static const char sample[] = "seckill_http_requests_total{";
    long count = 0;

    app_http(&(struct app_call){.base = self->world.services[0].admin, .path = "/metrics"},
             &self->reply);
    for (char *rest = self->reply.body, *line = NULL; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, sample, sizeof sample - 1) == 0 && !strstr(line, "\"/readyz\"") &&
            !strstr(line, "\"/livez\"") && !strstr(line, "\"/metrics\""))
            count += strtol(strrchr(line, ' '), NULL, 10);
    }
    return count;
}

struct counts {
    struct fixture *fixture;
    long passed_before, answered_before, passed, answered;
};

static bool they_agree(void *arg)
{
    struct counts *self = arg;

    self->passed = passed_on(self->fixture) - self->passed_before;
    self->answered = answered(self->fixture) - self->answered_before;
    return self->passed == self->answered;
}

/* The row, and a purchase behind it; whatever HAProxy and the service make of it. */
static void send_through(struct fixture *self, const struct hostile_attempt *row)
{
    static const char follower[] =
        "POST /api/v1/sales/cup/orders HTTP/1.1\r\nHost: here\r\n"
        "X-User-Id: mallory\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    int fd = app_connect(self->front);

    assert_true(fd >= 0);
    (void)app_send(fd, row->bytes, row->len);
    (void)app_send(fd, follower, sizeof follower - 1);
    (void)app_receive(fd, self->text, sizeof self->text, NULL, SILENCE_MS);
    (void)close(fd);
}

TEST(what_is_one_request_to_haproxy_is_one_to_the_service, struct fixture *self)
{
    struct hostile_attempt row;
    size_t rows = 0, differ = 0;

    for (size_t i = 0; hostile_attempt_at(i, &row); i++) {
        struct counts counts = {.fixture = self};

        if (row.is_framing && row.door == DOOR_LAB) {
            replace(row.bytes, "/livez", "/lives"); /* health checks are not counted */
            counts.passed_before = passed_on(self);
            counts.answered_before = answered(self);
            send_through(self, &row);
            if (!app_eventually(they_agree, &counts, AGREE_MS)) differ++;
            print_message("# %-96s passed on %ld / answered %ld\n", row.name, counts.passed,
                          counts.answered);
            rows++;
        }
        free(row.bytes);
    }
    print_message("# %zu rows, %zu differ\n", rows, differ);
    assert_int_equal(differ, 0);
}
