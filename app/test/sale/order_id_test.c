/*
 * order_id.c: ids are unique and grow, whatever the clock does. The clock is the test's.
 * link: -Wl,--wrap=clock_unix_ms
 */
#include <pthread.h>

#include "sale/order_id.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

enum { PER_MS = 4096, THREADS = 8, PER_THREAD = 20000 };

static const int64_t epoch_ms = 1704067200000; /* 2024-01-01T00:00:00Z */
static const int64_t today_ms = 1795168800000; /* 2026-11-20T10:00:00Z */
static const int64_t span_ms = INT64_C(1) << 41;

static _Atomic int64_t clock_ms;

/* The linker's name: NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */

FAKE_RETURNS(int64_t, clock_unix_ms, (void), atomic_load(&clock_ms));

static uint64_t next_number(struct order_ids *ids, unsigned node)
{
    char id[ORDER_ID_MAX];
    char *end = NULL;

    order_id_next(ids, node, id);
    assert_true(strlen(id) < sizeof id);
    uint64_t number = strtoull(id, &end, 10);
    assert_true(end && *end == '\0' && id[0] != '0' && id[0] != '-');
    assert_true(number <= INT64_MAX);
    return number;
}

TEST(an_id_is_time_node_and_sequence)
{
    struct order_ids ids = {0};

    atomic_store(&clock_ms, today_ms);
    uint64_t id = next_number(&ids, 1023);
    assert_int_equal(id >> 22, today_ms - epoch_ms);
    assert_int_equal(id >> 12 & 1023, 1023);
    assert_int_equal(id & 4095, 0);
    assert_int_equal(next_number(&ids, 5) - id, ((uint64_t)5 << 12 | 1) - ((uint64_t)1023 << 12));
}

TEST(ids_grow_when_the_sequence_runs_over)
{
    struct order_ids ids = {0};
    uint64_t last = 0;

    atomic_store(&clock_ms, today_ms);
    for (int i = 0; i < 3 * PER_MS; i++) {
        uint64_t id = next_number(&ids, 7);

        assert_true(id > last);
        assert_int_equal(id >> 12 & 1023, 7);
        last = id;
    }
    assert_int_equal(last >> 22, today_ms - epoch_ms + 2);
}

TEST(ids_grow_when_the_clock_steps_back)
{
    static const int64_t steps_ms[] = {0, -1, -3600000, 1, -86400000, 0, 2};
    struct order_ids ids = {0};
    uint64_t last = 0;

    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        atomic_store(&clock_ms, today_ms + steps_ms[i]);
        uint64_t id = next_number(&ids, 0);

        assert_true(id > last);
        last = id;
    }
    assert_int_equal(last >> 22, today_ms - epoch_ms + 2);
}

/* A machine that has not heard the time yet, or hears nonsense. */
TEST(ids_stay_63_bit_numbers_by_any_clock)
{
    static const struct {
        int64_t first_ms;
        int64_t then_ms;
    } clocks[] = {{0, 0},
                  {-1, 0},
                  {INT64_MIN, 0},
                  {0, INT64_MAX},
                  {1704067199999, 1704067200000},
                  {1704067200000 + (INT64_C(1) << 41) - 1, 0},
                  {1704067200000 + (INT64_C(1) << 41), 0},
                  {INT64_MAX, 0}};

    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        struct order_ids ids = {0};

        atomic_store(&clock_ms, clocks[i].first_ms);
        uint64_t first = next_number(&ids, 1023);
        atomic_store(&clock_ms, clocks[i].then_ms);
        assert_true(next_number(&ids, 1023) > first);
    }
}

TEST(a_clock_that_wakes_up_late_does_not_spoil_the_ids)
{
    struct order_ids ids = {0};

    atomic_store(&clock_ms, 0); /* 1970 until the network says better */
    (void)next_number(&ids, 1);
    atomic_store(&clock_ms, today_ms);
    assert_int_equal(next_number(&ids, 1) >> 22, today_ms - epoch_ms);
}

struct maker {
    pthread_t thread;
    struct order_ids *ids;
    pthread_barrier_t *start; /* all begin together, or they would not meet */
    char made[PER_THREAD][ORDER_ID_MAX];
};

static void *make_many(void *arg)
{
    struct maker *maker = arg;

    (void)pthread_barrier_wait(maker->start);
    for (int i = 0; i < PER_THREAD; i++) {
        if (i % 1000 == 0) atomic_fetch_add(&clock_ms, i % 2000 == 0 ? 1 : -1);
        order_id_next(maker->ids, 3, maker->made[i]);
    }
    return NULL;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return (*a > *b) - (*a < *b);
}

TEST(ids_of_many_threads_are_unique_and_grow_in_each)
{
    static struct maker makers[THREADS];
    static uint64_t all[THREADS * PER_THREAD];
    struct order_ids ids = {0};
    pthread_barrier_t barrier;
    size_t count = 0;

    atomic_store(&clock_ms, today_ms);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        makers[i].ids = &ids;
        makers[i].start = &barrier;
        assert_int_equal(pthread_create(&makers[i].thread, NULL, make_many, &makers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
    (void)pthread_barrier_destroy(&barrier);

    for (size_t i = 0; i < THREADS; i++) {
        for (size_t k = 0; k < PER_THREAD; k++) {
            all[count] = strtoull(makers[i].made[k], NULL, 10);
            if (k > 0) assert_true(all[count] > all[count - 1]);
            count++;
        }
    }
    qsort(all, count, sizeof all[0], compare_numbers);
    for (size_t i = 1; i < count; i++)
        assert_true(all[i] > all[i - 1]);
}

TEST(the_time_is_read_out_of_an_id)
{
    /* none: 64 bits, 20 digits, and what is no number */
    static const char none[] = "9223372036854775808|9999999999999999999|18446744073709551616|"
                               "00000000000000000001||-1|+1| 1|1 |1\n|0x10|1e3|12a";
    const char *id = NULL;

    assert_int_equal(order_id_ms("0"), epoch_ms);
    assert_int_equal(order_id_ms("4194303"), epoch_ms);
    assert_int_equal(order_id_ms("4194304"), epoch_ms + 1);
    assert_int_equal(order_id_ms("0004194304"), epoch_ms + 1);
    assert_int_equal(order_id_ms("9223372036854775807"), epoch_ms + span_ms - 1);
    for (size_t i = 0; (id = texts_at(none, i)); i++)
        if (order_id_ms(id) != -1) fail_msg("\"%s\"", id);
}

TEST(the_time_of_a_new_id_is_the_clock)
{
    struct order_ids ids = {0};
    char id[ORDER_ID_MAX];

    atomic_store(&clock_ms, today_ms);
    order_id_next(&ids, 1023, id);
    assert_int_equal(order_id_ms(id), today_ms);
    atomic_store(&clock_ms, epoch_ms + span_ms - 1); /* 2093 */
    order_id_next(&ids, 1023, id);
    assert_int_equal(order_id_ms(id), epoch_ms + span_ms - 1);
}
