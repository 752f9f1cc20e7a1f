/*
 * node.c with locks made up here: who takes a number, and who waits for whom. Against a real server:
 * guard_itest.c.
 * link: -Wl,--wrap=lk_mutex_new,--wrap=lk_lock_acquire,--wrap=lk_lock_release,--wrap=lk_lock_free
 * link: -Wl,--wrap=lk_held,--wrap=lk_lock_renew,--wrap=lk_client_call,--wrap=clock_unix_ms
 * link: -Wl,--wrap=lk_reply_bytes,--wrap=lk_reply_free,--wrap=lk_reply_type_of
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sale/order_id.h"
#include "sell/order_node.h"
#include "test/support/sale_fakes.h"
#include "test/support/testing.h"

/* ---- made-up locks --------------------------------------------------------------------------------- */

struct lk_lock {
    int number;
    bool is_held;
};

static struct {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    bool is_shut; /* who acquires waits */
    bool is_taken[ORDER_NODES];
    lk_status failure; /* LK_OK: none */
    unsigned acquires;
    unsigned releases;
    unsigned alive; /* handles not freed */
    lk_status renewal;
    unsigned renewals;
    unsigned waits; /* for a replica */
    int64_t now_ms;
    int64_t marks[ORDER_NODES]; /* seckill:nodes */
    bool is_mark_lost;          /* who sets one gets no answer */
    char score[32];             /* the last that was asked for */
    struct lk_lock *held;
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

FAKE(lk_lock *, lk_mutex_new, lk_client *client, const char *key, struct lk_error *err)
{
    static const char prefix[] = "seckill:node:";
    lk_lock *lock = calloc(1, sizeof *lock);

    if (!lock || strncmp(key, prefix, sizeof prefix - 1) != 0) abort();
    lock->number = (int)strtol(key + sizeof prefix - 1, NULL, 10);
    (void)pthread_mutex_lock(&world.mutex);
    world.alive++;
    (void)pthread_mutex_unlock(&world.mutex);
    return lock;
}

FAKE(lk_status, lk_lock_acquire, lk_lock *lock, const struct lk_lock_options *options,
     struct lk_error *err)
{
    if (!options->is_renewed) abort(); /* a number must outlive its lease */
    (void)pthread_mutex_lock(&world.mutex);
    world.acquires++;
    while (world.is_shut)
        (void)pthread_cond_wait(&world.changed, &world.mutex);
    lk_status status = world.failure;
    if (status == LK_OK && world.is_taken[lock->number]) status = LK_BUSY;
    if (status == LK_OK) {
        lock->is_held = true;
        world.held = lock;
    }
    (void)pthread_mutex_unlock(&world.mutex);
    return status;
}

FAKE(lk_status, lk_lock_release, lk_lock *lock, struct lk_error *err)
{
    (void)pthread_mutex_lock(&world.mutex);
    if (lock) world.releases++;
    (void)pthread_mutex_unlock(&world.mutex);
    return LK_OK;
}

FAKE(void, lk_lock_free, lk_lock *lock)
{
    (void)pthread_mutex_lock(&world.mutex);
    if (lock) world.alive--;
    (void)pthread_mutex_unlock(&world.mutex);
    free(lock);
}

FAKE(bool, lk_held, const lk_lock *lock)
{
    (void)pthread_mutex_lock(&world.mutex);
    bool is_held = lock && lock->is_held;
    (void)pthread_mutex_unlock(&world.mutex);
    return is_held;
}

FAKE(lk_status, lk_lock_renew, lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    if (lease_ms <= 0) abort();
    (void)pthread_mutex_lock(&world.mutex);
    world.renewals++;
    lk_status status = world.renewal;
    if (status == LK_LOST) lock->is_held = false;
    (void)pthread_mutex_unlock(&world.mutex);
    return status;
}

FAKE_RETURNS(int64_t, clock_unix_ms, (void), world.now_ms);

/* A reply is either a text, or none; the fakes here know them by their address. */
static char some_reply;

FAKE(lk_reply_type, lk_reply_type_of, const lk_reply *reply)
{
    return reply ? LK_REPLY_STRING : LK_REPLY_NIL;
}

FAKE(struct lk_bytes, lk_reply_bytes, const lk_reply *reply)
{
    return reply ? lk_bytes_of(world.score) : (struct lk_bytes){0};
}

FAKE(void, lk_reply_free, lk_reply *reply)
{
}

/* ZSCORE seckill:nodes N; ZADD seckill:nodes GT MS N; or what waits for a replica. */
FAKE(lk_status, lk_client_call, lk_client *client, const struct lk_command *commands, size_t count,
     int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    const struct lk_bytes *words = commands[0].args;

    if (count > 1) world.waits++;
    if (count > 1) return LK_UNREACHABLE;
    assert_string_equal(words[1].data, "seckill:nodes");
    int64_t *mark = &world.marks[strtol(words[commands[0].count - 1].data, NULL, 10)];
    if (strcmp(words[0].data, "ZADD") == 0) {
        int64_t ms = strtoll(words[3].data, NULL, 10);

        assert_string_equal(words[2].data, "GT");
        if (world.is_mark_lost) return LK_UNKNOWN;
        if (ms > *mark) *mark = ms;
    } else {
        (void)snprintf(world.score, sizeof world.score, "%lld", (long long)*mark);
    }
    replies[0] = *mark > 0 ? (lk_reply *)&some_reply : NULL;
    return LK_OK;
}

static struct deployment deployment; /* a single server, unless a test says otherwise */

static struct order_ids ids;

static struct order_node *start(lk_status failure)
{
    struct order_node *node = order_node_new(NULL, &deployment, &ids);

    assert_non_null(node);
    assert_int_equal(world.alive, 0);
    memset(world.is_taken, 0, sizeof world.is_taken);
    world.failure = failure;
    world.acquires = 0;
    world.releases = 0;
    world.is_shut = false;
    world.renewal = LK_OK;
    world.renewals = 0;
    world.waits = 0;
    world.is_mark_lost = false;
    atomic_store(&deployment.changes, 0);
    return node;
}

static void shut(bool is_shut)
{
    (void)pthread_mutex_lock(&world.mutex);
    world.is_shut = is_shut;
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
}

TEST(a_number_is_taken_once_and_kept)
{
    struct order_node *node = start(LK_OK);
    int number = order_node_number(node);

    assert_true(number >= 0 && number < ORDER_NODES);
    assert_int_equal(order_node_number(node), number);
    assert_int_equal(world.acquires, 1);
    order_node_free(node);
    assert_int_equal(world.releases, 1);
    assert_int_equal(world.alive, 0);
}

TEST(the_one_free_number_is_found)
{
    struct order_node *node = start(LK_OK);

    memset(world.is_taken, 1, sizeof world.is_taken);
    world.is_taken[321] = false;
    assert_int_equal(order_node_number(node), 321);
    order_node_free(node);
}

TEST(there_is_none_when_all_are_taken)
{
    struct order_node *node = start(LK_OK);

    memset(world.is_taken, 1, sizeof world.is_taken);
    assert_int_equal(order_node_number(node), -1);
    assert_int_equal(world.acquires, ORDER_NODES);
    order_node_free(node);
    assert_int_equal(world.alive, 0);
}

TEST(a_server_out_of_reach_is_asked_once_and_again_next_time)
{
    struct order_node *node = start(LK_UNREACHABLE);

    assert_int_equal(order_node_number(node), -1);
    assert_int_equal(world.acquires, 1);
    world.failure = LK_OK;
    assert_true(order_node_number(node) >= 0);
    order_node_free(node);
}

TEST(a_lost_number_is_given_back_and_another_taken)
{
    struct order_node *node = start(LK_OK);
    int first = order_node_number(node);

    world.held->is_held = false;
    world.is_taken[first] = true; /* somebody took it over */
    int second = order_node_number(node);
    assert_true(second >= 0 && second != first);
    assert_int_equal(world.releases, 1);
    order_node_free(node);
    assert_int_equal(world.alive, 0);
}

/* Another server is the primary: it may not have got the lease. */
TEST(after_a_change_of_servers_the_lease_is_renewed_once)
{
    struct order_node *node = start(LK_OK);
    int number = order_node_number(node);

    assert_int_equal(world.renewals, 0);
    atomic_fetch_add(&deployment.changes, 1);
    assert_int_equal(order_node_number(node), number);
    assert_int_equal(order_node_number(node), number);
    assert_int_equal(world.renewals, 1);
    assert_int_equal(world.acquires, 1);
    order_node_free(node);
    assert_int_equal(world.alive, 0);
}

TEST(a_number_that_a_failover_forgot_is_not_used_any_more)
{
    struct order_node *node = start(LK_OK);
    int first = order_node_number(node);

    world.is_taken[first] = true; /* somebody took it from the new server */
    world.renewal = LK_LOST;
    atomic_fetch_add(&deployment.changes, 1);
    int second = order_node_number(node);
    assert_true(second >= 0 && second != first);
    assert_int_equal(world.acquires, 3);
    order_node_free(node);
    assert_int_equal(world.alive, 0);
}

/* No answer to the renewal: it may be ours, or not. No id until that is known. */
TEST(a_number_that_cannot_be_asked_for_is_not_used_meanwhile)
{
    struct order_node *node = start(LK_OK);
    int number = order_node_number(node);

    atomic_fetch_add(&deployment.changes, 1);
    world.renewal = LK_UNREACHABLE;
    assert_int_equal(order_node_number(node), -1);
    assert_int_equal(order_node_number(node), -1);
    assert_int_equal(world.renewals, 2);
    world.renewal = LK_OK;
    assert_int_equal(order_node_number(node), number);
    assert_int_equal(world.acquires, 1);
    assert_int_equal(world.releases, 0);
    order_node_free(node);
}

static const int64_t today_ms = 1795168800000; /* 2026-11-20T10:00:00Z */

/* So many ids of a process that begins, ends, and takes this number; they have to be greater than `last`. */
static uint64_t make_ids(int number, int64_t now_ms, int count, uint64_t last)
{
    struct order_node *node = start(LK_OK);
    char id[ORDER_ID_MAX];

    ids = (struct order_ids){0}; /* another process */
    memset(world.is_taken, 1, sizeof world.is_taken);
    world.is_taken[number] = false;
    world.now_ms = now_ms;
    for (int i = 0; i < count; i++, world.now_ms += 100) {
        assert_int_equal(order_node_number(node), number);
        order_id_next(&ids, (unsigned)number, id);
        assert_true(strtoull(id, NULL, 10) > last);
        last = strtoull(id, NULL, 10);
    }
    order_node_free(node);
    return last;
}

TEST(a_clock_that_is_set_back_between_two_processes_repeats_no_id)
{
    memset(world.marks, 0, sizeof world.marks);
    uint64_t first = make_ids(7, today_ms, 1000, 0); /* 100 s of them */
    uint64_t second = make_ids(7, today_ms - 3600000, 10, first);
    uint64_t third = make_ids(7, today_ms + 3600000, 10, second);
    assert_int_equal(order_id_ms("0") + (int64_t)(third >> 22), world.now_ms - 100);
    (void)make_ids(8, today_ms, 1, 0);
    assert_true(world.marks[7] > today_ms + 3600000);
    assert_true(world.marks[7] <
                today_ms + 3600000 + 60000); /* a clock that is right is not far ahead */
}

/* Set back while it runs, far ahead: what was used counts, not what the clock says. */
TEST(the_mark_is_ahead_of_what_was_used)
{
    struct order_node *node = NULL;
    char id[ORDER_ID_MAX];

    memset(world.marks, 0, sizeof world.marks);
    ids = (struct order_ids){0};
    node = start(LK_OK);
    for (int i = 0; i < 100; i++) {
        world.now_ms = today_ms + (i < 50 ? 1000000LL * i : 0);
        int number = order_node_number(node);

        assert_true(number >= 0);
        order_id_next(&ids, (unsigned)number, id);
        assert_true(world.marks[number] > order_id_ms(id));
    }
    order_node_free(node);
}

TEST(without_its_mark_no_number_is_used)
{
    struct order_node *node = start(LK_OK);

    world.now_ms += 1000000;
    world.is_mark_lost = true;
    assert_int_equal(order_node_number(node), -1);
    world.is_mark_lost = false;
    assert_true(order_node_number(node) >= 0);
    order_node_free(node);
}

TEST(where_servers_may_change_a_replica_gets_the_number_first)
{
    struct order_node *node = start(LK_OK);

    assert_true(order_node_number(node) >= 0);
    assert_int_equal(world.waits, 0);
    order_node_free(node);
    deployment.kind = DEPLOYMENT_SENTINEL;
    node = start(LK_OK);
    assert_true(order_node_number(node) >= 0);
    assert_int_equal(world.waits, 1);
    order_node_free(node);
    deployment.kind = DEPLOYMENT_SINGLE;
    node = start(LK_OK);
    atomic_fetch_add(&deployment.changes, 1); /* another server behind its one name */
    assert_true(order_node_number(node) >= 0);
    assert_int_equal(world.waits, 1);
    order_node_free(node);
}

enum { ASKERS = 6 };

struct asker {
    pthread_t thread;
    struct order_node *node;
    atomic_int thread_id;
    int number;
};

static void *ask(void *arg)
{
    struct asker *asker = arg;

    atomic_store(&asker->thread_id, gettid());
    asker->number = order_node_number(asker->node);
    return NULL;
}

/* All ask while the first one's question is on its way; come back when all have their answer. */
static void ask_together(struct asker *askers, struct order_node *node)
{
    shut(true);
    for (size_t i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.node = node, .number = -2};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
        sale_await_sleep(&askers[i].thread_id, NULL);
    }
    shut(false);
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
}

TEST(those_who_ask_together_share_one_number)
{
    struct asker askers[ASKERS];
    struct order_node *node = start(LK_OK);

    ask_together(askers, node);
    assert_int_equal(world.acquires, 1);
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(askers[i].number, order_node_number(node));
    order_node_free(node);
}

/* A server that hangs costs each of them one limit, not one after the other. */
TEST(those_who_ask_together_share_a_failure)
{
    struct asker askers[ASKERS];
    struct order_node *node = start(LK_UNKNOWN);

    ask_together(askers, node);
    assert_int_equal(world.acquires, 1);
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(askers[i].number, -1);
    order_node_free(node);
}

TEST(freeing_nothing_is_fine)
{
    order_node_free(NULL);
}
