/*
 * The mutex: lockkit and redis-py's Lock on the same keys. redis-py has no messages: who waits for
 * the other asks again and again, and lockkit is told here to do so as well.
 */
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

static void renewal(struct duel *duel)
{
    mutex_renewal(duel, duel->is_lockkit_first);
}

static const struct check own[] = {
    {.what = "release by others", .kinds = "mutex", .run = release_by_others},
    {.what = "lock without lease", .kinds = "mutex", .is_once = true, .run = a_lock_without_end},
    {.what = "renewal", .kinds = "mutex", .run = renewal},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){
        .name = "mutex", .start_rival = arena_start_redis_py, .tables = {mutex_checks, own}});
}
