/*
 * The fair lock: lockkit and Redisson in one queue. Numbers in brackets are the cases of Redisson's
 * checklist that a check covers.
 */
#include "interop/checks/hash_checks.h"

enum { QUEUE = 6 };

/* A key beside the lock's. */
static const char *beside(const struct duel *duel, const char *what)
{
    return lks_format("redisson_lock_%s:{%s}", what, duel->key);
}

static long long queued(const struct duel *duel)
{
    return LKS_INTEGER(duel->server, "LLEN", beside(duel, "queue"));
}

static bool is_queue_gone(const struct duel *duel)
{
    return LKS_INTEGER(duel->server, "EXISTS", beside(duel, "queue"), beside(duel, "timeout")) == 0;
}

static void exclusion(struct duel *duel)
{
    duel_exclusion(duel);
    assert_true(is_queue_gone(duel));
}

/* ---- order --------------------------------------------------------------------------------- */

struct waiter {
    struct peer *peer; /* borrowed */
    unsigned thread, id;
    char owner[64];
};

/* One more in the queue, behind those who are there. */
static struct waiter enqueue(const struct duel *duel, struct peer *peer, unsigned thread,
                             int64_t wait_ms)
{
    long long before = queued(duel);
    struct waiter waiter = {.peer = peer, .thread = thread};

    waiter.id = peer_send(peer, "%u lock fair %s wait=%lld lease=30000", thread, duel->key,
                          (long long)wait_ms);
    LKS_EVENTUALLY(queued(duel) == before + 1, 5000);
    (void)snprintf(waiter.owner, sizeof waiter.owner, "%s",
                   LKS_TEXT(duel->server, "LINDEX", beside(duel, "queue"), "-1"));
    return waiter;
}

/* It has the lock now, and gives it back. */
static void take_turn(const struct duel *duel, const struct waiter *waiter)
{
    (void)peer_await(waiter->peer, waiter->id, "ok", SOON_MS);
    assert_string_equal(duel_state(duel), lks_format("%s 1", waiter->owner));
    duel_unlock(duel, waiter->peer, waiter->thread, "ok");
}

static void check_scores(const struct duel *duel, const struct waiter *waiters, size_t count)
{
    double last = 0;

    for (size_t i = 0; i < count; i++) {
        double score = strtod(
            LKS_TEXT(duel->server, "ZSCORE", beside(duel, "timeout"), waiters[i].owner), NULL);

        assert_true(score > last);
        last = score;
    }
}

/* [45] */
static void order(struct duel *duel)
{
    struct waiter waiters[QUEUE];

    (void)duel_lock(duel, duel->a, 1, "ok");
    for (unsigned i = 0; i < QUEUE; i++)
        waiters[i] = enqueue(duel, i % 2 ? duel->a : duel->b, 2 + i, 30000);
    check_scores(duel, waiters, QUEUE);
    duel_unlock(duel, duel->a, 1, "ok");
    for (size_t i = 0; i < QUEUE; i++) {
        for (size_t later = i + 1; later < QUEUE; later++)
            assert_false(peer_has_answered(waiters[later].peer, waiters[later].id));
        take_turn(duel, &waiters[i]);
    }
    assert_true(is_queue_gone(duel));
    assert_false(duel_is_locked(duel));
}

/* [46] */
static void giving_up(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    struct waiter hasty = enqueue(duel, duel->b, 1, 400);
    struct waiter second = enqueue(duel, duel->a, 2, 30000);
    struct waiter third = enqueue(duel, duel->b, 2, 30000);

    (void)peer_await(hasty.peer, hasty.id, "busy", 5000);
    LKS_EVENTUALLY(queued(duel) == 2, SOON_MS);
    assert_int_equal(LKS_INTEGER(duel->server, "ZCARD", beside(duel, "timeout")), 2);
    duel_unlock(duel, duel->a, 1, "ok");
    take_turn(duel, &second);
    take_turn(duel, &third);
    assert_true(is_queue_gone(duel));
}

/* [47, 52] The next in the queue is dead: the lock is free, and nobody's until its time is over. */
static void dead_waiter(struct duel *duel)
{
    struct peer *victim = duel->is_lockkit_first ? arena_start_lockkit(duel->server, NO_POLL_MS)
                                                 : arena_start_redisson(duel->server);

    (void)peer_must(duel->a, "ok", "1 lock fair %s wait=0 lease=1000", duel->key);
    struct waiter dead = enqueue(duel, victim, 1, 700);
    struct waiter next = enqueue(duel, duel->b, 1, 30000);

    peer_kill(victim);
    double dead_at_ms = /* lockkit's renewed it until now */
        strtod(LKS_TEXT(duel->server, "ZSCORE", beside(duel, "timeout"), dead.owner), NULL);
    duel_unlock(duel, duel->a, 1, "ok");
    (void)duel_lock(duel, duel->a, 2, "busy");
    (void)duel_lock(duel, duel->b, 2, "busy");
    struct answer taken = peer_await(next.peer, next.id, "ok", 10000);
    lk_reply *time = LKS_ASK(duel->server, "TIME");
    double now_ms = strtod(lk_reply_bytes(lk_reply_at(time, 0)).data, NULL) * 1e3 +
                    strtod(lk_reply_bytes(lk_reply_at(time, 1)).data, NULL) / 1e3;
    double taken_at_ms = now_ms - (lks_now_ms() - (double)taken.ended_ns / 1e6);
    lk_reply_free(time);

    assert_true(taken_at_ms > dead_at_ms - 5);
    assert_true(taken_at_ms < dead_at_ms + 500);
    duel_unlock(duel, duel->b, 1, "ok");
    assert_true(is_queue_gone(duel));
    peer_stop(victim);
}

static const struct check own[] = {
    {.what = "exclusion", .kinds = "fair", .is_once = true, .run = exclusion},
    {.what = "order of a mixed queue", .kinds = "fair", .run = order},
    {.what = "giving up", .kinds = "fair", .run = giving_up},
    {.what = "dead waiter", .kinds = "fair", .run = dead_waiter},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){.name = "fair",
                                           .kinds = "fair",
                                           .start_rival = arena_start_redisson,
                                           .tables = {hash_checks, own}});
}
