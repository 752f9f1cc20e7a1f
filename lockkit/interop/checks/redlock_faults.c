/*
 * See redlock_checks.h: checks in which servers die and stand still. The arena revives them before
 * the next one.
 */
#include "redlock_checks.h"

enum {
    LAST = REDLOCK_NODES - 1,
    AT_ONCE_MS = 100, /* at the median; the limit of a server that is silent is 500 ms here */
    FEW = 3,
    BACK_MS = 10000,
};

static void kill_nodes(const struct duel *duel, size_t first)
{
    for (size_t i = first; i < duel->node_count; i++)
        lks_server_kill(duel->nodes[i]);
}

static bool counts_all_nodes(const struct duel *duel, struct peer *peer)
{
    static unsigned serial;
    struct duel fresh = *duel;

    (void)snprintf(fresh.key, sizeof fresh.key, "back-%u", serial++);
    unsigned id = peer_send(peer, "1 lock redlock %s wait=0 lease=30000", fresh.key);
    struct answer taken = peer_await(peer, id, NULL, BACK_MS);
    if (strcmp(taken.result, "ok") != 0) return false;
    lks_nap(20); /* for the votes that were not waited for */
    bool are_all = redlock_keys(&fresh) == fresh.node_count;
    (void)peer_await(peer, peer_send(peer, "1 unlock redlock %s", fresh.key), NULL, BACK_MS);
    return are_all;
}

static void revive(const struct duel *duel, size_t first)
{
    for (size_t i = first; i < duel->node_count; i++)
        lks_server_restart(duel->nodes[i]);
    LKS_EVENTUALLY(counts_all_nodes(duel, duel->a), BACK_MS);
    LKS_EVENTUALLY(counts_all_nodes(duel, duel->b), BACK_MS);
}

static void one_dead(struct duel *duel)
{
    kill_nodes(duel, LAST);
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)duel_lock(duel, duel->b, 1, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
    redlock_expect_free(duel);
    assert_true(redlock_take_ms(duel, duel->a, REDLOCK_TAKES_MAX) < AT_ONCE_MS);
    if (duel->is_lockkit_first) redlock_exclusion(duel);
    redlock_extension(duel);
    revive(duel, LAST);
}

static void one_paused(struct duel *duel)
{
    bool waits_for_all = redlock_traits_of(duel->a)->waits_for_all;

    lks_server_pause(duel->nodes[LAST]);
    double took_ms = redlock_take_ms(duel, duel->a, FEW);
    lks_server_resume(duel->nodes[LAST]);
    if (!waits_for_all) redlock_expect_free(duel); /* what was late is undone */
    lks_server_pause(duel->nodes[LAST]);
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)duel_lock(duel, duel->b, 1, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
    lks_server_resume(duel->nodes[LAST]);
    if (waits_for_all) {
        assert_true(took_ms > AT_ONCE_MS);
        matrix_differ(
            "the rival waits for all servers: one that stands still delays each step by the "
            "client's limit (here 500 ms); lockkit goes on at quorum");
    } else {
        assert_true(took_ms < AT_ONCE_MS);
    }
    revive(duel, duel->node_count);
}

/* One server of a lock that is held comes back empty: that lets nobody in. */
static void restarted_empty(struct duel *duel)
{
    redlock_take_all(duel, duel->a);
    const char *token = redlock_token(duel);

    lks_server_kill(duel->nodes[LAST]);
    lks_server_restart(duel->nodes[LAST]);
    (void)duel_lock(duel, duel->b, 1, "busy");
    LKS_EVENTUALLY(redlock_keys(duel) == LAST, SOON_MS);
    assert_string_equal(redlock_token(duel), token);
    (void)peer_must(duel->a, "ok", "1 renew %s %s lease=30000", duel->kind, duel->key);
    duel_unlock(duel, duel->a, 1, "ok");
    redlock_expect_free(duel);
    revive(duel, duel->node_count);
}

static void most_dead(struct duel *duel)
{
    bool tells = redlock_traits_of(duel->a)->tells_unreachable;

    kill_nodes(duel, REDLOCK_NODES - REDLOCK_QUORUM);
    (void)duel_lock(duel, duel->a, 1, tells ? "unreachable" : "busy");
    redlock_expect_free(duel); /* of the two that live */
    if (!tells) {
        matrix_differ("with most servers out of reach the rival says that it is locked; lockkit "
                      "UNREACHABLE");
    }
    revive(duel, REDLOCK_NODES - REDLOCK_QUORUM);
}

const struct check redlock_faults[] = {
    {.what = "one of five dead", .kinds = "redlock", .run = one_dead},
    {.what = "one standing still", .kinds = "redlock", .run = one_paused},
    {.what = "one restarted empty", .kinds = "redlock", .run = restarted_empty},
    {.what = "three dead", .kinds = "redlock", .run = most_dead},
    {0}};
