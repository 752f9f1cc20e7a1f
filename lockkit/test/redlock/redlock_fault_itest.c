/*
 * Answers that come late or never: nothing a failed try has sent stays, and what a won one had sent
 * still counts. Between client and servers are links that hold or lose what passes.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_redlock.h"

enum { LONG_LEASE_MS = 60000, NODE_MS = 2000 }; /* nothing here is saved by the lease's end */

struct fixture {
    struct lkr_links *links;
    struct lkr_clients clients;
    lk_lock *lock;
    const char *key;
    atomic_int losses;
    atomic_int renewals; /* of a whole lock */
};

static void count_renewal(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_RENEW && event->status == LK_OK) atomic_fetch_add(&f->renewals, 1);
}

SET_UP(struct fixture, f)
{
    f->key = lkr_key("fault");
    f->links = lkr_links_open();
    lkr_open_through(&f->clients, f->links,
                     (struct lk_client_options){
                         .command_ms = NODE_MS, .on_event = count_renewal, .on_event_arg = f});
    f->lock = lkr_lock(&f->clients, f->key, &(struct lk_redlock_options){.node_ms = NODE_MS});
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->lock);
    lkr_close(&f->clients);
    lkr_links_close(f->links);
    assert_int_equal(lkr_heal_servers(NULL), 0);
}

static void set_links(struct fixture *f, size_t first, size_t count, enum torture_link_state state)
{
    for (size_t i = first; i < first + count; i++)
        lkr_links_set(f->links, i, state);
}

/* The idle connections broke with their links: until new ones stand. */
static void await_return(struct fixture *f)
{
    LKS_EVENTUALLY(lkr_acquire(f->lock, 0, 20000, NULL) == LK_OK, 20000);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    lkr_await_count(f->key, 0);
}

TEST(late_requests_of_a_failed_try_are_undone_when_they_arrive, struct fixture *f)
{
    set_links(f, 0, 3, LINK_HELD);
    assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_UNREACHABLE);
    lkr_await_count(f->key, 0);
    set_links(f, 0, 3, LINK_PASSES); /* SET and what undoes it come now, in this order */

    await_return(f);
}

/* The servers have done it, and nobody hears of it. */
TEST(lost_answers_leave_nothing, struct fixture *f)
{
    set_links(f, 1, 4, LINK_DEAF);
    assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_UNREACHABLE);

    lkr_await_count(f->key, 0);
    set_links(f, 1, 4, LINK_PASSES); /* a deaf link ends with its connections */
    await_return(f);
}

/* Let the request arrive, and cut the connection before what undoes it is sent. */
static void *cut_when_taken(void *arg)
{
    struct fixture *f = arg;

    for (int i = 0; i < NODE_MS / 2 && lkr_count(f->key) < LKR_NODES; i++)
        lks_nap(1);
    set_links(f, 1, 4, LINK_CLOSED);
    return NULL;
}

TEST(a_broken_connection_is_undone_on_another_one, struct fixture *f)
{
    pthread_t thread;

    set_links(f, 1, 4, LINK_DEAF);
    assert_int_equal(pthread_create(&thread, NULL, cut_when_taken, f), 0);
    assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_UNREACHABLE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(lkr_count(f->key) >=
                3); /* nobody could tell them; the third failure ends the try */
    set_links(f, 1, 4, LINK_PASSES);

    lkr_await_count(f->key, 0);
    await_return(f);
}

/* They count from then on. */
TEST(votes_that_come_after_the_majority_are_renewed_and_released, struct fixture *f)
{
    struct lk_redlock_vote votes[LKR_NODES];

    set_links(f, 3, 2, LINK_HELD);
    assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_OK);
    (void)lk_redlock_report(f->lock, NULL, votes, LKR_NODES);
    assert_int_equal(votes[3].status, LK_UNKNOWN);
    assert_int_equal(votes[4].remaining_ms, 0);
    set_links(f, 3, 2, LINK_PASSES);
    lkr_await_count(f->key, LKR_NODES);
    LKS_EVENTUALLY(lk_lock_renew(f->lock, 0, NULL) == LK_OK && lkr_counting(f->lock) == LKR_NODES,
                   20000);
    LKS_DO(lkr_nodes[0], "DEL", f->key); /* three of the five are needed, whichever */
    LKS_DO(lkr_nodes[1], "DEL", f->key);
    assert_int_equal(lk_lock_renew(f->lock, 0, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);

    lkr_await_count(f->key, 0);
}

/* The release is sent behind the request that is not answered yet, and cannot overtake it. */
TEST(a_release_reaches_servers_that_have_not_answered_yet, struct fixture *f)
{
    set_links(f, 0, 2, LINK_HELD);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_OK);
        assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    }
    set_links(f, 0, 2, LINK_PASSES);

    await_return(f);
}

TEST(a_release_whose_answers_are_lost_can_be_repeated, struct fixture *f)
{
    assert_int_equal(lkr_acquire(f->lock, 0, LONG_LEASE_MS, NULL), LK_OK);
    lkr_await_count(f->key, LKR_NODES);
    set_links(f, 0, 3, LINK_DEAF);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_UNKNOWN);
    assert_false(lk_held(f->lock));
    lkr_await_count(f->key, 0);
    set_links(f, 0, 3, LINK_PASSES);
    LKS_EVENTUALLY(lk_lock_release(f->lock, NULL) == LK_OK, 20000);

    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    await_return(f);
}

/* Two were late when it was taken; two of the first three die. */
TEST(a_renewed_one_lives_on_by_votes_that_came_late, struct fixture *f)
{
    struct lk_lock_options options = {
        .lease_ms = 6000, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &f->losses};

    set_links(f, 3, 2, LINK_HELD);
    assert_int_equal(lk_lock_acquire(f->lock, &options, NULL), LK_OK);
    set_links(f, 3, 2, LINK_PASSES);
    LKS_EVENTUALLY(lkr_counting(f->lock) == LKR_NODES, 20000);
    lks_server_kill(lkr_nodes[0]);
    lks_server_kill(lkr_nodes[2]);
    int before = atomic_load(&f->renewals);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= before + 2, 20000); /* by those who are left */

    assert_true(lk_held(f->lock));
    assert_int_equal(atomic_load(&f->losses), 0);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    lkr_await_count(f->key, 0);
}

/* Many hold at a time what no connection would be left for, if each kept those of late votes. */
TEST(unanswered_requests_do_not_use_up_the_connections, struct fixture *f)
{
    enum { LOCKS = 40 }; /* a pool has 16 connections */
    lk_lock *locks[LOCKS];
    char name[64];
    struct lk_redlock_report report;

    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "%s-%d", f->key, i);
        locks[i] = lkr_lock(&f->clients, name, &(struct lk_redlock_options){.node_ms = NODE_MS});
        assert_int_equal(lkr_acquire(locks[i], 0, LONG_LEASE_MS, NULL), LK_OK);
    }
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(lk_lock_release(locks[i], NULL), LK_OK);
    set_links(f, 0, 2, LINK_HELD);
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(lkr_acquire(locks[i], 0, LONG_LEASE_MS, NULL), LK_OK);
        (void)lk_redlock_report(locks[i], &report, NULL, 0);
        assert_int_equal(report.agreed, LKR_QUORUM);
    }
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(lk_lock_release(locks[i], NULL), LK_OK);
    set_links(f, 0, 2, LINK_PASSES);
    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "%s-%d", f->key, i);
        lkr_await_count(name, 0);
        lk_lock_free(locks[i]);
    }
}

GROUP(lkr_start_servers, lkr_stop_servers);
