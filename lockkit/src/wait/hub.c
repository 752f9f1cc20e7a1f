/*
 * The waiters' side. A message wakes the longest waiter of its channel in this process; every
 * process gets the message, so the woken ones of different processes race for the lock. Messages are
 * hints: they are lost when a connection breaks, so every waiter has a timer too, and all whom it may
 * concern are woken once when it breaks and once when they are subscribed again. A channel without
 * waiters is kept for a moment, because the next waiter of a contended lock is near.
 *
 * Any thread of a call; one mutex, and nothing that waits is done with it held. What the hub's thread
 * does is in hub_thread.c.
 */
#include "hub.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "hub_inner.h"

void lki_hub_poke(struct lki_hub *hub)
{
    uint64_t one = 1;
    ssize_t done = write(hub->poke_fd, &one, sizeof one);

    (void)done; /* a full counter is as good as a poke */
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
    if (channel->state != CHANNEL_LIVE) channel->is_deaf = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    return LK_OK;
}

lk_status lki_hub_wait(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until)
{
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&hub->mutex);
    while (!waiter->is_woken && !is_cancelled_locked(waiter) && !hub->is_stopping &&
           status == LK_OK) {
        if (!lki_clock_wait(&waiter->wake, &hub->mutex, until)) status = LK_BUSY;
    }
    if (is_cancelled_locked(waiter)) {
        status = LK_CANCELLED;
    } else if (hub->is_stopping) {
        status = LK_INVALID;
    } else {
        waiter->is_woken = false;
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    return status;
}

void lki_hub_unwake(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    waiter->is_woken = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* It does not poke the hub's thread: what is to be dropped can wait until it has something to do. */
void lki_hub_leave(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = waiter->channel;
    lki_channel_exit(channel, waiter);
    if (waiter->is_woken) lki_channel_wake(channel, waiter->units);
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
        (void)pthread_cond_broadcast(&hub->confirmed);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_hub_look_again(struct lki_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    hub->is_looked_at = false;
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

struct lki_hub *lki_hub_new(const struct lki_hub_options *options, struct lk_error *err)
{
    struct lki_hub *hub = calloc(1, sizeof *hub);

    if (!hub) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the wait hub");
        return NULL;
    }
    hub->options = *options;
    hub->silent.state = CHANNEL_LIVE;
    hub->is_looked_at = true;
    hub->collect_at = INT64_MAX;
    hub->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub->poke_fd < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
        free(hub);
        return NULL;
    }
    (void)pthread_mutex_init(&hub->mutex, NULL);
    (void)pthread_cond_init(&hub->confirmed, NULL);
    return hub;
}

void lki_hub_free(struct lki_hub *hub)
{
    struct lki_link *next = NULL;

    if (!hub) return;
    for (struct lki_link *link = hub->links; link; link = next) {
        next = link->next;
        lki_link_free(link);
    }
    free(hub->fds);
    lki_channels_done(&hub->channels);
    (void)pthread_cond_destroy(&hub->confirmed);
    (void)pthread_mutex_destroy(&hub->mutex);
    (void)close(hub->poke_fd);
    free(hub);
}
