/*
 * Slots that move from one master to another while their locks are held, waited for and renewed: MOVED
 * behind the move, ASK and TRYAGAIN in the middle of it.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/slot.h"
#include "test/support/lk_any.h"
#include "test/support/lk_crew.h"
#include "test/support/lk_topology.h"

enum {
    SOON_MS = 8000, /* and not by the timer */
    POLL_MS = 20000,
    LEASE_MS = 60000,
    SHORT_LEASE_MS = 3600,
    COMMAND_MS = 5000,
    IN_BETWEEN_MS = 300,
    MOVES = 12,
    TURNS = 50,
};

static struct lkt *topology;
static lk_client *mine;
static lk_client *other; /* as another process would have */
static atomic_int changes, renewals;

static void count(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_TOPOLOGY) atomic_fetch_add(&changes, 1);
    if (event->type == LK_EVENT_RENEW && event->status == LK_OK) atomic_fetch_add(&renewals, 1);
}

static int slot_of(const char *key)
{
    return lki_slot_of(key, strlen(key));
}

static void owner_of(int slot, char out[8])
{
    (void)snprintf(out, 8, "%s", lkt_tell(topology, "primary %d", slot));
}

/* Another one of the masters, which are n1, n2, n3 all the time here. */
static const char *another(const char *owner)
{
    return strcmp(owner, "n1") == 0 ? "n2" : strcmp(owner, "n2") == 0 ? "n3" : "n1";
}

static void move_slot(int slot)
{
    char owner[8];

    owner_of(slot, owner);
    (void)lkt_tell(topology, "reshard %d %s", slot, another(owner));
}

/* ---- a slot that has moved -------------------------------------------------------------------------- */

static void move_under(size_t kind)
{
    char key[64];
    struct lks_any any;
    struct lks_any rival;
    struct lk_error err = {0};
    struct lk_lock_options options = {.lease_ms = LEASE_MS};

    (void)snprintf(key, sizeof key, "{moved}-%zu", kind);
    lks_any_prepare(kind, mine, key);
    lks_any_new(&any, kind, mine, key);
    lks_any_new(&rival, kind, other, key);
    assert_int_equal(lk_lock_acquire(any.lock, &options, NULL), LK_OK);
    if (kind != LKS_ANY_READ) assert_int_equal(lk_lock_acquire(rival.lock, NULL, NULL), LK_BUSY);
    move_slot(slot_of(key));
    if (kind != LKS_ANY_READ) assert_int_equal(lk_lock_acquire(rival.lock, NULL, NULL), LK_BUSY);
    if (lk_lock_renew(any.lock, 0, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    move_slot(slot_of(key));
    if (lk_lock_release(any.lock, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    if (lk_lock_acquire(rival.lock, NULL, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    assert_int_equal(lk_lock_release(rival.lock, NULL), LK_OK);
    lks_any_free(&any);
    lks_any_free(&rival);
}

TEST(holds_of_every_kind_go_along_with_their_slot)
{
    atomic_store(&changes, 0);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        move_under(kind);
    LKS_EVENTUALLY(atomic_load(&changes) > 0, SOON_MS); /* and the hook hears of it */
}

TEST(the_watchdog_follows_the_slot)
{
    lk_lock *lock = lk_reentrant_new(mine, "renewed", NULL);
    struct lk_lock_options options = {.lease_ms = SHORT_LEASE_MS, .is_renewed = true};

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    for (int i = 0; i < 3; i++) {
        move_slot(slot_of("renewed"));
        int before = atomic_load(&renewals);
        LKS_EVENTUALLY(atomic_load(&renewals) > before, SOON_MS);
        assert_true(lk_held(lock));
    }
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
}

static long long sharded_subscribers(const char *server, const char *channel)
{
    lk_reply *reply = LKS_ASK(lkt_server(topology, server), "PUBSUB", "SHARDNUMSUB", channel);
    long long count = lk_reply_integer(lk_reply_at(reply, 1), -1);

    lk_reply_free(reply);
    return count;
}

/* A server that gives a slot away drops its sharded subscribers: the waiter must come along. */
static void move_under_waiter(int number)
{
    char key[64];
    char channel[96];
    char owner[8];

    (void)snprintf(key, sizeof key, "waited-%d", number);
    (void)snprintf(channel, sizeof channel, "lockkit_wake:{%s}", key);
    lk_lock *held = lks_mutex(mine, key);
    struct lks_wait wait;
    assert_int_equal(lk_lock_acquire(held, NULL, NULL), LK_OK);
    lks_wait_start(&wait, lks_mutex(other, key), 60000);
    owner_of(slot_of(key), owner);
    LKS_EVENTUALLY(sharded_subscribers(owner, channel) == 1, SOON_MS);
    move_slot(slot_of(key));
    owner_of(slot_of(key), owner);
    LKS_EVENTUALLY(sharded_subscribers(owner, channel) == 1, SOON_MS);
    lks_nap(5); /* it looks once more, and sleeps */
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(held, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# woken behind the move in %.1f ms\n", wait.ended_at_ms - begin);
    assert_true(wait.ended_at_ms - begin < SOON_MS);
    assert_int_equal(lk_lock_release(wait.lock, NULL), LK_OK);
    lk_lock_free(held);
    lk_lock_free(wait.lock);
}

TEST(a_waiter_is_woken_from_where_the_slot_is_now)
{
    for (int i = 0; i < 3; i++)
        move_under_waiter(i);
}

/* ---- in the middle of a move ------------------------------------------------------------------------- */

/* A key that is not there yet is asked for at the target (ASK): one round more, and it works. */
TEST(what_one_command_does_works_in_the_middle_of_a_move)
{
    char from[8];
    lk_lock *lock = lks_mutex(mine, "asked");
    int slot = slot_of("asked");
    char slot_text[8];

    owner_of(slot, from);
    const char *to = another(from);
    (void)snprintf(slot_text, sizeof slot_text, "%d", slot);
    (void)lkt_tell(topology, "begin %d %s", slot, to);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, NULL),
                     LK_OK);
    double took_ms = lks_now_ms() - begin;
    assert_int_equal(LKS_INTEGER(lkt_server(topology, to), "CLUSTER", "COUNTKEYSINSLOT", slot_text),
                     1);
    (void)lkt_tell(topology, "move %d %s", slot, to);
    (void)lkt_tell(topology, "end %d %s", slot, to);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_true(took_ms < SOON_MS);
    lk_lock_free(lock);
}

struct crossing {
    struct lks_any any;
    size_t kind;
    pthread_t thread;
    lk_status acquired, released;
};

static void *cross(void *arg)
{
    struct crossing *crossing = arg;
    struct lk_lock_options options = {.lease_ms = LEASE_MS};

    crossing->acquired = lk_lock_acquire(crossing->any.lock, &options, NULL);
    crossing->released = lk_lock_release(crossing->any.lock, NULL);
    return NULL;
}

/* What needs several keys gets TRYAGAIN until the move is over, and is repeated until then. */
TEST(every_kind_gets_through_a_move)
{
    static struct crossing crossings[LKS_ANY_KINDS];
    int slot = slot_of("{crossed}");
    char from[8];

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        char key[64];

        (void)snprintf(key, sizeof key, "{crossed}-%zu", kind);
        lks_any_prepare(kind, mine, key);
        lks_any_new(&crossings[kind].any, kind, kind % 2 == 0 ? mine : other, key);
    }
    owner_of(slot, from);
    const char *to = another(from);
    (void)lkt_tell(topology, "begin %d %s", slot, to);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        assert_int_equal(pthread_create(&crossings[kind].thread, NULL, cross, &crossings[kind]), 0);
    lks_nap(IN_BETWEEN_MS);
    (void)lkt_tell(topology, "move %d %s", slot, to);
    lks_nap(IN_BETWEEN_MS);
    (void)lkt_tell(topology, "end %d %s", slot, to);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        assert_int_equal(pthread_join(crossings[kind].thread, NULL), 0);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        if (crossings[kind].acquired != LK_OK || crossings[kind].released != LK_OK)
            fail_msg("%s: %s, %s", crossings[kind].any.name,
                     lk_status_name(crossings[kind].acquired),
                     lk_status_name(crossings[kind].released));
        lks_any_free(&crossings[kind].any);
    }
}

/* A slot that goes from master to master while many want its lock: nobody ever meets anybody. */
TEST(nothing_overlaps_while_a_slot_wanders)
{
    struct lks_crew_report report;
    struct lks_crew *crew = lks_crew_start(&(struct lks_crew_options){.url = topology->url,
                                                                      .key = "wanderer",
                                                                      .clients = 3,
                                                                      .threads = 2,
                                                                      .lease_ms = 10000,
                                                                      .command_ms = COMMAND_MS});

    for (int i = 0; i < MOVES; i++) {
        lks_crew_go_on(crew, TURNS, LEASE_MS);
        move_slot(slot_of("wanderer"));
    }
    lks_crew_go_on(crew, TURNS, LEASE_MS);
    print_message("# %d moves of the slot under contention:\n", MOVES);
    lks_crew_stop(crew, &report);

    assert_int_equal(report.overlaps, 0);
    assert_int_equal(report.lost, 0);
    assert_int_equal(report.acquires[LK_SERVER] + report.releases[LK_SERVER], 0);
    assert_int_equal(report.acquires[LK_UNREACHABLE] + report.releases[LK_UNREACHABLE], 0);
    assert_int_equal(report.acquires[LK_UNKNOWN] + report.releases[LK_UNKNOWN], 0);
}

BEFORE_ALL()
{
    struct lk_client_options options = {
        .poll_ms = POLL_MS, .command_ms = COMMAND_MS, .on_event = count};

    topology = lkt_start(&(struct lkt_options){.is_cluster = true});
    lkt_be_patient(topology);
    mine = lkt_client_with(topology, options);
    other = lkt_client_with(topology, options);
}

AFTER_ALL()
{
    lk_client_close(mine);
    lk_client_close(other);
    lkt_stop(topology);
}
