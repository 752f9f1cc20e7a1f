/*
 * In what order those that wait for a read/write lock get it, and what becomes of the order when some
 * give up, or do not queue; those that are killed are rwlock_contention_itest's. The fallback timer is ten seconds here: what comes sooner came by a
 * message, a TTL or a window.
 */
#include "test/support/lk_fair.h"
#include "test/support/lk_rw.h"

enum { SOON_MS = 1000, HANDLES = 6, STREAM_MS = 1000, READERS = 4 };

static const lk_rwlock_order orders[] = {LK_RWLOCK_WRITERS_FIRST, LK_RWLOCK_FAIR};
static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
static const char dead_writer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:58:write";

LKS_SERVER(lks_server_start(NULL));

/* Handles of one key, in two clients by turns. */
struct fixture {
    lk_client *clients[2];
    lk_rwlock *handles[HANDLES];
    struct lkf_keys keys;
};

static void open_all(struct fixture *f, lk_rwlock_order order, int64_t waiter_ms)
{
    struct lk_rwlock_options options = {.order = order, .waiter_ms = waiter_ms};

    lkf_keys_init(&f->keys, server, "order");
    for (size_t i = 0; i < 2; i++)
        f->clients[i] = lks_client_with(server, (struct lk_client_options){.poll_ms = 10000});
    for (size_t i = 0; i < HANDLES; i++) {
        f->handles[i] = lk_rwlock_new_with(f->clients[i % 2], f->keys.lock, &options, NULL);
        assert_non_null(f->handles[i]);
    }
}

static void close_all(struct fixture *f)
{
    for (size_t i = 0; i < HANDLES; i++)
        lk_rwlock_free(f->handles[i]);
    for (size_t i = 0; i < 2; i++)
        lk_client_close(f->clients[i]);
    LKS_EVENTUALLY(lkr_keys(server, f->keys.lock) == 0, SOON_MS);
}

static lk_lock *side(const struct fixture *f, size_t i, char what)
{
    return what == 'w' ? lk_rwlock_write(f->handles[i]) : lk_rwlock_read(f->handles[i]);
}

/* In the queue, and asleep. */
static void wait_in_line(const struct fixture *f, struct lks_wait *wait, lk_lock *lock)
{
    lkf_wait_start(wait, &f->keys, lock, &(struct lk_lock_options){.wait_ms = 60000});
    lks_nap(20);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Who holds it, as "r0 w1"; in the end of a moment. */
static const char *holders(const struct fixture *f)
{
    static char text[64];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < HANDLES; i++) {
        for (const char *what = "rw"; *what; what++)
            if (lk_held(side(f, i, *what)))
                len += (size_t)snprintf(text + len, sizeof text - len, "%c%zu ", *what, i);
    }
    return text;
}

static void they_alone_hold(const struct fixture *f, const char *text)
{
    LKS_EVENTUALLY(strcmp(holders(f), text) == 0, SOON_MS);
    lks_nap(30);
    assert_string_equal(holders(f), text);
}

/* Come behind the first, one after the other; then those that hold leave, until nobody does. */
static void serve(lk_rwlock_order order, const char *comers, const char *const *served)
{
    struct fixture f;
    struct lks_wait waits[HANDLES];
    size_t last = strlen(comers) - 1;

    open_all(&f, order, 0);
    assert_int_equal(lk_lock_try(side(&f, 0, comers[0]), NULL), LK_OK);
    for (size_t i = 1; i <= last; i++)
        wait_in_line(&f, &waits[i], side(&f, i, comers[i]));
    for (const char *const *now = served; *now; now++) {
        they_alone_hold(&f, *now);
        for (const char *one = *now; *one; one += 3) {
            size_t i = (size_t)(one[1] - '0');

            if (i > 0) assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
            assert_int_equal(lk_lock_release(side(&f, i, *one), NULL), LK_OK);
        }
    }
    close_all(&f);
}

TEST(a_fair_one_keeps_the_order_of_coming_and_readers_beside_each_other_go_together)
{
    serve(LK_RWLOCK_FAIR, "wrwrrw",
          (const char *const[]){"w0 ", "r1 ", "w2 ", "r3 r4 ", "w5 ", NULL});
    serve(LK_RWLOCK_FAIR, "rwr", (const char *const[]){"r0 ", "w1 ", "r2 ", NULL});
}

TEST(writers_go_first_in_their_order_and_then_all_readers)
{
    serve(LK_RWLOCK_WRITERS_FIRST, "wrwrrw",
          (const char *const[]){"w0 ", "w2 ", "w5 ", "r1 r3 r4 ", NULL});
    serve(LK_RWLOCK_WRITERS_FIRST, "rwr", (const char *const[]){"r0 ", "w1 ", "r2 ", NULL});
}

TEST(a_release_wakes_those_who_may_go_and_nobody_else)
{
    struct fixture f;
    struct lks_wait waits[3];

    open_all(&f, LK_RWLOCK_FAIR, 0);
    assert_int_equal(lk_lock_try(side(&f, 0, 'w'), NULL), LK_OK);
    wait_in_line(&f, &waits[0], side(&f, 1, 'w'));
    wait_in_line(&f, &waits[1], side(&f, 2, 'r'));
    wait_in_line(&f, &waits[2], side(&f, 3, 'r'));
    struct lks_monitor *monitor = lks_monitor_open(server);
    size_t before = lks_count(lks_monitor_text(monitor, server), "\"PUBLISH\"");
    assert_int_equal(lk_lock_release(side(&f, 0, 'w'), NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[0]), LK_OK);

    const char *text = lks_monitor_text(monitor, server);
    assert_int_equal(lks_count(text, "\"PUBLISH\""), before + 2); /* one for who does not queue */
    assert_non_null(strstr(text, lks_format("redisson_rwlock:{%s}:%s\" \"0\"", f.keys.lock,
                                            lk_lock_token(side(&f, 1, 'w')))));
    assert_int_equal(lk_lock_release(side(&f, 1, 'w'), NULL), LK_OK);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
        assert_int_equal(lk_lock_release(side(&f, i + 1, 'r'), NULL), LK_OK);
    }
    lks_monitor_close(monitor);
    close_all(&f);
}

TEST(who_does_not_wait_is_told_busy_while_somebody_is_before_it)
{
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct lks_wait wait;

        open_all(&f, orders[i], 0);
        assert_int_equal(lk_lock_try(side(&f, 0, 'r'), NULL), LK_OK);
        assert_int_equal(lk_lock_try(side(&f, 1, 'r'), NULL), LK_OK);
        wait_in_line(&f, &wait, side(&f, 2, 'w'));
        assert_int_equal(lk_lock_try(side(&f, 3, 'r'), NULL), LK_BUSY);
        assert_int_equal(lk_lock_try(side(&f, 0, 'r'), NULL), LK_OK); /* it reads already */
        assert_int_equal(lkf_length(&f.keys), 1);
        assert_int_equal(lk_lock_release(side(&f, 0, 'r'), NULL), LK_OK);
        assert_int_equal(lk_lock_release(side(&f, 0, 'r'), NULL), LK_OK);
        assert_int_equal(lk_lock_release(side(&f, 1, 'r'), NULL), LK_OK);
        assert_int_equal(lks_wait_end(&wait), LK_OK);
        assert_int_equal(lk_lock_try(side(&f, 2, 'r'), NULL), LK_OK); /* it writes */
        assert_int_equal(lk_lock_release(side(&f, 2, 'w'), NULL), LK_OK);
        assert_int_equal(lk_lock_release(side(&f, 2, 'r'), NULL), LK_OK);
        close_all(&f);
    }
}

/* ---- readers without end --------------------------------------------------------------------- */

struct reader {
    lk_lock *lock;
    double until_ms;
    long turns;
};

static void *read_on(void *arg)
{
    struct reader *reader = arg;

    for (; lks_now_ms() < reader->until_ms; reader->turns++) {
        if (lks_acquire(reader->lock, 10000, 0) != LK_OK) return NULL;
        lks_nap(3);
        if (lk_lock_release(reader->lock, NULL) != LK_OK) return NULL;
    }
    return NULL;
}

static void write_among_readers(lk_rwlock_order order)
{
    struct fixture f;
    struct reader readers[READERS];
    pthread_t threads[READERS];
    double longest_ms = 0;
    long turns = 0;
    unsigned writes = 0;

    open_all(&f, order, 0);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){side(&f, i + 1, 'r'), lks_now_ms() + STREAM_MS, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (; lks_now_ms() < readers[0].until_ms - 100; writes++) {
        double begin = lks_now_ms();

        assert_int_equal(lks_acquire(side(&f, 0, 'w'), 10000, 0), LK_OK);
        if (lks_now_ms() - begin > longest_ms) longest_ms = lks_now_ms() - begin;
        assert_int_equal(lk_lock_release(side(&f, 0, 'w'), NULL), LK_OK);
        lks_nap(5);
    }
    for (size_t i = 0; i < READERS; i++) {
        (void)pthread_join(threads[i], NULL);
        turns += readers[i].turns;
    }
    print_message("# %u writes among %ld reads of %d readers in %d ms; longest wait %.0f ms\n",
                  writes, turns, READERS, STREAM_MS, longest_ms);
    assert_true(longest_ms < SOON_MS / 2.0);
    assert_true(writes > 10);
    close_all(&f);
}

TEST(readers_that_overlap_without_end_do_not_starve_a_writer)
{
    for (size_t i = 0; i < 2; i++)
        write_among_readers(orders[i]);
}

/* ---- those that are gone --------------------------------------------------------------------- */

TEST(who_gives_up_or_is_cancelled_lets_those_behind_go_at_once)
{
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct lks_wait writer, readers[2];

        open_all(&f, orders[i], 0);
        assert_int_equal(lk_lock_try(side(&f, 0, 'r'), NULL), LK_OK);
        wait_in_line(&f, &writer, side(&f, 1, 'w'));
        for (size_t j = 0; j < 2; j++)
            wait_in_line(&f, &readers[j], side(&f, j + 2, 'r'));
        double now_ms = lks_now_ms();
        lk_lock_cancel(side(&f, 1, 'w'));
        assert_int_equal(lks_wait_end(&writer), LK_CANCELLED);
        for (size_t j = 0; j < 2; j++) {
            lks_wait_is_woken(&readers[j], now_ms);
            assert_true(readers[j].ended_at_ms - now_ms < SOON_MS);
            assert_int_equal(lk_lock_release(side(&f, j + 2, 'r'), NULL), LK_OK);
        }
        assert_int_equal(lks_acquire(side(&f, 1, 'w'), 50, 0), LK_BUSY);
        assert_int_equal(lkf_length(&f.keys), 0);
        assert_int_equal(lk_lock_release(side(&f, 0, 'r'), NULL), LK_OK);
        close_all(&f);
    }
}

TEST(a_damaged_queue_heals)
{
    struct fixture f;
    struct lks_wait wait;

    open_all(&f, LK_RWLOCK_FAIR, 300);
    assert_int_equal(lk_lock_try(side(&f, 0, 'w'), NULL), LK_OK);
    wait_in_line(&f, &wait, side(&f, 1, 'w'));
    LKS_DO(server, "LPUSH", f.keys.queue, dead_writer); /* without a window */
    assert_int_equal(lk_lock_release(side(&f, 0, 'w'), NULL), LK_OK);

    lks_wait_is_woken(&wait, lks_now_ms());
    assert_int_equal(lk_lock_release(side(&f, 1, 'w'), NULL), LK_OK);
    close_all(&f);
}

/* ---- with those who do not queue ------------------------------------------------------------- */

TEST(peers_pass_the_queue_and_keep_to_the_lock)
{
    struct fixture f;
    struct lks_wait wait;

    open_all(&f, LK_RWLOCK_FAIR, 0);
    assert_int_equal(lk_lock_try(side(&f, 0, 'r'), NULL), LK_OK);
    wait_in_line(&f, &wait, side(&f, 1, 'w'));
    assert_int_equal(lkr_peer_read(server, f.keys.lock, peer, "30000"), LKR_HELD);
    assert_int_equal(lk_lock_release(side(&f, 0, 'r'), NULL), LK_OK);
    assert_false(lk_held(side(&f, 1, 'w')));
    assert_true(lkr_peer_write(server, f.keys.lock, peer, "30000") > 0);
    double now_ms = lks_now_ms();
    assert_int_equal(lkr_peer_read_unlock(server, f.keys.lock, peer), 1);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# a waiter noticed a peer's release after %.0f ms\n", wait.ended_at_ms - now_ms);

    assert_true(wait.ended_at_ms - now_ms < 1700 + 300);
    assert_true(lkr_peer_read(server, f.keys.lock, peer, "30000") > 0);
    assert_int_equal(lk_lock_release(side(&f, 1, 'w'), NULL), LK_OK);
    close_all(&f);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(options_out_of_range_are_refused)
{
    const struct lk_rwlock_options bad[] = {
        {.order = (lk_rwlock_order)7}, {.waiter_ms = 99}, {.waiter_ms = -1}};
    lk_client *client = lks_client(server);

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lk_error err = {0};

        assert_null(lk_rwlock_new_with(client, "any", &bad[i], &err));
        assert_int_equal(err.code, LK_INVALID);
    }
    lk_client_close(client);
}
