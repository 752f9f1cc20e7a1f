/*
 * Which servers a redlock accepts, how it waits, and what becomes of clients that count different
 * servers.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_redlock.h"

static const struct lk_redlock_options patient = {.node_ms = 2000};

LKS_PATIENT();

struct fixture {
    struct lkr_clients clients;
    lk_lock *mine, *other;
    const char *key;
};

SET_UP(struct fixture, f)
{
    f->key = lkr_key("rule");
    lkr_open(&f->clients, (struct lk_client_options){0});
    f->mine = lkr_lock(&f->clients, f->key, &patient);
    f->other = lkr_lock(&f->clients, f->key, &patient);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lkr_close(&f->clients);
    assert_int_equal(lkr_heal_servers(NULL), 0);
}

/* ---- which servers ------------------------------------------------------------------------------- */

static void assert_refused(lk_client *const *clients, size_t count,
                           const struct lk_redlock_options *options, const char *word)
{
    struct lk_error err = {0};

    assert_null(lk_redlock_new(clients, count, "k", options, &err));
    assert_int_equal(err.code, LK_INVALID);
    if (!strstr(err.text, word)) fail_msg("\"%s\" does not tell of \"%s\"", err.text, word);
}

TEST(numbers_that_make_no_sense_are_refused, struct fixture *f)
{
    lk_client *const *c = f->clients.of;
    lk_client *many[16];
    struct lk_redlock_options even = {.allow_even = true};

    for (size_t i = 0; i < 16; i++)
        many[i] = c[i % LKR_NODES];
    assert_refused(c, 0, NULL, "1 to 15");
    assert_refused(many, 16, NULL, "1 to 15");
    assert_refused(NULL, 3, NULL, "1 to 15");
    assert_refused(c, 4, NULL, "odd");
    assert_refused((lk_client *[]){c[0], NULL, c[1]}, 3, NULL, "NULL");
    assert_refused(c, 3, &(struct lk_redlock_options){.node_ms = -1}, "node_ms");
    assert_refused(c, 3, &(struct lk_redlock_options){.retry_ms = 1000000}, "retry_ms");

    lk_lock *four = lk_redlock_new(c, 4, f->key, &even, NULL);
    struct lk_redlock_report report;
    assert_int_equal(lk_redlock_report(four, &report, NULL, 0), 4);
    assert_int_equal(report.quorum, 3); /* not half */
    assert_int_equal(lk_redlock_report(NULL, &report, NULL, 0), 0);
    lk_lock_free(four);
}

TEST(one_server_under_two_names_is_refused, struct fixture *f)
{
    struct lks_server *server = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    char second_db[300];
    (void)snprintf(second_db, sizeof second_db, "%s/1", server->tcp_url);
    lk_client *by_path = lks_client_with(server, (struct lk_client_options){0});
    lk_client *by_port = lk_client_open(&(struct lk_client_options){.url = server->tcp_url}, NULL);
    lk_client *other_db = lk_client_open(&(struct lk_client_options){.url = second_db}, NULL);

    assert_non_null(by_port);
    assert_non_null(other_db);
    assert_refused((lk_client *[]){f->clients.of[0], f->clients.of[1], f->clients.of[0]}, 3, NULL,
                   "twice");
    assert_refused((lk_client *[]){f->clients.of[0], by_port, other_db}, 3, NULL, "twice");
    assert_refused((lk_client *[]){by_path, f->clients.of[0], by_port}, 3, NULL, "the same server");
    lk_client_close(by_path);
    lk_client_close(by_port);
    lk_client_close(other_db);
    lks_server_stop(server);
}

/* It may have another server by the time that it votes again. */
TEST(a_client_of_sentinel_is_refused, struct fixture *f)
{
    struct lk_client_options options = {.url = "redis+sentinel://127.0.0.1:1/mymaster",
                                        .may_be_down = true};
    lk_client *sentinel = lk_client_open(&options, NULL);

    assert_non_null(sentinel);
    assert_refused((lk_client *[]){f->clients.of[0], sentinel, f->clients.of[1]}, 3, NULL,
                   "a deployment of several");
    lk_client_close(sentinel);
}

/* How a server votes in an acquire that the others win. */
static struct lk_redlock_vote vote_of(lk_lock *lock, size_t count, size_t server)
{
    struct lk_redlock_vote votes[LKR_NODES];

    assert_int_equal(lkr_acquire(lock, 10000, 20000, NULL), LK_OK);
    assert_int_equal(lk_redlock_report(lock, NULL, votes, LKR_NODES), count);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    return votes[server];
}

static void make_replica(struct lks_server *server, const struct lks_server *primary)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", primary->port);
    LKS_DO(server, "REPLICAOF", "127.0.0.1", port);
}

TEST(a_replica_is_refused_and_one_that_becomes_one_has_no_vote, struct fixture *f)
{
    struct lks_server *primary = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    struct lkr_clients fresh;

    lks_server_kill(lkr_nodes[4]); /* it is down when the lock is made... */
    lkr_open(&fresh, (struct lk_client_options){0});
    lk_lock *late = lkr_lock(&fresh, f->key, NULL);
    lks_server_restart(lkr_nodes[4]); /* ...and comes back as something else */
    make_replica(lkr_nodes[4], primary);
    assert_refused(f->clients.of + 2, 3, NULL, "a replica");
    LKS_EVENTUALLY(vote_of(late, LKR_NODES, 4).status == LK_INVALID, 5000);
    for (int i = 0; i < 20; i++)
        assert_int_not_equal(vote_of(late, LKR_NODES, 4).status, LK_OK);
    LKS_DO(lkr_nodes[4], "REPLICAOF", "NO", "ONE");
    lk_lock_free(late);
    lkr_close(&fresh);
    lks_server_stop(primary);
}

/* It may not say who it is; it votes, and the report tells that nobody has looked. */
TEST(a_server_that_does_not_tell_who_it_is_votes, struct fixture *f)
{
    lk_client *mute = lk_client_open(&(struct lk_client_options){.url = lkr_nodes[2]->url}, NULL);
    assert_non_null(mute);
    LKS_DO(lkr_nodes[2], "ACL", "SETUSER", "default", "-info");
    lk_client *clients[] = {f->clients.of[0], f->clients.of[1], mute};
    lk_lock *lock = lk_redlock_new(clients, 3, f->key, NULL, NULL);
    assert_non_null(lock);
    LKS_EVENTUALLY(vote_of(lock, 3, 2).status == LK_OK, 5000);

    assert_true(vote_of(lock, 3, 0).is_checked && vote_of(lock, 3, 1).is_checked);
    assert_false(vote_of(lock, 3, 2).is_checked);
    LKS_DO(lkr_nodes[2], "ACL", "SETUSER", "default", "+info");
    lk_lock_free(lock);
    lk_client_close(mute);
}

/* ---- waiting ------------------------------------------------------------------------------------- */

struct later {
    lk_lock *lock;
    void (*act)(lk_lock *lock);
};

static void *act_later(void *arg)
{
    const struct later *later = arg;

    lks_nap(400);
    later->act(later->lock);
    return NULL;
}

static void release(lk_lock *lock)
{
    (void)lk_lock_release(lock, NULL);
}

/* By its pauses alone it would come at 15 s, or later. */
static void assert_woken(const struct fixture *f, void (*release_later)(lk_lock *lock))
{
    lk_lock *waiter = lkr_lock(&f->clients, f->key,
                               &(struct lk_redlock_options){.node_ms = 2000, .retry_ms = 30000});
    struct later later = {f->mine, release_later};
    pthread_t thread;
    double begin = lks_now_ms();

    assert_int_equal(lkr_acquire(f->mine, 0, 60000, NULL), LK_OK);
    assert_int_equal(pthread_create(&thread, NULL, act_later, &later), 0);
    assert_int_equal(lkr_acquire(waiter, 50000, 20000, NULL), LK_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_true(lks_now_ms() - begin < 10000);
    assert_int_equal(lk_lock_release(waiter, NULL), LK_OK);
    lk_lock_free(waiter);
}

TEST(a_release_wakes_who_waits)
{
    assert_woken(*state, release);
}

/* The server that who waits listens to: the first, by name. */
static struct lks_server *heard_server(void)
{
    struct lks_server *first = lkr_nodes[0];

    for (size_t i = 1; i < LKR_NODES; i++) {
        if (strcmp(lkr_nodes[i]->url, first->url) < 0) first = lkr_nodes[i];
    }
    return first;
}

/* It says NOSCRIPT when the others have done it, and nobody is there to ask again but the pool. */
static void release_behind_a_late_answer(lk_lock *lock)
{
    struct lks_server *late = heard_server();

    LKS_DO(late, "SCRIPT", "FLUSH");
    lks_server_pause(late);
    release(lock);
    lks_server_resume(late);
}

TEST(a_release_that_the_pool_makes_up_for_wakes_too)
{
    assert_woken(*state, release_behind_a_late_answer);
}

/* Nobody publishes: another library's release, or the end of its lease. */
TEST(without_a_message_it_asks_again_by_chance, struct fixture *f)
{
    struct lk_redlock_report report;
    double begin = lks_now_ms();

    for (size_t i = 0; i < LKR_NODES; i++)
        LKS_DO(lkr_nodes[i], "SET", f->key, "somebody", "PX", "2000");
    assert_int_equal(lkr_acquire(f->mine, 20000, 20000, NULL), LK_OK);
    double took = lks_now_ms() - begin;
    (void)lk_redlock_report(f->mine, &report, NULL, 0);

    assert_true(took > 1900);
    assert_in_range(report.attempts, 3, 3 + took / 100); /* two at once, one in 100 to 300 ms */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(the_wait_ends_when_it_is_over, struct fixture *f)
{
    double begin = lks_now_ms();

    assert_int_equal(lkr_acquire(f->mine, 0, 60000, NULL), LK_OK);
    assert_int_equal(lkr_acquire(f->other, 400, 20000, NULL), LK_BUSY);

    assert_true(lks_now_ms() - begin > 399 && lks_now_ms() - begin < 20000); /* the lease: 60 s */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(a_cancel_ends_the_wait, struct fixture *f)
{
    struct later later = {f->other, lk_lock_cancel};
    pthread_t thread;

    assert_int_equal(lkr_acquire(f->mine, 0, 60000, NULL), LK_OK);
    assert_int_equal(pthread_create(&thread, NULL, act_later, &later), 0);
    assert_int_equal(lkr_acquire(f->other, 30000, 20000, NULL), LK_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lkr_acquire(f->other, 10000, 20000, NULL),
                     LK_OK); /* the next is not cancelled */
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(an_operator_can_break_it, struct fixture *f)
{
    assert_int_equal(lk_lock_force_release(f->other, NULL), LK_NOT_OWNER);
    assert_int_equal(lkr_acquire(f->mine, 0, 60000, NULL), LK_OK);
    assert_int_equal(lk_lock_force_release(f->other, NULL), LK_OK);
    assert_int_equal(lkr_acquire(f->other, 0, 5000, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

/* ---- members ------------------------------------------------------------------------------------- */

/* {A, B, C} and {C, D, E}: two majorities without a common server. */
TEST(clients_that_count_other_servers_both_win_with_the_plain_key, struct fixture *f)
{
    lk_lock *abc = lk_redlock_new(f->clients.of, 3, f->key, NULL, NULL);
    lk_lock *cde = lk_redlock_new(f->clients.of + 2, 3, f->key, NULL, NULL);

    assert_int_equal(lkr_acquire(abc, 0, 5000, NULL), LK_OK);
    assert_int_equal(lkr_acquire(cde, 0, 5000, NULL), LK_OK);
    assert_true(lk_held(abc) && lk_held(cde));
    print_message("# exclusion broken 1 of 1 times: clients count different servers\n");
    assert_int_equal(lk_lock_release(abc, NULL), LK_OK);
    assert_int_equal(lk_lock_release(cde, NULL), LK_OK);
    lk_lock_free(abc);
    lk_lock_free(cde);
}

TEST(bound_to_its_members_the_second_is_told_so, struct fixture *f)
{
    struct lk_redlock_options bound = {.node_ms = 2000, .is_bound_to_members = true};
    lk_lock *abc = lk_redlock_new(f->clients.of, 3, f->key, &bound, NULL);
    lk_lock *cba =
        lk_redlock_new((lk_client *[]){f->clients.of[2], f->clients.of[1], f->clients.of[0]}, 3,
                       f->key, &bound, NULL);
    lk_lock *cde = lk_redlock_new(f->clients.of + 2, 3, f->key, &bound, NULL);
    struct lk_error err = {0};

    assert_int_equal(lkr_acquire(abc, 0, 5000, NULL), LK_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lkr_acquire(cde, 0, 5000, &err), LK_INVALID);
        assert_int_equal(lkr_acquire(cba, 0, 5000, NULL), LK_BUSY); /* the same, in another order */
    }
    assert_non_null(strstr(err.text, "counted other servers"));
    assert_int_equal(lk_lock_renew(abc, 0, NULL), LK_OK);
    assert_int_equal(lk_lock_release(abc, NULL), LK_OK);
    assert_int_equal(lkr_acquire(cde, 0, 5000, NULL), LK_INVALID); /* for one lease */
    assert_int_equal(lkr_acquire(cba, 10000, 5000, NULL), LK_OK);
    assert_int_equal(lk_lock_release(cba, NULL), LK_OK);
    LKS_EVENTUALLY(lkr_acquire(cde, 0, 5000, NULL) == LK_OK, 20000);
    assert_int_equal(lk_lock_release(cde, NULL), LK_OK);
    lk_lock_free(abc);
    lk_lock_free(cba);
    lk_lock_free(cde);
}

GROUP(lkr_start_servers, lkr_stop_servers);
