/*
 * See hash_checks.h.
 */
#include "hash_checks.h"

static bool is(const struct duel *duel, const char *kind)
{
    return strcmp(duel->kind, kind) == 0;
}

/* How often a release was published, in Redisson's words; a fair lock's with the waiter's name. */
static size_t published(const struct duel *duel, struct lks_monitor *monitor)
{
    static const char payload[] = "\" \"0\"";
    char words[128];
    size_t count = 0;

    (void)snprintf(words, sizeof words, "\"PUBLISH\" \"redisson_lock__channel:{%s}", duel->key);
    const char *at = lks_monitor_text(monitor, duel->server);
    while ((at = strstr(at, words))) {
        at += strlen(words);
        count += strncmp(strchr(at, '"'), payload, strlen(payload)) == 0;
    }
    return count;
}

/* The field, its value and the TTL; the other side is refused, and sees them. [1] */
static void keys_and_ttl(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    const char *owner = duel_state(duel); /* "<uuid>:<n> 1" */
    size_t digits = strspn(owner + 37, "0123456789");

    assert_string_equal(LKS_TEXT(duel->server, "TYPE", duel->key), "hash");
    assert_int_equal(strspn(owner, "0123456789abcdef-"), 36);
    assert_int_equal(owner[36], ':');
    assert_in_range(digits, 1, 19);
    assert_string_equal(owner + 37 + digits, " 1");
    assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    (void)duel_lock(duel, duel->b, 1, "busy");
    if (duel->is_lockkit_first) {
        struct answer ttl = peer_must(duel->b, "ok", "1 ttl %s %s", duel->kind, duel->key);

        assert_in_range(strtoll(ttl.value, NULL, 10), 29000, 30000);
    }
    duel_unlock(duel, duel->a, 1, "ok");
    assert_false(duel_is_locked(duel));
}

/* Waiters are told once per release, those of the silent kind never. [3] */
static void messages(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    (void)duel_lock(duel, duel->a, 1, "ok");
    unsigned waiter = duel_send_waiter(duel, duel->b, 1);
    duel_unlock(duel, duel->a, 1, "ok");
    (void)peer_await(duel->b, waiter, "ok", SOON_MS);
    assert_int_equal(published(duel, monitor), is(duel, "spin") ? 0 : 1);
    duel_unlock(duel, duel->b, 1, "ok");
    /* A fair lock tells the next in the queue; here is none. */
    assert_int_equal(published(duel, monitor), is(duel, "spin") ? 0 : is(duel, "fair") ? 1 : 2);
    lks_monitor_close(monitor);
}

/* ---- owners -------------------------------------------------------------------------------- */

/* Counts go up and down; nobody else gets in between. [6] */
static void re_entry(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    for (int i = 0; i < 3; i++)
        (void)duel_lock(duel, duel->a, 1, "ok");
    assert_string_equal(strchr(duel_state(duel), ' '), " 3");
    assert_string_equal(peer_must(duel->a, "ok", "1 count %s %s", duel->kind, duel->key).value,
                        "3");
    for (int left = 2; left > 0; left--) {
        (void)duel_lock(duel, duel->b, 1, "busy");
        LKS_DO(duel->server, "PEXPIRE", duel->key, "20000");
        duel_unlock(duel, duel->a, 1, "ok");
        assert_in_range(duel_ttl_ms(duel), 29000,
                        30000); /* a release that leaves holds begins anew */
    }
    (void)duel_lock(duel, duel->b, 1, "busy");
    (void)duel_lock(duel, duel->a, 2, "busy"); /* another thread is another owner */
    assert_int_equal(published(duel, monitor), 0);
    duel_unlock(duel, duel->a, 1, "ok");
    assert_int_equal(published(duel, monitor), is(duel, "spin") || is(duel, "fair") ? 0 : 1);
    (void)duel_lock(duel, duel->b, 1, "ok");
    duel_unlock(duel, duel->b, 1, "ok");
    lks_monitor_close(monitor);
}

/* What a re-entry with a shorter lease does to the hold. */
static void leases_of_re_entry(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=5000", duel->kind, duel->key);
    if (duel->is_lockkit_first) {
        assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    } else {
        assert_in_range(duel_ttl_ms(duel), 1, 5000);
        matrix_differ("taken again with a shorter lease, Redisson cuts the hold short; lockkit "
                      "keeps the longer");
    }
    duel_unlock(duel, duel->a, 1, "ok");
    duel_unlock(duel, duel->a, 1, "ok");
    assert_false(duel_is_locked(duel));
}

/* Other threads, other clients, nobody's lock. [7] */
static void release_by_others(struct duel *duel)
{
    /* What Redisson says to a release of what nobody holds. */
    const char *of_nothing = is(duel, "fair") ? "ok" : "not-owner";
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    (void)duel_lock(duel, duel->a, 1, "ok");
    const char *state = duel_state(duel);
    duel_unlock(duel, duel->b, 1, duel->is_lockkit_first ? "not-owner" : "ok");
    duel_unlock(duel, duel->a, 2, duel->is_lockkit_first ? "ok" : "not-owner");
    assert_string_equal(duel_state(duel), state);
    assert_int_equal(published(duel, monitor), 0);
    LKS_DO(duel->server, "DEL", duel->key);
    duel_unlock(duel, duel->a, 1, duel->is_lockkit_first ? "not-owner" : of_nothing);
    duel_unlock(duel, duel->b, 1, duel->is_lockkit_first ? of_nothing : "ok");
    assert_int_equal(published(duel, monitor), 0);
    matrix_differ("a release by who never took it: Redisson throws, lockkit has nothing to do "
                  "(OK)");
    if (is(duel, "fair")) {
        matrix_differ("a release after the lease, of what nobody holds: Redisson says done, "
                      "lockkit that it was not ours any more");
    }
    lks_monitor_close(monitor);
}

/* The other side breaks the lock: waiters get it, and it is not renewed any more. [8] */
static void force_unlock(struct duel *duel)
{
    duel_lock_renewed(duel, duel->a, 1);
    unsigned waiter = duel_send_waiter(duel, duel->a, 2);

    (void)peer_must(duel->b, "ok", "1 force %s %s", duel->kind, duel->key);
    (void)peer_await(duel->a, waiter, "ok", SOON_MS);
    const char *state = duel_state(duel);
    duel_unlock(duel, duel->a, 1, "not-owner");
    lks_nap(LEASE_MS); /* three periods of the watchdog */
    assert_string_equal(duel_state(duel), state);
    assert_in_range(duel_ttl_ms(duel), 1, 30000 - LEASE_MS); /* not renewed by who was thrown out */
    duel_unlock(duel, duel->a, 2, "ok");
    (void)peer_must(duel->b, "not-owner", "1 force %s %s", duel->kind, duel->key);
}

#define REENTRANT "reentrant spin fenced fair"
#define ALL       REENTRANT " non-reentrant"
const struct check hash_checks[] = {
    {.what = "wake-up", .kinds = ALL, .run = duel_wake_up},
    {.what = "keys and TTL", .kinds = ALL, .run = keys_and_ttl},
    {.what = "messages", .kinds = ALL, .run = messages},
    {.what = "re-entry", .kinds = REENTRANT, .run = re_entry},
    {.what = "leases of re-entry", .kinds = REENTRANT, .run = leases_of_re_entry},
    {.what = "release by others", .kinds = ALL, .run = release_by_others},
    {.what = "force unlock", .kinds = ALL, .run = force_unlock},
    {.what = "lease expiry", .kinds = ALL, .run = duel_lease_expiry},
    {.what = "renewal", .kinds = "reentrant fenced fair", .run = duel_renewal},
    {0}};
