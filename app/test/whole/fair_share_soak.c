/*
 * Under load that does not end, busy connections leave room for others.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum { BUSY_CLIENTS = 24, LOAD_MS = 3000 };

APP_SELLS(NULL, "--connections", "8", NULL);

struct busy_client {
    pthread_t thread;
    const char *base;
    atomic_bool *should_stop;
    unsigned answers;
};

/* Ask again and again on a connection that is kept as long as the server lets us. */
static void *be_busy(void *arg)
{
    static const char get[] = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";
    struct busy_client *self = arg;
    char out[1024];

    while (!atomic_load(self->should_stop)) {
        int fd = app_connect(self->base);

        while (fd >= 0 && !atomic_load(self->should_stop) && app_send(fd, get, sizeof get - 1)) {
            if (app_receive(fd, out, sizeof out, "ok\n", 10000) == 0) break;
            self->answers++;
            if (strstr(out, "Connection: close")) break;
        }
        if (fd >= 0) (void)close(fd);
    }
    return NULL;
}

TEST(busy_connections_take_turns, struct app_fixture *self)
{
    struct busy_client clients[BUSY_CLIENTS];
    atomic_bool should_stop = false;

    for (size_t i = 0; i < BUSY_CLIENTS; i++) {
        clients[i] =
            (struct busy_client){.base = self->service.buyers, .should_stop = &should_stop};
        if (pthread_create(&clients[i].thread, NULL, be_busy, &clients[i]) != 0) abort();
    }
    clock_pause_ms(LOAD_MS);
    atomic_store(&should_stop, true);
    for (size_t i = 0; i < BUSY_CLIENTS; i++)
        (void)pthread_join(clients[i].thread, NULL);
    for (size_t i = 0; i < BUSY_CLIENTS; i++)
        assert_true(clients[i].answers >= 20);
}
