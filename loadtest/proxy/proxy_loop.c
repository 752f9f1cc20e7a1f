/*
 * epoll, level-triggered, and a binary heap of timers. Signals are let in only while waiting, so
 * none is missed between the look at the flag and the wait. One thread.
 */
#include "proxy_loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/moment.h"

enum { EVENTS_MAX = 256, NS_PER_MS = 1000000, WAIT_MAX_MS = 60000, FIRST_TIMERS = 64 };

bool proxy_loop_init(struct proxy_loop *loop, struct failure *failure)
{
    *loop = (struct proxy_loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .now_ns = moment_ns()};
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
    free((void *)loop->timers);
    *loop = (struct proxy_loop){.epoll_fd = -1};
}

/* ---- timers -------------------------------------------------------------------------------- */

bool proxy_loop_reserve_timer(struct proxy_loop *loop)
{
    if (loop->timer_limit + 1 >= loop->timer_capacity) {
        size_t capacity = loop->timer_capacity ? 2 * loop->timer_capacity : FIRST_TIMERS;
        void *larger = reallocarray((void *)loop->timers, capacity, sizeof *loop->timers);
        if (!larger) return false;
        loop->timers = larger;
        loop->timer_capacity = capacity;
    }
    loop->timer_limit++;
    return true;
}

static void put_timer(struct proxy_loop *loop, size_t place, struct proxy_timer *timer)
{
    loop->timers[place] = timer;
    timer->place = place;
}

static void sift_up(struct proxy_loop *loop, size_t place, struct proxy_timer *timer)
{
    for (; place > 1 && loop->timers[place / 2]->at_ns > timer->at_ns; place /= 2)
        put_timer(loop, place, loop->timers[place / 2]);
    put_timer(loop, place, timer);
}

static void sift_down(struct proxy_loop *loop, size_t place, struct proxy_timer *timer)
{
    for (size_t child = 0; (child = 2 * place) <= loop->timer_count; place = child) {
        if (child < loop->timer_count &&
            loop->timers[child + 1]->at_ns < loop->timers[child]->at_ns)
            child++;
        if (loop->timers[child]->at_ns >= timer->at_ns) break;
        put_timer(loop, place, loop->timers[child]);
    }
    put_timer(loop, place, timer);
}

static void unset_timer(struct proxy_loop *loop, struct proxy_timer *timer)
{
    size_t place = timer->place;

    if (place == 0) return;
    struct proxy_timer *last = loop->timers[loop->timer_count--];
    timer->place = 0;
    if (last == timer) return;
    sift_up(loop, place, last);
    sift_down(loop, last->place, last);
}

void proxy_loop_set_timer(struct proxy_loop *loop, struct proxy_timer *timer, int64_t at_ns)
{
    if (timer->place && timer->at_ns == at_ns) return;
    unset_timer(loop, timer);
    if (at_ns == INT64_MAX) return;
    assert(loop->timer_count < loop->timer_limit);
    timer->at_ns = at_ns;
    loop->timer_count++;
    sift_up(loop, loop->timer_count, timer);
}

void proxy_loop_return_timer(struct proxy_loop *loop, struct proxy_timer *timer)
{
    unset_timer(loop, timer);
    loop->timer_limit--;
}

static void ring_timers(struct proxy_loop *loop)
{
    while (loop->timer_count && loop->timers[1]->at_ns <= loop->now_ns) {
        struct proxy_timer *timer = loop->timers[1];
        unset_timer(loop, timer);
        timer->on_time(timer);
    }
}

/* Rounded up: epoll counts in milliseconds, and nothing may be early. */
static int wait_ms(const struct proxy_loop *loop)
{
    if (loop->timer_count == 0) return WAIT_MAX_MS;
    int64_t span_ns = loop->timers[1]->at_ns - moment_ns();
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
        loop->now_ns = moment_ns();
        for (int i = 0; i < count; i++)
            deliver(&events[i]);
        ring_timers(loop);
        bury_all(loop);
    }
    return true;
}
