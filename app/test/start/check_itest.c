/*
 * seckilld --check beside real instances: ready, not ready, silent, strange, not there.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { OUT_SIZE = 1024, LIMIT_MS = 10000 /* app_run() waits for 15 s */ };

struct fixture {
    char dir[APP_PATH_SIZE];
    char other[APP_PATH_SIZE + 8]; /* where a check would make its data folder */
    struct app_process redis;
    struct app_process service;
    char address[32];
    char out[OUT_SIZE];
};

SET_UP(struct fixture, self)
{
    app_folder_make(self->dir);
    (void)snprintf(self->other, sizeof self->other, "%s/other", self->dir);
}

TEAR_DOWN(struct fixture, self)
{
    (void)app_stop(&self->service);
    (void)app_stop(&self->redis);
    app_folder_remove(self->dir);
}

static void start(struct fixture *self)
{
    const char *const args[] = {"--redis", self->redis.redis, NULL};

    assert_true(app_start_redis(&self->redis, self->dir));
    assert_true(app_start(&self->service, self->dir, args));
    (void)snprintf(self->address, sizeof self->address, "%s",
                   strstr(self->service.buyers, "//") + 2);
}

/* The exit status; what it prints is in self->out. Like a container: all flags of the service. */
static int check(struct fixture *self, const char *address)
{
    const char *const args[] = {
        "--listen",         address,        "--data",  self->other,
        "--token-key",      "/nowhere/key", "--redis", "redis://x@127.0.0.1:1",
        "--redis-password", "/nowhere/p",   "--check", NULL};
    int64_t began_ms = clock_mono_ms();
    int status = app_run("seckilld", args, self->out, sizeof self->out);

    assert_true(clock_mono_ms() - began_ms < LIMIT_MS);
    assert_int_not_equal(access(self->other, F_OK), 0); /* it starts nothing */
    return status;
}

TEST(one_that_is_ready_is_0, struct fixture *self)
{
    char anywhere[32];

    start(self);
    assert_int_equal(check(self, self->address), 0);
    assert_string_equal(self->out, "ready\n");
    (void)snprintf(anywhere, sizeof anywhere, "0.0.0.0%s", strchr(self->address, ':'));
    assert_int_equal(check(self, anywhere), 0);
    assert_string_equal(self->out, "ready\n");
}

TEST(one_that_is_not_ready_is_1_and_says_so, struct fixture *self)
{
    start(self);
    app_kill(&self->redis);
    assert_int_equal(check(self, self->address), 1);
    assert_string_equal(self->out, "not ready\n"); /* why is told to operators */
}

static int listen_anywhere(char address[32])
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof where;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&where, &size), 0);
    (void)snprintf(address, 32, "127.0.0.1:%u", ntohs(where.sin_port));
    return fd;
}

TEST(nobody_there_is_1_and_named, struct fixture *self)
{
    char says[128];
    int fd = listen_anywhere(self->address);

    (void)close(fd);
    assert_int_equal(check(self, self->address), 1);
    (void)snprintf(says, sizeof says, "seckilld: %s: no answer: Connection refused\n",
                   self->address);
    assert_string_equal(self->out, says);
}

TEST(one_that_is_silent_is_1_after_2_seconds, struct fixture *self)
{
    char says[128];
    int fd = listen_anywhere(self->address);

    assert_int_equal(check(self, self->address), 1);
    (void)close(fd);
    (void)snprintf(says, sizeof says, "seckilld: %s: no answer: Connection timed out\n",
                   self->address);
    assert_string_equal(self->out, says);
}

static void *say_something_else(void *arg)
{
    static const char words[] = "SSH-2.0-x\r\n\r\n\x1b[2J";
    int fd = accept(*(const int *)arg, NULL, NULL);
    char heard[512];

    if (fd < 0) return NULL;
    (void)recv(fd, heard, sizeof heard, 0); /* else closing would reset the connection */
    (void)send(fd, words, sizeof words - 1, MSG_NOSIGNAL);
    (void)close(fd);
    return NULL;
}

TEST(what_is_no_seckilld_is_1, struct fixture *self)
{
    char says[128];
    pthread_t thread;
    int fd = listen_anywhere(self->address);

    assert_int_equal(pthread_create(&thread, NULL, say_something_else, &fd), 0);
    assert_int_equal(check(self, self->address), 1);
    (void)pthread_join(thread, NULL);
    (void)close(fd);
    (void)snprintf(says, sizeof says, "seckilld: %s: what answers there is no seckilld\n",
                   self->address);
    assert_string_equal(self->out, says);
}

TEST(a_bad_flag_is_2, struct fixture *self)
{
    assert_int_equal(check(self, "127.0.0.1:0"), 2);
    assert_string_equal(self->out,
                        "seckilld: --check: port 0 of --listen is any; name the one to ask\n");
    assert_int_equal(check(self, "127.0.0.1"), 2);
}
