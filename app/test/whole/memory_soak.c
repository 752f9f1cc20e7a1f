/*
 * What thousands of threads may not keep: stack that no idle one needs, and blocks that were freed.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { CLIENTS = 256, LIMIT_MS = 10000 };

static const long given_back_kib = CLIENTS * 8L; /* two pages each, at least */

static const char tunables[] = "GLIBC_TUNABLES=";

struct fixture {
    char dir[APP_PATH_SIZE];
    struct app_process service;
    long busy_kib;
};

/* In front of the real one, as Redis writes its title over what /proc has of its environment. */
static bool watch_redis(const char *dir)
{
    static const char script[] = "#!/bin/sh\n"
                                 "printf %s \"${GLIBC_TUNABLES-none}\" >\"${0%/*}/told\"\n"
                                 "PATH=${PATH#*:}\n"
                                 "exec redis-server \"$@\"\n";
    static char path[APP_PATH_SIZE + 8192];
    static const char *usual = NULL;
    char program[APP_PATH_SIZE + 16];

    const char *now = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe): no threads here */

    if (!usual) usual = strdup(now ? now : "");
    (void)snprintf(path, sizeof path, "%s:%s", dir, usual);
    (void)snprintf(program, sizeof program, "%s/redis-server", dir);
    FILE *file = fopen(program, "we");
    if (!file || fputs(script, file) < 0 || fclose(file) != 0 || chmod(program, 0700) != 0)
        return false;
    return setenv("PATH", path, 1) == 0; /* NOLINT(concurrency-mt-unsafe): no threads here */
}

SET_UP(struct fixture, fixture)
{
    (void)unsetenv("GLIBC_TUNABLES"); /* NOLINT(concurrency-mt-unsafe): no threads here */
    app_folder_make(fixture->dir);
    assert_true(watch_redis(fixture->dir));
}

TEAR_DOWN(struct fixture, fixture)
{
    (void)app_stop(&fixture->service);
    app_folder_remove(fixture->dir);
}

static size_t read_proc(pid_t pid, const char *file, char *out, size_t size)
{
    char path[64];
    size_t len = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    FILE *from = fopen(path, "re");
    if (from) {
        len = fread(out, 1, size - 1, from);
        (void)fclose(from);
    }
    out[len] = '\0';
    return len;
}

static long anonymous_kib(pid_t pid)
{
    char status[4096];

    (void)read_proc(pid, "status", status, sizeof status);
    const char *found = strstr(status, "\nRssAnon:");
    return found ? strtol(found + sizeof "\nRssAnon:" - 1, NULL, 10) : -1;
}

/* "glibc..." of a process's environment; NULL: it has none. */
static const char *tunables_of(pid_t pid)
{
    static char text[65536];
    size_t len = read_proc(pid, "environ", text, sizeof text);

    for (const char *at = text; at < text + len; at += strlen(at) + 1)
        if (strncmp(at, tunables, sizeof tunables - 1) == 0) return at + sizeof tunables - 1;
    return NULL;
}

static void buy(int fd, int number)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "POST /api/v1/sales/cup/orders HTTP/1.1\r\nHost: a\r\nX-User-Id: u%d\r\n"
                   "Content-Length: 0\r\n\r\n",
                   number);
    assert_true(app_send(fd, text, strlen(text)));
    assert_true(app_receive(fd, text, sizeof text, "\r\n\r\n", LIMIT_MS) > 0);
    assert_non_null(strstr(text, " 201 "));
}

static bool has_given_back(void *arg)
{
    struct fixture *self = arg;

    return anonymous_kib(self->service.pid) < self->busy_kib - given_back_kib;
}

TEST(a_thread_whose_client_is_gone_gives_its_stack_back, struct fixture *self)
{
    static const char *const args[] = {"--connections", "256", NULL};
    int fds[CLIENTS];

    assert_true(app_start(&self->service, self->dir, args));
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":1000}"));
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = app_connect(self->service.buyers);
        assert_true(fds[i] >= 0);
        buy(fds[i], i);
    }
    self->busy_kib = anonymous_kib(self->service.pid);
    for (int i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);

    assert_true(self->busy_kib > given_back_kib);
    assert_true(app_eventually(has_given_back, self, LIMIT_MS));
}

/* What GLIBC_TUNABLES was when Redis began. */
static const char *redis_was_told(const struct fixture *fixture)
{
    static char text[128];
    char path[APP_PATH_SIZE + 8];
    size_t len = 0;

    (void)snprintf(path, sizeof path, "%s/told", fixture->dir);
    FILE *from = fopen(path, "re");
    if (from) {
        len = fread(text, 1, sizeof text - 1, from);
        (void)fclose(from);
    }
    text[len] = '\0';
    return text;
}

TEST(threads_keep_no_freed_blocks, struct fixture *self)
{
    char name[32];

    assert_true(app_start(&self->service, self->dir, NULL));
    const char *found = tunables_of(self->service.pid);

    assert_non_null(found);
    assert_string_equal(found, "glibc.malloc.tcache_count=0");
    assert_string_equal(redis_was_told(self), "none");
    (void)read_proc(self->service.pid, "comm", name, sizeof name);
    assert_string_equal(name, "seckilld\n");
}

TEST(what_the_operator_says_about_memory_holds, struct fixture *self)
{
    static const char own[] = "glibc.malloc.tcache_count=5";

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    assert_int_equal(0, setenv("GLIBC_TUNABLES", own, 1));
    assert_true(app_start(&self->service, self->dir, NULL));

    const char *found = tunables_of(self->service.pid);
    assert_non_null(found);
    assert_string_equal(found, own);
    assert_string_equal(redis_was_told(self), own);
}
