/*
 * The pool on made-up connections and a clock that moves only when somebody waits; one thread.
 * link: -Wl,--wrap=lki_redis_open -Wl,--wrap=lki_redis_close -Wl,--wrap=lki_redis_is_usable
 * link: -Wl,--wrap=lki_redis_is_broken -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_clock_after_ms
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_address -Wl,--wrap=lki_redis_traces
 * link: -Wl,--wrap=lki_redis_is_unadmitted
 * link: -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_clock_wait -Wl,--wrap=pthread_cond_wait
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "test/support/testing.h"
#include "wire/pool.h"

enum { SIZE = 3, CONNECT_MS = 100, BACKOFF_MS = 200, IDLE_MS = 5000, PAUSES_MAX = 32 };
enum { FAR = 1000000 };

struct lki_redis {
    bool is_broken;
    bool is_unadmitted;
    bool is_dead; /* the server closed it while it was idle */
    bool is_cut;  /* somebody else did, and told nobody */
    struct lki_traces traces;
    const char *address;
};

/* The world around the pool. */
static struct world {
    int64_t now_ns;
    unsigned opened, closed;
    int opens_refused;     /* this many attempts fail with ECONNREFUSED */
    int opens_too_slow;    /* this many run into their deadline */
    int64_t last_limit_ms; /* what the last attempt was given */
    struct lki_pool *pool;
    struct lki_redis *returned_while_waiting; /* by "another thread" */
    int64_t pauses_ms[PAUSES_MAX];
    size_t pause_count;
    unsigned event_count, failed_count;
    unsigned pinged, renewed;
    int64_t last_ping_ms;  /* what the last one was given */
    const char *address;   /* that the name has now */
    bool stops_on_connect; /* ends lki_pool_main() once a connection stands */
} world;

FAKE(struct lki_redis *, lki_redis_open, const struct lki_endpoint *endpoint, int64_t deadline,
     struct lk_error *err)
{
    world.last_limit_ms = (deadline - world.now_ns) / NS_PER_MS;
    if (world.opens_refused > 0) {
        world.opens_refused--;
        errno = ECONNREFUSED;
        (void)LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s", endpoint->label);
        return NULL;
    }
    if (world.opens_too_slow > 0) {
        world.opens_too_slow--;
        world.now_ns = deadline;
        errno = ETIMEDOUT;
        (void)LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s", endpoint->label);
        return NULL;
    }
    struct lki_redis *redis = calloc(1, sizeof *redis);
    if (redis) redis->address = world.address ? world.address : "";
    if (redis) world.opened++;
    return redis;
}

FAKE(void, lki_redis_close, struct lki_redis *redis)
{
    if (redis) world.closed++;
    free(redis);
}

FAKE(bool, lki_redis_is_usable, struct lki_redis *redis)
{
    if (redis->is_dead) redis->is_broken = true;
    return !redis->is_broken;
}

FAKE_RETURNS(bool, lki_redis_is_broken, (const struct lki_redis *redis), redis->is_broken);
FAKE_RETURNS(bool, lki_redis_is_unadmitted, (const struct lki_redis *redis), redis->is_unadmitted);
FAKE_RETURNS(struct lki_traces *, lki_redis_traces, (struct lki_redis * redis), &redis->traces);
FAKE_RETURNS(const char *, lki_redis_address, (const struct lki_redis *redis), redis->address);

FAKE(lk_status, lki_redis_exchange, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, lk_reply **replies, struct lk_error *err)
{
    assert_int_equal(count, 1);
    assert_memory_equal(commands[0].args[0].data, "PING", 4);
    world.pinged++;
    world.last_ping_ms = (deadline - world.now_ns) / NS_PER_MS;
    *replies = NULL;
    if (!redis->is_cut) return LK_OK;
    world.now_ns = deadline;
    redis->is_broken = true;
    return LKI_FAIL(err, LK_UNKNOWN, "no answer");
}

FAKE_RETURNS(int64_t, lki_clock_now, (void), world.now_ns);
FAKE_RETURNS(int64_t, lki_clock_after_ms, (int64_t ms), world.now_ns + ms * NS_PER_MS);
FAKE_RETURNS(int, lki_clock_left_ms, (int64_t deadline),
             deadline > world.now_ns ? (int)((deadline - world.now_ns + NS_PER_MS - 1) / NS_PER_MS)
                                     : 0);

/* Waiting: either another thread returns a connection at once, or the time passes. */
FAKE(bool, lki_clock_wait, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    struct lki_redis *redis = world.returned_while_waiting;

    if (deadline <= world.now_ns) return false;
    if (redis) {
        world.returned_while_waiting = NULL;
        (void)pthread_mutex_unlock(mutex);
        lki_pool_return(world.pool, redis);
        (void)pthread_mutex_lock(mutex);
        return true;
    }
    if (world.pause_count < PAUSES_MAX) {
        world.pauses_ms[world.pause_count++] = (deadline - world.now_ns) / NS_PER_MS;
    }
    world.now_ns = deadline;
    return true;
}

/* lki_pool_main() has nothing to do: end it. */
FAKE(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    (void)pthread_mutex_unlock(mutex);
    lki_pool_stop(world.pool);
    (void)pthread_mutex_lock(mutex);
    return 0;
}

static void count_event(const struct lk_event *event, void *arg)
{
    world.event_count++;
    world.failed_count += event->status != LK_OK;
    if (world.stops_on_connect && event->status == LK_OK) lki_pool_stop(world.pool);
}

static void count_renewed(void *arg)
{
    world.renewed++;
}

static int64_t in_ms(int64_t ms)
{
    return world.now_ns + ms * NS_PER_MS;
}

static struct lki_redis *borrow_or_fail(void)
{
    struct lki_redis *redis = NULL;

    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, NULL), LK_OK);
    assert_non_null(redis);
    return redis;
}

static void return_broken(struct lki_redis *redis)
{
    redis->is_broken = true;
    lki_pool_return(world.pool, redis);
}

/* The pool is down, without any connection. */
static void bring_down(void)
{
    struct lki_redis *redis = NULL;

    world.opens_refused = 1;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, NULL), LK_UNREACHABLE);
}

static int make_pool(void **state)
{
    static const struct lki_endpoint endpoint = {.label = "redis-2:6379"};
    static const struct lk_client_options options = {.pool_size = SIZE,
                                                     .connect_ms = CONNECT_MS,
                                                     .backoff_ms = BACKOFF_MS,
                                                     .idle_ms = IDLE_MS,
                                                     .on_event = count_event};

    world = (struct world){.now_ns = 1000000000};
    world.pool = lki_pool_new(&options, &endpoint,
                              (struct lki_pool_hooks){.on_renewed = count_renewed}, NULL);
    *state = world.pool;
    return world.pool ? 0 : -1;
}

static int free_pool(void **state)
{
    lki_pool_free(*state);
    return world.opened == world.closed ? 0 : -1; /* every connection was closed, once */
}

TEST(borrow_gives_back_the_connection_returned_last)
{
    struct lki_redis *first = borrow_or_fail();
    struct lki_redis *second = borrow_or_fail();

    assert_ptr_not_equal(first, second);
    lki_pool_return(world.pool, first);
    lki_pool_return(world.pool, second);

    assert_ptr_equal(borrow_or_fail(), second);
    assert_ptr_equal(borrow_or_fail(), first);
    assert_int_equal(world.opened, 2);
    lki_pool_return(world.pool, first);
    lki_pool_return(world.pool, second);
}

TEST(no_more_than_size_are_lent)
{
    struct lki_redis *lent[SIZE];
    struct lki_redis *more = NULL;
    struct lk_error err = {0};

    for (size_t i = 0; i < SIZE; i++)
        lent[i] = borrow_or_fail();
    int64_t begin = world.now_ns;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(70), &more, &err), LK_EXHAUSTED);

    assert_null(more);
    assert_int_equal((world.now_ns - begin) / NS_PER_MS, 70);
    assert_string_equal(err.text, "redis-2:6379: all 3 connections are in use");
    for (size_t i = 0; i < SIZE; i++)
        lki_pool_return(world.pool, lent[i]);
    assert_int_equal(world.opened, SIZE);
}

TEST(a_waiting_borrower_is_served_by_a_return)
{
    struct lki_redis *lent[SIZE];

    for (size_t i = 0; i < SIZE; i++)
        lent[i] = borrow_or_fail();
    world.returned_while_waiting = lent[1];

    assert_ptr_equal(borrow_or_fail(), lent[1]);
    for (size_t i = 0; i < SIZE; i++)
        lki_pool_return(world.pool, lent[i]);
}

TEST(a_waiting_borrower_gets_a_new_one_for_a_broken_one)
{
    struct lki_redis *lent[SIZE];

    for (size_t i = 0; i < SIZE; i++)
        lent[i] = borrow_or_fail();
    lent[1]->is_broken = true;
    world.returned_while_waiting = lent[1];
    lent[1] = borrow_or_fail();

    assert_int_equal(world.opened, SIZE + 1);
    assert_int_equal(world.closed, 1);
    for (size_t i = 0; i < SIZE; i++)
        lki_pool_return(world.pool, lent[i]);
}

TEST(a_connection_that_died_while_idle_is_dropped)
{
    struct lki_redis *dead = borrow_or_fail();
    struct lki_redis *live = borrow_or_fail();

    lki_pool_return(world.pool, live);
    lki_pool_return(world.pool, dead);
    dead->is_dead = true;

    assert_ptr_equal(borrow_or_fail(), live);
    assert_int_equal(world.closed, 1);
    lki_pool_return(world.pool, live);
}

TEST(a_broken_connection_makes_room_for_another)
{
    for (size_t i = 0; i < 5 * (size_t)SIZE; i++)
        return_broken(borrow_or_fail());

    assert_int_equal(world.opened, 5 * SIZE);
    assert_int_equal(world.closed, 5 * SIZE);
}

TEST(after_a_refused_attempt_borrowers_are_refused_at_once)
{
    struct lki_redis *redis = NULL;
    struct lk_error err = {0};

    bring_down();
    int64_t begin = world.now_ns;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, &err), LK_UNREACHABLE);

    assert_null(redis);
    assert_int_equal(world.now_ns, begin);
    assert_string_equal(err.text, "redis-2:6379: Connection refused");
    assert_int_equal(world.event_count, 1); /* one attempt, not two */
}

TEST(while_down_a_connection_that_still_stands_is_lent)
{
    struct lki_redis *old = borrow_or_fail();

    bring_down();
    lki_pool_return(world.pool, old);

    assert_ptr_equal(borrow_or_fail(), old);
    lki_pool_return(world.pool, old);
}

TEST(the_reconnecting_thread_brings_it_back_with_growing_pauses)
{
    bring_down();
    world.opens_refused = 8;
    world.stops_on_connect = true;
    (void)lki_pool_main(world.pool);

    assert_int_equal(world.opens_refused, 0);
    assert_int_equal(world.opened, 1);
    assert_int_equal(world.pause_count, 9);
    for (size_t i = 0; i < world.pause_count; i++) {
        int64_t longest = i < 4 ? 20 << i : BACKOFF_MS;

        assert_in_range(world.pauses_ms[i], longest / 2, longest);
    }
    lki_pool_return(world.pool, borrow_or_fail());
    assert_int_equal(world.opened, 1); /* the one it made */
}

TEST(pauses_start_small_again_after_a_success)
{
    bring_down();
    world.opens_refused = 5;
    (void)lki_pool_main(world.pool); /* ends when it has nothing to do */
    assert_int_equal(world.pause_count, 6);
    free_pool(state);
    make_pool(state);
    bring_down();
    (void)lki_pool_main(world.pool);

    assert_int_equal(world.pause_count, 1);
    assert_in_range(world.pauses_ms[0], 10, 20);
}

TEST(an_attempt_is_bounded_by_both_limits)
{
    struct lki_redis *redis = NULL;

    assert_int_equal(lki_pool_borrow(world.pool, in_ms(30), &redis, NULL), LK_OK);
    assert_int_equal(world.last_limit_ms, 30);
    return_broken(redis);
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, NULL), LK_OK);
    assert_int_equal(world.last_limit_ms, CONNECT_MS);
    return_broken(redis);
}

TEST(a_borrower_in_haste_does_not_bring_the_pool_down_for_others)
{
    struct lki_redis *redis = NULL;

    world.opens_too_slow = 1;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(1), &redis, NULL), LK_UNREACHABLE);

    return_broken(borrow_or_fail());
}

TEST(what_haste_left_open_the_reconnecting_thread_finds_out)
{
    struct lki_redis *redis = NULL;

    world.opens_too_slow = 2; /* its own attempt, with all its time, fails too: that is down */
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(1), &redis, NULL), LK_UNREACHABLE);
    world.stops_on_connect = true;
    (void)lki_pool_main(world.pool);

    assert_int_equal(world.opens_too_slow, 0);
    assert_int_equal(world.failed_count, 2);
    assert_int_equal(world.pause_count, 1);
    assert_int_equal(world.opened, 1);
}

TEST(a_server_that_does_not_answer_at_all_is_down)
{
    struct lki_redis *redis = NULL;

    world.opens_too_slow = 1;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, NULL), LK_UNREACHABLE);
    int64_t begin = world.now_ns;
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(FAR), &redis, NULL), LK_UNREACHABLE);

    assert_int_equal(world.now_ns, begin);
    assert_int_equal(world.event_count, 1);
}

TEST(every_attempt_is_told_to_the_hook)
{
    bring_down();
    world.stops_on_connect = true;
    (void)lki_pool_main(world.pool);

    assert_int_equal(world.event_count, 2);
    assert_int_equal(world.failed_count, 1);
}

static struct lk_pool_usage usage_now(void)
{
    struct lk_pool_usage usage = {0};

    lki_pool_usage(world.pool, &usage);
    return usage;
}

TEST(usage_tells_idle_from_busy)
{
    struct lki_redis *first = borrow_or_fail();
    struct lki_redis *second = borrow_or_fail();

    assert_int_equal(usage_now().open, 2);
    assert_int_equal(usage_now().busy, 2);
    lki_pool_return(world.pool, first);
    assert_int_equal(usage_now().open, 2);
    assert_int_equal(usage_now().busy, 1);
    return_broken(second);
    assert_int_equal(usage_now().open, 1);
    assert_int_equal(usage_now().busy, 0);
    assert_int_equal(usage_now().max, SIZE);
}

TEST(a_reconnect_is_what_replaces_a_broken_connection)
{
    struct lki_redis *first = borrow_or_fail();
    struct lki_redis *second = borrow_or_fail();

    assert_int_equal(usage_now().reconnects, 0); /* the first ones replace none */
    return_broken(first);
    assert_int_equal(usage_now().reconnects, 0); /* not yet */
    first = borrow_or_fail();
    assert_int_equal(usage_now().reconnects, 1);
    struct lki_redis *third = borrow_or_fail();
    assert_int_equal(usage_now().reconnects, 1); /* that was one more, not one again */
    return_broken(first);
    return_broken(second);
    bring_down();
    assert_int_equal(usage_now().reconnects, 1); /* tried, not made */
    world.stops_on_connect = true;
    (void)lki_pool_main(world.pool);
    assert_int_equal(usage_now().reconnects, 2);
    lki_pool_return(world.pool, third);
}

/* All idle, the last one longest. */
static void have_idle(struct lki_redis *out[SIZE])
{
    for (size_t i = 0; i < SIZE; i++)
        out[i] = borrow_or_fail();
    for (size_t i = SIZE; i-- > 0;) {
        lki_pool_return(world.pool, out[i]);
        world.now_ns++;
    }
}

static void pass_ms(int64_t ms)
{
    world.now_ns += ms * NS_PER_MS;
}

TEST(one_that_was_idle_for_long_is_pinged_once)
{
    struct lki_redis *idle[SIZE];

    have_idle(idle);
    pass_ms(IDLE_MS - 1);
    lki_pool_return(world.pool, borrow_or_fail());
    assert_int_equal(world.pinged, 0);
    pass_ms(IDLE_MS + 1);
    assert_ptr_equal(borrow_or_fail(), idle[0]);
    assert_int_equal(world.pinged, 1);
    assert_int_equal(world.last_ping_ms, CONNECT_MS / 4);
    lki_pool_return(world.pool, idle[0]);
    lki_pool_return(world.pool, borrow_or_fail());
    assert_int_equal(world.pinged, 1);
    assert_int_equal(world.opened, SIZE);
}

TEST(one_that_answers_no_ping_takes_the_others_with_it)
{
    struct lki_redis *idle[SIZE];
    struct lki_redis *redis = NULL;

    have_idle(idle);
    for (size_t i = 0; i < SIZE; i++)
        idle[i]->is_cut = true;
    pass_ms(IDLE_MS + 1);
    assert_int_equal(lki_pool_borrow(world.pool, in_ms(40), &redis, NULL), LK_OK);
    assert_int_equal(world.pinged, 1);
    assert_int_equal(world.last_ping_ms, 10); /* of 40: the rest is for another */
    assert_int_equal(world.closed, SIZE);
    assert_int_equal(world.opened, SIZE + 1);
    assert_int_equal(usage_now().reconnects, 1);
    lki_pool_return(world.pool, redis);
}

TEST(who_does_not_wait_is_lent_none_that_was_idle_for_long)
{
    struct lki_redis *idle[SIZE];
    struct lki_redis *redis = NULL;

    have_idle(idle);
    pass_ms(LKI_IDLE_PINGS * IDLE_MS - 1);
    assert_int_equal(lki_pool_try_borrow(world.pool, &redis, NULL), LK_OK);
    assert_ptr_equal(redis, idle[0]);
    lki_pool_return(world.pool, redis);
    pass_ms(LKI_IDLE_PINGS * IDLE_MS + 1);
    redis = NULL;
    assert_int_equal(lki_pool_try_borrow(world.pool, &redis, NULL), LK_OK);
    assert_null(redis); /* make one */
    assert_int_equal(world.pinged, 0);
    assert_int_equal(world.closed, SIZE);
    assert_null(
        lki_pool_fill(world.pool, NULL, world.now_ns, &(struct lk_error){.code = LK_UNREACHABLE}));
}

TEST(one_that_breaks_takes_those_with_it_that_were_heard_before)
{
    struct lki_redis *idle[SIZE];

    have_idle(idle);
    struct lki_redis *asked = borrow_or_fail();
    struct lki_redis *other = borrow_or_fail();
    pass_ms(1);
    lki_pool_return(world.pool, other); /* it answered meanwhile */
    return_broken(asked);
    assert_int_equal(world.closed, SIZE - 1);
    assert_ptr_equal(borrow_or_fail(), other);
    lki_pool_return(world.pool, other);
}

TEST(one_that_the_server_closed_says_nothing_of_others)
{
    struct lki_redis *idle[SIZE];

    have_idle(idle);
    idle[0]->is_dead = true;
    assert_ptr_equal(borrow_or_fail(), idle[1]);
    assert_int_equal(world.closed, 1);
    lki_pool_return(world.pool, idle[1]);
}

TEST(one_that_a_caller_has_changed_is_closed_and_no_other)
{
    struct lki_redis *idle[SIZE];

    have_idle(idle);
    struct lki_redis *changed = borrow_or_fail();
    changed->traces.is_changed = true;
    lki_pool_return(world.pool, changed);
    struct lki_redis *watching = borrow_or_fail();
    watching->traces.is_watching = true;
    lki_pool_return(world.pool, watching);
    assert_int_equal(world.closed, 2);
    lki_pool_return(world.pool, borrow_or_fail()); /* the third is there still */
    assert_int_equal(world.opened, SIZE);
}

TEST(without_room_for_one_there_is_none_for_the_next)
{
    struct lki_redis *redis = borrow_or_fail();
    struct lk_error err = {0};

    redis->is_broken = redis->is_unadmitted = true;
    lki_pool_return(world.pool, redis);
    assert_int_equal(lki_pool_borrow(world.pool, INT64_MAX, &redis, &err), LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "max number of clients"));
    assert_int_equal(world.opened, 1); /* nobody tried */
}

TEST(after_a_renewal_nothing_of_before_is_lent)
{
    struct lki_redis *lent = borrow_or_fail();

    lki_pool_return(world.pool, borrow_or_fail());
    pass_ms(1);
    lki_pool_renew(world.pool);
    assert_int_equal(world.renewed, 1);
    assert_int_equal(world.closed, 1);
    lki_pool_return(world.pool, lent);
    assert_int_equal(world.closed, 2);
    lki_pool_return(world.pool, borrow_or_fail());
    assert_int_equal(world.opened, 3);
    assert_int_equal(world.closed, 2);
}

TEST(renewals_keep_their_distance)
{
    lki_pool_renew(world.pool);
    struct lki_redis *redis = borrow_or_fail();
    for (int i = 0; i < 10; i++) {
        pass_ms(BACKOFF_MS / 10 - 1);
        lki_pool_renew(world.pool);
    }
    assert_int_equal(world.renewed, 1);
    lki_pool_return(world.pool, redis);
    assert_int_equal(world.closed, 0);
    pass_ms(10);
    lki_pool_renew(world.pool);
    assert_int_equal(world.renewed, 2);
    assert_int_equal(world.closed, 1);
}

TEST(another_address_behind_the_name_is_a_renewal)
{
    world.address = "10.0.0.1";
    struct lki_redis *lent = borrow_or_fail();
    struct lki_redis *idle = borrow_or_fail();
    struct lki_redis *third = borrow_or_fail();
    return_broken(third);
    pass_ms(1);
    lki_pool_return(world.pool, idle);
    idle = borrow_or_fail();
    world.address = "10.0.0.2";
    pass_ms(1);
    struct lki_redis *other = borrow_or_fail();
    assert_int_equal(world.renewed, 1);
    lki_pool_return(world.pool, lent);
    lki_pool_return(world.pool, idle);
    assert_int_equal(world.closed, 3);
    lki_pool_return(world.pool, other);
    assert_ptr_equal(borrow_or_fail(), other);
    lki_pool_return(world.pool, other);
}

/* A server is made a replica, its name still leads there for a moment, and then elsewhere. */
TEST(another_address_just_after_a_refusal_is_a_renewal_too)
{
    world.address = "10.0.0.1";
    lki_pool_return(world.pool, borrow_or_fail());
    lki_pool_renew(world.pool);
    struct lki_redis *old = borrow_or_fail();
    world.address = "10.0.0.2";
    pass_ms(1);
    struct lki_redis *other = borrow_or_fail();
    assert_int_equal(world.renewed, 2);
    lki_pool_return(world.pool, old);
    assert_int_equal(world.closed, 2);
    lki_pool_return(world.pool, other);
    assert_int_equal(world.closed, 2);
}

/* Resolvers that are not of one mind: what the name was for a moment is left as well, a little later. */
TEST(another_address_for_a_moment_is_left_again)
{
    static const char *const found[] = {"10.0.0.2", "10.0.0.1", "10.0.0.2"};
    struct lki_redis *lent[3];

    world.address = "10.0.0.1";
    return_broken(borrow_or_fail());
    for (size_t i = 0; i < 3; i++) {
        pass_ms(1);
        world.address = found[i];
        lent[i] = borrow_or_fail();
    }
    assert_int_equal(world.renewed, 1);
    pass_ms(BACKOFF_MS);
    lki_pool_return(world.pool, lent[1]);
    assert_int_equal(world.renewed, 2);
    assert_int_equal(world.closed, 2);
    for (size_t i = 0; i < 3; i += 2)
        lki_pool_return(world.pool, lent[i]);
    pass_ms(BACKOFF_MS);
    lki_pool_return(world.pool, borrow_or_fail());
    assert_int_equal(world.renewed, 2);
}

/* Each look-up finds the other one. */
TEST(a_name_of_two_addresses_comes_to_rest)
{
    enum { STEPS = 1000 };

    for (int i = 0; i < STEPS; i++) {
        world.address = world.opened % 2 ? "10.0.0.1" : "10.0.0.2";
        struct lki_redis *redis = borrow_or_fail();
        pass_ms(1);
        world.address = world.opened % 2 ? "10.0.0.1" : "10.0.0.2";
        struct lki_redis *other = borrow_or_fail();
        lki_pool_return(world.pool, redis);
        lki_pool_return(world.pool, other);
        pass_ms(BACKOFF_MS / 2);
    }
    assert_in_range(world.renewed, 3, 10); /* it doubles */
}

/* As above, but it is the reconnecting thread that finds it. */
TEST(another_address_is_found_by_the_reconnecting_thread)
{
    world.address = "10.0.0.1";
    struct lki_redis *old = borrow_or_fail();
    bring_down();
    world.address = "10.0.0.2";
    world.stops_on_connect = true;
    (void)lki_pool_main(world.pool);
    assert_int_equal(world.renewed, 1);
    lki_pool_return(world.pool, old);
    assert_int_equal(world.closed, 1);
    struct lki_redis *found = borrow_or_fail();
    assert_string_equal(found->address, "10.0.0.2");
    lki_pool_return(world.pool, found);
}

FIXTURE(make_pool, free_pool);
