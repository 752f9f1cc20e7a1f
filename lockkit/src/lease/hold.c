/*
 * The end of a hold, by the local clock or by a server's answer. Threads: any.
 */
#include "hold.h"

#include <unistd.h>

#include "base/clock.h"

enum { DRIFT_PERCENT = 1, DRIFT_FIXED_MS = 2 };

int64_t lki_hold_ends_at(int64_t sent_at, int64_t lease_ms)
{
    int64_t drift_ms = lease_ms * DRIFT_PERCENT / 100 + DRIFT_FIXED_MS;

    return sent_at + (lease_ms - drift_ms) * NS_PER_MS;
}

void lki_hold_signal_fd(int fd)
{
    uint64_t one = 1;
    ssize_t done = fd < 0 ? 0 : write(fd, &one, sizeof one);

    (void)done; /* a full counter is readable, too */
}

bool lki_hold_lose(lk_lock *lock)
{
    int held = LOCK_HELD;

    if (!atomic_compare_exchange_strong(&lock->state, &held, LOCK_LOST)) return false;
    atomic_store(&lock->expires_at, 0);
    lki_hold_signal_fd(
        atomic_load(&lock->lost_fd)); /* one that is made only now looks at the state */
    return true;
}
