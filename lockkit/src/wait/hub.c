/*
 * The waiters' side of the hub. A message wakes the waiter that has waited longest in its channel; every
 * process receives the message, so one waiter per process tries again. Messages are hints: they are lost
 * when a connection breaks. So every waiter has a timer, too, and is woken when its connection breaks and
 * once more when it is subscribed again. A channel without waiters is kept for a moment, because a
 * contended lock soon has the next one. A waiter that is alone repeatedly polls the sockets itself, which
 * saves one thread switch between a release and the next try.
 *
 * Threads: any; one mutex, and nothing blocks while it is held. The thread's side is hub_thread.c.
 */
#include "hub.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "hub_internal.h"

enum { LONE_WAKES = 2 }; /* after this many a waiter is likely to be alone the next time, too */

void lki_hub_poke(struct lki_hub *hub)
{
    uint64_t one = 1;
    ssize_t done = write(hub->poke_fd, &one, sizeof one);

    (void)done; /* a full counter wakes, too */
    (void)pthread_cond_signal(&hub->listener_gone);
}

void lki_waiter_init(struct lki_waiter *waiter, enum lki_wake_rule rule)
{
    *waiter = (struct lki_waiter){.rule = rule, .units = 1};
    (void)pthread_cond_init(&waiter->wake, NULL);
}

void lki_waiter_done(struct lki_waiter *waiter)
{
    (void)pthread_cond_destroy(&waiter->wake);
}

static bool is_cancelled_locked(const struct lki_waiter *waiter)
{
    return waiter->is_cancelled || (waiter->cancelled_by && atomic_load(waiter->cancelled_by));
}

lk_status lki_hub_join(struct lki_hub *hub, struct lki_waiter *waiter, const char *name,
                       int64_t deadline, struct lk_error *err)
{
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel =
        name ? lki_channels_find(&hub->channels, lk_bytes_of(name)) : &hub->silent;
    if (!channel) channel = lki_channels_add(&hub->channels, name);
    if (!channel) {
        (void)pthread_mutex_unlock(&hub->mutex);
        return LKI_FAIL(err, LK_NO_MEMORY, "channel %s", name);
    }
    unsigned losses = channel->losses;
    waiter->is_woken = waiter->is_cancelled = false;
    lki_channel_enter(channel, waiter);
    if (channel->state == CHANNEL_WANTED) {
        hub->is_changed = true;
        lki_hub_poke(hub);
    }
    while (channel->state != CHANNEL_LIVE && channel->losses == losses &&
           channel->ask_at <= lki_clock_now() && !is_cancelled_locked(waiter) &&
           !hub->is_stopping && lki_clock_wait(&hub->confirmed, &hub->mutex, deadline)) {}
    if (channel->state != CHANNEL_LIVE) channel->may_have_missed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    return LK_OK;
}

/* Whether it is the only waiter, as those before it were, and there is no work for the hub's thread. */
static bool is_lone_locked(const struct lki_hub *hub, const struct lki_waiter *waiter)
{
    return hub->topology && !hub->listener && hub->sleepers == 1 && hub->lone_wakes == LONE_WAKES &&
           waiter->channel->state == CHANNEL_LIVE && !lki_hub_thread_has_work_locked(hub);
}

/* Whether this waiter is to poll the sockets. Else the hub's thread does, or is woken to; a lone waiter asks it
   to stop. */
static bool try_listen_locked(struct lki_hub *hub, struct lki_waiter *waiter)
{
    bool is_lone = waiter->channel != &hub->silent && is_lone_locked(hub, waiter);

    if (is_lone && !hub->is_thread_listening) {
        hub->listener = waiter;
    } else if (is_lone && hub->next_listener != waiter) {
        hub->next_listener = waiter;
        lki_hub_poke(hub);
    } else if (!hub->is_thread_listening && !hub->listener) {
        hub->no_listener_until = 0;
        (void)pthread_cond_signal(&hub->listener_gone);
    }
    return hub->listener == waiter;
}

/* The waiter stops polling. The hub's thread goes on at once if there is work or another waiter. */
static void stop_listening_locked(struct lki_hub *hub, const struct lki_waiter *waiter, bool is_due)
{
    if (hub->listener != waiter) return;
    hub->listener = NULL;
    hub->is_changed |= is_due;
    hub->no_listener_until = is_due || hub->sleepers > 1 ? 0 : lki_clock_after_ms(LKI_LINGER_MS);
    if (hub->no_listener_until == 0) (void)pthread_cond_signal(&hub->listener_gone);
}

/* Sleep; false: the moment has come. True may be spurious. */
static bool sleep_locked(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until)
{
    if (!try_listen_locked(hub, waiter)) return lki_clock_wait(&waiter->wake, &hub->mutex, until);
    (void)pthread_mutex_unlock(&hub->mutex);
    bool is_due = lki_hub_thread_listen(hub, until);
    (void)pthread_mutex_lock(&hub->mutex);
    if (is_due) stop_listening_locked(hub, waiter, true);
    return waiter->is_woken || lki_clock_now() < until;
}

lk_status lki_hub_wait(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until)
{
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&hub->mutex);
    if (hub->sleepers++ > 0) hub->lone_wakes = 0;
    while (!waiter->is_woken && !is_cancelled_locked(waiter) && !hub->is_stopping &&
           status == LK_OK) {
        if (!sleep_locked(hub, waiter, until)) status = LK_BUSY;
    }
    if (is_cancelled_locked(waiter)) {
        status = LK_CANCELLED;
    } else if (hub->is_stopping) {
        status = LK_INVALID;
    } else {
        waiter->is_woken = false;
    }
    if (hub->next_listener == waiter) hub->next_listener = NULL;
    stop_listening_locked(hub, waiter, false);
    hub->lone_wakes += hub->sleepers-- == 1 && status == LK_OK && hub->lone_wakes < LONE_WAKES;
    (void)pthread_mutex_unlock(&hub->mutex);
    return status;
}

void lki_hub_unwake(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    waiter->is_woken = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* The hub's thread is not woken: it drops an unused channel when it next has work. */
void lki_hub_leave(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = waiter->channel;
    lki_channel_exit(channel, waiter);
    if (waiter->is_woken) lki_channel_wake(channel, waiter->units);
    if (hub->listener && hub->listener->is_woken) lki_hub_poke(hub);
    if (!channel->first) channel->idle_since = waiter->is_alone ? 0 : lki_clock_now();
    if (!channel->first && waiter->is_alone) hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_hub_cancel(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    if (waiter->channel) {
        waiter->is_cancelled = true;
        (void)pthread_cond_signal(&waiter->wake);
        if (hub->listener == waiter) lki_hub_poke(hub);
        (void)pthread_cond_broadcast(&hub->confirmed);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_hub_recheck(struct lki_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    hub->is_topology_current = false;
    (void)pthread_mutex_unlock(&hub->mutex);
    lki_hub_poke(hub);
}

void lki_hub_stop(struct lki_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    hub->is_stopping = true;
    lki_channel_wake(&hub->silent, SIZE_MAX);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older)
        lki_channel_wake(channel, SIZE_MAX);
    (void)pthread_cond_broadcast(&hub->confirmed);
    (void)pthread_mutex_unlock(&hub->mutex);
    lki_hub_poke(hub);
}

struct lki_hub *lki_hub_new(const struct lk_client_options *options, struct lki_topology *topology,
                            struct lk_error *err)
{
    struct lki_hub *hub = calloc(1, sizeof *hub);

    if (!hub) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the wait hub");
        return NULL;
    }
    hub->options = options;
    hub->topology = topology;
    hub->silent.state = CHANNEL_LIVE;
    hub->is_topology_current = true;
    hub->collect_at = INT64_MAX;
    hub->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub->poke_fd < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
        free(hub);
        return NULL;
    }
    (void)pthread_mutex_init(&hub->mutex, NULL);
    (void)pthread_cond_init(&hub->confirmed, NULL);
    (void)pthread_cond_init(&hub->listener_gone, NULL);
    return hub;
}

void lki_hub_free(struct lki_hub *hub)
{
    struct lki_pubsub_conn *next = NULL;

    if (!hub) return;
    for (struct lki_pubsub_conn *conn = hub->conns; conn; conn = next) {
        next = conn->next;
        lki_pubsub_conn_free(conn);
    }
    free(hub->fds);
    lki_channels_done(&hub->channels);
    (void)pthread_cond_destroy(&hub->confirmed);
    (void)pthread_cond_destroy(&hub->listener_gone);
    (void)pthread_mutex_destroy(&hub->mutex);
    (void)close(hub->poke_fd);
    free(hub);
}
