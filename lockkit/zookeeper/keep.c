/*
 * The keeper: the hub's thread of a ZooKeeper client. A waiter is woken by a watch of its own, so channels need no
 * subscription and are live at once. The keeper has the session proven, opens a new one when it has ended, and runs
 * pending undos.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "wait/hub_internal.h"
#include "zookeeper.h"

enum { LOOK_MS = 1000, RETRY_MS = 100 };

/* ---- channels --------------------------------------------------------------------------------------- */

/* False: the hub is to stop. */
static bool step_channels(struct lki_hub *hub)
{
    struct lki_channel *older = NULL;

    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = older) {
        older = channel->older;
        if (!channel->first) {
            lki_channels_remove(&hub->channels, channel);
            continue;
        }
        channel->state = CHANNEL_LIVE;
        channel->may_have_missed = false;
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    bool is_stopping = hub->is_stopping;
    (void)pthread_mutex_unlock(&hub->mutex);
    return !is_stopping;
}

/* ---- the thread ------------------------------------------------------------------------------------- */

/*
 * Keep the session proven; returns when to do so again. A session without a connection for its time-out has ended,
 * even if libzookeeper still tries to resume it: a server that restarted empty refuses clients that have seen a later
 * state, without a message.
 */
static int64_t keep_session(lk_client *client, struct lki_backoff *backoff)
{
    struct zookeeper_session *session = &zookeeper_of(client)->session;

    (void)pthread_mutex_lock(&session->mutex);
    int64_t silent_until = session->disconnected_at + session->timeout_ms * NS_PER_MS;
    bool is_silent = !session->is_connected && lki_clock_now() > silent_until;
    bool is_over =
        session->has_expired || !session->handle || (is_silent && session->timeout_ms > 0);
    (void)pthread_mutex_unlock(&session->mutex);
    if (!is_over) return zookeeper_session_prove(client);
    if (zookeeper_session_renew(client, NULL) == LK_OK) {
        *backoff = (struct lki_backoff){0};
        return zookeeper_session_prove(client);
    }
    return lki_clock_after_ms(lki_backoff_next(backoff, client->options.backoff_ms));
}

/* Alarm the watchdog when the session is no longer proven. */
static int64_t watch_validity(lk_client *client, int64_t *alarmed_for)
{
    int64_t until = atomic_load(&zookeeper_of(client)->session.valid_until);

    if (until > lki_clock_now()) return until;
    if (until != *alarmed_for) zookeeper_renewal_conn_alarm(client);
    *alarmed_for = until;
    return INT64_MAX;
}

void *zookeeper_keep_main(void *arg)
{
    lk_client *client = arg;
    struct lki_backoff backoff = {0};
    struct pollfd poke = {.fd = client->hub->poke_fd, .events = POLLIN};
    int64_t alarmed_for = 0;
    uint64_t pokes = 0;

    while (step_channels(client->hub)) {
        int64_t next = keep_session(client, &backoff);
        int64_t until = watch_validity(client, &alarmed_for);

        zookeeper_node_sweep(client);
        if (until < next) next = until;
        if (!zookeeper_pending_undo_run_all(client) && lki_clock_after_ms(RETRY_MS) < next)
            next = lki_clock_after_ms(RETRY_MS);
        if (lki_clock_after_ms(LOOK_MS) < next) next = lki_clock_after_ms(LOOK_MS);
        (void)poll(&poke, 1, lki_clock_left_ms(next));
        ssize_t got = read(client->hub->poke_fd, &pokes, sizeof pokes);
        (void)got; /* empty: the time is over */
    }
    zookeeper_session_close(client);
    return NULL;
}
