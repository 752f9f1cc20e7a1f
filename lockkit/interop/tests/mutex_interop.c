/*
 * The mutex: lockkit and redis-py's Lock on the same keys. redis-py has no messages: who waits for
 * the other asks again and again, and lockkit is told here to do so as well.
 */
#include "interop/checks/arena.h"
#include "interop/checks/mutex_checks.h"

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

/* redis-py's default: no timeout. Then there is no lease to sleep for. */
static void a_lock_without_end(struct duel *duel)
{
    struct peer *waiting = arena_start_lockkit(duel->server, MUTEX_POLL_MS);

    (void)peer_must(duel->b, "ok", "1 lock mutex %s", duel->key);
    assert_int_equal(duel_ttl_ms(duel), -1);
    unsigned waiter = duel_send_waiter(duel, waiting, 1);
    duel_unlock(duel, duel->b, 1, "ok");
    (void)peer_await(waiting, waiter, "ok", SOON_MS);
    duel_unlock(duel, waiting, 1, "ok");
    peer_stop(waiting);
}

static const struct check checks[] = {
    {.what = "exclusion", .kinds = "mutex", .is_once = true, .run = mutex_exclusion},
    {.what = "hand-over by polling", .kinds = "mutex", .run = mutex_hand_over},
    {.what = "keys and TTL", .kinds = "mutex", .run = mutex_keys_and_ttl},
    {.what = "messages", .kinds = "mutex", .is_once = true, .run = mutex_messages},
    {.what = "release by others", .kinds = "mutex", .run = release_by_others},
    {.what = "force unlock by lockkit", .kinds = "mutex", .run = mutex_force_unlock},
    {.what = "lost hold", .kinds = "mutex", .run = mutex_lost_hold},
    {.what = "lease prolonged by hand", .kinds = "mutex", .run = mutex_prolonged_by_hand},
    {.what = "lock without lease", .kinds = "mutex", .is_once = true, .run = a_lock_without_end},
    {.what = "lease expiry", .kinds = "mutex", .run = duel_lease_expiry},
    {.what = "renewal", .kinds = "mutex", .run = mutex_renewal},
};

int main(void)
{
    return arena_run(&(struct arena){
        .name = "mutex", .start_rival = arena_start_redis_py, ARENA_CHECKS(checks)});
}
