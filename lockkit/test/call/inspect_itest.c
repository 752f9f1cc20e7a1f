/*
 * lk_inspect(): every kind of lock is told from its keys, with its holders and those who wait; what is
 * no lock is told apart; looking changes nothing, and the work is bounded.
 */
#include "test/support/lk_fair.h"
#include "test/support/lk_support.h"

enum { LEASE_MS = 20000 };

static struct lks_server *server;
static lk_client *client;
static struct lk_inspection found;

static const char uuid[] = "01234567-89ab-cdef-0123-456789abcdef";

static const struct lk_inspection *look(const char *key)
{
    struct lk_error err = {0};

    memset(&found, 'x', sizeof found);
    if (lk_inspect(client, key, &found, &err) != LK_OK) fail_msg("%s: %s", key, err.text);
    assert_string_equal(key, found.key);
    return &found;
}

static void hold(lk_lock *lock)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {.lease_ms = LEASE_MS};

    if (lk_lock_acquire(lock, &options, &err) != LK_OK) fail_msg("%s", err.text);
}

static void assert_lease(int64_t left_ms)
{
    assert_in_range(left_ms, LEASE_MS / 4, LEASE_MS);
}

static void assert_holder(size_t index, const char *owner, int64_t holds)
{
    assert_true(index < found.holder_count);
    assert_string_equal(owner, found.holders[index].owner);
    assert_int_equal(holds, found.holders[index].holds);
    assert_lease(found.holders[index].left_ms);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

TEST(nothing_is_none)
{
    assert_int_equal(LK_LAYOUT_NONE, look(lks_key(server, "nothing"))->layout);
    assert_int_equal(0, found.left_ms);
    assert_int_equal(0, found.holder_count);
    assert_int_equal(0, found.fence);
}

TEST(a_mutex_tells_its_token_and_its_lease)
{
    const char *key = lks_key(server, "mutex");
    lk_lock *lock = lks_mutex(client, key);

    hold(lock);
    assert_int_equal(LK_LAYOUT_MUTEX, look(key)->layout);
    assert_lease(found.left_ms);
    assert_int_equal(1, found.holder_count);
    assert_holder(0, lk_lock_token(lock), 1);
    assert_int_equal(LK_OK, lk_lock_release(lock, NULL));
    assert_int_equal(LK_LAYOUT_NONE, look(key)->layout);
    lk_lock_free(lock);
}

TEST(a_reentrant_lock_tells_its_holds)
{
    const char *key = lks_key(server, "reentrant");
    lk_lock *lock = lk_reentrant_new(client, key, NULL);

    hold(lock);
    hold(lock);
    assert_int_equal(LK_LAYOUT_REENTRANT, look(key)->layout);
    assert_int_equal(1, found.holder_count);
    assert_holder(0, lk_lock_token(lock), 2);
    lk_lock_free(lock);
}

TEST(a_fenced_lock_tells_its_number_also_when_it_is_free)
{
    const char *key = lks_key(server, "fenced");
    lk_lock *lock = lk_fenced_new(client, key, NULL);

    hold(lock);
    assert_int_equal(LK_OK, lk_lock_release(lock, NULL));
    hold(lock);
    assert_int_equal(LK_LAYOUT_FENCED, look(key)->layout);
    uint64_t fence = lk_lock_fence(lock);
    assert_int_equal(fence, found.fence);
    assert_holder(0, lk_lock_token(lock), 1);
    assert_int_equal(LK_OK, lk_lock_release(lock, NULL));
    assert_int_equal(LK_LAYOUT_NONE, look(key)->layout);
    assert_int_equal(fence, found.fence);
    lk_lock_free(lock);
}

TEST(a_fair_lock_tells_who_waits_and_for_how_long)
{
    struct lkf_keys keys;

    lkf_keys_init(&keys, server, lks_key(server, "fair"));
    lk_lock *lock = lkf_lock(client, &keys, 0);
    hold(lock);
    assert_int_equal(LK_LAYOUT_REENTRANT, look(keys.lock)->layout); /* nobody waits yet */
    lkf_add_dead(&keys, "first", 9000);
    lkf_add_dead(&keys, "second", 19000);
    assert_int_equal(LK_LAYOUT_FAIR, look(keys.lock)->layout);
    assert_holder(0, lk_lock_token(lock), 1);
    assert_int_equal(2, found.waiter_count);
    assert_string_equal("first", found.waiters[0].owner);
    assert_string_equal("second", found.waiters[1].owner);
    assert_true(found.waiters[0].left_ms > 0 && found.waiters[0].left_ms <= 9000);
    assert_true(found.waiters[1].left_ms > 9000);
    lk_lock_free(lock);
}

TEST(readers_are_told_each_with_its_own_lease)
{
    const char *key = lks_key(server, "rw");
    lk_rwlock *one = lk_rwlock_new(client, key, NULL);
    lk_rwlock *two = lk_rwlock_new(client, key, NULL);
    lk_rwlock *three = lk_rwlock_new(client, key, NULL);
    struct lk_lock_options brief = {.lease_ms = 1000};

    hold(lk_rwlock_read(one));
    hold(lk_rwlock_read(two));
    hold(lk_rwlock_read(two));
    assert_int_equal(LK_OK, lk_lock_acquire(lk_rwlock_read(three), &brief, NULL));
    LKS_EVENTUALLY(
        look(key)->holder_count == 3 &&
            found.holders[0].left_ms * found.holders[1].left_ms * found.holders[2].left_ms == 0,
        5000);
    assert_int_equal(LK_LAYOUT_READ, found.layout);
    for (size_t i = 0; i < 3; i++) {
        const char *owner = found.holders[i].owner;

        assert_false(found.holders[i].is_writer);
        if (strcmp(owner, lk_lock_token(lk_rwlock_read(one))) == 0) {
            assert_holder(i, owner, 1);
        } else if (strcmp(owner, lk_lock_token(lk_rwlock_read(two))) == 0) {
            assert_holder(i, owner, 2);
        } else { /* it has ended, though it is written down yet */
            assert_string_equal(lk_lock_token(lk_rwlock_read(three)), owner);
            assert_int_equal(0, found.holders[i].left_ms);
        }
    }
    lk_rwlock_free(one);
    lk_rwlock_free(two);
    lk_rwlock_free(three);
}

TEST(a_writer_is_told_with_what_it_reads)
{
    const char *key = lks_key(server, "rw-write");
    lk_rwlock *rwlock = lk_rwlock_new(client, key, NULL);

    hold(lk_rwlock_write(rwlock));
    assert_int_equal(LK_LAYOUT_WRITE, look(key)->layout);
    assert_int_equal(1, found.holder_count);
    assert_holder(0, lk_lock_token(lk_rwlock_write(rwlock)), 1);
    assert_true(found.holders[0].is_writer);
    hold(lk_rwlock_read(rwlock));
    assert_int_equal(2, look(key)->holder_count);
    assert_int_equal(1, found.holders[0].is_writer + found.holders[1].is_writer);
    assert_lease(found.holders[0].left_ms);
    assert_lease(found.holders[1].left_ms);
    lk_rwlock_free(rwlock);
}

TEST(permits_tell_what_is_out_and_what_is_available)
{
    const char *key = lks_key(server, "permits");
    lk_permits *permits = lk_permits_new(client, key, NULL);
    struct lk_permit out[2];
    struct lk_permit brief;

    assert_int_equal(LK_OK, lk_permits_try_set(permits, 5, NULL));
    assert_int_equal(LK_LAYOUT_NUMBER, look(key)->layout); /* none is out: it cannot be told */
    assert_int_equal(5, found.number);
    assert_int_equal(LK_OK,
                     lk_permits_acquire(permits, &(struct lk_permit_options){.lease_ms = LEASE_MS},
                                        out, 1, NULL));
    assert_int_equal(LK_OK,
                     lk_permits_acquire(permits,
                                        &(struct lk_permit_options){.lease_ms = LK_PERMIT_NO_LEASE},
                                        out + 1, 1, NULL));
    assert_int_equal(LK_OK,
                     lk_permits_acquire(permits, &(struct lk_permit_options){.lease_ms = 1000},
                                        &brief, 1, NULL));
    LKS_EVENTUALLY(look(key)->holder_count == 2, 5000); /* what has ended counts as given back */
    assert_int_equal(LK_LAYOUT_PERMITS, found.layout);
    assert_int_equal(3, found.number);
    assert_holder(0, out[0].id, 1);
    assert_string_equal(out[1].id, found.holders[1].owner);
    assert_int_equal(LK_INSPECT_FOREVER, found.holders[1].left_ms);
    lk_permits_free(permits);
}

TEST(semaphores_and_latches_are_numbers)
{
    const char *key = lks_key(server, "semaphore");
    const char *other = lks_key(server, "latch");
    lk_semaphore *semaphore = lk_semaphore_new(client, key, NULL);
    lk_latch *latch = lk_latch_new(client, other, NULL);

    assert_int_equal(LK_OK, lk_semaphore_try_set(semaphore, 4, NULL));
    assert_int_equal(LK_OK, lk_latch_try_set(latch, 7, NULL));
    assert_int_equal(LK_LAYOUT_NUMBER, look(key)->layout);
    assert_int_equal(4, found.number);
    assert_int_equal(LK_INSPECT_FOREVER, found.left_ms);
    assert_int_equal(LK_LAYOUT_NUMBER, look(other)->layout);
    assert_int_equal(7, found.number);
    lk_semaphore_free(semaphore);
    lk_latch_free(latch);
}

TEST(locks_of_others_are_known_by_their_shape)
{
    const char *key = lks_key(server, "foreign");
    static const struct {
        const char *value;
        const char *ttl_ms; /* NULL: none */
        lk_layout layout;
    } cases[] = {
        {"0123456789abcdef0123456789abcdef", NULL, LK_LAYOUT_MUTEX}, /* redis-py, no timeout */
        {"0123456789abcdef0123456789abcdef", "9000", LK_LAYOUT_MUTEX},
        {"sZQ4B0Wl0kMfyFfWnJN6Ag==", "9000", LK_LAYOUT_MUTEX}, /* redsync */
        {"01234567-89ab-cdef-0123-456789abcdef", "9000", LK_LAYOUT_MUTEX},
        {"01234567-89ab-cdef-0123-456789abcdef", NULL, LK_LAYOUT_OTHER},
        {"some words of text 1", "9000", LK_LAYOUT_OTHER},
        {"0123456789ABCDEF0123456789ABCDEF", NULL, LK_LAYOUT_OTHER},
        {"OK", "9000", LK_LAYOUT_OTHER},
        {"", NULL, LK_LAYOUT_OTHER},
        {"17", "9000", LK_LAYOUT_OTHER},
        {"17", NULL, LK_LAYOUT_NUMBER},
        {"-3", NULL, LK_LAYOUT_NUMBER},
        {"17 ", NULL, LK_LAYOUT_OTHER},
        {"1.5", NULL, LK_LAYOUT_OTHER},
        {"99999999999999999999", NULL, LK_LAYOUT_OTHER},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        LKS_DO(server, "SET", key, cases[i].value);
        if (cases[i].ttl_ms) LKS_DO(server, "PEXPIRE", key, cases[i].ttl_ms);
        if (look(key)->layout != cases[i].layout)
            fail_msg("\"%s\" is told to be %s", cases[i].value, lk_layout_name(found.layout));
    }
}

TEST(other_data_is_no_lock)
{
    const char *key = lks_key(server, "data");
    char owner[64];

    (void)snprintf(owner, sizeof owner, "%s:7", uuid);
    LKS_DO(server, "HSET", key, "name", "Alice", "age", "17");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
    assert_int_equal(0, found.holder_count);
    LKS_DO(server, "DEL", key);
    LKS_DO(server, "HSET", key, owner, "1", "name", "Alice");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
    LKS_DO(server, "DEL", key);
    LKS_DO(server, "HSET", key, owner, "one");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
    LKS_DO(server, "DEL", key);
    LKS_DO(server, "HSET", key, "mode", "dark");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
    LKS_DO(server, "DEL", key);
    LKS_DO(server, "RPUSH", key, "1");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
    LKS_DO(server, "DEL", key);
    LKS_DO(server, "SETRANGE", key, "1000000", "1");
    assert_int_equal(LK_LAYOUT_OTHER, look(key)->layout);
}

TEST(what_belongs_to_a_lock_may_be_something_else)
{
    const char *key = lks_key(server, "damaged");
    char name[200];

    LKS_DO(server, "SET", key, "3");
    (void)snprintf(name, sizeof name, "redisson_lock_queue:{%s}", key);
    LKS_DO(server, "SET", name, "x");
    (void)snprintf(name, sizeof name, "redisson_lock_token:{%s}", key);
    LKS_DO(server, "RPUSH", name, "x");
    (void)snprintf(name, sizeof name, "{%s}:timeout", key);
    LKS_DO(server, "HSET", name, "x", "y");
    assert_int_equal(LK_LAYOUT_NUMBER, look(key)->layout);
    assert_int_equal(0, found.waiter_count);
    assert_int_equal(0, found.fence);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

TEST(of_very_many_the_first_are_told_and_all_are_counted)
{
    const char *key = lks_key(server, "crowd");
    char script[600];

    (void)snprintf(script, sizeof script,
                   "redis.call('HSET', KEYS[1], 'mode', 'read') for i = 1, 5000 do "
                   "redis.call('HSET', KEYS[1], '%s:' .. i, 1) redis.call('SET', '{' .. KEYS[1] .. "
                   "'}:%s:' .. i .. ':rwlock_timeout:1', 1, 'PX', 15000) end "
                   "for i = 1, 5000 do redis.call('RPUSH', 'redisson_lock_queue:{' .. KEYS[1] .. "
                   "'}', i) end",
                   uuid, uuid);
    LKS_DO(server, "EVAL", script, "1", key);
    assert_int_equal(LK_LAYOUT_READ, look(key)->layout);
    assert_int_equal(5000, found.holder_count);
    assert_int_equal(5000, found.waiter_count);
    assert_string_equal("64", found.waiters[LK_INSPECT_ROWS - 1].owner);
    for (size_t i = 0; i < LK_INSPECT_ROWS; i++)
        assert_lease(found.holders[i].left_ms);
}

TEST(looking_changes_nothing)
{
    struct lkf_keys keys;
    char owner[64];

    lkf_keys_init(&keys, server, lks_key(server, "still"));
    (void)snprintf(owner, sizeof owner, "%s:1", uuid);
    LKS_DO(server, "HSET", keys.lock, owner, "1");
    lkf_add_dead(&keys, "dead", -5000); /* a sweep would drop it */
    LKS_DO(server, "HSET", lks_key(server, "still"), owner, "1");
    long long changes = lks_info(server, "persistence", "rdb_changes_since_last_save");
    assert_int_equal(LK_LAYOUT_FAIR, look(keys.lock)->layout);
    assert_int_equal(0, found.waiters[0].left_ms);
    assert_int_equal(LK_INSPECT_FOREVER, found.left_ms);
    assert_int_equal(changes, lks_info(server, "persistence", "rdb_changes_since_last_save"));
}

TEST(bad_arguments_are_refused)
{
    char key[514];
    struct lk_error err = {0};

    memset(key, 'k', sizeof key - 1);
    key[513] = '\0';
    found.layout = LK_LAYOUT_PERMITS;
    assert_int_equal(LK_INVALID, lk_inspect(client, key, &found, &err));
    assert_int_equal(LK_INVALID, lk_inspect(client, "", &found, &err));
    assert_int_equal(LK_INVALID, lk_inspect(client, NULL, &found, &err));
    assert_int_equal(LK_INVALID, lk_inspect(client, "k", NULL, &err));
    assert_int_equal(LK_INVALID, lk_inspect(NULL, "k", &found, &err));
    assert_int_equal(LK_LAYOUT_PERMITS, found.layout);
    key[512] = '\0';
    assert_int_equal(LK_LAYOUT_NONE, look(key)->layout);
}

BEFORE_ALL()
{
    server = lks_server_start(NULL);
    client = lks_client(server);
}

AFTER_ALL()
{
    lk_client_close(client);
    lks_server_stop(server);
}
