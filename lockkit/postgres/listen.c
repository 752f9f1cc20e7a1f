/*
 * The hub's thread of a PostgreSQL client: one connection that LISTENs while there are waiters, and for a moment
 * after. All releases are notified on one channel, with their key, so a new waiter needs no subscription of its
 * own. A notification is a hint to try again. None come through a pooler: then waiters depend on their timers.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "postgres.h"
#include "wait/hub_internal.h"

struct listener {
    lk_client *client;          /* borrowed */
    struct lki_hub *hub;        /* borrowed */
    struct postgres_conn *conn; /* owned; NULL: none */
    struct lki_backoff backoff;
    int64_t connect_at; /* not before */
};

/* The connection was lost: until it LISTENs again, messages are missed; joins do not wait for that. */
static void disconnect(struct listener *listener)
{
    struct lki_hub *hub = listener->hub;

    postgres_conn_close(listener->conn);
    listener->conn = NULL;
    listener->connect_at =
        lki_clock_after_ms(lki_backoff_next(&listener->backoff, hub->options->backoff_ms));
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        lki_channel_drop(channel);
        channel->losses++;
        lki_channel_wake(channel, SIZE_MAX);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

static void connect_listener(struct listener *listener)
{
    const struct postgres *self = listener->client->backend_state;
    const struct postgres_statement listen = {.sql = "LISTEN lockkit"};
    int64_t deadline = lki_clock_after_ms(listener->hub->options->connect_ms);
    lk_status status = LK_OK;

    if (lki_clock_left_ms(listener->connect_at) > 0) return;
    status = postgres_conn_open(listener->client, deadline, &listener->conn, NULL);
    bool is_pooled = status == LK_OK && atomic_load(&self->is_pooled);
    if (status == LK_OK && !is_pooled)
        status = postgres_conn_ask(listener->conn, &listen, deadline, NULL, NULL);
    if (status == LK_OK && !is_pooled) {
        listener->backoff = (struct lki_backoff){0};
        return;
    }
    disconnect(listener);
    if (is_pooled) listener->connect_at = INT64_MAX; /* no notifications come through a pooler */
}

/* Set the state of a channel, and drop one without waiters. Only this thread removes channels. */
static void step_locked(const struct listener *listener, struct lki_channel *channel, int64_t *next)
{
    int64_t unused_at = channel->idle_since + LKI_LINGER_MS * (int64_t)NS_PER_MS;

    if (!channel->first && unused_at <= lki_clock_now()) {
        lki_channels_remove(&listener->hub->channels, channel);
        return;
    }
    if (!channel->first && unused_at < *next) *next = unused_at;
    channel->ask_at = listener->connect_at;
    if (!listener->conn || channel->state == CHANNEL_LIVE) return;
    channel->state = CHANNEL_LIVE;
    if (channel->may_have_missed) lki_channel_wake(channel, SIZE_MAX);
    channel->may_have_missed = false;
}

/* Step all channels; returns the next timeout, or 0: the hub is to stop. */
static int64_t step_all(struct listener *listener)
{
    struct lki_hub *hub = listener->hub;
    int64_t next = INT64_MAX;

    (void)pthread_mutex_lock(&hub->mutex);
    bool is_wanted = hub->channels.newest != NULL, is_stopping = hub->is_stopping;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (is_wanted && !is_stopping && !listener->conn) connect_listener(listener);
    if (is_wanted && !listener->conn) next = listener->connect_at;
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest, *older = NULL; channel;
         channel = older) {
        older = channel->older;
        step_locked(listener, channel, &next);
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    (void)pthread_mutex_unlock(&hub->mutex);
    return is_stopping ? 0 : next;
}

/* Handle notifications: "1 key" wakes that number of waiters. False: the connection has ended. */
static bool receive_notifications(struct listener *listener)
{
    PGnotify *note = NULL;

    if (!postgres_conn_is_usable(listener->conn)) {
        disconnect(listener);
        return false;
    }
    while ((note = PQnotifies(listener->conn->pg))) {
        const char *key = strchr(note->extra, ' ');

        (void)pthread_mutex_lock(&listener->hub->mutex);
        struct lki_channel *channel =
            key ? lki_channels_find(&listener->hub->channels, lk_bytes_of(key + 1)) : NULL;
        if (channel) lki_channel_notify(channel, lk_bytes_of(note->extra));
        (void)pthread_mutex_unlock(&listener->hub->mutex);
        PQfreemem(note);
    }
    return true;
}

/* Sessions that hold locks have ended: the watchdog checks which. */
static void report_ended_sessions(const lk_client *client)
{
    const struct postgres *self = client->backend_state;
    struct epoll_event end;

    while (epoll_wait(self->ends_fd, &end, 1, 0) > 0)
        lki_watchdog_recheck(client->watchdog);
}

void *postgres_listen_main(void *arg)
{
    lk_client *client = arg;
    const struct postgres *self = client->backend_state;
    struct listener listener = {.client = client, .hub = client->hub};
    int64_t next = INT64_MAX;
    uint64_t pokes = 0;

    while ((next = step_all(&listener)) > 0) {
        if (listener.conn && !receive_notifications(&listener))
            continue; /* notifications that came along with answers */
        struct pollfd fds[] = {
            {.fd = listener.hub->poke_fd, .events = POLLIN},
            {.fd = listener.conn ? PQsocket(listener.conn->pg) : -1, .events = POLLIN},
            {.fd = self->ends_fd, .events = POLLIN},
        };

        (void)poll(fds, 3, next == INT64_MAX ? -1 : lki_clock_left_ms(next));
        report_ended_sessions(client);
        ssize_t got = read(listener.hub->poke_fd, &pokes, sizeof pokes);
        (void)got; /* empty: it was something else that woke us */
    }
    postgres_conn_close(listener.conn);
    return NULL;
}
