/*
 * Something kept for a moment: how often it is made, under a clock that stands still until the test
 * moves it.
 * link: -Wl,--wrap=clock_mono_ms
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/cache.h"
#include "base/clock.h"
#include "test/support/testing.h"

enum { THREADS = 4, ROUNDS = 50, FLOOD = 1000, AGE_MS = 100, NONE = -1 };

struct entry {
    struct cache_entry base;
    int number;
};

static struct {
    int64_t now_ms;
    int64_t takes_ms; /* to make one */
    bool fails;
    int number;       /* of the next */
    atomic_uint made; /* times it was tried */
    atomic_uint freed;
    atomic_uint come;      /* threads that are about to ask */
    unsigned come_to_wait; /* making takes until so many have */
} fake;

FAKE_RETURNS(int64_t, clock_mono_ms, (void), fake.now_ms);

static void *make(void *arg)
{
    struct entry *entry = calloc(1, sizeof *entry);

    if (!entry) abort();
    atomic_fetch_add(&fake.made, 1);
    while (atomic_load(&fake.come) < fake.come_to_wait)
        (void)sched_yield();
    entry->number = fake.number;
    fake.now_ms += fake.takes_ms;
    if (!fake.fails) return entry;
    free(entry);
    return NULL;
}

static void count_freed(void *entry)
{
    atomic_fetch_add(&fake.freed, 1);
    free(entry);
}

static int set_up(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ms = 5;
    *state =
        cache_new(&(struct cache_options){.make = make, .free = count_freed, .age_ms = AGE_MS});
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    cache_free(*state);
    return 0;
}

/* The number that is told; NONE. */
static int ask(struct cache *kept)
{
    struct entry *entry = cache_borrow(kept);
    int number = entry ? entry->number : NONE;

    cache_return(kept, entry);
    return number;
}

TEST(a_flood_makes_one_each_time)
{
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(ask(*state), 0);
    fake.number = 1;
    fake.now_ms += AGE_MS - 1;
    assert_int_equal(ask(*state), 0);
    assert_int_equal(fake.made, 1);
    fake.now_ms += 1;
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(ask(*state), 1);
    assert_int_equal(fake.made, 2);
    assert_int_equal(fake.freed, 1);
}

TEST(what_cannot_be_made_is_not_tried_by_each_either)
{
    assert_int_equal(ask(*state), 0);
    fake.fails = true;
    fake.now_ms += AGE_MS;
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(ask(*state), NONE);
    assert_int_equal(fake.made, 2);
    fake.fails = false;
    fake.now_ms += AGE_MS;
    assert_int_equal(ask(*state), 0);
}

/* Else those who waited for it would each make their own, one after the other. */
TEST(what_takes_longer_than_it_is_kept_is_told_all_the_same)
{
    fake.takes_ms = 5L * AGE_MS;
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(ask(*state), 0);
    assert_int_equal(fake.made, 1);
}

/* Who asks now and then sees what is; a flood cannot save up more than that. */
TEST(what_was_quiet_is_made_for_each_until_that_is_used_up)
{
    struct cache *kept = cache_new(
        &(struct cache_options){.make = make, .free = count_freed, .age_ms = AGE_MS, .burst = 3});

    assert_non_null(kept);
    fake.now_ms += 1000L * AGE_MS;
    for (int i = 0; i < FLOOD; i++)
        (void)ask(kept);
    assert_int_equal(fake.made, 1 + 3);
    for (int i = 0; i < FLOOD; i++, fake.now_ms++)
        (void)ask(kept);
    assert_int_equal(fake.made, 3 + FLOOD / AGE_MS);
    fake.now_ms += 2L * AGE_MS;
    for (fake.number = 1; fake.number <= 2; fake.number++)
        assert_int_equal(ask(kept), fake.number);
    cache_free(kept);
}

TEST(what_is_borrowed_stays)
{
    struct entry *first = cache_borrow(*state);
    struct entry *again = cache_borrow(*state);

    fake.number = 1;
    fake.now_ms += AGE_MS;
    assert_int_equal(ask(*state), 1);
    assert_int_equal(fake.freed, 0);
    assert_int_equal(first->number, 0);
    cache_return(*state, first);
    assert_int_equal(again->number, 0);
    cache_return(*state, again);
    assert_int_equal(fake.freed, 1);
}

static void *come_and_ask(void *kept)
{
    atomic_fetch_add(&fake.come, 1);
    return ask(kept) == 3 ? kept : NULL;
}

/* Many rounds: each time all come while the first one makes it. */
TEST(all_who_come_while_it_is_made_wait_for_that)
{
    pthread_t threads[THREADS];
    unsigned well = 0;

    fake.number = 3;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        fake.come_to_wait = round * THREADS;
        fake.now_ms += AGE_MS;
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, come_and_ask, *state), 0);
        for (int i = 0; i < THREADS; i++) {
            void *good = NULL;

            (void)pthread_join(threads[i], &good);
            well += good != NULL;
        }
    }

    assert_int_equal(well, ROUNDS * THREADS);
    assert_int_equal(fake.made, ROUNDS);
}

FIXTURE(set_up, tear_down);
