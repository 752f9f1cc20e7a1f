/*
 * lockkit and Redisson in one cluster: the same keys in the same slots, and each wakes the other by the
 * messages of a slot's own server (SPUBLISH, SSUBSCRIBE), also when the slot has moved.
 */
#include "interop/checks/arena.h"

#define KINDS "reentrant non-reentrant fenced fair write"

enum { MOVED_LEASE_MS = 8000, SUBSCRIBED_MS = 5000 };

static void semaphore_wake_up(struct duel *duel)
{
    (void)peer_must(duel->a, "ok", "1 set semaphore %s n=1", duel->key);
    duel_wake_up(duel);
}

/* Its channel has braces around the name, so the name must have none. */
static void latch_wake_up(struct duel *duel)
{
    size_t len = strlen(duel->key);

    memmove(duel->key, duel->key + 1, len);
    duel->key[len - 2] = '\0';
    (void)peer_must(duel->a, "ok", "1 set latch %s n=1", duel->key);
    unsigned waiter = peer_send(duel->b, "1 await latch %s wait=30000", duel->key);
    LKS_EVENTUALLY(duel_channels(duel) == 1, SUBSCRIBED_MS);
    assert_false(peer_has_answered(duel->b, waiter));
    (void)peer_must(duel->a, "ok", "1 down latch %s", duel->key);
    (void)peer_await(duel->b, waiter, "ok", SOON_MS);
}

static void move_slot(const struct duel *duel)
{
    static const char *const masters[] = {"n1", "n2", "n3"};
    int slot = (int)strtol(lkt_tell(duel->cluster, "slot %s", duel->key), NULL, 10);
    const char *owner = lkt_tell(duel->cluster, "primary %d", slot);
    size_t next = 0;

    while (next < 2 && strcmp(owner, masters[next]) != 0)
        next++;
    (void)lkt_tell(duel->cluster, "reshard %d %s", slot, masters[(next + 1) % 3]);
}

/* The server that gives a slot away drops its subscribers. */
static void wake_up_behind_a_move(struct duel *duel)
{
    (void)peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=%d", duel->kind, duel->key,
                    MOVED_LEASE_MS);
    unsigned waiter = duel_send_waiter(duel, duel->b, 1);
    move_slot(duel);
    double begin_ms = lks_now_ms();
    if (duel->b == duel_lockkit(duel)) {
        duel_await_sleeper(duel);
        print_message("# lockkit is asleep where the slot is now, after %.0f ms\n",
                      lks_now_ms() - begin_ms);
    } else {
        lks_nap(SOON_MS);
        assert_int_equal(duel_channels(duel), 0);
        matrix_differ("after a move of the slot Redisson's waiter is subscribed nowhere and comes "
                      "when the lease that it saw has ended; lockkit's follows the slot");
    }
    assert_false(peer_has_answered(duel->b, waiter));
    duel_unlock(duel, duel->a, 1, "ok");
    (void)peer_await(duel->b, waiter, "ok",
                     duel->b == duel_lockkit(duel) ? SOON_MS : MOVED_LEASE_MS + SOON_MS);
    duel_unlock(duel, duel->b, 1, "ok");
}

static const struct check checks[] = {
    {.what = "exclusion", .kinds = KINDS, .is_once = true, .run = duel_exclusion},
    {.what = "wake-up", .kinds = KINDS, .run = duel_wake_up},
    {.what = "wake-up", .kinds = "semaphore", .run = semaphore_wake_up},
    {.what = "wake-up", .kinds = "latch", .run = latch_wake_up},
    {.what = "wake-up behind a move", .kinds = "reentrant", .run = wake_up_behind_a_move},
    {.what = "lease expiry", .kinds = KINDS, .run = duel_lease_expiry},
    {.what = "renewal", .kinds = "reentrant fenced fair", .run = duel_renewal},
    {.what = "killed holder", .kinds = "reentrant", .run = duel_killed_holder},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){.name = "cluster",
                                           .is_cluster = true,
                                           .start_rival = arena_start_redisson,
                                           .tables = {checks}});
}
