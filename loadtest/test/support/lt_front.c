/*
 * A thread accepts, and one per connection serves it, with connections of its own to the instances.
 */
#include "lt_front.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lt_net.h"

enum { CLIENTS_MAX = 512, MESSAGE_MAX = 65536, ANSWER_S = 2 };

struct client {
    struct lt_front *front; /* borrowed */
    pthread_t thread;
    int fd;
};

struct lt_front {
    pthread_t thread;
    int listener;
    atomic_int ports[LT_FRONT_INSTANCES];
    atomic_uint turn, own;
    atomic_bool is_over;
    int count;                          /* of clients; the accepting thread's alone */
    struct client clients[CLIENTS_MAX]; /* their descriptors stay open until the end */
};

/* ---- one connection ---- */

static void say(struct client *client, int status)
{
    char page[256];
    const char *text = "<html><body>The proxy says so.</body></html>";

    (void)atomic_fetch_add(&client->front->own, 1);
    (void)snprintf(page, sizeof page,
                   "HTTP/1.1 %d Proxy\r\nContent-Type: text/html\r\nContent-Length: %zu\r\n\r\n%s",
                   status, strlen(text), text);
    (void)lt_send(client->fd, page);
}

static int connect_to(const struct lt_front *front, unsigned instance)
{
    int fd = lt_connect(atomic_load(&front->ports[instance]));

    if (fd >= 0) lt_limit(fd, ANSWER_S);
    return fd;
}

/* Hand one request on; the instance's connection is closed unless it answered. */
static void hand_on(struct client *client, int *instance_fd, char *text, size_t length)
{
    bool is_cut = send(*instance_fd, text, length, MSG_NOSIGNAL) != (ssize_t)length;
    size_t answered = is_cut ? 0 : lt_http_read(*instance_fd, text, MESSAGE_MAX);

    if (answered) {
        (void)send(client->fd, text, answered,
                   MSG_NOSIGNAL); /* a client that left is noticed next */
        return;
    }
    is_cut = is_cut || lt_next(*instance_fd, 0) != LT_SILENCE;
    lt_hang_up(instance_fd);
    say(client, is_cut ? 502 : 504);
}

static void *serve(void *arg)
{
    struct client *client = arg;
    struct lt_front *front = client->front;
    int fds[LT_FRONT_INSTANCES] = {-1, -1};
    char *text = calloc(1, MESSAGE_MAX);

    for (size_t length = 0; text && (length = lt_http_read(client->fd, text, MESSAGE_MAX)) > 0;) {
        unsigned instance = atomic_fetch_add(&front->turn, 1) % LT_FRONT_INSTANCES;
        if (fds[instance] < 0) fds[instance] = connect_to(front, instance);
        if (fds[instance] < 0)
            say(client, 503);
        else
            hand_on(client, &fds[instance], text, length);
    }
    free(text);
    for (int i = 0; i < LT_FRONT_INSTANCES; i++)
        lt_hang_up(&fds[i]);
    (void)shutdown(client->fd, SHUT_RDWR);
    return NULL;
}

/* ---- all of them ---- */

static void *accept_all(void *arg)
{
    struct lt_front *front = arg;

    while (!atomic_load(&front->is_over) && front->count < CLIENTS_MAX) {
        struct client *client = &front->clients[front->count];
        if (!lt_comes(front->listener, 100)) continue;
        *client = (struct client){.front = front};
        client->fd = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client->fd < 0) continue;
        if (pthread_create(&client->thread, NULL, serve, client) == 0)
            front->count++;
        else
            (void)close(client->fd);
    }
    return NULL;
}

struct lt_front *lt_front_start(int *out_port)
{
    struct lt_front *front = calloc(1, sizeof *front);

    if (!front) return NULL;
    front->listener = lt_listen(out_port);
    if (front->listener >= 0 && pthread_create(&front->thread, NULL, accept_all, front) == 0)
        return front;
    free(front);
    return NULL;
}

void lt_front_stop(struct lt_front *front)
{
    if (!front) return;
    atomic_store(&front->is_over, true);
    (void)pthread_join(front->thread, NULL);
    for (int i = 0; i < front->count; i++) {
        (void)shutdown(front->clients[i].fd, SHUT_RDWR);
        (void)pthread_join(front->clients[i].thread, NULL);
        (void)close(front->clients[i].fd);
    }
    (void)close(front->listener);
    free(front);
}

void lt_front_set(struct lt_front *front, int instance, int port)
{
    atomic_store(&front->ports[instance], port);
}

unsigned lt_front_own(const struct lt_front *front)
{
    return atomic_load(&front->own);
}
