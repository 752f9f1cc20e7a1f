/*
 * See queue.h. Each kind has its own scripts. Threads: any.
 */
#include "queue.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    WAITER_MS = 5000,        /* GRACE of fair_queue.lua */
    WAITER_LEAST_MS = 100,   /* a shorter window could end between two tries */
    ASK_AGAIN_MAX_MS = 2000, /* longest pause between two tries, well below the window */
    ABANDON_PAUSE_MS = 20,
    ABANDON_CROWDS = 20,
};

lk_status lki_queue_init(struct queue_place *place, int64_t waiter_ms, struct lk_error *err)
{
    if (waiter_ms != 0 && (waiter_ms < WAITER_LEAST_MS || waiter_ms > INT32_MAX)) {
        return LKI_FAIL(err, LK_INVALID, "waiter_ms is not between %d and %d", WAITER_LEAST_MS,
                        INT32_MAX);
    }
    *place = (struct queue_place){.waiter_ms = waiter_ms ? waiter_ms : WAITER_MS};
    return LK_OK;
}

int64_t lki_queue_window_ms(const struct queue_place *place, const lk_lock *lock)
{
    return lock->wait_ms > 0 && lock->wait_ms < place->waiter_ms ? lock->wait_ms : place->waiter_ms;
}

int64_t lki_queue_ask_again_ms(const struct queue_place *place, int64_t ttl_ms)
{
    int64_t third_ms = place->waiter_ms / 3;
    int64_t longest_ms = third_ms < ASK_AGAIN_MAX_MS ? third_ms : ASK_AGAIN_MAX_MS;

    return ttl_ms < 0 || ttl_ms > longest_ms ? longest_ms : ttl_ms;
}

/*
 * A place that is left behind delays all waiters, so this is repeated for the time of a command; longer if only
 * this process is the reason (EXHAUSTED: all connections are in use).
 */
void lki_queue_abandon(struct queue_place *place, lk_client *client, const struct lki_call *call,
                       int64_t deadline)
{
    static const struct timespec pause = {.tv_nsec = (long)ABANDON_PAUSE_MS * NS_PER_MS};

    for (int crowds = 0; place->is_taken && lki_clock_left_ms(deadline) > 0;) {
        long long had_place = 0;
        lk_status status = lki_call_integer(client, call, deadline, &had_place, NULL);

        if (status == LK_OK || status == LK_INVALID) break;
        if (status != LK_EXHAUSTED) {
            (void)nanosleep(&pause, NULL);
        } else if (++crowds < ABANDON_CROWDS) {
            deadline = lki_context_deadline(client, 0);
        }
    }
}
