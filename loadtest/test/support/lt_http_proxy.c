/*
 * A thread accepts, and one per connection serves it, with connections of its own to the instances.
 */
#include "lt_http_proxy.h"

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
    struct lt_http_proxy *proxy; /* borrowed */
    pthread_t thread;
    int fd;
};

struct lt_http_proxy {
    pthread_t thread;
    int listener;
    atomic_int ports[LT_HTTP_PROXY_INSTANCES];
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

    (void)atomic_fetch_add(&client->proxy->own, 1);
    (void)snprintf(page, sizeof page,
                   "HTTP/1.1 %d Proxy\r\nContent-Type: text/html\r\nContent-Length: %zu\r\n\r\n%s",
                   status, strlen(text), text);
    (void)lt_send(client->fd, page);
}

static int connect_to(const struct lt_http_proxy *proxy, unsigned instance)
{
    int fd = lt_connect(atomic_load(&proxy->ports[instance]));

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
    struct lt_http_proxy *proxy = client->proxy;
    int fds[LT_HTTP_PROXY_INSTANCES] = {-1, -1};
    char *text = calloc(1, MESSAGE_MAX);

    for (size_t length = 0; text && (length = lt_http_read(client->fd, text, MESSAGE_MAX)) > 0;) {
        unsigned instance = atomic_fetch_add(&proxy->turn, 1) % LT_HTTP_PROXY_INSTANCES;
        if (fds[instance] < 0) fds[instance] = connect_to(proxy, instance);
        if (fds[instance] < 0)
            say(client, 503);
        else
            hand_on(client, &fds[instance], text, length);
    }
    free(text);
    for (int i = 0; i < LT_HTTP_PROXY_INSTANCES; i++)
        lt_hang_up(&fds[i]);
    (void)shutdown(client->fd, SHUT_RDWR);
    return NULL;
}

/* ---- all of them ---- */

static void *accept_all(void *arg)
{
    struct lt_http_proxy *proxy = arg;

    while (!atomic_load(&proxy->is_over) && proxy->count < CLIENTS_MAX) {
        struct client *client = &proxy->clients[proxy->count];
        if (!lt_comes(proxy->listener, 100)) continue;
        *client = (struct client){.proxy = proxy};
        client->fd = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client->fd < 0) continue;
        if (pthread_create(&client->thread, NULL, serve, client) == 0)
            proxy->count++;
        else
            (void)close(client->fd);
    }
    return NULL;
}

struct lt_http_proxy *lt_http_proxy_start(int *out_port)
{
    struct lt_http_proxy *proxy = calloc(1, sizeof *proxy);

    if (!proxy) return NULL;
    proxy->listener = lt_listen(out_port);
    if (proxy->listener >= 0 && pthread_create(&proxy->thread, NULL, accept_all, proxy) == 0)
        return proxy;
    free(proxy);
    return NULL;
}

void lt_http_proxy_stop(struct lt_http_proxy *proxy)
{
    if (!proxy) return;
    atomic_store(&proxy->is_over, true);
    (void)pthread_join(proxy->thread, NULL);
    for (int i = 0; i < proxy->count; i++) {
        (void)shutdown(proxy->clients[i].fd, SHUT_RDWR);
        (void)pthread_join(proxy->clients[i].thread, NULL);
        (void)close(proxy->clients[i].fd);
    }
    (void)close(proxy->listener);
    free(proxy);
}

void lt_http_proxy_set(struct lt_http_proxy *proxy, int instance, int port)
{
    atomic_store(&proxy->ports[instance], port);
}

unsigned lt_http_proxy_own_answers(const struct lt_http_proxy *proxy)
{
    return atomic_load(&proxy->own);
}
