/*
 * See duel.h.
 */
#include "duel.h"

#include "arena.h"

enum {
    THREADS = 2,
    CONTEST_LASTS_MS = 1000,
    TURN_MS = 30000,
    ASK_AGAIN_MS = 3000,
    CONTEST_MS = 60000, /* its answers come before */
    CONTESTS_MAX = 5,   /* on a busy machine they meet seldom */
    LEAST_TURNS = 10,
    ASLEEP_MS = 12,      /* after it has subscribed: to ask once more and fall asleep */
    WAKE_UP_MAX_MS = 50, /* at the median */
    LATE_MAX = 3,
    EARLY_MS = 5, /* by rounding */
    LATE_MS = 500,
};

/*
 * What a holder finds and leaves. KEYS: the lock's. ARGV: kind, side. A reader excludes writers, a
 * semaphore's holder all above KEY:most, all others everybody; returns 1 for a fault.
 */
static const char enter_script[] =
    "local key, kind = KEYS[1], ARGV[1] "
    "local name = (kind == 'read' or kind == 'write') and kind or 'one' "
    "local inside = redis.call('INCR', key .. ':in:' .. name) "
    "redis.call('RPUSH', key .. ':turns', ARGV[2]) "
    "local function now(other) return tonumber(redis.call('GET', key .. ':in:' .. other) or 0) end "
    "if kind == 'read' then return now('write') > 0 and 1 or 0 end "
    "if kind == 'write' and now('read') > 0 then return 1 end "
    "return inside > tonumber(redis.call('GET', key .. ':most') or 1) and 1 or 0";
static const char leave_script[] =
    "local kind = ARGV[1] "
    "local name = (kind == 'read' or kind == 'write') and kind or 'one' "
    "redis.call('DECR', KEYS[1] .. ':in:' .. name) "
    "return 0";

/* ---- words --------------------------------------------------------------------------------- */

struct duel duel_of(const struct duel *duel, const char *kind)
{
    struct duel other = *duel;

    other.kind = kind;
    return other;
}

struct peer *duel_lockkit(const struct duel *duel)
{
    return duel->is_lockkit_first ? duel->a : duel->b;
}

struct peer *duel_rival(const struct duel *duel)
{
    return duel->is_lockkit_first ? duel->b : duel->a;
}

struct answer duel_lock(const struct duel *duel, struct peer *peer, unsigned thread,
                        const char *result)
{
    return peer_must(peer, result, "%u lock %s %s wait=0 lease=30000", thread, duel->kind,
                     duel->key);
}

/* Redisson renews what has no lease, by its watchdog; its locks are no strings. */
static const char *renewal_options(const struct duel *duel, const struct peer *peer)
{
    bool is_string = strcmp(duel->kind, "mutex") == 0 || strcmp(duel->kind, "redlock") == 0;

    return peer == duel_rival(duel) && !is_string ? "" : "lease=1500 renewed=1";
}

void duel_lock_renewed(const struct duel *duel, struct peer *peer, unsigned thread)
{
    (void)peer_must(peer, "ok", "%u lock %s %s wait=0 %s", thread, duel->kind, duel->key,
                    renewal_options(duel, peer));
}

void duel_unlock(const struct duel *duel, struct peer *peer, unsigned thread, const char *result)
{
    (void)peer_must(peer, result, "%u unlock %s %s", thread, duel->kind, duel->key);
}

unsigned duel_send_waiter(const struct duel *duel, struct peer *peer, unsigned thread)
{
    unsigned id =
        peer_send(peer, "%u lock %s %s wait=30000 lease=30000", thread, duel->kind, duel->key);

    duel_await_sleeper(duel);
    assert_false(peer_has_answered(peer, id));
    return id;
}

const char *duel_state(const struct duel *duel)
{
    static const char script[] =
        "local kind = redis.call('TYPE', KEYS[1]).ok "
        "if kind == 'hash' then return table.concat(redis.call('HGETALL', KEYS[1]), ' ') end "
        "return redis.call('GET', KEYS[1]) or ''";

    return LKS_TEXT(duel->server, "EVAL", script, "1", duel->key);
}

bool duel_is_locked(const struct duel *duel)
{
    return LKS_INTEGER(duel->server, "EXISTS", duel->key) == 1;
}

long long duel_ttl_ms(const struct duel *duel)
{
    return LKS_INTEGER(duel->server, "PTTL", duel->key);
}

/* In a cluster: the master that has the key. */
static struct lks_server *owner_of(const struct duel *duel)
{
    if (!duel->cluster) return duel->server;
    int slot = (int)strtol(lkt_tell(duel->cluster, "slot %s", duel->key), NULL, 10);
    return lkt_server(duel->cluster, lkt_tell(duel->cluster, "primary %d", slot));
}

/* Of the server that has the key: asked for the key, the client learns where its slot is now. */
static lk_reply *ask_owner(const struct duel *duel, const struct lk_command *command)
{
    lk_reply *reply = NULL;

    LKS_DO(duel->server, "EXISTS", duel->key);
    lk_session *session = lk_session_open(duel->server->raw, duel->key, 0, NULL);
    assert_non_null(session);
    assert_int_equal(lk_session_call(session, command, 1, 0, &reply, NULL), LK_OK);
    lk_session_close(session);
    return reply;
}

size_t duel_channels(const struct duel *duel)
{
    const struct lk_bytes words[] = {LK_BYTES("PUBSUB"),
                                     lk_bytes_of(duel->cluster ? "SHARDCHANNELS" : "CHANNELS"),
                                     lk_bytes_of(lks_format("*%s*", duel->key))};

    lk_reply *reply = ask_owner(duel, &(struct lk_command){words, 3});
    /* A cluster before Redis 7 has no such channels: one sleeps on any server, a message goes to all. */
    size_t count = lk_reply_type_of(reply) == LK_REPLY_ERROR ? 1 : lk_reply_count(reply);
    lk_reply_free(reply);
    return count;
}

void duel_await_sleeper(const struct duel *duel)
{
    static const char *const silent[] = {"spin", "mutex", "multi", "redlock"};
    bool is_silent = false;

    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        is_silent = is_silent || strcmp(duel->kind, silent[i]) == 0;
    if (!is_silent) LKS_EVENTUALLY(duel_channels(duel) > 0, 5000);
    lks_nap(ASLEEP_MS);
}

/* ---- exclusion ----------------------------------------------------------------------------- */

void contest_add(struct contest *contest, struct peer *peer, unsigned thread, const char *kind)
{
    size_t i = contest->count++;

    assert_true(i < CONTEST_MAX);
    contest->fighters[i].peer = peer;
    contest->fighters[i].kind = kind;
    contest->fighters[i].thread = thread;
}

static void send_all(struct contest *contest, const struct duel *duel, int ms)
{
    struct lks_server *owner = owner_of(duel);
    const char *enter = LKS_TEXT(owner, "SCRIPT", "LOAD", enter_script);
    const char *leave = LKS_TEXT(owner, "SCRIPT", "LOAD", leave_script);

    for (size_t i = 0; i < contest->count; i++) {
        contest->fighters[i].id =
            peer_send(contest->fighters[i].peer, "%u contend %s %s ms=%d wait=%d enter=%s leave=%s",
                      contest->fighters[i].thread, contest->fighters[i].kind, duel->key, ms,
                      contest->ask_again_ms > 0 ? contest->ask_again_ms : TURN_MS, enter, leave);
    }
}

static void await_all(const struct contest *contest)
{
    for (size_t i = 0; i < contest->count; i++) {
        struct peer *peer = contest->fighters[i].peer;
        struct answer answer = peer_await(peer, contest->fighters[i].id, "ok", CONTEST_MS);

        if (strcmp(answer.value, "0") != 0) {
            fail_msg("%s: found somebody else inside, %s times", peer_version(peer), answer.value);
        }
    }
}

/* Who was inside, in turn; to be freed. */
static lk_reply *turns_of(const struct duel *duel)
{
    return LKS_ASK(duel->server, "LRANGE", lks_format("%s:turns", duel->key), "0", "-1");
}

/* How often one side was inside after the other. */
static unsigned count_turns(const struct duel *duel)
{
    lk_reply *sides = turns_of(duel);
    unsigned count = 0;

    for (size_t i = 1; i < lk_reply_count(sides); i++) {
        count += strcmp(lk_reply_bytes(lk_reply_at(sides, i - 1)).data,
                        lk_reply_bytes(lk_reply_at(sides, i)).data) != 0;
    }
    lk_reply_free(sides);
    return count;
}

/* The sides call themselves as in their versions. */
unsigned contest_turns_of(const struct duel *duel, const struct peer *peer)
{
    lk_reply *sides = turns_of(duel);
    unsigned count = 0;

    for (size_t i = 0; i < lk_reply_count(sides); i++) {
        struct lk_bytes side = lk_reply_bytes(lk_reply_at(sides, i));

        count +=
            side.len == peer_name_len(peer) && memcmp(side.data, peer_version(peer), side.len) == 0;
    }
    lk_reply_free(sides);
    print_message("# %s was inside %u times\n", peer_version(peer), count);
    return count;
}

void contest_run(struct contest *contest, const struct duel *duel)
{
    send_all(contest, duel, 0); /* once each, for who is slow at first */
    await_all(contest);
    unsigned before = count_turns(duel);
    unsigned taken = 0;
    for (int i = 0; i < CONTESTS_MAX && taken < LEAST_TURNS; i++) {
        send_all(contest, duel, CONTEST_LASTS_MS);
        await_all(contest);
        taken = count_turns(duel) - before;
    }
    print_message("# %s: the sides took turns %u times\n", duel->kind, taken);
    if (taken < LEAST_TURNS) fail_msg("the sides took turns %u times only", taken);
}

/*
 * On a cluster one of several writers that wait in Redisson can sleep through a release: for as long as it
 * may wait, with nobody but Redisson there too. It asks again, so that the contest goes on.
 */
static bool sleeps_through_releases(const struct duel *duel)
{
    return duel->cluster && strcmp(duel->kind, "write") == 0;
}

void duel_exclusion(struct duel *duel)
{
    struct contest contest = {.ask_again_ms = sleeps_through_releases(duel) ? ASK_AGAIN_MS : 0};

    if (contest.ask_again_ms > 0)
        matrix_differ("of several writers that wait, Redisson's can sleep through a release (among "
                      "themselves as well): here they ask again after 3 s");

    for (unsigned thread = 1; thread <= THREADS; thread++) {
        contest_add(&contest, duel->a, thread, duel->kind);
        contest_add(&contest, duel->b, thread, duel->kind);
    }
    contest_run(&contest, duel);
    assert_int_equal(LKS_INTEGER(duel->server, "EXISTS", duel->key), 0);
}

/* ---- wake-up ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double duel_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof numbers[0], by_size);
    return numbers[count / 2];
}

void stopwatch_add(struct stopwatch *watch, const struct answer *waking, const struct answer *woken)
{
    double took_ms = (double)(woken->ended_ns - waking->began_ns) / 1e6;

    assert_true(watch->count < STOPWATCH_MAX);
    watch->took_ms[watch->count++] = took_ms;
    watch->late += took_ms > SOON_MS;
    if (watch->late > LATE_MAX)
        fail_msg("%zu of %zu waiters were not woken", watch->late, watch->count);
}

void duel_judge_wake_up(const struct duel *duel, struct stopwatch *watch)
{
    double median_ms = duel_median(watch->took_ms, watch->count);

    print_message("# %s wakes %s: %s to %s, median %.2f ms, worst %.2f ms\n", duel->kind,
                  duel->wanted, peer_version(duel->a), peer_version(duel->b), median_ms,
                  watch->took_ms[watch->count - 1]);
    matrix_note("%s %.1f ms", duel->is_lockkit_first ? "from lockkit" : "to lockkit", median_ms);
    assert_true(median_ms < WAKE_UP_MAX_MS);
}

void duel_wake_up(struct duel *duel)
{
    struct duel next = duel_of(duel, duel->wanted);
    struct stopwatch watch = {0};

    for (size_t i = 0; i < STOPWATCH_MAX; i++) {
        (void)peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=%d", duel->kind, duel->key,
                        WAKE_UP_LEASE_MS);
        unsigned id = duel_send_waiter(&next, duel->b, 1);
        struct answer released = peer_must(duel->a, "ok", "1 unlock %s %s", duel->kind, duel->key);
        struct answer taken = peer_await(duel->b, id, "ok", WAKE_UP_LIMIT_MS);

        stopwatch_add(&watch, &released, &taken);
        duel_unlock(&next, duel->b, 1, "ok");
    }
    duel_judge_wake_up(duel, &watch);
}

/* ---- leases -------------------------------------------------------------------------------- */

struct answer duel_outwait(const struct duel *duel, int64_t lease_ms)
{
    struct answer held = peer_must(duel->a, "ok", "1 lock %s %s wait=0 lease=%lld", duel->kind,
                                   duel->key, (long long)lease_ms);
    struct answer taken =
        peer_must(duel->b, "ok", "1 lock %s %s wait=20000 lease=30000", duel->wanted, duel->key);

    assert_true(taken.ended_ns - held.began_ns > (lease_ms - EARLY_MS) * 1000000);
    assert_true(taken.ended_ns - held.ended_ns < (lease_ms + LATE_MS) * 1000000);
    return taken;
}

void duel_lease_expiry(struct duel *duel)
{
    (void)duel_outwait(duel, SHORT_LEASE_MS);
    const char *state = duel_state(duel);

    duel_unlock(duel, duel->a, 1, "not-owner");
    assert_string_equal(duel_state(duel), state);
    assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    (void)peer_must(duel->b, "ok", "1 unlock %s %s", duel->wanted, duel->key);
}

void duel_renewal(struct duel *duel)
{
    struct duel next = duel_of(duel, duel->wanted);

    duel_lock_renewed(duel, duel->a, 1);
    (void)peer_must(duel->b, "busy", "1 lock %s %s wait=%d lease=30000", next.kind, next.key,
                    LEASE_MS + 300);
    duel_unlock(duel, duel->a, 1, "ok");
    (void)duel_lock(&next, duel->b, 1, "ok");
    duel_unlock(&next, duel->b, 1, "ok");
}

void duel_killed_holder(struct duel *duel)
{
    struct duel next = duel_of(duel, duel->wanted);
    struct peer *victim = duel->is_lockkit_first ? arena_start_lockkit(duel->server, NO_POLL_MS)
                                                 : arena_start_rival(duel->server);

    (void)peer_must(victim, "ok", "1 lock %s %s wait=0 %s", duel->kind, duel->key,
                    renewal_options(duel, duel->a));
    unsigned waiter = duel_send_waiter(&next, duel->b, 1);
    lks_nap(LEASE_MS); /* so that it was renewed */
    assert_false(peer_has_answered(duel->b, waiter));
    peer_kill(victim);
    (void)peer_await(duel->b, waiter, "ok", LEASE_MS + SOON_MS);
    duel_unlock(&next, duel->b, 1, "ok");
    peer_stop(victim);
}
