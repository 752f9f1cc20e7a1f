/*
 * The redlock on five real servers: what lies on the wire, who gets it, what dead and slow servers
 * cost, what becomes of it by renewal and release.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_redlock.h"

/* A try waits so long for a server; none that runs is slower. */
enum { NODE_MS = 2000 };
static const struct lk_redlock_options patient = {.node_ms = NODE_MS};

LKS_PATIENT();

struct fixture {
    struct lkr_clients clients;
    lk_lock *mine, *other; /* two handles on one key */
    const char *key;
    atomic_int nap_ms; /* the next answer is heard so much later */
    atomic_int naps;   /* that many times */
    atomic_int losses;
};

static void hear_later(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_ROUND_TRIP && atomic_fetch_sub(&f->naps, 1) > 0)
        lks_nap(atomic_load(&f->nap_ms));
}

SET_UP(struct fixture, f)
{
    f->key = lkr_key("red");
    lkr_open(&f->clients, (struct lk_client_options){.on_event = hear_later, .on_event_arg = f});
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

static void acquire(lk_lock *lock, int64_t lease_ms)
{
    struct lk_error err = {0};

    if (lkr_acquire(lock, 10000, lease_ms, &err) != LK_OK) fail_msg("%s", err.text);
}

/* ---- the wire ------------------------------------------------------------------------------------ */

TEST(all_servers_get_one_token_and_lose_it_again, struct fixture *f)
{
    struct lk_error err = {0};

    acquire(f->mine, 20000);
    lkr_await_count(f->key, LKR_NODES);
    for (size_t i = 0; i < LKR_NODES; i++) {
        assert_string_equal(LKS_TEXT(lkr_nodes[i], "GET", f->key), lk_lock_token(f->mine));
        assert_in_range(LKS_INTEGER(lkr_nodes[i], "PTTL", f->key), 10000, 20000);
    }
    assert_true(lk_held(f->mine));
    assert_in_range(lk_lock_remaining_ms(f->mine), 10000, 20000 - 202);
    assert_int_equal(lk_lock_release(f->mine, &err), LK_OK);

    assert_false(lk_held(f->mine));
    lkr_await_count(f->key, 0);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK); /* nothing to release */
}

TEST(who_comes_second_is_busy_and_leaves_nothing, struct fixture *f)
{
    struct lk_error err = {0};

    acquire(f->mine, 5000);
    assert_int_equal(lkr_acquire(f->other, 0, 20000, &err), LK_BUSY);
    assert_int_equal(err.code, LK_BUSY);
    assert_int_equal(lkr_acquire(f->mine, 0, 5000, NULL), LK_INVALID); /* held by itself */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    lkr_await_count(f->key, 0);
    acquire(f->other, 5000);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(every_try_has_a_token_of_its_own, struct fixture *f)
{
    char first[64];

    acquire(f->mine, 5000);
    (void)snprintf(first, sizeof first, "%s", lk_lock_token(f->mine));
    assert_int_equal(lkr_acquire(f->other, 0, 20000, NULL), LK_BUSY);
    assert_string_not_equal(lk_lock_token(f->other), first);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    acquire(f->mine, 5000);

    assert_string_not_equal(lk_lock_token(f->mine), first);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* Those that somebody else holds are his; those that were taken are given back at once. */
TEST(a_minority_is_given_back, struct fixture *f)
{
    for (size_t i = 0; i < LKR_QUORUM; i++)
        LKS_DO(lkr_nodes[i], "SET", f->key, "somebody");
    assert_int_equal(lkr_acquire(f->mine, 0, 60000, NULL), LK_BUSY);

    lkr_await_count(f->key, LKR_QUORUM);
    for (size_t i = 0; i < LKR_QUORUM; i++)
        assert_string_equal(LKS_TEXT(lkr_nodes[i], "GET", f->key), "somebody");
}

/* Half and one are a majority, half is not: two of five that are somebody else's do not keep it out. */
TEST(three_of_five_are_enough_and_needed, struct fixture *f)
{
    struct lk_redlock_report report;

    for (size_t i = 0; i < 2; i++)
        LKS_DO(lkr_nodes[i], "SET", f->key, "somebody");
    acquire(f->mine, 20000);
    assert_int_equal(lk_redlock_report(f->mine, &report, NULL, 0), LKR_NODES);
    assert_int_equal(report.quorum, LKR_QUORUM);
    assert_int_equal(report.agreed, LKR_QUORUM);
    assert_int_equal(report.servers, LKR_NODES);
    assert_int_equal(report.attempts, 1);
    assert_in_range(report.validity_ms, 10000, 20000 - 202);
    struct lk_redlock_vote votes[LKR_NODES];
    assert_int_equal(lk_redlock_report(f->mine, NULL, votes, LKR_NODES), LKR_NODES);
    for (size_t i = 0; i < LKR_NODES; i++) {
        assert_true(i < 2 ? votes[i].status == LK_BUSY || votes[i].status == LK_UNKNOWN
                          : votes[i].status == LK_OK);
        assert_true(i < 2 ? votes[i].remaining_ms == 0 : votes[i].remaining_ms > 10000);
        assert_true(i < 2 || votes[i].round_trip_us >= 0);
        assert_true(votes[i].is_checked);
        assert_string_equal(votes[i].server, lkr_nodes[i]->url + strlen("unix://"));
    }
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    LKS_DO(lkr_nodes[2], "SET", f->key, "somebody");
    assert_int_equal(lkr_acquire(f->mine, 0, 20000, NULL), LK_BUSY);
    assert_false(lk_held(f->mine));
    assert_int_equal(lk_redlock_report(f->mine, &report, NULL, 0), LKR_NODES);
    assert_int_equal(report.validity_ms, 0);
}

/* ---- dead and slow ------------------------------------------------------------------------------- */

/* Those that have just come back may not be known to be there. */
static void await_majority(lk_lock *lock)
{
    LKS_EVENTUALLY(lkr_acquire(lock, 0, 20000, NULL) == LK_OK, 10000);
}

TEST(any_two_of_five_may_be_dead, struct fixture *f)
{
    for (size_t i = 0; i < LKR_NODES; i++) {
        size_t second = (i + 2) % LKR_NODES;
        lk_status votes[LKR_NODES] = {LK_OK, LK_OK, LK_OK, LK_OK, LK_OK};

        lks_server_kill(lkr_nodes[i]);
        lks_server_kill(lkr_nodes[second]);
        votes[i] = votes[second] = LK_UNREACHABLE;
        await_majority(f->mine);
        lkr_assert_votes(f->mine, votes);
        assert_int_equal(lk_lock_renew(f->mine, 0, NULL), LK_OK);
        assert_int_equal(lkr_acquire(f->other, 0, 20000, NULL), LK_BUSY);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
        lkr_await_count(f->key, 0);
        lks_server_restart(lkr_nodes[i]);
        lks_server_restart(lkr_nodes[second]);
    }
}

TEST(with_three_of_five_dead_it_waits_in_vain_and_leaves_nothing, struct fixture *f)
{
    struct lk_error err = {0};

    for (size_t i = 1; i < 4; i++)
        lks_server_kill(lkr_nodes[i]);
    double begin = lks_now_ms();
    assert_int_equal(lkr_acquire(f->mine, 300, 10000, &err), LK_UNREACHABLE);

    assert_true(lks_now_ms() - begin >= 300);
    assert_non_null(strstr(err.text, "2 of 5 servers can vote, 3 must"));
    lkr_await_count(f->key, 0);
}

/* Who waited for one would take a few times NODE_MS. */
TEST(two_that_stand_still_cost_nothing, struct fixture *f)
{
    enum { PAIRS = 20 };

    lks_server_pause(lkr_nodes[0]);
    lks_server_pause(lkr_nodes[3]);
    double begin = lks_now_ms();
    for (int i = 0; i < PAIRS; i++) {
        acquire(f->mine, 20000);
        assert_int_equal(lk_lock_renew(f->mine, 0, NULL), LK_OK);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    }
    assert_true(lks_now_ms() - begin < PAIRS * NODE_MS / 4.0);
    lks_server_resume(lkr_nodes[0]);
    lks_server_resume(lkr_nodes[3]);

    lkr_await_count(f->key, 0); /* what they were asked meanwhile is undone too */
}

TEST(with_three_that_stand_still_it_waits_node_ms_and_leaves_nothing, struct fixture *f)
{
    struct lk_error err = {0};
    struct lk_redlock_options options = {.node_ms = 100};
    lk_lock *hasty = lkr_lock(&f->clients, f->key, &options);

    for (size_t i = 2; i < LKR_NODES; i++)
        lks_server_pause(lkr_nodes[i]);
    double begin = lks_now_ms();
    assert_int_equal(lkr_acquire(hasty, 0, 60000, &err), LK_UNREACHABLE);
    double took = lks_now_ms() - begin;
    for (size_t i = 2; i < LKR_NODES; i++)
        lks_server_resume(lkr_nodes[i]);

    assert_true(took >= 99 && took < 20000); /* not for a third of the lease */
    assert_non_null(strstr(err.text, "no answer"));
    lkr_await_count(f->key, 0); /* long before the lease ends */
    acquire(hasty, 5000);
    assert_int_equal(lk_lock_release(hasty, NULL), LK_OK);
    lk_lock_free(hasty);
}

/* A majority cannot confirm any more. That is known at once, and not after command_ms. */
TEST(a_release_hears_all_that_are_left_of_a_bare_majority, struct fixture *f)
{
    enum { LONG_MS = 20000 };
    struct lkr_clients clients;
    struct lk_redlock_vote votes[LKR_NODES];

    lkr_open(&clients, (struct lk_client_options){.command_ms = LONG_MS});
    lk_lock *lock = lkr_lock(&clients, f->key, &patient);
    lks_server_kill(lkr_nodes[3]);
    lks_server_kill(lkr_nodes[4]);
    acquire(lock, LONG_MS);
    lks_server_kill(lkr_nodes[2]);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(lock, NULL), LK_UNREACHABLE);

    assert_true(lks_now_ms() - begin < LONG_MS / 2.0);
    assert_int_equal(lk_redlock_report(lock, NULL, votes, LKR_NODES), LKR_NODES);
    assert_int_equal(votes[0].status, LK_OK);
    assert_int_equal(votes[1].status, LK_OK);
    assert_int_equal(votes[2].status, LK_UNREACHABLE);
    lk_lock_free(lock);
    lkr_close(&clients);
}

static void *resume_later(void *arg)
{
    lks_nap(300);
    lks_server_resume(lkr_nodes[4]);
    return NULL;
}

/* Answers that did not come may come: it is tried again. */
TEST(it_waits_for_servers_that_stand_still_as_for_a_holder, struct fixture *f)
{
    pthread_t thread;
    lk_lock *hasty = lkr_lock(&f->clients, f->key, NULL); /* waits 200 ms for a server */

    for (size_t i = 2; i < LKR_NODES; i++)
        lks_server_pause(lkr_nodes[i]);
    assert_int_equal(pthread_create(&thread, NULL, resume_later, NULL), 0);
    assert_int_equal(lkr_acquire(hasty, 20000, 20000, NULL), LK_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(lk_lock_release(hasty, NULL), LK_OK);
    lk_lock_free(hasty);
}

/* ---- validity ------------------------------------------------------------------------------------ */

/* From the try's begin, whatever the answers took. */
TEST(what_the_answers_took_is_taken_off_the_lease, struct fixture *f)
{
    atomic_store(&f->nap_ms, 150);
    atomic_store(&f->naps, 1);
    acquire(f->mine, 20000);

    assert_in_range(lk_lock_remaining_ms(f->mine), 1, 20000 - 150 - 202);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(a_majority_after_the_lease_is_lost_and_given_back, struct fixture *f)
{
    struct lk_error err = {0};

    atomic_store(&f->nap_ms, 400);
    atomic_store(&f->naps, 1);
    assert_int_equal(lkr_acquire(f->mine, 0, 300, &err), LK_LOST);

    assert_int_equal(err.code, LK_LOST);
    assert_false(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* ---- renewal and loss ---------------------------------------------------------------------------- */

TEST(a_renewal_needs_a_majority, struct fixture *f)
{
    struct lk_error err = {0};

    acquire(f->mine, 20000);
    lkr_await_count(f->key, LKR_NODES);
    assert_int_equal(lk_lock_renew(f->mine, 60000, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(f->mine), 30000, 60000 - 602);
    LKS_DO(lkr_nodes[0], "DEL", f->key);
    LKS_DO(lkr_nodes[1], "DEL", f->key);
    LKS_DO(lkr_nodes[2], "SET", f->key, "somebody");
    assert_int_equal(lk_lock_renew(f->mine, 0, &err), LK_LOST);

    assert_int_equal(err.code, LK_LOST);
    assert_false(lk_held(f->mine));
    assert_false(lkr_exists(0, f->key)); /* nothing makes it anew */
    assert_string_equal(LKS_TEXT(lkr_nodes[2], "GET", f->key), "somebody");
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    lkr_await_count(f->key, 1);
}

/* Renewals end with the majority: how many servers count by then. */
static size_t renew_and_count(lk_lock *lock)
{
    assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_OK);
    return lkr_counting(lock);
}

/* Were it asked again it would say yes, as a server would that a late request has reached. */
TEST(a_server_that_has_lost_it_never_counts_again, struct fixture *f)
{
    acquire(f->mine, 60000);
    LKS_EVENTUALLY(renew_and_count(f->mine) == LKR_NODES, 5000);
    LKS_DO(lkr_nodes[3], "DEL", f->key);
    LKS_DO(lkr_nodes[4], "DEL", f->key);
    LKS_EVENTUALLY(renew_and_count(f->mine) == LKR_QUORUM, 5000);
    LKS_DO(lkr_nodes[3], "SET", f->key, lk_lock_token(f->mine), "PX", "60000");
    LKS_DO(lkr_nodes[4], "SET", f->key, lk_lock_token(f->mine), "PX", "60000");
    LKS_DO(lkr_nodes[0], "DEL", f->key);
    assert_int_equal(lk_lock_renew(f->mine, 0, NULL), LK_LOST);

    assert_false(lk_held(f->mine));
    assert_int_equal(lk_lock_renew(f->mine, 0, NULL), LK_LOST);
    /* These two answer late, and that they know no such script. */
    for (size_t i = 3; i < LKR_NODES; i++) {
        LKS_DO(lkr_nodes[i], "SCRIPT", "FLUSH");
        lks_server_pause(lkr_nodes[i]);
    }
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    for (size_t i = 3; i < LKR_NODES; i++)
        lks_server_resume(lkr_nodes[i]);
    lkr_await_count(f->key, 0);
}

static lk_status acquire_renewed(struct fixture *f, int64_t lease_ms)
{
    return lk_lock_acquire(f->mine,
                           &(struct lk_lock_options){.lease_ms = lease_ms,
                                                     .is_renewed = true,
                                                     .on_lost = lks_count_loss,
                                                     .on_lost_arg = &f->losses},
                           NULL);
}

/* Renewed or not, and asked for in the hold. */
TEST(a_loss_is_readable_when_its_descriptor_was_asked_for_late, struct fixture *f)
{
    for (int is_renewed = 0; is_renewed < 2; is_renewed++) {
        struct lk_lock_options options = {.lease_ms = 2000, .is_renewed = is_renewed == 1};
        lk_lock *lock = lkr_lock(&f->clients, f->key, &patient);

        assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
        struct pollfd poll_fd = {.fd = lk_lock_lost_fd(lock), .events = POLLIN};
        for (size_t i = 0; i < LKR_QUORUM; i++)
            LKS_DO(lkr_nodes[i], "DEL", f->key);
        assert_int_equal(poll(&poll_fd, 1, 20000), 1);
        (void)lk_lock_release(lock, NULL);
        lk_lock_free(lock);
    }
}

TEST(a_majority_that_stands_still_for_too_long_is_a_loss, struct fixture *f)
{
    assert_int_equal(acquire_renewed(f, 3000), LK_OK);
    for (size_t i = 0; i < LKR_QUORUM; i++)
        lks_server_pause(lkr_nodes[i]);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 20000);
    assert_false(lk_held(f->mine));
    for (size_t i = 0; i < LKR_QUORUM; i++)
        lks_server_resume(lkr_nodes[i]);
    (void)lk_lock_release(f->mine, NULL);
    lkr_await_count(f->key, 0);
    assert_false(lk_held(f->mine)); /* for good, whatever they answered since */
    assert_int_equal(atomic_load(&f->losses), 1);
}

TEST(a_majority_that_says_not_ours_is_told_as_a_loss, struct fixture *f)
{
    /* A lease that no busy machine sleeps through: the loss is told by the servers. */
    assert_int_equal(acquire_renewed(f, 3000), LK_OK);
    lkr_await_count(f->key, LKR_NODES);
    for (size_t i = 0; i < LKR_QUORUM; i++)
        LKS_DO(lkr_nodes[i], "DEL", f->key);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 20000);

    assert_false(lk_held(f->mine));
    lkr_await_count(f->key, 0); /* which are not renewed any more */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
}

/* Two have lost it, and one does not say. */
TEST(a_renewal_by_hand_that_too_few_confirm_is_no_loss, struct fixture *f)
{
    struct lkr_clients clients; /* which wait for it, and not for as long as the lease */

    lkr_open(&clients, (struct lk_client_options){.command_ms = NODE_MS});
    lk_lock *lock = lkr_lock(&clients, f->key, &patient);
    acquire(lock, 60000);
    LKS_EVENTUALLY(lkr_counting(lock) == LKR_NODES, 20000);
    for (size_t i = 0; i < 2; i++)
        LKS_DO(lkr_nodes[i], "DEL", f->key);
    lks_server_pause(lkr_nodes[2]);
    lk_status status = lk_lock_renew(lock, 0, NULL);
    bool is_held = lk_held(lock);
    lks_server_resume(lkr_nodes[2]);

    assert_true(status == LK_UNKNOWN || status == LK_UNREACHABLE);
    assert_true(is_held);
    assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lkr_close(&clients);
}

TEST(the_end_of_a_lease_is_told_without_renewal_too, struct fixture *f)
{
    struct lk_lock_options options = {
        .lease_ms = 1000, .on_lost = lks_count_loss, .on_lost_arg = &f->losses};

    assert_int_equal(lk_lock_acquire(f->mine, &options, NULL), LK_OK);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 20000);
    assert_false(lk_held(f->mine));
    (void)lk_lock_release(f->mine, NULL);
}

/* ---- a machine without a processor to spare ------------------------------------------------------------ */

enum { BUSY_THREADS = 12, BUSY_LOCKS = 24, BUSY_MS = 1500 };

/* Of each by turns: a long lease, and a short one that is renewed. */
static struct hold {
    char key[32];
    lk_lock *lock;
    _Atomic int64_t ends_ns; /* as was told; by the clock of what is told */
    _Atomic int64_t early_ns;
    atomic_int losses;
} holds[BUSY_LOCKS];
static atomic_bool is_busy;

static void *spin_main(void *arg)
{
    while (atomic_load(&is_busy)) {}
    return arg;
}

static void note_end(const struct lk_event *event, void *arg)
{
    struct hold *hold = arg;

    for (size_t i = 0; event->key && i < BUSY_LOCKS; i++, hold++) {
        if (strcmp(event->key, hold->key) != 0) continue;
        if (event->type == LK_EVENT_LOST)
            atomic_store(&hold->early_ns, atomic_load(&hold->ends_ns) - event->at_ns);
        else if (event->status == LK_OK && event->ends_ns > atomic_load(&hold->ends_ns))
            atomic_store(&hold->ends_ns, event->ends_ns);
    }
}

static lk_lock *hold_it(const struct lkr_clients *clients, struct hold *hold, bool is_renewed)
{
    struct lk_lock_options options = {.wait_ms = 5000,
                                      .lease_ms = is_renewed ? 250 : 60000,
                                      .is_renewed = is_renewed,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &hold->losses};

    (void)snprintf(hold->key, sizeof hold->key, "%s", lkr_key("busy"));
    lk_lock *lock = lkr_lock(clients, hold->key, NULL);
    LKS_EVENTUALLY(lk_lock_acquire(lock, &options, NULL) == LK_OK, 10000);
    return lock;
}

TEST(on_a_busy_machine_no_loss_is_told_that_is_none)
{
    struct lkr_clients clients;
    pthread_t threads[BUSY_THREADS];
    int losses = 0;

    lkr_open(&clients, (struct lk_client_options){.on_event = note_end, .on_event_arg = holds});
    atomic_store(&is_busy, true);
    for (size_t i = 0; i < BUSY_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spin_main, NULL), 0);
    for (size_t i = 0; i < BUSY_LOCKS; i++)
        holds[i].lock = hold_it(&clients, &holds[i], i % 2 == 1);
    lks_nap(BUSY_MS);
    atomic_store(&is_busy, false);
    for (size_t i = 0; i < BUSY_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    for (size_t i = 0; i < BUSY_LOCKS; i++) {
        losses += atomic_load(&holds[i].losses);
        assert_true(atomic_load(&holds[i].early_ns) <= 0);
        assert_true(i % 2 == 1 || (lk_held(holds[i].lock) && atomic_load(&holds[i].losses) == 0));
        (void)lk_lock_release(holds[i].lock, NULL);
        lk_lock_free(holds[i].lock);
    }
    print_message("# %d of %d leases of 250 ms ended before they were renewed\n", losses,
                  BUSY_LOCKS / 2);
    lkr_close(&clients);
}

GROUP(lkr_start_servers, lkr_stop_servers);
