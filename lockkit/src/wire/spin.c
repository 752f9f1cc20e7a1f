/*
 * Waking an idle processor takes longer than a short round trip. So where round trips are short, a receive busy-polls
 * for about twice their time before it blocks, as long as that makes them shorter. After a failure the next 1, 3, 7
 * ... 63 receives block at once. No thread busy-polls on a processor that another one could use, or beyond the CPU
 * quota of the cgroup. A connection is one thread's; what is counted over all connections is atomic.
 */
#include "spin.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/idle.h"

enum {
    LOOK_EVERY_MS = 5, /* interval of looks at the load, which cost as much as a command or two */
    SHORT = 4,         /* a round trip of up to this multiple of the longest spin is short */
    STEP = 16,         /* a round trip moves the running median by this part of it */
    FAILURES_MAX = 6,
    SKIPS_MAX = 63,
    SLEEP_EVERY =
        256, /* one in so many receives blocks, to measure round trips without busy-polling */
};

static struct {
    atomic_int count; /* threads that busy-poll */
    atomic_int room;  /* how many may */
    _Atomic int64_t looked_at;
} spinners;

/* One thread looks at the load from time to time; the others use its last result. */
static int find_room(int64_t now)
{
    int64_t before = atomic_load(&spinners.looked_at);
    int64_t pause = (int64_t)LOOK_EVERY_MS * NS_PER_MS;

    if (now - before >= pause && atomic_compare_exchange_strong(&spinners.looked_at, &before, now))
        atomic_store(&spinners.room, lki_idle_processors(atomic_load(&spinners.count)));
    return atomic_load(&spinners.room);
}

static bool enter(int64_t now)
{
    bool has_room = atomic_fetch_add(&spinners.count, 1) < find_room(now);

    if (!has_room) atomic_fetch_sub(&spinners.count, 1);
    return has_room;
}

int64_t lki_spin_begin(struct lki_spin *spin)
{
    int64_t span = 2 * spin->open_ns < spin->longest_ns ? 2 * spin->open_ns : spin->longest_ns;

    if (span == 0 || spin->shut_ns > SHORT * spin->longest_ns) return 0;
    if (spin->skips > 0) {
        spin->skips--;
        return 0;
    }
    if (++spin->waits % SLEEP_EVERY == 0) return 0;
    int64_t now = lki_clock_now();
    if (!enter(now)) return 0;
    spin->is_open = true;
    return now + span;
}

void lki_spin_end(struct lki_spin *spin, bool has_come)
{
    atomic_fetch_sub(&spinners.count, 1);
    if (!has_come && spin->failures < FAILURES_MAX) spin->failures++;
    if (has_come) spin->failures = 0;
    spin->skips = (1U << spin->failures) - 1;
}

void lki_spin_learn(struct lki_spin *spin, int64_t trip_ns)
{
    int64_t *known = spin->is_open ? &spin->open_ns : &spin->shut_ns;

    if (spin->shut_ns == 0) spin->shut_ns = spin->open_ns = trip_ns;
    if (trip_ns != *known) *known += trip_ns > *known ? *known / STEP : -(*known / STEP);
    if (spin->is_open && spin->open_ns >= spin->shut_ns) spin->skips = SKIPS_MAX;
    spin->is_open = false;
}
