/*
 * The mutex: lockkit and redis-py's Lock on the same keys. redis-py has no messages: who waits for
 * the other asks again and again, and lockkit is told here to do so as well.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"

enum { POLL_MS = 20 };

static void keys_and_ttl(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    const char *token = duel_state(duel);

    assert_string_equal(LKS_TEXT(duel->server, "TYPE", duel->key), "string");
    assert_int_equal(strlen(token), 32);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    (void)duel_lock(duel, duel->b, 1, "busy");
    (void)duel_lock(duel, duel->a, 2, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
    assert_false(duel_is_locked(duel));
}

/* A check, with a lockkit that asks often. */
static void run_polling(struct duel *duel, void (*run)(struct duel *duel))
{
    struct peer *polling = arena_start_lockkit(duel->server, POLL_MS);
    struct duel other = *duel;

    *(duel->is_lockkit_first ? &other.a : &other.b) = polling;
    run(&other);
    peer_stop(polling);
}

static void exclusion(struct duel *duel)
{
    run_polling(duel, duel_exclusion);
}

static void hand_over(struct duel *duel)
{
    run_polling(duel, duel_wake_up);
}

/* A waiting lockkit that counts on messages finds the release of a redis-py when it next asks. */
static void no_message(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    (void)duel_lock(duel, duel_rival(duel), 1, "ok");
    duel_unlock(duel, duel_rival(duel), 1, "ok");
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"PUBLISH\""), 0);
    (void)duel_lock(duel, duel_lockkit(duel), 1, "ok");
    duel_unlock(duel, duel_lockkit(duel), 1, "ok");
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"PUBLISH\""), 1);
    matrix_differ("redis-py publishes nothing and never listens: its release is found by lockkit's "
                  "poll_ms, lockkit's by redis-py's sleep");
    lks_monitor_close(monitor);
}

static void release_by_others(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    const char *token = duel_state(duel);

    duel_unlock(duel, duel->b, 1, duel->is_lockkit_first ? "not-owner" : "ok");
    assert_string_equal(duel_state(duel), token);
    LKS_DO(duel->server, "DEL", duel->key);
    duel_unlock(duel, duel->a, 1, "not-owner");
    matrix_differ(
        "a release by who never took it: redis-py raises, lockkit has nothing to do (OK)");
}

static void thrown_out(struct duel *duel)
{
    if (duel->is_lockkit_first) return; /* redis-py cannot */
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)peer_must(duel->b, "ok", "1 force mutex %s", duel->key);
    (void)duel_lock(duel, duel->b, 1, "ok");
    duel_unlock(duel, duel->a, 1, "not-owner");
    assert_true(duel_is_locked(duel));
    duel_unlock(duel, duel->b, 1, "ok");
}

static void prolonged_by_hand(struct duel *duel)
{
    (void)peer_must(duel->a, "ok", "1 lock mutex %s wait=0 lease=400", duel->key);
    (void)peer_must(duel->a, "ok", "1 renew mutex %s lease=30000", duel->key);
    assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    (void)peer_must(duel->b, "busy", "1 lock mutex %s wait=600 lease=30000", duel->key);
    duel_unlock(duel, duel->a, 1, "ok");
}

/* redis-py's default: no timeout. Then there is no lease to sleep for. */
static void a_lock_without_end(struct duel *duel)
{
    struct peer *waiting = arena_start_lockkit(duel->server, POLL_MS);

    (void)peer_must(duel->b, "ok", "1 lock mutex %s", duel->key);
    assert_int_equal(duel_ttl_ms(duel), -1);
    unsigned waiter = duel_send_waiter(duel, waiting, 1);
    duel_unlock(duel, duel->b, 1, "ok");
    (void)peer_await(waiting, waiter, "ok", SOON_MS);
    duel_unlock(duel, waiting, 1, "ok");
    peer_stop(waiting);
}

static void renewal(struct duel *duel)
{
    if (duel->is_lockkit_first) duel_renewal(duel); /* redis-py has no watchdog */
}

static const struct check checks[] = {
    {.what = "exclusion", .kinds = "mutex", .is_once = true, .run = exclusion},
    {.what = "hand-over by polling", .kinds = "mutex", .run = hand_over},
    {.what = "keys and TTL", .kinds = "mutex", .run = keys_and_ttl},
    {.what = "messages", .kinds = "mutex", .is_once = true, .run = no_message},
    {.what = "release by others", .kinds = "mutex", .run = release_by_others},
    {.what = "force unlock by lockkit", .kinds = "mutex", .run = thrown_out},
    {.what = "lease prolonged by hand", .kinds = "mutex", .run = prolonged_by_hand},
    {.what = "lock without lease", .kinds = "mutex", .is_once = true, .run = a_lock_without_end},
    {.what = "lease expiry", .kinds = "mutex", .run = duel_lease_expiry},
    {.what = "renewal by lockkit", .kinds = "mutex", .is_once = true, .run = renewal},
};

int main(void)
{
    return arena_run(&(struct arena){.name = "mutex",
                                     .start_rival = arena_start_redis_py,
                                     .checks = checks,
                                     .count = sizeof checks / sizeof checks[0]});
}
