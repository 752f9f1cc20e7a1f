/*
 * A kept stock report: how often Redis is asked, under a clock that stands still until the test
 * moves it.
 * link: -Wl,--wrap=stock_report_read,--wrap=clock_mono_ms
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "stock_report_cache.h"

enum { THREADS = 4, ROUNDS = 50, FLOOD = 1000, UNTOUCHED = 99 };

static struct {
    int64_t now_ms;
    bool is_down;
    int64_t left;          /* what Redis would tell */
    atomic_uint reads;     /* times it was asked */
    atomic_uint come;      /* threads that are about to ask */
    unsigned come_to_wait; /* a reading takes until so many have */
} fake;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): --wrap's names */
int64_t __wrap_clock_mono_ms(void);
bool __wrap_stock_report_read(lk_client *client, struct metrics_stock out[STOCK_REPORT_MAX],
                              size_t *out_count);

int64_t __wrap_clock_mono_ms(void)
{
    return fake.now_ms;
}

bool __wrap_stock_report_read(lk_client *client, struct metrics_stock out[STOCK_REPORT_MAX],
                              size_t *out_count)
{
    (void)client;
    atomic_fetch_add(&fake.reads, 1);
    while (atomic_load(&fake.come) < fake.come_to_wait)
        (void)sched_yield();
    if (fake.is_down) return false;
    out[0] = (struct metrics_stock){"cup", 10, fake.left, 0};
    *out_count = 1;
    return true;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static int set_up(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ms = 5;
    *state = stock_report_cache_new(NULL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    stock_report_cache_free(*state);
    return 0;
}

/* The units left that are told; UNTOUCHED when nothing was. */
static int64_t read_left(struct stock_report_cache *cache)
{
    struct metrics_stock rows[STOCK_REPORT_MAX] = {{.left = UNTOUCHED}};
    size_t count = UNTOUCHED;
    bool is_good = stock_report_cache_read(cache, rows, &count);

    assert_int_equal(count, is_good ? 1 : UNTOUCHED);
    return rows[0].left;
}

static void a_flood_asks_redis_once_a_second(void **state)
{
    for (int i = 0; i < FLOOD; i++)
        (void)read_left(*state);
    assert_int_equal(fake.reads, 1);
    fake.now_ms += STOCK_REPORT_AGE_MS - 1;
    (void)read_left(*state);
    assert_int_equal(fake.reads, 1);
    fake.now_ms += 1;
    for (int i = 0; i < FLOOD; i++)
        (void)read_left(*state);
    assert_int_equal(fake.reads, 2);
}

static void what_is_told_is_new_after_a_second(void **state)
{
    fake.left = 7;
    assert_int_equal(read_left(*state), 7);
    fake.left = 6;
    assert_int_equal(read_left(*state), 7);
    fake.now_ms += STOCK_REPORT_AGE_MS;
    assert_int_equal(read_left(*state), 6);
}

static void a_flood_does_not_ask_a_redis_that_is_down_either(void **state)
{
    assert_int_equal(read_left(*state), 0);
    fake.is_down = true;
    fake.now_ms += STOCK_REPORT_AGE_MS;
    for (int i = 0; i < FLOOD; i++)
        assert_int_equal(read_left(*state), UNTOUCHED);
    assert_int_equal(fake.reads, 2);
    fake.is_down = false;
    fake.now_ms += STOCK_REPORT_AGE_MS;
    assert_int_equal(read_left(*state), 0);
}

static void *come_and_read(void *cache)
{
    struct metrics_stock rows[STOCK_REPORT_MAX];
    size_t count = 0;

    atomic_fetch_add(&fake.come, 1);
    return stock_report_cache_read(cache, rows, &count) && rows[0].left == 3 ? cache : NULL;
}

/* Many rounds: each time all come while the first one reads. */
static void all_who_come_while_it_is_read_wait_for_that(void **state)
{
    pthread_t threads[THREADS];
    unsigned well = 0;

    fake.left = 3;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        fake.come_to_wait = round * THREADS;
        fake.now_ms += STOCK_REPORT_AGE_MS;
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, come_and_read, *state), 0);
        for (int i = 0; i < THREADS; i++) {
            void *good = NULL;

            (void)pthread_join(threads[i], &good);
            well += good != NULL;
        }
    }

    assert_int_equal(well, ROUNDS * THREADS);
    assert_int_equal(fake.reads, ROUNDS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_flood_asks_redis_once_a_second),
        TEST(what_is_told_is_new_after_a_second),
        TEST(a_flood_does_not_ask_a_redis_that_is_down_either),
        TEST(all_who_come_while_it_is_read_wait_for_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
