/*
 * The fenced lock on a real server: every holder has a greater number than the one before, whatever
 * happens in between (53 and 54 of the checklist in redisson.md). A peer is a Redisson client
 * played with raw commands.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */

#include "test/support/lk_fault.h"
#include "test/support/lk_support.h"

enum { ROUNDS = 1000 };

LKS_SERVER(lks_server_start(NULL));

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

    assert_int_equal(last, ROUNDS); /* and none is left out */
    assert_int_equal(LKS_INTEGER(server, "PTTL", f->counter), -1);
}

/* 53 */
TEST(no_way_to_end_a_hold_takes_the_number_back, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 60), LK_OK);
    assert_int_equal(lk_lock_fence(f->mine), 1);
    assert_int_equal(lks_acquire(f->other, 5000, 0), LK_OK); /* by its expiry */
    assert_int_equal(lk_lock_fence(f->other), 2);
    assert_int_equal(lk_lock_fence(f->mine), 0); /* no hold, no number */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_force_release(f->mine, NULL), LK_OK); /* by force */
    assert_int_equal(acquire_and_release(f->mine), 3);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    LKS_DO(server, "DEL", f->key); /* by hand */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_NOT_OWNER);

    assert_int_equal(acquire_and_release(f->mine), 5);
    assert_int_equal(counter(f), 5);
}

/* Other than Redisson, where the inner hold would make the outer one's number too low. */
TEST(taking_it_again_keeps_the_number, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
        assert_int_equal(lk_lock_fence(f->mine), 1);
        assert_int_equal(f->told, 1);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    assert_int_equal(lk_lock_fence(f->mine), 0);
    assert_int_equal(acquire_and_release(f->other), 2);
}

TEST(who_does_not_get_it_draws_no_number, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(lks_acquire(f->other, i, 0), LK_BUSY);
    assert_int_equal(lk_lock_fence(f->other), 0);
    assert_int_equal(counter(f), 1);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* 54 */
TEST(a_try_without_wait_ends_at_once_and_a_lease_is_kept, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, 5000), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 4000, 5000);
    double begin = lks_now_ms();
    assert_int_equal(lks_acquire(f->other, 0, 0), LK_BUSY);

    assert_true(lks_now_ms() - begin < 500);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* The answer to an acquire is lost: the number may be drawn, and is used by nobody. */
TEST(a_lost_reply_never_gives_a_number_to_two, struct fixture *f)
{
    lks_fault_arm(LKS_REPLY_LOST, 1);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_int_equal(lk_lock_fence(f->mine), 0);
    assert_int_equal(acquire_and_release(f->other), 2);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    lks_fault_arm(LKS_REPLY_LOST, 1);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK); /* the second hold, asked for twice */
    assert_true(lks_fault_disarm());

    assert_int_equal(lk_lock_fence(f->mine), 3);
    assert_int_equal(counter(f), 3);
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
    assert_int_equal(acquire_and_release(lock), 1);

    assert_string_equal(LKS_TEXT(server, "GET", own_counter), "1");
    LKS_DO(server, "DEL", own_counter);
    lk_lock_free(lock);
}
