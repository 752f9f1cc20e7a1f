/*
 * Leader election on real servers: one of several leads; when it resigns, dies or is cut off another one
 * does, in how long. Each candidate has a client of its own, as another process would.
 */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test/support/lk_any.h"
#include "test/support/lk_crowd.h"
#include "test/support/lk_redlock.h"
#include "test/support/lk_topology.h"

enum { SOON_MS = 5000, LEASE_MS = 1000, LONG_MS = 60000, CROWD = 4, REST_MS = 2000 };

LKS_SERVER(lks_server_start(NULL));

/* What happened in all of them, as they were told. */
static struct {
    atomic_int leading, overlaps, backwards;
    _Atomic uint64_t fence;
} world;

struct candidate {
    lk_client *client;
    lk_lock *lock;
    lk_leader *leader;
    void (*in_office)(lk_leader *leader,
                      struct candidate *self); /* done by on_elected; NULL: nothing */
    atomic_int elected, deposed, troubles, result;
    _Atomic lk_status trouble; /* the last */
};

static void hear_elected(lk_leader *leader, uint64_t fence, void *arg)
{
    struct candidate *self = arg;

    if (atomic_fetch_add(&world.leading, 1) > 0) atomic_fetch_add(&world.overlaps, 1);
    if (fence > 0 && atomic_exchange(&world.fence, fence) >= fence)
        atomic_fetch_add(&world.backwards, 1);
    if (self->in_office) self->in_office(leader, self);
    atomic_fetch_add(&self->elected, 1);
}

static void hear_deposed(lk_leader *leader, void *arg)
{
    struct candidate *self = arg;

    atomic_fetch_sub(&world.leading, 1);
    atomic_fetch_add(&self->deposed, 1);
}

static void hear_trouble(lk_leader *leader, const struct lk_error *why, void *arg)
{
    struct candidate *self = arg;

    atomic_store(&self->trouble, why->code);
    atomic_fetch_add(&self->troubles, 1);
}

static void campaign(struct candidate *self, int64_t lease_ms)
{
    struct lk_error err = {0};
    lk_leader *leader = lk_leader_new(
        self->lock,
        LK_OPTIONS(leader, .lease_ms = lease_ms, .on_elected = hear_elected,
                   .on_deposed = hear_deposed, .on_trouble = hear_trouble, .arg = self),
        &err);

    if (!leader) fail_msg("%s", err.text);
    self->leader = leader;
}

static void begin(struct candidate *self, const char *key, int64_t lease_ms)
{
    self->client = lks_client_with(server, (struct lk_client_options){.backoff_ms = 100});
    self->lock = lk_fenced_new(self->client, key, NULL);
    campaign(self, lease_ms);
}

static void await(struct candidate *self, int elections)
{
    LKS_EVENTUALLY(atomic_load(&self->elected) == elections, SOON_MS);
}

/* How long that took. */
static double close_leader(struct candidate *self)
{
    double begin_ms = lks_now_ms();
    lk_leader *leader = self->leader;

    self->leader = NULL;
    (void)lk_leader_close(leader, NULL);
    assert_int_equal(atomic_load(&self->elected), atomic_load(&self->deposed));
    return lks_now_ms() - begin_ms;
}

static void end(struct candidate *self)
{
    (void)close_leader(self);
    lk_lock_free(self->lock);
    lk_client_close(self->client);
}

struct fixture {
    struct candidate one, other;
    const char *key;
};

SET_UP(struct fixture, f)
{
    atomic_store(&world.leading, 0);
    atomic_store(&world.overlaps, 0);
    atomic_store(&world.backwards, 0);
    atomic_store(&world.fence, 0);
    f->key = lks_new_key(server, "leader");
}

TEAR_DOWN(struct fixture, f)
{
    if (server->pid == 0) lks_server_restart(server);
    lks_server_resume(server);
    if (f->one.client) end(&f->one);
    if (f->other.client) end(&f->other);
    assert_int_equal(atomic_load(&world.leading), 0);
    assert_int_equal(atomic_load(&world.backwards), 0);
}

/* The first leads, the second campaigns. */
static void begin_both(struct fixture *f, int64_t lease_ms)
{
    begin(&f->one, f->key, lease_ms);
    await(&f->one, 1);
    begin(&f->other, f->key, lease_ms);
}

/* ---- one of them --------------------------------------------------------------------------------- */

/* Who leads within so long, and has been told. */
static struct candidate *await_leader(struct candidate *crowd, int64_t within_ms)
{
    double until = lks_now_ms() + (double)within_ms;

    for (size_t i = 0; lks_now_ms() < until; i++) {
        struct candidate *self = &crowd[i % CROWD];

        if (lk_leader_is_leading(self->leader) &&
            atomic_load(&self->elected) > atomic_load(&self->deposed))
            return self;
        if (i % CROWD == 0) lks_nap(1);
    }
    fail_msg("nobody leads");
    abort();
}

/* Each leads and is closed; the first one has resigned before. */
static void let_all_lead(lk_client *(*client_of)(void *), void *what, const char *key)
{
    struct candidate crowd[CROWD] = {{0}};

    for (size_t i = 0; i < CROWD; i++) {
        crowd[i].client = client_of(what);
        crowd[i].lock = lk_fenced_new(crowd[i].client, key, NULL);
        campaign(&crowd[i], LONG_MS);
    }
    struct candidate *first = await_leader(crowd, SOON_MS);
    lk_leader_resign(first->leader);
    assert_false(lk_leader_is_leading(first->leader));
    assert_ptr_not_equal(await_leader(crowd, REST_MS / 2), first);
    for (size_t i = 0; i < CROWD; i++) {
        struct candidate *leader = await_leader(crowd, SOON_MS);

        assert_true(lk_leader_fence(leader->leader) > 0);
        end(leader);
    }
    assert_int_equal(atomic_load(&world.overlaps), 0);
}

static lk_client *plain_client(void *what)
{
    return lks_client(what);
}

static lk_client *topology_client(void *what)
{
    return lkt_client_with(what, (struct lk_client_options){.backoff_ms = 100});
}

TEST(one_leads_at_a_time_with_rising_fences, struct fixture *f)
{
    let_all_lead(plain_client, server, f->key);
}

TEST(so_it_is_in_front_of_several_servers, struct fixture *f)
{
    for (int is_cluster = 0; is_cluster < 2; is_cluster++) {
        struct lkt *topology = lkt_start(&(struct lkt_options){.is_cluster = is_cluster == 1});

        atomic_store(&world.fence, 0);
        let_all_lead(topology_client, topology, "leader");
        lkt_stop(topology);
    }
}

TEST(a_lock_of_any_kind_elects, struct fixture *f)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        struct lks_any any[2] = {{0}};
        struct candidate both[2] = {{0}};
        const char *key = lks_new_key(server, "kind");

        if (kind == LKS_ANY_READ) continue; /* they would all lead */
        for (size_t i = 0; i < 2; i++) {
            both[i].client = lks_client(server);
            if (i == 0) lks_any_prepare(kind, both[i].client, key);
            lks_any_new(&any[i], kind, both[i].client, key);
            both[i].lock = any[i].lock;
            campaign(&both[i], LONG_MS);
            if (i == 0) await(&both[i], 1);
        }
        (void)close_leader(&both[0]);
        await(&both[1], 1);
        (void)close_leader(&both[1]);
        for (size_t i = 0; i < 2; i++) {
            lks_any_free(&any[i]);
            lk_client_close(both[i].client);
        }
    }
    assert_int_equal(atomic_load(&world.overlaps), 0);
}

TEST(so_does_a_redlock, struct fixture *f)
{
    struct lkr_clients clients[2];
    struct candidate both[2] = {{0}};

    (void)lkr_start_servers(NULL);
    for (size_t i = 0; i < 2; i++) {
        lkr_open(&clients[i], (struct lk_client_options){0});
        both[i].lock = lkr_lock(&clients[i], "leader", NULL);
        campaign(&both[i], LEASE_MS);
        if (i == 0) await(&both[i], 1);
    }
    for (size_t i = 0; i < LKR_QUORUM;
         i++) /* the first cannot renew; they are back after its lease */
        lks_server_pause(lkr_nodes[i]);
    LKS_EVENTUALLY(atomic_load(&both[0].deposed) == 1, SOON_MS);
    for (size_t i = 0; i < LKR_QUORUM; i++)
        lks_server_resume(lkr_nodes[i]);
    LKS_EVENTUALLY(atomic_load(&both[0].elected) + atomic_load(&both[1].elected) == 2, SOON_MS);
    for (size_t i = 0; i < 2; i++) {
        (void)close_leader(&both[i]);
        lk_lock_free(both[i].lock);
        lkr_close(&clients[i]);
    }
    (void)lkr_stop_servers(NULL);
    assert_int_equal(atomic_load(&world.overlaps), 0);
}

/* ---- another one --------------------------------------------------------------------------------- */

TEST(when_it_is_closed_the_next_leads_at_once, struct fixture *f)
{
    begin_both(f, LONG_MS);
    lks_nap(50); /* it waits */
    double begin_ms = lks_now_ms();
    (void)close_leader(&f->one);
    await(&f->other, 1);

    print_message("# the next leads %.1f ms after the close\n", lks_now_ms() - begin_ms);
    assert_true(lks_now_ms() - begin_ms < 900); /* woken, and not by its timer */
}

TEST(when_it_is_killed_the_next_leads_after_its_lease, struct fixture *f)
{
    atomic_int *is_elected = lks_shared(sizeof *is_elected);
    pid_t pid = lks_fork();

    if (pid == 0) {
        begin(&f->one, f->key, LEASE_MS);
        await(&f->one, 1);
        atomic_store(is_elected, 1);
        for (;;)
            pause();
    }
    LKS_EVENTUALLY(atomic_load(is_elected) == 1, SOON_MS);
    begin(&f->other, f->key, LEASE_MS);
    lks_nap(LEASE_MS); /* which is renewed */
    assert_int_equal(atomic_load(&f->other.elected), 0);
    double begin_ms = lks_now_ms();
    lks_kill(pid);
    await(&f->other, 1);

    print_message("# the next leads %.0f ms after the death\n", lks_now_ms() - begin_ms);
    assert_true(lks_now_ms() - begin_ms < LEASE_MS + 500);
}

TEST(who_resigns_lets_the_others_first, struct fixture *f)
{
    begin_both(f, LONG_MS);
    lk_leader_resign(f->other.leader); /* it does not lead: nothing happens */
    lk_leader_resign(f->one.leader);
    await(&f->other, 1);
    LKS_EVENTUALLY(atomic_load(&f->one.deposed) == 1, SOON_MS);
    assert_int_equal(lk_leader_fence(f->one.leader), 0);
    (void)close_leader(&f->other);
    await(&f->one, 2);
    assert_int_equal(atomic_load(&world.overlaps), 0);
}

TEST(alone_it_leads_again_after_a_rest, struct fixture *f)
{
    begin(&f->one, f->key, LONG_MS);
    await(&f->one, 1);
    double begin_ms = lks_now_ms();
    lk_leader_resign(f->one.leader);
    await(&f->one, 2);

    assert_true(lks_now_ms() - begin_ms >= REST_MS);
    lk_leader_resign(f->one.leader);
    LKS_EVENTUALLY(atomic_load(&f->one.deposed) == 2, SOON_MS);
    assert_true(close_leader(&f->one) < REST_MS / 2.0); /* it does not wait for the rest */
}

/* ---- trouble ------------------------------------------------------------------------------------- */

TEST(when_the_server_forgets_it_is_told_and_one_leads_again, struct fixture *f)
{
    begin_both(f, LONG_MS);
    lks_nap(300); /* a hold that is younger is looked after at its renewal */
    lks_server_kill(server);
    lks_server_restart(server);
    double begin_ms = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&f->one.deposed) == 1, SOON_MS);

    print_message("# told after %.0f ms\n", lks_now_ms() - begin_ms);
    LKS_EVENTUALLY(atomic_load(&f->one.elected) + atomic_load(&f->other.elected) == 2, SOON_MS);
}

/* Also when it is told by nobody: its own hook keeps its thread, the server says nothing. */
TEST(when_the_lease_is_over_it_does_not_lead, struct fixture *f)
{
    begin(&f->one, f->key, LEASE_MS);
    await(&f->one, 1);
    double begin_ms = lks_now_ms();
    lks_server_pause(server);
    LKS_EVENTUALLY(!lk_leader_is_leading(f->one.leader), SOON_MS);
    assert_true(lks_now_ms() - begin_ms < LEASE_MS + 500);
    LKS_EVENTUALLY(atomic_load(&f->one.deposed) == 1, 500);
    LKS_EVENTUALLY(atomic_load(&f->one.troubles) > 0, SOON_MS); /* it could not be given back */
    lks_server_resume(server);
    await(&f->one, 2);
}

static void work_until_over(lk_leader *leader, struct candidate *self)
{
    double until = lks_now_ms() + SOON_MS;

    while (lk_leader_is_leading(leader) && lks_now_ms() < until)
        lks_nap(1);
    atomic_store(&self->result, !lk_leader_is_leading(leader) && lk_leader_fence(leader) == 0);
}

static void await_seen_end(struct candidate *self, int terms)
{
    LKS_EVENTUALLY(atomic_load(&self->deposed) == terms, SOON_MS);
    assert_int_equal(atomic_exchange(&self->result, 0), 1);
}

/* By the lease, and by a resignation; nobody else can tell it: its thread is here. */
TEST(who_works_in_the_hook_sees_the_end, struct fixture *f)
{
    f->one.in_office = work_until_over;
    begin(&f->one, f->key, LEASE_MS);
    LKS_EVENTUALLY(lk_leader_is_leading(f->one.leader), SOON_MS);
    lks_server_pause(server);
    await_seen_end(&f->one, 1);
    lks_server_resume(server);
    LKS_EVENTUALLY(lk_leader_is_leading(f->one.leader), SOON_MS);
    lk_leader_resign(f->one.leader);
    await_seen_end(&f->one, 2);
}

TEST(an_error_is_told_and_waited_out_without_a_flood, struct fixture *f)
{
    LKS_DO(server, "SET", f->key, "no hash");
    begin(&f->one, f->key, LONG_MS);
    LKS_EVENTUALLY(atomic_load(&f->one.troubles) >= 3, SOON_MS);
    assert_int_equal(atomic_load(&f->one.trouble), LK_SERVER);
    int before = atomic_load(&f->one.troubles);
    lks_nap(1000);
    assert_true(atomic_load(&f->one.troubles) - before < 20);
    LKS_DO(server, "DEL", f->key);
    await(&f->one, 1);
}

/* ---- the end ------------------------------------------------------------------------------------- */

TEST(a_campaign_is_closed_at_once_and_its_lock_is_as_new, struct fixture *f)
{
    begin_both(f, LONG_MS);
    for (int i = 0; i < 20; i++) { /* before it has begun, or inside its wait */
        if (i % 5 == 0) lks_nap(20);
        assert_true(close_leader(&f->other) < 500);
        assert_int_equal(lks_acquire(f->other.lock, 20, 0), LK_BUSY); /* not CANCELLED */
        campaign(&f->other, LONG_MS);
    }
    assert_true(close_leader(&f->one) < 500);
    await(&f->other, 1);
}

TEST(it_is_closed_inside_trouble, struct fixture *f)
{
    begin_both(f, LEASE_MS);
    lks_server_pause(server);
    assert_true(close_leader(&f->one) < 2500); /* command_ms, for its release */
    assert_true(close_leader(&f->other) < 2500);
    lks_server_resume(server);
    lks_server_kill(server);
    campaign(&f->one, LEASE_MS);
    lks_nap(100);
    assert_true(close_leader(&f->one) < 1500);
    lks_server_restart(server);
    LKS_DO(server, "SET", f->key, "no hash");
    campaign(&f->one, LEASE_MS);
    LKS_EVENTUALLY(atomic_load(&f->one.troubles) >= 6, SOON_MS); /* its pauses are long by now */
    assert_true(close_leader(&f->one) < 300);
}

static void try_what_hooks_may(lk_leader *leader, struct candidate *self)
{
    struct lk_script_source source = {.source = "return 7"};
    lk_script *script = lk_script_new(&source);
    lk_reply *reply = NULL;
    struct lk_eval eval = {.script = script};

    if (lk_leader_close(leader, NULL) != LK_INVALID) atomic_store(&self->result, -1);
    if (!lk_leader_is_leading(leader) || lk_leader_fence(leader) == 0)
        atomic_store(&self->result, -2);
    if (atomic_load(&self->result) == 0 &&
        lk_guarded_eval(self->lock, &eval, 0, &reply, NULL) == LK_OK)
        atomic_store(&self->result, (int)lk_reply_integer(reply, 0));
    lk_reply_free(reply);
    lk_script_free(script);
    lk_leader_resign(leader);
}

TEST(a_hook_may_use_it_and_not_close_it, struct fixture *f)
{
    f->one.in_office = try_what_hooks_may;
    begin(&f->one, f->key, LONG_MS);
    LKS_EVENTUALLY(atomic_load(&f->one.deposed) == 1, SOON_MS);
    assert_int_equal(atomic_load(&f->one.result), 7);
}

TEST(bad_use_is_refused, struct fixture *f)
{
    struct lk_error err = {0};
    lk_client *client = lks_client(server);
    lk_lock *lock = lks_mutex(client, f->key);

    assert_null(lk_leader_new(NULL, NULL, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_null(lk_leader_new(lock, LK_OPTIONS(leader, .lease_ms = 5), &err));
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_null(lk_leader_new(lock, NULL, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
    assert_false(lk_leader_is_leading(NULL));
    assert_int_equal(lk_leader_fence(NULL), 0);
    lk_leader_resign(NULL);
    assert_int_equal(lk_leader_close(NULL, NULL), LK_OK);
}

TEST(a_child_does_not_lead_and_may_close_it, struct fixture *f)
{
    begin(&f->one, f->key, LEASE_MS);
    await(&f->one, 1);
    pid_t pid = lks_fork();
    if (pid == 0) {
        (void)alarm(10);
        lk_leader_resign(f->one.leader);
        int leads = lk_leader_is_leading(f->one.leader) || lk_leader_fence(f->one.leader) > 0;
        _exit(leads || lk_leader_close(f->one.leader, NULL) != LK_OK);
    }
    lks_expect_exit(pid);
    assert_true(lk_leader_is_leading(f->one.leader));
}
