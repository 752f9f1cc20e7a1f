/*
 * The hub's thread: it subscribes channels at their servers and handles messages. It sleeps in one poll()
 * for all connections, unless a waiter polls in its place.
 *
 * While a channel moves to another server, messages are missed. The hub notices the move in three ways: the
 * old server ends the subscription, or refuses a new one (MOVED), or the topology has changed
 * (lki_hub_recheck()). Each time the channel is subscribed at its new server, and its waiters are woken once
 * that is confirmed.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "routes.h"

/* ---- states of channels --------------------------------------------------------------------------------- */

/* Advance the state of a channel; returns the moment of its next timeout. A channel that waits for a connection
   or an answer is stepped again when that comes; one in use, once per LKI_LINGER_MS. */
static int64_t step_channel_locked(struct lki_hub *hub, struct lki_channel *channel, int64_t now)
{
    if (channel->state == CHANNEL_WANTED && !channel->first) {
        lki_routes_set(channel, NULL);
        lki_channels_remove(&hub->channels, channel);
    } else if (channel->state == CHANNEL_WANTED) {
        if (channel->ask_at > now) return channel->ask_at;
        if (!channel->conn || lki_pubsub_conn_room(channel->conn) == 0) return INT64_MAX;
        lki_pubsub_conn_subscribe(channel->conn, channel);
        channel->state = CHANNEL_ASKED;
        channel->asked_as = ++hub->asked;
    } else if (channel->state == CHANNEL_LIVE) {
        int64_t due =
            (channel->first ? now : channel->idle_since) + LKI_LINGER_MS * (int64_t)NS_PER_MS;

        if (due > now) return due;
        if (lki_pubsub_conn_room(channel->conn) == 0) return INT64_MAX;
        lki_pubsub_conn_unsubscribe(channel->conn, channel);
        channel->state = CHANNEL_LEAVING;
        channel->asked_as = ++hub->asked;
    }
    return INT64_MAX;
}

static int64_t step_all(struct lki_hub *hub)
{
    struct lki_channel *older = NULL;
    int64_t now = lki_clock_now();
    int64_t next = INT64_MAX;

    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = older) {
        older = channel->older;
        int64_t due = step_channel_locked(hub, channel, now);
        if (due < next) next = due;
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    return next;
}

/* ---- messages ----------------------------------------------------------------------------------------------- */

enum word { WORD_MESSAGE, WORD_SUBSCRIBED, WORD_UNSUBSCRIBED, WORD_OTHER };

static enum word word_of(struct lk_bytes kind)
{
    static const struct {
        const char *kind;
        enum word word;
    } words[] = {
        {"message", WORD_MESSAGE},          {"smessage", WORD_MESSAGE},
        {"subscribe", WORD_SUBSCRIBED},     {"ssubscribe", WORD_SUBSCRIBED},
        {"unsubscribe", WORD_UNSUBSCRIBED}, {"sunsubscribe", WORD_UNSUBSCRIBED},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(kind.data, words[i].kind) == 0) return words[i].word;
    }
    return WORD_OTHER;
}

static void subscribed_locked(struct lki_hub *hub, struct lki_channel *channel)
{
    channel->state = CHANNEL_LIVE;
    channel->refused = (struct lki_backoff){0};
    if (channel->may_have_missed) lki_channel_wake(channel, SIZE_MAX);
    channel->may_have_missed = false;
    (void)pthread_cond_broadcast(&hub->confirmed);
}

/* The channel is removed at the next turn, or subscribed again. True: the server ended the subscription. */
static bool unsubscribed_locked(struct lki_channel *channel)
{
    bool is_moved = channel->state == CHANNEL_LIVE;

    lki_channel_drop(channel);
    if (is_moved) lki_routes_set(channel, NULL);
    return is_moved;
}

/* {"message", channel, text}, {"subscribe", channel, n}, ... A message of a server that the channel has left is
   ignored. */
static void handle_message(struct lki_hub *hub, struct lki_pubsub_conn *conn,
                           const lk_reply *message)
{
    struct lk_bytes kind = lk_reply_bytes(lk_reply_at(message, 0));
    struct lk_bytes name = lk_reply_bytes(lk_reply_at(message, 1));
    enum word word = kind.data && name.data ? word_of(kind) : WORD_OTHER;
    bool is_moved = false;

    if (word == WORD_OTHER) return; /* the answer to a PING */
    if (word != WORD_MESSAGE) lki_pubsub_conn_answered(conn);
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = lki_channels_find(&hub->channels, name);
    if (word != WORD_MESSAGE)
        hub->is_changed = true; /* the connection has room for another command */
    if (!channel || channel->conn != conn) {
        /* too late */
    } else if (word == WORD_MESSAGE) {
        lki_channel_notify(channel, lk_reply_bytes(lk_reply_at(message, 2)));
    } else if (word == WORD_SUBSCRIBED) {
        subscribed_locked(hub, channel);
    } else {
        is_moved = unsubscribed_locked(channel);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    if (is_moved) lki_topology_refresh_soon(hub->topology);
}

/* Subscribe it again after a growing pause. */
static void pause_locked(struct lki_hub *hub, struct lki_channel *channel)
{
    channel->ask_at =
        lki_clock_after_ms(lki_backoff_next(&channel->refused, hub->options->backoff_ms));
}

static void give_up_locked(struct lki_channel *channel)
{
    lki_channel_drop(channel);
    lki_routes_set(channel, NULL);
}

/* Subscribe it again at once, at the server that the redirection names; after a second refusal with pauses. */
static void redirect_locked(struct lki_hub *hub, struct lki_channel *channel)
{
    channel->ask_at = 0;
    if (channel->refused.pause_ms > 0) {
        pause_locked(hub, channel);
    } else {
        channel->refused.pause_ms = 1;
    }
    give_up_locked(channel);
}

static bool is_open(const struct lki_channel *channel, const struct lki_pubsub_conn *conn)
{
    bool is_asked = channel->state == CHANNEL_ASKED || channel->state == CHANNEL_LEAVING;

    return channel->conn == conn && is_asked;
}

/* An error names no channel: it may concern any of this slot (LKI_NO_SLOT: of any slot) whose command is not
   answered yet. False: there was none. */
static bool redirect_all(struct lki_hub *hub, struct lki_pubsub_conn *conn, int slot)
{
    bool is_any = false;

    lki_pubsub_conn_answered(conn);
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        if (!is_open(channel, conn)) continue;
        if (slot != LKI_NO_SLOT && channel->slot != slot) continue;
        redirect_locked(hub, channel);
        is_any = true;
    }
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    return is_any;
}

/* The ACL does not allow the channel: its waiters depend on their timers until it does. Answers come in the order
   of the commands, so the oldest one is refused. */
static void refuse_oldest(struct lki_hub *hub, struct lki_pubsub_conn *conn)
{
    const struct lk_client_options *options = hub->options;
    struct lki_channel *oldest = NULL;

    lki_pubsub_conn_answered(conn);
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        if (!is_open(channel, conn)) continue;
        if (!oldest || channel->asked_as < oldest->asked_as) oldest = channel;
    }
    if (oldest) {
        pause_locked(hub, oldest);
        give_up_locked(oldest);
        (void)pthread_cond_broadcast(&hub->confirmed);
    }
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!oldest || conn->has_reported) return;
    conn->has_reported = true;
    options->on_event(&(struct lk_event){.type = LK_EVENT_REFUSED,
                                         .status = LK_SERVER,
                                         .at_ns = lki_clock_now(),
                                         .key = oldest->name},
                      options->on_event_arg);
}

static bool begins(struct lk_bytes text, struct lk_bytes with)
{
    return text.len > with.len && memcmp(text.data, with.data, with.len) == 0;
}

/* "MOVED 12 127.0.0.1:7001", "CLUSTERDOWN ...", "NOPERM ...": other channels may stay subscribed. */
static void handle_error(struct lki_hub *hub, struct lki_pubsub_conn *conn, struct lk_bytes text)
{
    struct lki_topology *topology = hub->topology;
    char *end = NULL;

    if (begins(text, LK_BYTES("CLUSTERDOWN "))) {
        (void)redirect_all(hub, conn, LKI_NO_SLOT);
        lki_topology_refresh_soon(topology);
        return;
    }
    bool is_moved = begins(text, LK_BYTES("MOVED "));
    long slot = is_moved ? strtol(text.data + strlen("MOVED "), &end, 10) : -1;
    if (slot < 0 || slot >= LKI_SLOTS || *end != ' ') {
        refuse_oldest(hub, conn);
    } else if (redirect_all(hub, conn, (int)slot)) {
        lki_topology_moved(topology, (int)slot, lk_bytes_of(end + 1), conn->node);
    }
}

/* Handle all messages that have arrived. */
static enum lki_pubsub_event receive_all(struct lki_hub *hub, struct lki_pubsub_conn *conn)
{
    lk_reply *message = NULL;
    enum lki_pubsub_event event = lki_pubsub_conn_receive(conn, &message);

    while (message) {
        if (lk_reply_type_of(message) == LK_REPLY_ERROR) {
            handle_error(hub, conn, lk_reply_bytes(message));
        } else {
            handle_message(hub, conn, message);
        }
        lk_reply_free(message);
        event = lki_pubsub_conn_receive(conn, &message);
    }
    return event;
}

/* ---- the turns ------------------------------------------------------------------------------------------------ */

bool lki_hub_thread_has_work_locked(const struct lki_hub *hub)
{
    return hub->is_stopping || hub->is_changed || !hub->is_topology_current;
}

/* Without work, let the waiter that wants to poll do so; then sleep until it has stopped. */
static void yield_listening_locked(struct lki_hub *hub)
{
    hub->is_thread_listening = false;
    if (hub->next_listener && !lki_hub_thread_has_work_locked(hub)) {
        hub->listener = hub->next_listener;
        hub->next_listener = NULL;
        (void)pthread_cond_signal(&hub->listener->wake);
    }
    while (hub->listener ||
           (!lki_hub_thread_has_work_locked(hub) && lki_clock_left_ms(hub->no_listener_until) > 0))
        (void)lki_clock_wait(&hub->listener_gone, &hub->mutex, lki_clock_after_ms(LKI_LINGER_MS));
    hub->is_thread_listening = true;
    hub->no_listener_until = 0;
}

/* Take the work that other threads have left; false: the hub is to stop. */
static bool take_work(struct lki_hub *hub, bool *out_must_recheck, bool *out_is_changed)
{
    (void)pthread_mutex_lock(&hub->mutex);
    yield_listening_locked(hub);
    bool goes_on = !hub->is_stopping;
    *out_must_recheck = !hub->is_topology_current;
    *out_is_changed = hub->is_changed;
    hub->is_topology_current = true;
    hub->is_changed = false;
    (void)pthread_mutex_unlock(&hub->mutex);
    return goes_on;
}

static int64_t earlier(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* The next moment at which there is work, whatever is received. */
static int64_t next_turn(struct lki_hub *hub)
{
    int64_t next = earlier(hub->collect_at, lki_routes_due(hub));

    (void)pthread_mutex_lock(&hub->mutex);
    if (hub->is_changed) next = 0;
    (void)pthread_mutex_unlock(&hub->mutex);
    return next;
}

/* Poll until that moment, a message, or lki_hub_poke(), and handle messages. True: there is more work. */
static bool poll_and_receive(struct lki_hub *hub, int64_t until)
{
    struct pollfd alone = {.fd = hub->poke_fd, .events = POLLIN};
    struct pollfd *fds = hub->fds ? hub->fds : &alone;
    nfds_t count = 1;

    fds[0] = alone;
    for (const struct lki_pubsub_conn *conn = hub->conns; conn; conn = conn->next) {
        fds[count++] = (struct pollfd){.fd = conn->redis ? lki_redis_fd(conn->redis) : -1,
                                       .events = conn->events};
    }
    if (poll(fds, count, until == INT64_MAX ? -1 : lki_clock_left_ms(until)) < 0) return false;
    bool is_more = fds[0].revents != 0;
    count = 1;
    for (struct lki_pubsub_conn *conn = hub->conns; conn; conn = conn->next) {
        if (fds[count++].revents == 0) continue;
        enum lki_pubsub_event event = receive_all(hub, conn);
        is_more |= event != PUBSUB_UNCHANGED;
        lki_routes_on_event(hub, conn, event);
    }
    return is_more;
}

bool lki_hub_thread_listen(struct lki_hub *hub, int64_t until)
{
    int64_t due = next_turn(hub);

    return poll_and_receive(hub, earlier(due, until)) || lki_clock_left_ms(due) == 0;
}

void *lki_hub_thread(void *arg)
{
    struct lki_hub *hub = arg;
    bool must_recheck = false;
    bool is_changed = false;
    uint64_t pokes = 0;

    while (take_work(hub, &must_recheck, &is_changed)) {
        if (must_recheck) lki_routes_recheck(hub);
        if (must_recheck || is_changed || lki_clock_left_ms(hub->collect_at) == 0) {
            int64_t route_at = lki_routes_find(hub);

            hub->collect_at = earlier(route_at, step_all(hub));
        }
        lki_routes_tick(hub);
        lki_routes_prune(hub);
        (void)poll_and_receive(hub, next_turn(hub));
        ssize_t got = read(hub->poke_fd, &pokes, sizeof pokes);
        (void)got; /* empty: it was something else that woke us */
    }
    return NULL;
}
