/*
 * FLAWED on purpose, and only for the lab: the lock is on other servers than the stock, so that nothing can
 * check the owner in the step that writes. Read, decide and write trust it. Any thread.
 */
#include "base/clock.h"
#include "guards/shared/by_hand.h"
#include "scenarios.h"

static struct guard_result sell_holding(lk_lock *lock, const struct lk_lock_options *options,
                                        struct by_hand *hand)
{
    int64_t deadline_ms = clock_mono_ms() + hand->ctx->limit_ms;
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    lk_status status = lk_lock_acquire(lock, options, &result.error);

    if (status == LK_BUSY) result.status = GUARD_BUSY;
    if (status != LK_OK) return result;
    result = by_hand_sell(hand, deadline_ms, lock);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it */
    return result;
}

/* guard.way of these: the lock of the sale, on the servers of redlock. */
struct elsewhere {
    lk_lock *(*make)(const struct guard_servers *servers, const char *key, struct lk_error *err);
};

static struct guard_result sell(const struct guard_ctx *ctx, struct purchase **batch, size_t count)
{
    const struct lk_lock_options options = {.wait_ms = ctx->wait_ms, .lease_ms = ctx->lease_ms};
    const struct elsewhere *way = ctx->guard->way;
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;
    lk_lock *lock = NULL;

    if (by_hand_make(ctx, batch, count, &hand))
        lock = way->make(ctx->servers, hand.keys.text[KEY_LOCK], &result.error);
    if (lock) result = sell_holding(lock, &options, &hand);
    lk_lock_free(lock);
    by_hand_done(&hand);
    return result;
}

static lk_lock *make_mutex(const struct guard_servers *servers, const char *key,
                           struct lk_error *err)
{
    return lk_mutex_new(servers->redlock.clients[0], key, err);
}

const struct guard scenario_guard_mutex_elsewhere = {
    .name = "mutex-elsewhere",
    .idea = "lockkit's mutex on a server of its own; the write trusts it",
    .flaw = "a failover of that server forgets the lock",
    .expected = VERDICT_OVERSELLS,
    .has_replica = true,
    .sell = sell,
    .way = &(const struct elsewhere){make_mutex},
};

static lk_lock *make_redlock(const struct guard_servers *servers, const char *key,
                             struct lk_error *err)
{
    return lk_redlock_new(servers->redlock.clients, servers->redlock.count, key, NULL, err);
}

const struct guard scenario_guard_redlock_unchecked = {
    .name = "redlock-unchecked",
    .idea = "lockkit's redlock over independent servers; the write trusts it",
    .flaw = "a server that forgets its vote can make a second majority",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_REDLOCK,
    .sell = sell,
    .way = &(const struct elsewhere){make_redlock},
};

static lk_lock *make_advisory(const struct guard_servers *servers, const char *key,
                              struct lk_error *err)
{
    return lk_advisory_new(servers->clients[NEED_POSTGRES], key, err);
}

const struct guard scenario_guard_advisory_elsewhere = {
    .name = "advisory-elsewhere",
    .idea = "an advisory lock of a session in PostgreSQL; the write in Redis trusts it",
    .flaw = "a session ends, and with it the lock, while its owner is about to write",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_POSTGRES,
    .sell = sell,
    .way = &(const struct elsewhere){make_advisory},
};

static lk_lock *make_node(const struct guard_servers *servers, const char *key,
                          struct lk_error *err)
{
    return lk_mutex_new(servers->clients[NEED_ZOOKEEPER], key, err);
}

const struct guard scenario_guard_zookeeper_unchecked = {
    .name = "zookeeper-unchecked",
    .idea = "lockkit's mutex in ZooKeeper; the write in Redis trusts it",
    .flaw =
        "a session that is heard of no more ends, and with it the lock of who is about to write",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_ZOOKEEPER,
    .sell = sell,
    .way = &(const struct elsewhere){make_node},
};
