/*
 * What thousands of threads may not keep: stack that no idle one needs.
 */
#include <unistd.h>

#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { CLIENTS = 256, LIMIT_MS = 10000 };

static const long given_back_kib = CLIENTS * 8L; /* two pages each, at least */

struct fixture {
    char dir[APP_PATH_SIZE];
    struct app_process service;
    long busy_kib;
};

SET_UP(struct fixture, fixture)
{
    app_folder_make(fixture->dir);
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
