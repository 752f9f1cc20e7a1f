/*
 * Wake-ups in a real cluster: by slot, and while slots and masters move. Clients look again by
 * themselves only after POLL_MS, so who gets its lock sooner was woken.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_topology.h"

enum { POLL_MS = 40000, LEASE_MS = 120000, WAKE_MS = 10000, MOVE_MS = 20000, LOCKS = 6 };

struct contest {
    char key[32];
    lk_lock *held;
    lk_lock *wanted;
    pthread_t thread;
    atomic_bool is_over; /* the waiter has it, or has given up */
    lk_status status;    /* read after the join */
};

static struct {
    struct lkt *topology;
    lk_client *holder;
    lk_client *waiter; /* as of another process */
    struct contest contests[LOCKS];
} world;

static void *wait_main(void *arg)
{
    struct contest *contest = arg;
    struct lk_lock_options options = {.wait_ms = 2L * POLL_MS, .lease_ms = LEASE_MS};

    do { /* again while there is no master, or one that dies is asked */
        contest->status = lk_lock_acquire(contest->wanted, &options, NULL);
        lks_nap(contest->status == LK_OK ? 0 : 10);
    } while (contest->status == LK_UNREACHABLE || contest->status == LK_UNKNOWN);
    atomic_store(&contest->is_over, true);
    return NULL;
}

static void begin(size_t i)
{
    struct contest *contest = &world.contests[i];
    struct lk_lock_options options = {.lease_ms = LEASE_MS};

    *contest = (struct contest){0};
    (void)snprintf(contest->key, sizeof contest->key, "woken%zu", i);
    contest->held = lks_mutex(world.holder, contest->key);
    contest->wanted = lks_mutex(world.waiter, contest->key);
    assert_int_equal(lk_lock_acquire(contest->held, &options, NULL), LK_OK);
    assert_int_equal(pthread_create(&contest->thread, NULL, wait_main, contest), 0);
}

/* The holder lets go; how long that woke nobody. */
static double end(size_t i)
{
    struct contest *contest = &world.contests[i];

    assert_false(atomic_load(&contest->is_over));
    LKS_EVENTUALLY(lk_lock_release(contest->held, NULL) == LK_OK, MOVE_MS);
    double released_at = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&contest->is_over), WAKE_MS);
    double took_ms = lks_now_ms() - released_at;
    assert_int_equal(pthread_join(contest->thread, NULL), 0);
    assert_int_equal(contest->status, LK_OK);
    assert_int_equal(lk_lock_release(contest->wanted, NULL), LK_OK);
    lk_lock_free(contest->held);
    lk_lock_free(contest->wanted);
    return took_ms;
}

/* How many channels by slot have a listener at a server. */
static size_t listened_at(const char *name)
{
    lk_reply *reply = LKS_ASK(lkt_server(world.topology, name), "PUBSUB", "SHARDCHANNELS");
    size_t count = lk_reply_count(reply);

    lk_reply_free(reply);
    return count;
}

/* Who has listeners; NULL: nobody but perhaps this one. */
static const char *listened_but_at(const char *dead)
{
    for (size_t i = 0; i < world.topology->count; i++) {
        const char *name = world.topology->names[i];

        if (strcmp(name, dead) != 0 && listened_at(name) > 0) return name;
    }
    return NULL;
}

static void release_wakes_waiters_at_every_master(void)
{
    double longest_ms = 0;

    for (size_t i = 0; i < LOCKS; i++)
        begin(i);
    LKS_EVENTUALLY(listened_at("n1") + listened_at("n2") + listened_at("n3") == LOCKS, WAKE_MS);
    assert_true(listened_at("n1") > 0 && listened_at("n2") > 0 && listened_at("n3") > 0);
    for (size_t i = 0; i < LOCKS; i++) {
        double took_ms = end(i);

        if (took_ms > longest_ms) longest_ms = took_ms;
    }
    print_message("# %d hand-overs on three masters: %.2f ms at most\n", LOCKS, longest_ms);
}

/* "n2": who has the slot of a key. */
static void owner_of(const char *key, char out[8])
{
    char slot[8];

    (void)snprintf(slot, sizeof slot, "%s", lkt_tell(world.topology, "slot %s", key));
    (void)snprintf(out, 8, "%s", lkt_tell(world.topology, "primary %s", slot));
}

static void a_waiter_goes_along_with_its_slot(void)
{
    char from[8], slot[8];

    LKS_EVENTUALLY(!listened_but_at("nowhere"), MOVE_MS);
    begin(0);
    owner_of(world.contests[0].key, from);
    const char *to = strcmp(from, "n1") == 0 ? "n2" : "n1";
    LKS_EVENTUALLY(listened_at(from) == 1, WAKE_MS);
    (void)snprintf(slot, sizeof slot, "%s",
                   lkt_tell(world.topology, "slot %s", world.contests[0].key));
    (void)lkt_tell(world.topology, "reshard %s %s", slot, to);
    LKS_EVENTUALLY(listened_at(to) == 1 && listened_at(from) == 0, WAKE_MS);

    print_message("# woken %.2f ms after a release at the slot's new master\n", end(0));
}

/* Two servers change places, and nothing breaks. */
static void a_waiter_goes_along_when_its_master_hands_over(void)
{
    char old[8], now[8];

    begin(1);
    owner_of(world.contests[1].key, old);
    LKS_EVENTUALLY(listened_at(old) == 1, WAKE_MS);
    (void)snprintf(now, sizeof now, "n%d", old[1] - '0' + 3);
    assert_string_equal(lkt_tell(world.topology, "failover %s", now), now);
    LKS_EVENTUALLY(listened_at(now) == 1, MOVE_MS);

    print_message("# woken %.2f ms after a release at the master that took over\n", end(1));
}

static void a_waiter_goes_along_when_its_master_dies(void)
{
    struct lks_server *server = NULL;
    char old[8], mark[48];

    LKS_EVENTUALLY(!listened_but_at("nowhere"), MOVE_MS);
    begin(2);
    owner_of(world.contests[2].key, old);
    LKS_EVENTUALLY(listened_at(old) == 1, WAKE_MS);
    server = lkt_server(world.topology, old);
    (void)snprintf(mark, sizeof mark, "{%s}mark", world.contests[2].key);
    LKS_DO(server, "SET", mark, "behind the hold, which the replica thus has as well");
    assert_int_equal(LKS_INTEGER(server, "WAIT", "1", "10000"), 1);
    double killed_at = lks_now_ms();
    (void)lkt_tell(world.topology, "kill %s", old);
    LKS_EVENTUALLY(listened_but_at(old), MOVE_MS);
    double moved_ms = lks_now_ms() - killed_at;

    print_message("# listens to the new master %.0f ms after the old one was killed\n", moved_ms);
    print_message("# woken %.2f ms after a release there\n", end(2));
}

TEST(waiters_are_woken_wherever_their_channels_go)
{
    struct lk_client_options options = {.poll_ms = POLL_MS, .backoff_ms = 100};

    world.topology = lkt_start(&(struct lkt_options){.is_cluster = true});
    world.holder = lkt_client_with(world.topology, options);
    world.waiter = lkt_client_with(world.topology, options);
    release_wakes_waiters_at_every_master();
    a_waiter_goes_along_with_its_slot();
    a_waiter_goes_along_when_its_master_hands_over();
    a_waiter_goes_along_when_its_master_dies();
    lk_client_close(world.waiter);
    lk_client_close(world.holder);
    lkt_stop(world.topology);
}
