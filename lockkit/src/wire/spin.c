/*
 * An idle processor goes to sleep, and to wake it costs more than a short round trip takes. So where trips are short a
 * wait looks for its answer for about twice as long as that takes before it sleeps, as long as trips are shorter for it.
 * After one that was in vain the next 1, 3, 7 ... 63 sleep at once; and nobody looks on a processor that somebody else
 * could use, or that a quota of our cgroup does not give us. A connection is one thread's; what is counted over all of them is atomic.
 */
#include "spin.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/idle.h"

enum {
    LOOK_EVERY_MS = 5, /* how busy the machine is: that costs as much as a command or two */
    SHORT = 4,         /* in longest spins: what a trip takes that is still short */
    STEP = 16,         /* a trip moves what is known of trips by this part of it */
    FAILURES_MAX = 6,
    SKIPS_MAX = 63,
    SLEEP_EVERY = 256, /* to know what trips take then */
};

static struct {
    atomic_int count; /* of those who spin */
    atomic_int room;  /* how many may */
    _Atomic int64_t looked_at;
} spinners;

/* One looks from time to time; who comes meanwhile goes by what was seen last. */
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
