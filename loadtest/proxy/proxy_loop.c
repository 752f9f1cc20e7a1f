/*
 * epoll, level-triggered, and a list of timers. Signals are let in only while waiting, so
 * none is missed between the look at the flag and the wait. One thread.
 */
#include "proxy_loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"

enum { EVENTS_MAX = 256, NS_PER_MS = 1000000, WAIT_MAX_MS = 60000 };

bool proxy_loop_init(struct proxy_loop *loop, struct failure *failure)
{
    *loop = (struct proxy_loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .now_ns = clock_ns()};
    return loop->epoll_fd >= 0 || failure_set(failure, "epoll: %s", failure_errno_text());
}

static void bury_all(struct proxy_loop *loop)
{
    while (loop->corpses) {
        struct proxy_corpse *corpse = loop->corpses;
        loop->corpses = corpse->next;
        corpse->bury(corpse);
    }
}

void proxy_loop_done(struct proxy_loop *loop)
{
    bury_all(loop);
    if (loop->epoll_fd >= 0) (void)close(loop->epoll_fd);
    *loop = (struct proxy_loop){.epoll_fd = -1};
}

/* ---- timers -------------------------------------------------------------------------------- */

void proxy_loop_set_timer(struct proxy_loop *loop, struct proxy_timer *timer, int64_t at_ns)
{
    if (timer->at_ns) LIST_REMOVE(timer, others);
    timer->at_ns = at_ns == INT64_MAX ? 0 : at_ns;
    if (timer->at_ns) LIST_INSERT_HEAD(&loop->timers, timer, others);
}

static struct proxy_timer *earliest(const struct proxy_loop *loop)
{
    struct proxy_timer *first = LIST_FIRST(&loop->timers);
    struct proxy_timer *timer = NULL;

    LIST_FOREACH(timer, &loop->timers, others)
    {
        if (timer->at_ns < first->at_ns) first = timer;
    }
    return first;
}

static void ring_timers(struct proxy_loop *loop)
{
    struct proxy_timer *timer = NULL;

    while ((timer = earliest(loop)) && timer->at_ns <= loop->now_ns) {
        proxy_loop_set_timer(loop, timer, INT64_MAX);
        timer->on_time(timer);
    }
}

/* Rounded up: epoll counts in milliseconds, and nothing may be early. */
static int wait_ms(const struct proxy_loop *loop)
{
    const struct proxy_timer *first = earliest(loop);

    if (!first) return WAIT_MAX_MS;
    int64_t span_ns = first->at_ns - clock_ns();
    if (span_ns <= 0) return 0;
    int64_t span_ms = (span_ns + NS_PER_MS - 1) / NS_PER_MS;
    return span_ms < WAIT_MAX_MS ? (int)span_ms : WAIT_MAX_MS;
}

/* ---- descriptors --------------------------------------------------------------------------- */

void proxy_loop_want(struct proxy_loop *loop, struct proxy_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int change = EPOLL_CTL_MOD;

    if (watch->fd < 0 || watch->wanted == events) return;
    if (events == 0)
        change = EPOLL_CTL_DEL;
    else if (watch->wanted == 0)
        change = EPOLL_CTL_ADD;
    int result = epoll_ctl(loop->epoll_fd, change, watch->fd, &event);
    assert(result == 0 || errno == ENOMEM || errno == ENOSPC); /* anything else is our mistake */
    if (result == 0) watch->wanted = events;
}

void proxy_loop_close(struct proxy_watch *watch)
{
    if (watch->fd < 0) return;
    (void)close(watch->fd); /* takes it out of epoll too */
    watch->fd = -1;
    watch->wanted = 0;
}

void proxy_loop_bury_later(struct proxy_loop *loop, struct proxy_corpse *corpse)
{
    corpse->next = loop->corpses;
    loop->corpses = corpse;
}

static void deliver(const struct epoll_event *event)
{
    struct proxy_watch *watch = event->data.ptr;
    /* An earlier event of this round may have closed it, or have lost interest. */
    uint32_t events = event->events & (watch->wanted | EPOLLERR | EPOLLHUP);
    if (watch->fd >= 0 && watch->wanted && events) watch->on_ready(watch, events);
}

bool proxy_loop_run(struct proxy_loop *loop, struct failure *failure)
{
    struct epoll_event events[EVENTS_MAX];
    sigset_t held;
    sigset_t outside;

    (void)sigemptyset(&held);
    (void)sigaddset(&held, SIGINT);
    (void)sigaddset(&held, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &held, &outside); /* fails for a bad first word only */
    while (!interrupt_came()) {
        int count = epoll_pwait(loop->epoll_fd, events, EVENTS_MAX, wait_ms(loop), &outside);
        if (count < 0 && errno != EINTR)
            return failure_set(failure, "epoll: %s", failure_errno_text());
        loop->now_ns = clock_ns();
        for (int i = 0; i < count; i++)
            deliver(&events[i]);
        ring_timers(loop);
        bury_all(loop);
    }
    return true;
}
