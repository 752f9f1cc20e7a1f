/*
 * The hub's thread where the server is PostgreSQL: one connection that LISTENs while somebody waits, and for a
 * moment after. All releases are told on one channel, with their key, so a new waiter need not be waited for. What a
 * notification says is nothing but that it is worth to look. Through a pooler none would come: then every waiter
 * goes by its timer.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "postgres.h"
#include "wait/hub_inner.h"

struct ear {
    lk_client *client;          /* borrowed */
    struct lki_hub *hub;        /* borrowed */
    struct postgres_link *link; /* owned; NULL: none */
    struct lki_backoff backoff;
    int64_t connect_at; /* not before */
};

/* All are deaf until the server is listened to again; whoever joins does not wait for that. */
static void lose(struct ear *ear)
{
    struct lki_hub *hub = ear->hub;

    postgres_link_close(ear->link);
    ear->link = NULL;
    ear->connect_at = lki_clock_after_ms(lki_backoff_next(&ear->backoff, hub->options->backoff_ms));
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        lki_channel_drop(channel);
        channel->losses++;
        lki_channel_wake(channel, SIZE_MAX);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

static void connect_ear(struct ear *ear)
{
    const struct postgres *self = ear->client->backend_state;
    const struct postgres_statement listen = {.sql = "LISTEN lockkit"};
    int64_t deadline = lki_clock_after_ms(ear->hub->options->connect_ms);
    lk_status status = LK_OK;

    if (lki_clock_left_ms(ear->connect_at) > 0) return;
    status = postgres_link_open(ear->client, deadline, &ear->link, NULL);
    bool is_pooled = status == LK_OK && atomic_load(&self->is_pooled);
    if (status == LK_OK && !is_pooled)
        status = postgres_link_ask(ear->link, &listen, deadline, NULL, NULL);
    if (status == LK_OK && !is_pooled) {
        ear->backoff = (struct lki_backoff){0};
        return;
    }
    lose(ear);
    if (is_pooled) ear->connect_at = INT64_MAX; /* nothing is to be heard there */
}

/* What is known of a channel is said to those who joined it. Only this thread removes channels. */
static void step_locked(const struct ear *ear, struct lki_channel *channel, int64_t *next)
{
    int64_t unused_at = channel->idle_since + LKI_LINGER_MS * (int64_t)NS_PER_MS;

    if (!channel->first && unused_at <= lki_clock_now()) {
        lki_channels_remove(&ear->hub->channels, channel);
        return;
    }
    if (!channel->first && unused_at < *next) *next = unused_at;
    channel->ask_at = ear->connect_at;
    if (!ear->link || channel->state == CHANNEL_LIVE) return;
    channel->state = CHANNEL_LIVE;
    if (channel->is_deaf) lki_channel_wake(channel, SIZE_MAX);
    channel->is_deaf = false;
}

/* When to look again without a word; 0: the hub ends. */
static int64_t step_all(struct ear *ear)
{
    struct lki_hub *hub = ear->hub;
    int64_t next = INT64_MAX;

    (void)pthread_mutex_lock(&hub->mutex);
    bool is_wanted = hub->channels.newest != NULL, is_stopping = hub->is_stopping;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (is_wanted && !is_stopping && !ear->link) connect_ear(ear);
    if (is_wanted && !ear->link) next = ear->connect_at;
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest, *older = NULL; channel;
         channel = older) {
        older = channel->older;
        step_locked(ear, channel, &next);
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    (void)pthread_mutex_unlock(&hub->mutex);
    return is_stopping ? 0 : next;
}

/* "1 key": so many may go on. False: the connection has ended. */
static bool hear(struct ear *ear)
{
    PGnotify *note = NULL;

    if (!postgres_link_is_usable(ear->link)) {
        lose(ear);
        return false;
    }
    while ((note = PQnotifies(ear->link->conn))) {
        const char *key = strchr(note->extra, ' ');

        (void)pthread_mutex_lock(&ear->hub->mutex);
        struct lki_channel *channel =
            key ? lki_channels_find(&ear->hub->channels, lk_bytes_of(key + 1)) : NULL;
        if (channel) lki_channel_tell(channel, lk_bytes_of(note->extra));
        (void)pthread_mutex_unlock(&ear->hub->mutex);
        PQfreemem(note);
    }
    return true;
}

/* The watchdog sees which. */
static void hear_of_ends(const lk_client *client)
{
    const struct postgres *self = client->backend_state;
    struct epoll_event end;

    while (epoll_wait(self->ends_fd, &end, 1, 0) > 0)
        lki_watchdog_look_again(client->watchdog);
}

void *postgres_listen_main(void *arg)
{
    lk_client *client = arg;
    const struct postgres *self = client->backend_state;
    struct ear ear = {.client = client, .hub = client->hub};
    int64_t next = INT64_MAX;
    uint64_t pokes = 0;

    while ((next = step_all(&ear)) > 0) {
        if (ear.link && !hear(&ear)) continue; /* what came along with answers */
        struct pollfd fds[] = {
            {.fd = ear.hub->poke_fd, .events = POLLIN},
            {.fd = ear.link ? PQsocket(ear.link->conn) : -1, .events = POLLIN},
            {.fd = self->ends_fd, .events = POLLIN},
        };

        (void)poll(fds, 3, next == INT64_MAX ? -1 : lki_clock_left_ms(next));
        hear_of_ends(client);
        ssize_t got = read(ear.hub->poke_fd, &pokes, sizeof pokes);
        (void)got; /* empty: it was something else that woke us */
    }
    postgres_link_close(ear.link);
    return NULL;
}
