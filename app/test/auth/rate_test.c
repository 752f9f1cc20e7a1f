/*
 * Token buckets, under a clock that stands still until the test moves it.
 * link: -Wl,--wrap=clock_mono_ns
 */
#include <pthread.h>
#include <stdatomic.h>

#include "auth/rate.h"
#include "base/clock.h"
#include "test/support/testing.h"

#define SECOND 1000000000LL

enum { THREADS = 4, TRIES = 3000, BURST = 5000 };

static struct {
    int64_t now_ns;
} fake = {.now_ns = 5 * SECOND};

FAKE_RETURNS(int64_t, clock_mono_ns, (void), fake.now_ns);

static struct rate *make(int64_t per_s, int64_t burst, size_t buyers)
{
    struct rate *rate = rate_new(&(struct rate_options){{per_s, burst}, buyers});

    assert_non_null(rate);
    return rate;
}

/* How many of `tries` requests of this buyer are let through now. */
static int count_taken(struct rate *rate, const char *buyer, int tries)
{
    int taken = 0;

    for (int i = 0; i < tries; i++)
        taken += rate_take(rate, buyer).is_over ? 0 : 1;
    return taken;
}

TEST(limits_are_read)
{
    static const struct {
        const char *text;
        int64_t per_s, burst; /* burst -1: malformed */
    } cases[] = {
        {"0", 0, 0},        {"5", 5, 5},
        {"5/s", 5, 5},      {"5/s:20", 5, 20},
        {"5:20", 5, 20},    {"5:1", 5, 1},
        {"0:7", 0, 7},      {"1000000:1000000", 1000000, 1000000},
        {"", 0, -1},        {"-1", 0, -1},
        {" 5", 0, -1},      {"5 ", 0, -1},
        {"5/m", 0, -1},     {"5/", 0, -1},
        {"5:", 0, -1},      {"5:0", 0, -1},
        {"5/s:", 0, -1},    {":5", 0, -1},
        {"/s", 0, -1},      {"5:2/s", 0, -1},
        {"1000001", 0, -1}, {"5:1000001", 0, -1},
        {"5.5", 0, -1},     {"99999999999", 0, -1},
        {"0x5", 0, -1},     {"5/s:2x", 0, -1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rate_limit limit = {-7, -7};
        bool is_read = rate_limit_read(cases[i].text, &limit);

        if (is_read != (cases[i].burst >= 0)) print_message("%s\n", cases[i].text);
        assert_int_equal(is_read, cases[i].burst >= 0);
        assert_int_equal(limit.per_s, is_read ? cases[i].per_s : -7);
        assert_int_equal(limit.burst, is_read ? cases[i].burst : -7);
    }
}

TEST(a_full_bucket_gives_its_burst_and_then_its_rate)
{
    struct rate *rate = make(4, 10, 0);

    assert_int_equal(count_taken(rate, "alice", 15), 10);
    fake.now_ns += SECOND / 4 - 1;
    assert_int_equal(count_taken(rate, "alice", 3), 0);
    fake.now_ns += 1;
    assert_int_equal(count_taken(rate, "alice", 3), 1);
    fake.now_ns += SECOND;
    assert_int_equal(count_taken(rate, "alice", 9), 4);
    fake.now_ns += 3600 * SECOND;
    assert_int_equal(count_taken(rate, "alice", 15), 10);
    rate_free(rate);
}

TEST(buyers_do_not_share)
{
    struct rate *rate = make(1, 1, 0);
    char buyer[24];

    for (int i = 0; i < 5000; i++) {
        (void)snprintf(buyer, sizeof buyer, "buyer-%d", i);
        assert_int_equal(count_taken(rate, buyer, 2), 1);
    }
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(buyer, sizeof buyer, "buyer-%d", i);
        assert_int_equal(count_taken(rate, buyer, 1), 0);
    }
    rate_free(rate);
}

/* Names of all lengths, that differ in one byte: none is taken for another. */
TEST(every_byte_of_a_name_counts)
{
    struct rate *rate = make(1, 1, 0);
    char buyer[65];

    for (size_t len = 1; len <= 64; len++) {
        for (size_t i = 0; i < len; i++)
            buyer[i] = 'a';
        buyer[len] = '\0';
        assert_int_equal(count_taken(rate, buyer, 2), 1);
        for (size_t i = 0; i < len; i++) {
            buyer[i] = 'b';
            assert_int_equal(count_taken(rate, buyer, 2), 1);
            buyer[i] = 'a';
        }
    }
    rate_free(rate);
}

TEST(who_waits_as_told_is_let_through)
{
    static const struct rate_limit limits[] = {{1, 1}, {1, 30}, {3, 1}, {5, 20}, {1000000, 1}};
    bool is_jittered = false;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rate *rate = make(limits[i].per_s, limits[i].burst, 0);

        assert_int_equal(count_taken(rate, "alice", (int)limits[i].burst), limits[i].burst);
        for (int n = 0; n < 200; n++) {
            struct rate_verdict verdict = rate_take(rate, "alice");

            assert_true(verdict.is_over);
            assert_in_range(verdict.retry_s, 1, 2);
            if (verdict.retry_s == 2) is_jittered = true;
            fake.now_ns += verdict.retry_s * SECOND;
            assert_true(count_taken(rate, "alice", 1) == 1);
            (void)count_taken(rate, "alice", (int)limits[i].burst);
        }
        rate_free(rate);
    }
    assert_true(is_jittered);
}

/* From one asking to the next: 0 to twice the mean, of no pattern. */
static int64_t next_gap(uint64_t *chance, int64_t mean_ns)
{
    *chance = *chance * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((*chance >> 33) % (uint64_t)(2 * mean_ns + 1));
}

/*
 * Who asks for ten seconds, far more often than the rate, is let through as often as the rate says and
 * the burst besides. (A bucket of one token is full, and gains nothing, until it is asked: so those who
 * have one ask a hundred times as often as they may. An interval in whole ns is a thousandth too short at
 * most.)
 */
TEST(limits_hold_for_ten_seconds)
{
    static const struct {
        int64_t per_s, burst, asks_per_s;
    } rows[] = {
        {1, 1, 100},        {1, 1, 10000},     {1, 20, 10},        {2, 1, 200},
        {3, 3, 30},         {3, 1, 1000},      {5, 20, 50},        {7, 7, 70},
        {10, 10, 100},      {10, 1000, 500},   {33, 33, 330},      {60, 1, 6000},
        {97, 10, 970},      {100, 100, 200},   {333, 333, 1000},   {600, 7, 6000},
        {999, 999, 2000},   {200, 1, 20000},   {1000, 100, 3000},  {1009, 1009, 3000},
        {3000, 3000, 7000}, {4999, 50, 20000}, {5000, 5000, 7000}, {7001, 7001, 9000},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rate *rate = make(rows[i].per_s, rows[i].burst, 0);
        int64_t ends_ns = fake.now_ns + 10 * SECOND;
        int64_t due = rows[i].per_s * 10 + rows[i].burst;
        uint64_t chance = i;
        int64_t taken = 0;

        for (; fake.now_ns < ends_ns; fake.now_ns += next_gap(&chance, SECOND / rows[i].asks_per_s))
            taken += rate_take(rate, "alice").is_over ? 0 : 1;
        if (taken * 1000 > due * 1001 || taken * 100 < due * 95 - 100)
            fail_msg("%lld/s:%lld asked %lld/s: %lld, not %lld", (long long)rows[i].per_s,
                     (long long)rows[i].burst, (long long)rows[i].asks_per_s, (long long)taken,
                     (long long)due);
        rate_free(rate);
    }
}

/* 150,000 others, more than there are buckets for, who ask 20,000 times a second. */
TEST(a_crowd_frees_nobody_of_the_limit)
{
    static const struct rate_limit limits[] = {{1, 1}, {5, 20}};
    char buyer[24];

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rate *rate = make(limits[i].per_s, limits[i].burst, 0);
        int64_t due = limits[i].per_s * 10 + limits[i].burst;
        int64_t taken = 0;

        for (int n = 0; n < 200000; n++, fake.now_ns += SECOND / 20000) {
            (void)snprintf(buyer, sizeof buyer, "other-%d", n % 150000);
            (void)rate_take(rate, buyer);
            if (n % 10 == 0) taken += rate_take(rate, "alice").is_over ? 0 : 1;
        }
        assert_in_range((uintmax_t)taken, (uintmax_t)(due * 95 / 100), (uintmax_t)due);
        rate_free(rate);
    }
}

/* 1,024 buckets: in each set the one that is full, or will be soonest, makes room. */
TEST(a_full_table_forgets_who_used_least)
{
    struct rate *rate = make(1, 100, 1);
    char buyer[24];
    int kept = 0;

    assert_int_equal(count_taken(rate, "heavy", 200), 100);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(buyer, sizeof buyer, "light-%d", i);
        assert_int_equal(count_taken(rate, buyer, 1), 1);
    }
    assert_int_equal(count_taken(rate, "heavy", 1), 0);
    for (int i = 99990; i < 100000; i++) {
        (void)snprintf(buyer, sizeof buyer, "light-%d", i);
        kept += count_taken(rate, buyer, 100) == 99 ? 1 : 0;
    }
    assert_true(kept > 0);
    rate_free(rate);
}

struct taker {
    struct rate *rate;
    int taken;
};

static void *take_much(void *arg)
{
    struct taker *taker = arg;

    taker->taken = count_taken(taker->rate, "crowd", TRIES);
    return NULL;
}

TEST(threads_share_one_bucket)
{
    struct rate *rate = make(1, BURST, 0);
    struct taker takers[THREADS];
    pthread_t threads[THREADS];
    int taken = 0;

    for (size_t i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.rate = rate};
        if (pthread_create(&threads[i], NULL, take_much, &takers[i]) != 0) abort();
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        taken += takers[i].taken;
    }
    assert_int_equal(taken, BURST);
    rate_free(rate);
}
