/*
 * See redlock_checks.h. None of the libraries has messages between them: who waits asks again every
 * 10 ms or so.
 */
#include "redlock_checks.h"

enum { EARLY_MS = 5 };

static const struct redlock_traits traits[] = {
    {.version = "lockkit-", .has_watchdog = true, .tells_unreachable = true, .drift_ms = 302},
    {.version = "redsync-", .waits_for_all = true, .tells_unreachable = true, .drift_ms = 300},
    {.version = "node-redlock-4.", .waits_for_all = true, .drift_ms = 302},
    {.version = "node-redlock-5.",
     .keeps_minority = true,
     .has_watchdog = true,
     .tells_unreachable = true,
     .drift_ms = 302},
};

const struct redlock_traits *redlock_traits_of(const struct peer *peer)
{
    const struct redlock_traits *of = traits;

    while (strncmp(peer_version(peer), of->version, strlen(of->version)) != 0)
        assert_true(++of < traits + sizeof traits / sizeof traits[0]);
    return of;
}

/* ---- words --------------------------------------------------------------------------------- */

/* The duel as one server sees it. */
static struct duel on(const struct duel *duel, size_t node)
{
    struct duel one = *duel;

    one.server = duel->nodes[node];
    return one;
}

static bool has_key(const struct duel *duel, size_t node)
{
    struct duel one = on(duel, node);

    return one.server->pid > 0 && duel_is_locked(&one);
}

size_t redlock_keys(const struct duel *duel)
{
    size_t count = 0;

    for (size_t i = 0; i < duel->node_count; i++)
        count += has_key(duel, i);
    return count;
}

void redlock_expect_free(const struct duel *duel)
{
    LKS_EVENTUALLY(redlock_keys(duel) == 0, SOON_MS);
}

/* NULL: there is none, or not the same everywhere. */
static const char *common_token(const struct duel *duel)
{
    const char *token = NULL;

    for (size_t i = 0; i < duel->node_count; i++) {
        struct duel one = on(duel, i);
        const char *here = has_key(duel, i) ? duel_state(&one) : NULL;

        if (here && token && strcmp(here, token) != 0) return NULL;
        if (here) token = here;
    }
    return token;
}

const char *redlock_token(const struct duel *duel)
{
    const char *token = common_token(duel);

    assert_non_null(token);
    return token;
}

void redlock_take_all(const struct duel *duel, struct peer *peer)
{
    (void)duel_lock(duel, peer, 1, "ok");
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_NODES, SOON_MS);
}

/* It is on a majority, untouched and with about the lease. */
static void expect_held(const struct duel *duel, const char *token, long long least_ms)
{
    assert_string_equal(redlock_token(duel), token);
    assert_true(redlock_keys(duel) >= REDLOCK_QUORUM);
    for (size_t i = 0; i < duel->node_count; i++) {
        struct duel one = on(duel, i);

        if (has_key(duel, i)) assert_in_range(duel_ttl_ms(&one), least_ms, 30000);
    }
}

double redlock_take_ms(const struct duel *duel, struct peer *peer, size_t times)
{
    double took_ms[REDLOCK_TAKES_MAX] = {0};

    for (size_t i = 0; i < times; i++) {
        struct answer taken = duel_lock(duel, peer, 1, "ok");

        took_ms[i] = (double)(taken.ended_ns - taken.began_ns) / 1e6;
        duel_unlock(duel, peer, 1, "ok");
    }
    double median_ms = duel_median(took_ms, times);
    print_message("# %s takes it in %.2f ms at the median\n", peer_version(peer), median_ms);
    matrix_note("%.*s %.1f ms", (int)peer_name_len(peer), peer_version(peer), median_ms);
    return median_ms;
}

/* Put somebody else's key on the first n servers, or free it there. */
static void occupy(const struct duel *duel, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LKS_DO(duel->nodes[i], "SET", duel->key, "somebody", "PX", "30000");
}

static void vacate(const struct duel *duel, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LKS_DO(duel->nodes[i], "DEL", duel->key);
}

/* ---- exclusion and hand-over --------------------------------------------------------------- */

void redlock_exclusion(struct duel *duel)
{
    duel_exclusion(duel);
    redlock_expect_free(duel);
}

static void hand_over(struct duel *duel)
{
    duel_wake_up(duel);
    redlock_expect_free(duel);
}

static void keys_and_ttl(struct duel *duel)
{
    redlock_take_all(duel, duel->a);
    const char *token = redlock_token(duel);

    mutex_expect_token(duel->a, token);
    (void)duel_lock(duel, duel->b, 1, "busy");
    (void)duel_lock(duel, duel->a, 2, "busy");
    expect_held(duel, token, 29000);
    duel_unlock(duel, duel->a, 1, "ok");
    redlock_expect_free(duel);
}

/* All subtract a hundredth for the drift of clocks, all but redsync 2 ms besides. */
static void validity(struct duel *duel)
{
    long long drift_ms = redlock_traits_of(duel->a)->drift_ms;
    struct answer taken = duel_lock(duel, duel->a, 1, "ok");
    long long good_ms = strtoll(taken.value, NULL, 10);

    assert_in_range(good_ms, 29000, 30000 - drift_ms);
    if (!duel->is_lockkit_first) matrix_note("drift of 30 s: %lld ms", drift_ms);
    duel_unlock(duel, duel->a, 1, "ok");
}

/* ---- what is left of a hold ---------------------------------------------------------------- */

/* Thrown out of all servers while its lease runs. */
static void lost_hold(struct duel *duel)
{
    redlock_take_all(duel, duel->a);
    vacate(duel, REDLOCK_NODES);
    redlock_take_all(duel, duel->b);
    const char *token = redlock_token(duel);

    (void)peer_must(duel->a, "lost", "1 renew %s %s lease=60000", duel->kind, duel->key);
    duel_unlock(duel, duel->a, 1, "not-owner");
    expect_held(duel, token, 1);
    duel_unlock(duel, duel->b, 1, "ok");
    redlock_expect_free(duel);
}

static void minority_lost(struct duel *duel)
{
    redlock_take_all(duel, duel->a);
    const char *token = redlock_token(duel);

    vacate(duel, REDLOCK_NODES - REDLOCK_QUORUM);
    (void)duel_lock(duel, duel->b, 1, "busy");
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_QUORUM, SOON_MS);
    assert_string_equal(redlock_token(duel), token);
    (void)peer_must(duel->a, "ok", "1 renew %s %s lease=30000", duel->kind, duel->key);
    assert_int_equal(redlock_keys(duel), REDLOCK_QUORUM);
    duel_unlock(duel, duel->a, 1, "ok");
    redlock_expect_free(duel);
}

static void majority_lost(struct duel *duel)
{
    redlock_take_all(duel, duel->a);
    vacate(duel, REDLOCK_QUORUM);
    (void)duel_lock(duel, duel->b, 1, "ok");
    (void)peer_must(duel->a, "lost", "1 renew %s %s lease=30000", duel->kind, duel->key);
    duel_unlock(duel, duel->a, 1, "not-owner");
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_QUORUM, SOON_MS); /* what a had left is gone */
    (void)redlock_token(duel);
    duel_unlock(duel, duel->b, 1, "ok");
    redlock_expect_free(duel);
}

/* ---- split votes --------------------------------------------------------------------------- */

/* Others hold two of the five: there is a majority left, for one of the sides. */
static void two_taken(struct duel *duel)
{
    occupy(duel, REDLOCK_NODES - REDLOCK_QUORUM);
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)duel_lock(duel, duel->b, 1, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_NODES - REDLOCK_QUORUM, SOON_MS);
    assert_string_equal(redlock_token(duel), "somebody");
}

/* Others hold three: who cannot have it leaves nothing behind; who waits has it when one is free. */
static void three_taken(struct duel *duel)
{
    occupy(duel, REDLOCK_QUORUM);
    (void)duel_lock(duel, duel->a, 1, "busy");
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_QUORUM, SOON_MS);
    assert_string_equal(redlock_token(duel), "somebody");
    unsigned waiter = duel_send_waiter(duel, duel->a, 1);
    vacate(duel, 1);
    (void)peer_await(duel->a, waiter, "ok", SOON_MS);
    (void)duel_lock(duel, duel->b, 1, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
}

/* ---- the rival's own way of waiting -------------------------------------------------------- */

/* Three tries for what cannot be had: what happens to the minority that each has won? */
static void own_retries(struct duel *duel)
{
    struct lks_server *last = duel->nodes[REDLOCK_NODES - 1];
    struct lks_monitor *monitor = lks_monitor_open(last);
    bool keeps_minority = redlock_traits_of(duel_rival(duel))->keeps_minority;

    occupy(duel, REDLOCK_QUORUM);
    (void)peer_must(duel_rival(duel), "busy", "1 lock redlock %s wait=0 retries=2 lease=30000",
                    duel->key);
    LKS_EVENTUALLY(redlock_keys(duel) == REDLOCK_QUORUM, SOON_MS);
    const char *text = lks_monitor_text(monitor, last);
    size_t undone = lks_count(text, "\"del\"") + lks_count(text, "\"DEL\"");
    assert_int_equal(undone, keeps_minority ? 1 : 3);
    if (keeps_minority) {
        matrix_differ("between its own retries node-redlock keeps the minority it has won, so that "
                      "two of them can shut each other out for a lease; lockkit undoes each try");
    }
    lks_monitor_close(monitor);
}

/* It waits for lockkit with its own delays, not with those of the other checks. */
static void own_delays(struct duel *duel)
{
    enum { ROUNDS = 11, PATIENCE_MS = 1000 };
    double took_ms[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        (void)duel_lock(duel, duel->a, 1, "ok");
        unsigned id =
            peer_send(duel->b, "1 lock redlock %s wait=0 retries=99 lease=30000", duel->key);
        lks_nap((int64_t)i * 10); /* at another moment of the pause each time */
        struct answer ended = peer_must(duel->a, "ok", "1 unlock redlock %s", duel->key);
        struct answer taken = peer_await(duel->b, id, "ok", WAKE_UP_LIMIT_MS);
        took_ms[i] = (double)(taken.ended_ns - ended.began_ns) / 1e6;
        duel_unlock(duel, duel->b, 1, "ok");
    }
    double median_ms = duel_median(took_ms, ROUNDS);
    print_message("# %s with its own delays: median %.1f ms\n", peer_version(duel->b), median_ms);
    matrix_note("to the rival %.0f ms", median_ms);
    assert_true(median_ms < PATIENCE_MS);
}

/* ---- leases -------------------------------------------------------------------------------- */

static void lease_expiry(struct duel *duel)
{
    (void)duel_outwait(duel, SHORT_LEASE_MS);
    /* It may have won while the minority was not over everywhere. */
    LKS_EVENTUALLY(common_token(duel), SOON_MS);
    const char *token = redlock_token(duel);
    (void)peer_must(duel->a, "lost", "1 renew %s %s lease=30000", duel->kind, duel->key);
    duel_unlock(duel, duel->a, 1, "not-owner");
    expect_held(duel, token, 29000);
    duel_unlock(duel, duel->b, 1, "ok");
    redlock_expect_free(duel);
}

/* The holder prolongs it by hand, and the other one waits as long. */
void redlock_extension(struct duel *duel)
{
    enum { TIMES = 3 };

    (void)peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=1000", duel->kind, duel->key);
    unsigned waiter = duel_send_waiter(duel, duel->b, 1);
    for (int i = 0; i < TIMES; i++) {
        lks_nap(500);
        (void)peer_must(duel->a, "ok", "1 renew %s %s lease=1000", duel->kind, duel->key);
        assert_false(peer_has_answered(duel->b, waiter));
    }
    duel_unlock(duel, duel->a, 1, "ok");
    (void)peer_await(duel->b, waiter, "ok", SOON_MS);
    duel_unlock(duel, duel->b, 1, "ok");
    redlock_expect_free(duel);
}

static void renewal(struct duel *duel)
{
    mutex_renewal(duel, redlock_traits_of(duel->a)->has_watchdog);
}

/* One like a dies with the lock, so its release is lost: b has it when the lease ends. */
static void lost_release(struct duel *duel)
{
    struct peer *victim = duel->is_lockkit_first ? arena_start_lockkit(duel->server, NO_POLL_MS)
                                                 : arena_start_rival(duel->server);
    struct answer held =
        peer_must(victim, "ok", "1 lock %s %s wait=0 lease=%d", duel->kind, duel->key, LEASE_MS);
    unsigned waiter = duel_send_waiter(duel, duel->b, 1);

    peer_kill(victim);
    struct answer taken = peer_await(duel->b, waiter, "ok", LEASE_MS + SOON_MS);
    assert_true(taken.ended_ns - held.began_ns > (LEASE_MS - EARLY_MS) * 1000000LL);
    duel_unlock(duel, duel->b, 1, "ok");
    peer_stop(victim);
}

const struct check redlock_checks[] = {
    {.what = "exclusion", .kinds = "redlock", .is_once = true, .run = redlock_exclusion},
    {.what = "hand-over by polling", .kinds = "redlock", .run = hand_over},
    {.what = "keys and TTL", .kinds = "redlock", .run = keys_and_ttl},
    {.what = "validity", .kinds = "redlock", .run = validity},
    {.what = "lost hold", .kinds = "redlock", .run = lost_hold},
    {.what = "minority lost", .kinds = "redlock", .run = minority_lost},
    {.what = "majority lost", .kinds = "redlock", .run = majority_lost},
    {.what = "two servers taken", .kinds = "redlock", .run = two_taken},
    {.what = "three servers taken", .kinds = "redlock", .run = three_taken},
    {.what = "its own retries", .kinds = "redlock", .is_once = true, .run = own_retries},
    {.what = "hand-over by its own delays", .kinds = "redlock", .is_once = true, .run = own_delays},
    {.what = "lease expiry", .kinds = "redlock", .run = lease_expiry},
    {.what = "extension while the other waits", .kinds = "redlock", .run = redlock_extension},
    {.what = "renewal", .kinds = "redlock", .run = renewal},
    {.what = "lost release", .kinds = "redlock", .run = lost_release},
    {0}};
