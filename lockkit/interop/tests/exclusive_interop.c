/*
 * Locks with one holder: lockkit and Redisson on the same keys. Numbers in brackets are the cases
 * of Redisson's checklist that a check covers.
 */
#include "interop/checks/hash_checks.h"

#define KINDS "reentrant non-reentrant spin fenced"

enum { TOKENS = 1000 };

/* [4, 5: on one server] */
static void names_with_braces(struct duel *duel)
{
    static const char *const names[] = {"app:{t}:", "a{b", "a{}b", "x}y"};
    struct duel named = *duel;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(named.key, sizeof named.key, "%s%s", names[i], duel->key);
        (void)duel_lock(&named, duel->a, 1, "ok");
        unsigned waiter = duel_send_waiter(&named, duel->b, 1);
        duel_unlock(&named, duel->a, 1, "ok");
        (void)peer_await(duel->b, waiter, "ok", SOON_MS);
        duel_unlock(&named, duel->b, 1, "ok");
    }
}

static void no_re_entry(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)duel_lock(duel, duel->a, 1, "invalid");
    assert_string_equal(strchr(duel_state(duel), ' '), " 1");
    duel_unlock(duel, duel->a, 1, "ok");
    assert_false(duel_is_locked(duel));
}

/* ---- waiting without the message ----------------------------------------------------------- */

/* [12] The subscriber connections break, and the release comes while they are away. */
static void a_cut_subscription(struct duel *duel)
{
    enum { TOLD_MS = 3000 };

    (void)peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=%d", duel->kind, duel->key, TOLD_MS);
    unsigned waiter = duel_send_waiter(duel, duel->b, 1);
    assert_true(LKS_INTEGER(duel->server, "CLIENT", "KILL", "TYPE", "pubsub") > 0);
    duel_unlock(duel, duel->a, 1, "ok");
    (void)peer_await(duel->b, waiter, "ok", duel->is_lockkit_first ? TOLD_MS + SOON_MS : SOON_MS);
    duel_unlock(duel, duel->b, 1, "ok");
    LKS_EVENTUALLY(duel_channels(duel) == 0, 5000);
}

/* [18] Who waits for a lock of the silent kind with another one has no message: it asks. */
static void a_reentrant_waiter_polls(struct duel *duel)
{
    enum { POLL_MS = 100, LATE_MS = 400 };
    struct peer *waiting = arena_start_lockkit(duel->server, POLL_MS);

    (void)duel_lock(duel, duel_rival(duel), 1, "ok");
    unsigned waiter = peer_send(waiting, "1 lock reentrant %s wait=30000 lease=30000", duel->key);
    lks_nap(POLL_MS);
    assert_false(peer_has_answered(waiting, waiter));
    struct answer released = peer_must(duel_rival(duel), "ok", "1 unlock spin %s", duel->key);
    struct answer taken = peer_await(waiting, waiter, "ok", SOON_MS);
    assert_true(taken.ended_ns - released.began_ns < (POLL_MS + LATE_MS) * 1000000LL);
    (void)peer_must(waiting, "ok", "1 unlock reentrant %s", duel->key);
    peer_stop(waiting);
}

/* ---- fences -------------------------------------------------------------------------------- */

/* How the n-th hold of a fence ends: by its release, by force, by its lease. */
static void end_fenced(const struct duel *duel, struct peer *side, struct peer *other, int n)
{
    bool is_forced = n % 100 == 50 || n % 100 == 51;
    bool is_expiring = n % 100 >= 98;

    if (is_forced) (void)peer_must(other, "ok", "1 force fenced %s", duel->key);
    if (is_expiring) LKS_EVENTUALLY(!duel_is_locked(duel), 1000);
    duel_unlock(duel, side, 1, is_forced || is_expiring ? "not-owner" : "ok");
}

/* [53] */
static void rising_fences(struct duel *duel)
{
    struct peer *const sides[] = {duel->a, duel->b};
    long long last = 0;

    for (int n = 0; n < TOKENS; n++) {
        struct answer taken = peer_must(sides[n % 2], "ok", "1 lock fenced %s wait=0 lease=%d",
                                        duel->key, n % 100 >= 98 ? 100 : 30000);
        long long fence = strtoll(taken.value, NULL, 10);

        assert_true(fence > last);
        last = fence;
        end_fenced(duel, sides[n % 2], sides[(n + 1) % 2], n);
    }
}

static void a_fence_of_re_entry(struct duel *duel)
{
    long long outer = strtoll(duel_lock(duel, duel->a, 1, "ok").value, NULL, 10);
    long long inner = strtoll(duel_lock(duel, duel->a, 1, "ok").value, NULL, 10);

    if (duel->is_lockkit_first) {
        assert_int_equal(inner, outer);
    } else {
        assert_int_equal(inner, outer + 1);
        matrix_differ("taken again, Redisson draws a new fence and the outer one is then too low; "
                      "lockkit keeps it");
    }
    duel_unlock(duel, duel->a, 1, "ok");
    duel_unlock(duel, duel->a, 1, "ok");
    long long next = strtoll(duel_lock(duel, duel->b, 1, "ok").value, NULL, 10);
    assert_true(next > inner);
    duel_unlock(duel, duel->b, 1, "ok");
}

static const struct check own[] = {
    {.what = "exclusion", .kinds = KINDS, .is_once = true, .run = duel_exclusion},
    {.what = "names with braces", .kinds = "reentrant", .run = names_with_braces},
    {.what = "refused re-entry", .kinds = "non-reentrant", .run = no_re_entry},
    {.what = "killed holder", .kinds = "reentrant", .run = duel_killed_holder},
    {.what = "cut subscription", .kinds = "reentrant", .run = a_cut_subscription},
    {.what = "a reentrant waiter polls",
     .kinds = "spin",
     .is_once = true,
     .run = a_reentrant_waiter_polls},
    {.what = "rising fences", .kinds = "fenced", .is_once = true, .run = rising_fences},
    {.what = "fence of re-entry", .kinds = "fenced", .run = a_fence_of_re_entry},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){.name = "exclusive",
                                           .kinds = KINDS,
                                           .start_rival = arena_start_redisson,
                                           .tables = {hash_checks, own}});
}
