/*
 * See lk_hub.h.
 */
#include "lk_hub.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "lk_pubsub.h"
#include "lk_support.h"

enum { LONG_MS = 5000, BACKOFF_MS = 40, WAITERS = 3 };

static struct {
    struct lki_hub *hub;
    pthread_t thread;
    struct lki_waiter waiters[WAITERS];
} world;

/* ---- a clock that can be put forward ---------------------------------------------------------------- */

static _Atomic int64_t ahead_ns;

FAKE(int64_t, lki_clock_now, void)
{
    return __real_lki_clock_now() + atomic_load(&ahead_ns);
}

FAKE(int64_t, lki_clock_after_ms, int64_t ms)
{
    return __real_lki_clock_after_ms(ms) + atomic_load(&ahead_ns);
}

FAKE(int, lki_clock_left_ms, int64_t deadline)
{
    return __real_lki_clock_left_ms(deadline - atomic_load(&ahead_ns));
}

FAKE(bool, lki_clock_wait, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    return __real_lki_clock_wait(cond, mutex, deadline - atomic_load(&ahead_ns));
}

void lks_hub_put_clock_forward(int64_t ms)
{
    atomic_fetch_add(&ahead_ns, ms * NS_PER_MS);
    lki_hub_recheck(world.hub);
}

/* ---- a hub with its thread ------------------------------------------------------------------------ */

static void ignore_event(const struct lk_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

struct lki_hub *lks_hub(void)
{
    return world.hub;
}

int lks_hub_start(bool is_sharded)
{
    static const struct lk_client_options options = {
        .connect_ms = 2L * LONG_MS, /* longer than any test waits */
        .command_ms = 100,
        .backoff_ms = BACKOFF_MS,
        .on_event = ignore_event};

    lks_pubsub_start(is_sharded);
    for (size_t i = 0; i < WAITERS; i++)
        lki_waiter_init(&world.waiters[i], LKI_WAKE_ONE);
    world.hub = lki_hub_new(&options, lks_pubsub_topology(), NULL);
    if (!world.hub) return -1;
    return pthread_create(&world.thread, NULL, lki_hub_thread, world.hub);
}

int lks_hub_stop(void)
{
    lki_hub_stop(world.hub);
    int failure = pthread_join(world.thread, NULL);
    lki_hub_free(world.hub);
    for (size_t i = 0; i < WAITERS; i++)
        lki_waiter_done(&world.waiters[i]);
    return lks_pubsub_stop() ? failure : -1;
}

void lks_hub_join_within(size_t waiter, const char *channel, int64_t limit_ms)
{
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[waiter], channel,
                                  lki_clock_after_ms(limit_ms), NULL),
                     LK_OK);
}

void lks_hub_join(size_t waiter, const char *channel)
{
    int64_t begin = lki_clock_now();

    lks_hub_join_within(waiter, channel, LONG_MS);
    assert_true(lki_clock_now() - begin < (int64_t)LONG_MS * NS_PER_MS);
}

void lks_hub_leave(size_t waiter)
{
    lki_hub_leave(world.hub, &world.waiters[waiter]);
}

lk_status lks_hub_wait_long(size_t waiter)
{
    return lki_hub_wait(world.hub, &world.waiters[waiter], lki_clock_after_ms(LONG_MS));
}

lk_status lks_hub_look(size_t waiter)
{
    return lki_hub_wait(world.hub, &world.waiters[waiter], 0);
}

void lks_hub_settle(int server, const char *channel)
{
    for (int turn = 0; turn < 2; turn++) {
        lks_pubsub_say(server, "smessage", channel, "0");
        assert_int_equal(lks_hub_wait_long(2), LK_OK);
    }
}
