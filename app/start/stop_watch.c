/*
 * See stop_watch.h. The thread looks at atomics, now and then, and takes no lock that could hang, too.
 */
#include "stop_watch.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOOK_MS = 500 };

struct stop_watch {
    struct stop_watch_options options;
    pthread_t thread;
    int over_fd;                /* eventfd */
    _Atomic(const char *) step; /* borrowed */
    _Atomic int64_t late_at_ms; /* INT64_MAX: nobody stops */
};

static bool is_untaken(const struct stop_watch *self)
{
    sigset_t pending;
    sigset_t ours;

    return sigpending(&pending) == 0 && sigandset(&ours, &pending, self->options.signals) == 0 &&
           !sigisemptyset(&ours);
}

static void *watch_main(void *arg)
{
    struct stop_watch *self = arg;
    struct pollfd over = {.fd = self->over_fd, .events = POLLIN};
    int64_t taken_at_ms = clock_mono_ms();

    for (;;) {
        int64_t now_ms = clock_mono_ms();

        if (!is_untaken(self)) taken_at_ms = now_ms;
        int64_t left_ms = taken_at_ms + self->options.untaken_ms - now_ms;
        int64_t stop_left_ms = atomic_load(&self->late_at_ms) - now_ms;
        if (stop_left_ms < left_ms) left_ms = stop_left_ms;
        if (left_ms <= 0) break;
        if (poll(&over, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS) == 1) return NULL;
    }
    self->options.leave(atomic_load(&self->step), self->options.arg);
    return NULL;
}

struct stop_watch *stop_watch_new(const struct stop_watch_options *options)
{
    struct stop_watch *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    atomic_init(&self->step, "what runs");
    atomic_init(&self->late_at_ms, INT64_MAX);
    self->over_fd = eventfd(0, EFD_CLOEXEC);
    if (self->over_fd >= 0 && pthread_create(&self->thread, NULL, watch_main, self) == 0)
        return self;
    if (self->over_fd >= 0) (void)close(self->over_fd);
    free(self);
    return NULL;
}

void stop_watch_begin(struct stop_watch *self, int64_t limit_ms)
{
    if (self) atomic_store(&self->late_at_ms, clock_mono_ms() + limit_ms);
}

void stop_watch_step(struct stop_watch *self, const char *step)
{
    if (self) atomic_store(&self->step, step);
}

void stop_watch_free(struct stop_watch *self)
{
    if (!self) return;
    (void)eventfd_write(self->over_fd, 1);
    (void)pthread_join(self->thread, NULL);
    (void)close(self->over_fd);
    free(self);
}
