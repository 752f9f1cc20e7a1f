/*
 * See mutex_checks.h.
 */
#include "mutex_checks.h"

#define HEX    "0123456789abcdef"
#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

static const struct {
    const char *library;
    size_t digits;
    const char *alphabet, *end;
    const char *note; /* how it differs from lockkit's, or NULL */
} tokens[] = {
    {"lockkit", 32, HEX, "", NULL},
    {"redis-py", 32, HEX, "", NULL},
    {"node-redlock", 32, HEX, "", NULL},
    {"redsync", 22, BASE64, "==", "16 bytes in Base64, not hex"},
};

static bool is_of(const struct peer *peer, const char *name)
{
    return peer_name_len(peer) == strlen(name) &&
           strncmp(peer_version(peer), name, strlen(name)) == 0;
}

void mutex_expect_token(const struct peer *peer, const char *token)
{
    size_t i = 0;

    while (!is_of(peer, tokens[i].library))
        assert_true(++i < sizeof tokens / sizeof tokens[0]);
    assert_int_equal(strspn(token, tokens[i].alphabet), tokens[i].digits);
    assert_string_equal(token + tokens[i].digits, tokens[i].end);
    if (tokens[i].note) matrix_note("its value: %s", tokens[i].note);
}

static void keys_and_ttl(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    assert_string_equal(LKS_TEXT(duel->server, "TYPE", duel->key), "string");
    mutex_expect_token(duel->a, duel_state(duel));
    assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    (void)duel_lock(duel, duel->b, 1, "busy");
    (void)duel_lock(duel, duel->a, 2, "busy");
    duel_unlock(duel, duel->a, 1, "ok");
    assert_false(duel_is_locked(duel));
}

/* ---- who waits asks again and again, and lockkit does so as well --------------------------------- */
static void run_polling(struct duel *duel, void (*run)(struct duel *duel))
{
    struct peer *polling = arena_start_lockkit(duel->server, MUTEX_POLL_MS);
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

/* A waiting lockkit that counts on messages finds the rival's release when it next asks. */
static void messages(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    (void)duel_lock(duel, duel_rival(duel), 1, "ok");
    duel_unlock(duel, duel_rival(duel), 1, "ok");
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"PUBLISH\""), 0);
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"publish\""), 0);
    (void)duel_lock(duel, duel_lockkit(duel), 1, "ok");
    duel_unlock(duel, duel_lockkit(duel), 1, "ok");
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"PUBLISH\""), 1);
    matrix_differ(
        "the rival publishes nothing and never listens: its release is found by lockkit's "
        "poll_ms, lockkit's by the rival's sleep");
    lks_monitor_close(monitor);
}

static void force_unlock(struct duel *duel)
{
    if (duel->is_lockkit_first) return; /* the rival cannot */
    (void)duel_lock(duel, duel->a, 1, "ok");
    (void)peer_must(duel->b, "ok", "1 force mutex %s", duel->key);
    (void)duel_lock(duel, duel->b, 1, "ok");
    duel_unlock(duel, duel->a, 1, "not-owner");
    assert_true(duel_is_locked(duel));
    duel_unlock(duel, duel->b, 1, "ok");
}

/* Thrown out while its lease runs, the holder neither prolongs nor releases the next one's. */
static void lost_hold(struct duel *duel)
{
    (void)duel_lock(duel, duel->a, 1, "ok");
    LKS_DO(duel->server, "DEL", duel->key);
    (void)duel_lock(duel, duel->b, 1, "ok");
    const char *token = duel_state(duel);

    (void)peer_must(duel->a, "lost", "1 renew %s %s lease=60000", duel->kind, duel->key);
    duel_unlock(duel, duel->a, 1, "not-owner");
    assert_string_equal(duel_state(duel), token);
    assert_in_range(duel_ttl_ms(duel), 1, 30000);
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

void mutex_renewal(struct duel *duel, bool has_one)
{
    if (has_one) {
        duel_renewal(duel);
    } else {
        matrix_differ("the rival has no watchdog; lockkit renews when it is told to");
    }
}

const struct check mutex_checks[] = {
    {.what = "exclusion", .kinds = "mutex", .is_once = true, .run = exclusion},
    {.what = "hand-over by polling", .kinds = "mutex", .run = hand_over},
    {.what = "keys and TTL", .kinds = "mutex", .run = keys_and_ttl},
    {.what = "messages", .kinds = "mutex", .is_once = true, .run = messages},
    {.what = "force unlock by lockkit", .kinds = "mutex", .run = force_unlock},
    {.what = "lost hold", .kinds = "mutex", .run = lost_hold},
    {.what = "lease prolonged by hand", .kinds = "mutex", .run = prolonged_by_hand},
    {.what = "lease expiry", .kinds = "mutex", .run = duel_lease_expiry},
    {0}};
