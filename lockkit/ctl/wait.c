/*
 * While the main thread waits for the lock, a thread of its own waits for signals, and cancels. It
 * is gone before there is a command.
 */
#include "wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

enum { AGAIN_MS = 20 };

struct watch {
    struct kinds_hold *hold;       /* borrowed */
    const struct signals *signals; /* borrowed */
    int over_fd;                   /* owned; readable when the wait is over */
    int caught;                    /* read after the join */
};

static bool is_over(const struct watch *watch, int within_ms)
{
    struct pollfd over = {.fd = watch->over_fd, .events = POLLIN};

    return poll(&over, 1, within_ms) == 1;
}

/* A cancel that comes before the acquire has begun has no effect, so it is said again. */
static void cancel(struct watch *watch)
{
    do
        kinds_cancel(watch->hold);
    while (!is_over(watch, AGAIN_MS));
}

static void *watch_signals(void *arg)
{
    struct watch *watch = arg;
    struct pollfd fds[] = {{.fd = watch->signals->fd, .events = POLLIN},
                           {.fd = watch->over_fd, .events = POLLIN}};
    struct signals_event event;

    while (!fds[1].revents) {
        (void)poll(fds, 2, -1); /* interrupted: it looks again */
        while (!watch->caught && signals_read(watch->signals, &event))
            if (event.number != SIGCHLD) watch->caught = event.number;
        if (!watch->caught) continue;
        cancel(watch);
        return NULL;
    }
    return NULL;
}

lk_status wait_for(struct kinds_hold *hold, const struct signals *signals, int *out_signal,
                   struct lk_error *err)
{
    struct watch watch = {.hold = hold, .signals = signals, .over_fd = eventfd(0, EFD_CLOEXEC)};
    pthread_t thread;

    *out_signal = 0;
    if (watch.over_fd < 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
    if (pthread_create(&thread, NULL, watch_signals, &watch) != 0) {
        (void)close(watch.over_fd);
        return LKI_FAIL(err, LK_NO_MEMORY, "no thread is left to wait for signals");
    }
    lk_status status = kinds_acquire(hold, err);
    (void)eventfd_write(watch.over_fd, 1); /* the first write to it never fails */
    (void)pthread_join(thread, NULL);
    (void)close(watch.over_fd);
    *out_signal = watch.caught;
    return status;
}
