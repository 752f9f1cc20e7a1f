/*
 * A standby takes over while the old primary still answers, or stands still: clients name both. The table of the new one
 * is what its primary had sent; whoever holds on the old side is told, and what he guards is refused, as soon as he
 * reaches the new one.
 */
#include <signal.h>
#include <stdatomic.h>

#include "lockkit/postgres.h"

#include "lk_postgres.h"

enum { LEASE_MS = 900, LONG_MS = 30000 };

/* Two servers, and clients that try the first one first, or the second. */
struct pair {
    struct lkp_server *old, *other;
    lk_client *client, *rival;
};

static lk_client *client_of(const struct lkp_server *first, const struct lkp_server *second)
{
    const char *url = lks_format("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres",
                                 first->port, second->port);

    return lkp_client_with(
        NULL,
        (struct lk_client_options){
            .url = url, .connect_ms = 500, .command_ms = 500, .poll_ms = 100, .backoff_ms = 50});
}

SET_UP(struct pair, pair)
{
    pair->old = lkp_server_start();
    pair->other = lkp_server_new();
    pair->client = client_of(pair->old, pair->other);
    (void)lkp_ask(pair->old, "CREATE TABLE public.store AS SELECT 0::bigint AS fence, 0 AS writes");
    lkp_standby_start(pair->other, pair->old);
    lkp_server_await_standby(pair->old);
}

TEAR_DOWN(struct pair, pair)
{
    lk_client_close(pair->client);
    lk_client_close(pair->rival);
    lkp_server_stop(pair->other);
    lkp_server_stop(pair->old);
}

/* A store that knows fences: whether it takes this one. */
static bool is_taken(struct lkp_server *server, uint64_t fence)
{
    const char *writes = lkp_ask(server,
                                 "UPDATE public.store SET fence = %llu, writes = writes + 1"
                                 " WHERE fence <= %llu RETURNING writes",
                                 (unsigned long long)fence, (unsigned long long)fence);
    return *writes != '\0';
}

static struct lk_postgres_work write_it(void)
{
    return (struct lk_postgres_work){.sql = "UPDATE public.store SET writes = writes + 1000"};
}

static lk_status write_guarded(struct lks_wait *wait)
{
    const struct lk_postgres_work work = write_it();

    return lk_postgres_guarded(wait->lock, &work, 0, NULL, &wait->err);
}

/* Cut off from the standby, the primary confirms by itself again, as one whose standby is asynchronous. */
static void part(struct pair *pair)
{
    lkp_server_set(pair->old, "synchronous_standby_names", "");
    lkp_server_promote(pair->other);
    pair->rival = client_of(pair->other, pair->old);
}

TEST(the_old_side_has_a_lesser_fence_and_is_told_when_it_is_gone, struct pair *pair)
{
    atomic_int losses = 0;
    lk_lock *lock = lkp_fenced(pair->client, "split");
    struct lk_lock_options options = {.lease_ms = LEASE_MS,
                                      .is_renewed = true,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &losses};
    const struct lk_postgres_work work = write_it();

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    assert_true(is_taken(pair->old, lk_lock_fence(lock)));
    part(pair);
    lk_lock *next = lkp_fenced(pair->rival, "split");
    double begin = lks_now_ms();
    assert_int_equal(lks_acquire(next, 10000, LONG_MS), LK_OK);
    assert_true(lks_now_ms() - begin < LEASE_MS + 1000); /* its time came along */
    assert_true(lk_held(lock));                          /* both: that is what the fence is for */
    assert_true(lk_lock_fence(next) > lk_lock_fence(lock));
    assert_true(is_taken(pair->other, lk_lock_fence(next)));
    assert_false(is_taken(pair->other, lk_lock_fence(lock)));
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_OK);
    assert_string_equal(lkp_ask(pair->old, "SELECT writes FROM public.store"), "1001");
    assert_string_equal(lkp_ask(pair->other, "SELECT writes FROM public.store"), "2"); /* lost */

    lkp_server_kill(pair->old);
    begin = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&losses) == 1, LEASE_MS + 1000);
    print_message("# told %.0f ms after the old primary had gone\n", lks_now_ms() - begin);
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_postgres_guarded(next, &work, 0, NULL, NULL), LK_OK);
    assert_string_equal(lkp_ask(pair->other, "SELECT writes FROM public.store"), "1002");
    assert_int_equal(lk_lock_close(next, NULL), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_NOT_OWNER);
}

/* Where a standby must confirm, the old side confirms nothing any more: neither a commit nor a renewal. */
static void old_side_confirms_nothing(struct pair *pair, atomic_int *losses, struct lks_wait *wait)
{
    lk_status status = LK_UNREACHABLE; /* not done in its 500 ms: it may be sent again */

    LKS_EVENTUALLY((status = write_guarded(wait)) != LK_UNREACHABLE, LONG_MS);
    assert_int_equal(status, LK_UNSYNCED);
    print_message("# %s\n", wait->err.text);
    assert_string_equal(lkp_ask(pair->old, "SELECT writes FROM public.store"), "2000");
    assert_string_equal(lkp_ask(pair->other, "SELECT writes FROM public.store"), "1000");
    lk_lock *next = lkp_fenced(pair->rival, "sync");
    assert_int_equal(lks_acquire(next, 10000, LONG_MS), LK_OK);
    assert_int_equal(atomic_load(losses), 1); /* before anybody else had it */
    assert_int_equal(lk_lock_close(next, NULL), LK_OK);
}

/* What came of a COMMIT there is not asked of the new side, where its number is another transaction's. */
static void new_side_is_not_asked(struct pair *pair, struct lks_wait *wait)
{
    for (int i = 0; i < 30; i++)
        (void)lkp_ask(pair->other, "SELECT pg_current_xact_id()");
    lks_wait_begin(wait);
    LKS_EVENTUALLY(strcmp(lkp_ask(pair->old, "SELECT count(*) FROM pg_stat_activity WHERE query ="
                                             " 'COMMIT' AND wait_event = 'SyncRep'"),
                          "1") == 0,
                   500);
    lkp_server_kill(pair->old);
    assert_int_equal(lks_wait_end(wait), LK_UNKNOWN);
}

TEST(with_a_synchronous_standby_nothing_is_told_done_that_is_lost, struct pair *pair)
{
    atomic_int losses = 0;
    struct lks_wait renewed = {.lock = lkp_fenced(pair->client, "sync")};
    struct lks_wait wait = {.lock = lkp_fenced(pair->client, "number"), .run = write_guarded};
    /* The promotion and a write take seconds on a busy machine; the lease outlasts both. */
    struct lk_lock_options options = {
        .lease_ms = 6000, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};

    assert_int_equal(lk_lock_acquire(renewed.lock, &options, NULL), LK_OK);
    assert_int_equal(lks_acquire(wait.lock, 0, LONG_MS), LK_OK);
    assert_int_equal(write_guarded(&renewed), LK_OK);
    lkp_server_promote(pair->other);
    pair->rival = client_of(pair->other, pair->old);
    old_side_confirms_nothing(pair, &losses, &renewed);
    new_side_is_not_asked(pair, &wait);
    lk_lock_free(renewed.lock);
    lk_lock_free(wait.lock);
}

/* A hold that the standby had got goes on there, without a loss. */
TEST(a_hold_goes_on_at_the_new_primary, struct pair *pair)
{
    atomic_int losses = 0;
    lk_lock *lock = lkp_fenced(pair->client, "goes-on");
    struct lk_lock_options options = {
        .lease_ms = 6000, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};
    const struct lk_postgres_work work = write_it();

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lkp_server_kill(pair->old);
    lkp_server_promote(pair->other);
    LKS_EVENTUALLY(lk_lock_renew(lock, 0, NULL) == LK_OK, 3000);
    lks_nap(6500);
    assert_true(lk_held(lock) && atomic_load(&losses) == 0);
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
}

/* It takes connections, and never says a word: as behind a cut line. */
TEST(one_that_stands_still_is_passed_over, struct pair *pair)
{
    lk_lock *lock = lkp_fenced(pair->client, "still");
    lk_lock *waiter = lkp_fenced(pair->client, "still");
    struct lks_wait wait;

    assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
    lks_wait_start(&wait, waiter, 20000);
    lks_nap(200);
    lkp_server_signal(pair->old, SIGSTOP);
    lkp_server_promote(pair->other);
    double begin = lks_now_ms();
    LKS_EVENTUALLY(lk_lock_renew(lock, LONG_MS, NULL) == LK_OK, 5000);
    print_message("# renewed at the other after %.0f ms\n", lks_now_ms() - begin);
    lks_nap(1500); /* the waiter listens there */
    begin = lks_now_ms();
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# had %.0f ms after the release\n", wait.ended_at_ms - begin);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lkp_server_signal(pair->old, SIGCONT);
}
