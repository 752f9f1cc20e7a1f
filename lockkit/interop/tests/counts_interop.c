/*
 * What counts: semaphores, permits and latches of lockkit and Redisson on the same keys. Numbers in
 * brackets are the cases of Redisson's checklist that a check covers.
 */
#include "interop/checks/arena.h"

#define SEMAPHORES "semaphore permits"

enum { PERMITS = 2, NOT_SOON_MS = 400, POLL_MS = 50 };

static void set(const struct duel *duel, struct peer *peer, long long count, const char *result)
{
    (void)peer_must(peer, result, "1 set %s %s n=%lld", duel->kind, duel->key, count);
}

/* How many are free, as the other side counts them. */
static void expect_count(const struct duel *duel, struct peer *peer, long long count)
{
    struct answer answer = peer_must(peer, "ok", "1 count %s %s", duel->kind, duel->key);

    assert_int_equal(strtoll(answer.value, NULL, 10), count);
}

/* How often this number was published on a channel that begins so. */
static size_t messages(const struct duel *duel, struct lks_monitor *monitor, const char *channel,
                       const char *number)
{
    return lks_count(lks_monitor_text(monitor, duel->server),
                     lks_format("\"PUBLISH\" \"%s{%s}\" \"%s\"", channel, duel->key, number));
}

/* ---- both kinds of semaphore --------------------------------------------------------------- */

/* [59] */
static void exclusion(struct duel *duel)
{
    struct contest contest = {0};

    LKS_DO(duel->server, "SET", lks_format("%s:most", duel->key), "2");
    set(duel, duel->a, PERMITS, "ok");
    set(duel, duel->b, PERMITS, "busy");
    for (unsigned thread = 1; thread <= 2; thread++) {
        contest_add(&contest, duel->a, thread, duel->kind);
        contest_add(&contest, duel->b, thread, duel->kind);
    }
    contest_run(&contest, duel);
    expect_count(duel, duel->a, PERMITS);
    expect_count(duel, duel->b, PERMITS);
}

/* A permit that a takes and a gives back; the id of a semaphore's is "-". */
static struct answer take(const struct duel *duel, struct peer *peer)
{
    return duel_lock(duel, peer, 1, "ok");
}

static struct answer give(const struct duel *duel, struct peer *peer, const struct answer *permit)
{
    return peer_must(peer, "ok", "1 unlock %s %s id=%s", duel->kind, duel->key, permit->value);
}

static void wake_up(struct duel *duel)
{
    struct stopwatch watch = {0};

    set(duel, duel->a, 1, "ok");
    for (int i = 0; i < STOPWATCH_MAX; i++) {
        struct answer held = take(duel, duel->a);
        unsigned waiter = duel_send_waiter(duel, duel->b, 1);
        struct answer given = give(duel, duel->a, &held);
        struct answer taken = peer_await(duel->b, waiter, "ok", WAKE_UP_LIMIT_MS);

        stopwatch_add(&watch, &given, &taken);
        (void)give(duel, duel->b, &taken);
    }
    duel_judge_wake_up(duel, &watch);
}

/* The new total is what waiters are told. */
static void total_in_messages(struct duel *duel)
{
    set(duel, duel->a, 3, "ok");
    struct lks_monitor *monitor = lks_monitor_open(duel->server);
    struct answer first = take(duel, duel->a);
    struct answer second = take(duel, duel->b);

    expect_count(duel, duel->b, 1);
    (void)give(duel, duel->a, &first);
    (void)give(duel, duel->b, &second);
    assert_int_equal(messages(duel, monitor, "redisson_sc:", "2"), 1);
    assert_int_equal(messages(duel, monitor, "redisson_sc:", "3"), 1);
    assert_string_equal(LKS_TEXT(duel->server, "GET", duel->key), "3");
    lks_monitor_close(monitor);
}

/* ---- semaphore ----------------------------------------------------------------------------- */

static void many_at_once(struct duel *duel)
{
    set(duel, duel->a, 5, "ok");
    (void)peer_must(duel->a, "ok", "1 lock semaphore %s wait=0 n=3", duel->key);
    (void)peer_must(duel->b, "busy", "1 lock semaphore %s wait=0 n=3", duel->key);
    (void)peer_must(duel->b, "ok", "1 add semaphore %s n=2", duel->key);
    expect_count(duel, duel->a, 4);
    assert_string_equal(peer_must(duel->a, "ok", "1 drain semaphore %s", duel->key).value, "4");
    unsigned waiter = peer_send(duel->a, "2 lock semaphore %s wait=30000 n=3", duel->key);
    duel_await_sleeper(duel);
    (void)peer_must(duel->b, "ok", "1 unlock semaphore %s n=2", duel->key);
    lks_nap(NOT_SOON_MS);
    assert_false(peer_has_answered(duel->a, waiter));
    (void)peer_must(duel->b, "ok", "1 unlock semaphore %s n=1", duel->key);
    (void)peer_await(duel->a, waiter, "ok", SOON_MS);
    expect_count(duel, duel->b, 0);
}

/* [59] A permit that comes without a message. */
static void missed_message(struct duel *duel)
{
    struct peer *polling = arena_start_lockkit(duel->server, POLL_MS);

    set(duel, duel->a, 0, "ok");
    unsigned asleep = peer_send(duel_rival(duel), "1 lock semaphore %s wait=30000", duel->key);
    duel_await_sleeper(duel);
    lks_nap(NOT_SOON_MS); /* it must be asleep for sure */
    LKS_DO(duel->server, "INCR", duel->key);
    lks_nap(NOT_SOON_MS);
    assert_false(peer_has_answered(duel_rival(duel), asleep));
    matrix_differ(
        "a permit that came without a message: Redisson sleeps on, lockkit finds it within "
        "poll_ms");
    (void)peer_must(polling, "ok", "1 lock semaphore %s wait=30000", duel->key);
    unsigned waiter = peer_send(polling, "1 lock semaphore %s wait=30000", duel->key);
    lks_nap(POLL_MS);
    LKS_DO(duel->server, "INCR", duel->key);
    (void)peer_await(polling, waiter, "ok", SOON_MS);
    (void)peer_must(polling, "ok", "1 unlock semaphore %s", duel->key);
    (void)peer_await(duel_rival(duel), asleep, "ok", SOON_MS);
    peer_stop(polling);
}

/* ---- permits ------------------------------------------------------------------------------- */

static const char *beside(const struct duel *duel)
{
    return lks_format("{%s}:timeout", duel->key);
}

/* The zset's members in hex, with commas. */
static const char *stored_ids(const struct duel *duel)
{
    static const char script[] =
        "local list = {} "
        "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do "
        "  list[#list + 1] = id:gsub('.', function(c) return ('%02x'):format(c:byte()) end) "
        "end "
        "return table.concat(list, ',')";

    return LKS_TEXT(duel->server, "EVAL", script, "1", beside(duel));
}

/* [60] */
static void by_id(struct duel *duel)
{
    set(duel, duel->a, PERMITS, "ok");
    struct answer taken = take(duel, duel->a);

    assert_int_equal(strlen(taken.value), 32);
    assert_string_equal(stored_ids(duel), taken.value); /* so: 16 bytes */
    expect_count(duel, duel->b, PERMITS - 1);
    (void)give(duel, duel->b, &taken);
    (void)peer_must(duel->a, "not-owner", "1 unlock permits %s id=%s", duel->key, taken.value);
    expect_count(duel, duel->a, PERMITS);
    assert_int_equal(LKS_INTEGER(duel->server, "ZCARD", beside(duel)), 0);
}

/* [60] It comes back once, whoever says so first. */
static void expired(struct duel *duel)
{
    set(duel, duel->a, PERMITS, "ok");
    struct answer taken = peer_must(duel->a, "ok", "1 lock permits %s wait=0 lease=200", duel->key);

    lks_nap(220);
    for (int i = 0; i < 2; i++) {
        (void)peer_must(duel->b, "not-owner", "1 unlock permits %s id=%s", duel->key, taken.value);
        expect_count(duel, duel->a, PERMITS);
        expect_count(duel, duel->b, PERMITS);
    }
}

/* [60] */
static void all_or_none(struct duel *duel)
{
    set(duel, duel->a, PERMITS, "ok");
    struct answer first = take(duel, duel->a);
    struct answer second = take(duel, duel->b);

    (void)peer_must(duel->b, "not-owner",
                    "1 unlock permits %s id=%s,%s,00112233445566778899aabbccddeeff", duel->key,
                    first.value, second.value);
    expect_count(duel, duel->a, 0);
    (void)peer_must(duel->b, "ok", "1 unlock permits %s id=%s,%s", duel->key, first.value,
                    second.value);
    expect_count(duel, duel->a, PERMITS);
}

/* [61] Nobody gives it back: the waiter knows when it ends. */
static void lease_expiry(struct duel *duel)
{
    set(duel, duel->a, 1, "ok");
    struct answer taken = duel_outwait(duel, 500);

    (void)give(duel, duel->b, &taken);
    expect_count(duel, duel->a, 1);
}

/* [61] */
static void key_with_ttl(struct duel *duel)
{
    set(duel, duel->a, 1, "ok");
    LKS_DO(duel->server, "PEXPIRE", duel->key, "60000");
    struct answer taken = take(duel, duel->a);

    assert_in_range(LKS_INTEGER(duel->server, "PTTL", beside(duel)), 59000, 60000);
    (void)give(duel, duel->b, &taken);
}

static void without_lease(struct duel *duel)
{
    static const char script[] = "return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]";

    set(duel, duel->a, 1, "ok");
    struct answer taken = peer_must(duel->a, "ok", "1 lock permits %s wait=0", duel->key);

    assert_string_equal(LKS_TEXT(duel->server, "EVAL", script, "1", beside(duel)),
                        "922337203685477");
    (void)peer_must(duel->b, "busy", "1 lock permits %s wait=100 lease=1000", duel->key);
    (void)peer_must(duel->b, "ok", "1 renew permits %s id=%s lease=200", duel->key, taken.value);
    (void)peer_must(duel->b, "ok", "1 lock permits %s wait=5000 lease=30000", duel->key);
}

/* ---- latch --------------------------------------------------------------------------------- */

static unsigned send_await(const struct duel *duel, struct peer *peer, unsigned thread)
{
    unsigned id = peer_send(peer, "%u await latch %s wait=30000", thread, duel->key);

    duel_await_sleeper(duel);
    return id;
}

static void latch_wake_up(struct duel *duel)
{
    struct stopwatch watch = {0};

    for (int i = 0; i < STOPWATCH_MAX; i++) {
        set(duel, duel->a, 1, "ok");
        unsigned waiter = send_await(duel, duel->b, 1);
        struct answer down = peer_must(duel->a, "ok", "1 down latch %s", duel->key);
        struct answer through = peer_await(duel->b, waiter, "ok", WAKE_UP_LIMIT_MS);

        stopwatch_add(&watch, &down, &through);
    }
    duel_judge_wake_up(duel, &watch);
}

/* [62] */
static void three_arrive(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    set(duel, duel->a, 3, "ok");
    set(duel, duel->b, 2, "busy");
    unsigned first = send_await(duel, duel->a, 2);
    unsigned second = send_await(duel, duel->b, 2);
    (void)peer_must(duel->a, "ok", "1 down latch %s", duel->key);
    (void)peer_must(duel->b, "ok", "1 down latch %s", duel->key);
    expect_count(duel, duel->a, 1);
    expect_count(duel, duel->b, 1);
    assert_false(peer_has_answered(duel->a, first));
    assert_false(peer_has_answered(duel->b, second));
    (void)peer_must(duel->a, "ok", "1 down latch %s", duel->key);
    (void)peer_await(duel->a, first, "ok", SOON_MS);
    (void)peer_await(duel->b, second, "ok", SOON_MS);
    assert_false(duel_is_locked(duel));
    assert_int_equal(messages(duel, monitor, "redisson_countdownlatch__channel__", "0"), 1);
    lks_monitor_close(monitor);
}

/* [62] */
static void open_latch(struct duel *duel)
{
    struct lks_monitor *monitor = lks_monitor_open(duel->server);

    (void)peer_must(duel->a, "ok", "1 await latch %s wait=0", duel->key);
    (void)peer_must(duel->a, "ok", "1 down latch %s", duel->key);
    assert_false(duel_is_locked(duel));
    expect_count(duel, duel->b, 0);
    assert_int_equal(lks_count(lks_monitor_text(monitor, duel->server), "\"PUBLISH\" \"redisson"),
                     0);
    lks_monitor_close(monitor);
}

/* [62] */
static void deleted(struct duel *duel)
{
    set(duel, duel->a, 2, "ok");
    unsigned ours = send_await(duel, duel_lockkit(duel), 2);
    unsigned theirs = send_await(duel, duel_rival(duel), 2);
    lks_nap(NOT_SOON_MS); /* they must be asleep for sure */
    (void)peer_must(duel->a, "ok", "1 delete latch %s", duel->key);
    (void)peer_await(duel_lockkit(duel), ours, "ok", SOON_MS);
    lks_nap(NOT_SOON_MS);
    assert_false(peer_has_answered(duel_rival(duel), theirs));
    matrix_differ("a deleted latch lets lockkit's waiters through; Redisson's sleep on");
    set(duel, duel->b, 1, "ok");
    (void)peer_must(duel->b, "ok", "1 down latch %s", duel->key);
    (void)peer_await(duel_rival(duel), theirs, "ok", SOON_MS);
}

static const struct check checks[] = {
    {.what = "exclusion", .kinds = SEMAPHORES, .is_once = true, .run = exclusion},
    {.what = "wake-up", .kinds = SEMAPHORES, .run = wake_up},
    {.what = "totals in messages", .kinds = SEMAPHORES, .run = total_in_messages},
    {.what = "several at once", .kinds = "semaphore", .run = many_at_once},
    {.what = "missed message", .kinds = "semaphore", .is_once = true, .run = missed_message},
    {.what = "released by the other's id", .kinds = "permits", .run = by_id},
    {.what = "expired permit", .kinds = "permits", .run = expired},
    {.what = "all or none of a list", .kinds = "permits", .run = all_or_none},
    {.what = "lease expiry", .kinds = "permits", .run = lease_expiry},
    {.what = "TTL of the key", .kinds = "permits", .run = key_with_ttl},
    {.what = "without lease", .kinds = "permits", .run = without_lease},
    {.what = "wake-up", .kinds = "latch", .run = latch_wake_up},
    {.what = "arrivals from both", .kinds = "latch", .run = three_arrive},
    {.what = "open latch", .kinds = "latch", .run = open_latch},
    {.what = "deleted latch", .kinds = "latch", .run = deleted},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){
        .name = "counts", .start_rival = arena_start_redisson, .tables = {checks}});
}
