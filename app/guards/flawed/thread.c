/*
 * FLAWED on purpose: a lock of the process, as a language offers it (synchronized, lock, a mutex),
 * around read, decide and write. It keeps out the threads of this process, and no other instance's.
 *
 * Made of a mutex and a condition variable, because waiting for a mutex until a moment of the
 * monotonic clock is not known to the thread sanitizer yet.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "crude_lock.h"

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static struct {
    pthread_mutex_t mutex; /* guards is_taken */
    pthread_cond_t freed;
    bool is_taken;
} process_lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

/* It is woken up: no need to try again. */
static lk_status lock_process(const struct crude_lock *lock, struct by_hand *hand,
                              struct lk_error *err)
{
    int64_t until_ns = clock_mono_ns() + hand->ctx->wait_ms * NS_PER_MS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    int error = 0;

    (void)lock;
    (void)err;
    (void)pthread_mutex_lock(&process_lock.mutex);
    while (process_lock.is_taken && !error)
        error = pthread_cond_clockwait(&process_lock.freed, &process_lock.mutex, CLOCK_MONOTONIC,
                                       &until);
    bool is_ours = !process_lock.is_taken;
    process_lock.is_taken = true;
    (void)pthread_mutex_unlock(&process_lock.mutex);
    return is_ours ? LK_OK : LK_BUSY;
}

static void unlock_process(const struct crude_lock *lock, struct by_hand *hand)
{
    (void)lock;
    (void)hand;
    (void)pthread_mutex_lock(&process_lock.mutex);
    process_lock.is_taken = false;
    (void)pthread_cond_signal(&process_lock.freed);
    (void)pthread_mutex_unlock(&process_lock.mutex);
}

const struct guard guard_thread = {
    .name = "thread",
    .idea = "a mutex of the process around read, decide and write",
    .flaw = "it keeps out the threads of one process, and nobody else's",
    .expected = VERDICT_OVERSELLS,
    .is_local = true,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = lock_process, .give = unlock_process},
};
