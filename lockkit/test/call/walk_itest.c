/*
 * lk_walk: all locks of a server are found, among other data, in any order, also after a failure.
 */
#include "test/support/lk_support.h"

static struct lks_server *server;
static lk_client *client;

/* How many locks a walk finds; of `key`, how often. */
static size_t walk(const struct lk_walk_options *options, const char *key, size_t *out_of_key)
{
    struct lk_error err = {0};
    lk_walk *all = lk_walk_new(client, options, &err);
    const struct lk_inspection *lock = NULL;
    lk_status status = LK_OK;
    size_t count = 0;

    assert_non_null(all);
    *out_of_key = 0;
    while ((status = lk_walk_next(all, &lock, &err)) == LK_OK && lock) {
        count++;
        if (strcmp(lock->key, key) == 0) ++*out_of_key;
        assert_true(count < 100000);
    }
    if (status != LK_OK) fail_msg("%s", err.text);
    assert_int_equal(LK_OK, lk_walk_next(all, &lock, &err)); /* the end stays the end */
    assert_null(lock);
    lk_walk_free(all);
    return count;
}

TEST(a_walk_finds_every_lock_among_other_data)
{
    struct lk_walk_options all = {.has_numbers = true};
    struct lk_walk_options some = {.match = "walk:lock:1?"};
    size_t of_key = 0;

    LKS_DO(server, "FLUSHALL");
    assert_int_equal(0, walk(NULL, "", &of_key));
    LKS_DO(server, "EVAL",
           "for i = 1, 3000 do redis.call('SET', 'walk:data:' .. i, 'x', 'PX', 60000) "
           "redis.call('HSET', 'walk:hash:' .. i, 'a', 'b') end "
           "for i = 1, 50 do redis.call('SET', 'walk:number:' .. i, i) end "
           "for i = 1, 30 do redis.call('SET', 'walk:lock:' .. i, "
           "'0123456789abcdef0123456789abcdef', 'PX', 60000) end",
           "0");
    lk_lock *fenced = lk_fenced_new(client, "walk:fenced", NULL);
    assert_int_equal(LK_OK, lk_lock_acquire(fenced, NULL, NULL));
    assert_int_equal(31, walk(NULL, "walk:fenced", &of_key));
    assert_int_equal(1, of_key);
    assert_int_equal(81, walk(&all, "walk:number:7", &of_key)); /* the fencing counter is none */
    assert_int_equal(1, of_key);
    assert_int_equal(10, walk(&some, "walk:lock:13", &of_key));
    assert_int_equal(1, of_key);
    lk_lock_free(fenced);
}

TEST(a_walk_passes_over_names_that_c_cannot_hold)
{
    size_t of_key = 0;

    LKS_DO(server, "FLUSHALL");
    LKS_DO(server, "EVAL",
           "redis.call('SET', 'a' .. string.char(0) .. 'b', '0123456789abcdef0123456789abcdef') "
           "redis.call('SET', string.rep('n', 513), '0123456789abcdef0123456789abcdef')",
           "0");
    assert_int_equal(0, walk(NULL, "a", &of_key));
}

TEST(a_walk_goes_on_after_a_failure)
{
    struct lk_error err = {0};
    const struct lk_inspection *lock = NULL;
    size_t count = 0;
    lk_status status = LK_OK;

    LKS_DO(server, "FLUSHALL");
    LKS_DO(server, "EVAL",
           "for i = 1, 300 do redis.call('SET', 'walk:lock:' .. i, "
           "'0123456789abcdef0123456789abcdef', 'PX', 60000) end",
           "0");
    lk_walk *all = lk_walk_new(client, NULL, &err);
    for (; count < 150; count++) {
        assert_int_equal(LK_OK, lk_walk_next(all, &lock, &err));
        assert_non_null(lock);
    }
    LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    double until = lks_now_ms() + 10000;
    do {
        status = lk_walk_next(all, &lock, &err);
        if (status == LK_OK && lock) count++;
    } while ((status != LK_OK || lock) && lks_now_ms() < until);
    assert_int_equal(LK_OK, status);
    assert_true(count >= 300);
    lk_walk_free(all);
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
