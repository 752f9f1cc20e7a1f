/*
 * The fenced lock on a real server: every holder has a greater number than the one before, whatever
 * happens in between (53 and 54 of the checklist in redisson.md). A peer is a Redisson client
 * played with raw commands.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 */

#include "test/support/lk_fault.h"
#include "test/support/lk_support.h"

enum { ROUNDS = 1000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client;
    lk_lock *mine, *other;
    const char *key;
    char counter[128];
    uint64_t told; /* by the last ACQUIRE event */
};

static void note_fence(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_ACQUIRE) f->told = event->fence;
}

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "fenced");
    (void)snprintf(f->counter, sizeof f->counter, "redisson_lock_token:{%s}", f->key);
    f->client = lks_client_with(
        server, (struct lk_client_options){.on_event = note_fence, .on_event_arg = f});
    f->other_client = lks_client(server);
    f->mine = lk_fenced_new(f->client, f->key, NULL);
    f->other = lk_fenced_new(f->other_client, f->key, NULL);
    assert_non_null(f->mine);
    assert_non_null(f->other);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key, f->counter);
}

static uint64_t acquire_and_release(lk_lock *lock)
{
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    uint64_t fence = lk_lock_fence(lock);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    return fence;
}

static uint64_t counter(struct fixture *f)
{
    return strtoull(LKS_TEXT(server, "GET", f->counter), NULL, 10);
}

/* What Redisson's tryLockAndGetToken() does, then its unlock. */
static uint64_t be_a_peer(struct fixture *f)
{
    uint64_t fence = (uint64_t)LKS_INTEGER(server, "INCR", f->counter);

    LKS_DO(server, "HSET", f->key, "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "1");
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_BUSY);
    LKS_DO(server, "DEL", f->key);
    return fence;
}

/* 53 */
TEST(every_holder_has_a_greater_number, struct fixture *f)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t fence = i % 3 == 0 ? acquire_and_release(f->mine) : 0;

        if (i % 3 == 1) fence = acquire_and_release(f->other);
        if (i % 3 == 2) fence = be_a_peer(f);
        assert_true(fence > last);
        last = fence;
    }

    assert_int_equal(LKS_INTEGER(server, "PTTL", f->counter), -1);
}

/* 53 */
TEST(no_way_to_end_a_hold_takes_the_number_back, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 60), LK_OK);
    uint64_t first = lk_lock_fence(f->mine);
    assert_int_equal(lks_acquire(f->other, 5000, 0), LK_OK); /* by its expiry */
    uint64_t second = lk_lock_fence(f->other);
    assert_true(second > first);
    assert_int_equal(lk_lock_fence(f->mine), 0); /* no hold, no number */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_force_release(f->mine, NULL), LK_OK); /* by force */
    assert_true(acquire_and_release(f->mine) > second);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    uint64_t third = lk_lock_fence(f->mine);
    LKS_DO(server, "DEL", f->key); /* by hand */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_NOT_OWNER);

    uint64_t last = acquire_and_release(f->mine);
    assert_true(last > third);
    assert_int_equal(counter(f), last);
}

/* A restart without its data, a replica promoted before it had the counter, a FLUSHALL: by the time. */
TEST(a_server_that_forgot_the_counter_gives_no_number_again, struct fixture *f)
{
    uint64_t last = 0;

    for (int i = 0; i < 100; i++) {
        assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
        assert_true(lk_lock_fence(f->mine) > last);
        last = lk_lock_fence(f->mine);
        LKS_DO(server, "FLUSHALL");
        assert_int_equal(lks_acquire(f->other, 0, 0), LK_OK);
        assert_true(lk_lock_fence(f->other) > last);
        last = lk_lock_fence(f->other);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    }
}

/* Redisson counts on from there; and a clock that was set back takes nothing back while the counter lives. */
TEST(a_counter_ahead_of_the_clock_is_counted_on, struct fixture *f)
{
    LKS_DO(server, "SET", f->counter, "4000000000000000");
    assert_int_equal(acquire_and_release(f->mine), 4000000000000001);
    assert_int_equal(be_a_peer(f), 4000000000000002);
    assert_int_equal(acquire_and_release(f->other), 4000000000000003);
}

/* Other than Redisson, where the inner hold would make the outer one's number too low. */
TEST(taking_it_again_keeps_the_number, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    uint64_t fence = lk_lock_fence(f->mine);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
        assert_int_equal(lk_lock_fence(f->mine), fence);
        assert_int_equal(f->told, fence);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    assert_int_equal(lk_lock_fence(f->mine), 0);
    assert_true(acquire_and_release(f->other) > fence);
}

TEST(who_does_not_get_it_draws_no_number, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(lks_acquire(f->other, i, 0), LK_BUSY);
    assert_int_equal(lk_lock_fence(f->other), 0);
    assert_int_equal(counter(f), lk_lock_fence(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* 54 */
TEST(a_lease_is_kept, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 20000), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 10000, 20000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* The answer to an acquire is lost: the number may be drawn, and is used by nobody. */
TEST(a_lost_reply_never_gives_a_number_to_two, struct fixture *f)
{
    lks_fault_arm(LKS_REPLY_LOST, 1);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_int_equal(lk_lock_fence(f->mine), 0);
    uint64_t unused = counter(f);
    assert_true(acquire_and_release(f->other) > unused);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    lks_fault_arm(LKS_REPLY_LOST, 1);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK); /* the second hold, asked for twice */
    assert_true(lks_fault_disarm());

    assert_int_equal(counter(f), lk_lock_fence(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(the_counter_lies_in_the_locks_own_slot, struct fixture *f)
{
    char key[80];
    char own_counter[112];

    (void)snprintf(key, sizeof key, "%s:{tag}", server->prefix);
    (void)snprintf(own_counter, sizeof own_counter, "redisson_lock_token:%s", key);
    lk_lock *lock = lk_fenced_new(f->client, key, NULL);
    uint64_t fence = acquire_and_release(lock);

    assert_int_equal(strtoull(LKS_TEXT(server, "GET", own_counter), NULL, 10), fence);
    LKS_DO(server, "DEL", own_counter);
    lk_lock_free(lock);
}
