/*
 * The read/write lock: lockkit and Redisson as readers and writers of the same keys. Numbers in
 * brackets are the cases of Redisson's checklist that a check covers.
 */
#include "interop/checks/arena.h"

#define KIND "read/write"

enum { READERS = 5, NOT_SOON_MS = 300 };

/* How many keys of read holds there are; behind each owner's name is the hold's number. */
static size_t hold_keys(const struct duel *duel, const char *number)
{
    lk_reply *keys =
        LKS_ASK(duel->server, "KEYS", lks_format("{%s}:*:rwlock_timeout:%s", duel->key, number));
    size_t count = lk_reply_count(keys);
    lk_reply_free(keys);
    return count;
}

static const char *mode(const struct duel *duel)
{
    return LKS_TEXT(duel->server, "HGET", duel->key, "mode");
}

static void read_as(const struct duel *duel, struct peer *peer, unsigned thread, const char *result)
{
    (void)peer_must(peer, result, "%u lock read %s wait=0 lease=30000", thread, duel->key);
}

static void write_as(const struct duel *duel, struct peer *peer, unsigned thread,
                     const char *result)
{
    (void)peer_must(peer, result, "%u lock write %s wait=0 lease=30000", thread, duel->key);
}

static void end(const struct duel *duel, struct peer *peer, unsigned thread, const char *kind)
{
    (void)peer_must(peer, "ok", "%u unlock %s %s", thread, kind, duel->key);
}

/* ---- exclusion and wake-up ----------------------------------------------------------------- */

static void exclusion(struct duel *duel)
{
    struct contest contest = {0};
    static const char *const kinds[] = {"read", "write", "read"};

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        contest_add(&contest, duel->a, 1 + i, kinds[i]);
        contest_add(&contest, duel->b, 1 + i, kinds[i]);
    }
    contest_run(&contest, duel);
    assert_false(duel_is_locked(duel));
    assert_int_equal(hold_keys(duel, "*"), 0);
}

/* A check that fits several kinds, for a hold of one side and a wish for the other. */
static void run_as(struct duel *duel, const char *held, const char *wanted,
                   void (*run)(struct duel *duel))
{
    struct duel other = duel_of(duel, held);

    other.wanted = wanted;
    run(&other);
}

static void writer_after_writer(struct duel *duel)
{
    run_as(duel, "write", "write", duel_wake_up);
}

static void reader_after_writer(struct duel *duel)
{
    run_as(duel, "write", "read", duel_wake_up);
}

static void writer_after_reader(struct duel *duel)
{
    run_as(duel, "read", "write", duel_wake_up);
}

/* One writer leaves, and all readers of both sides come in. */
static void crowd_of_readers(struct duel *duel)
{
    unsigned ids[4];

    write_as(duel, duel->a, 1, "ok");
    for (unsigned i = 0; i < 4; i++) {
        ids[i] = peer_send(i % 2 ? duel->a : duel->b, "%u lock read %s wait=30000 lease=30000",
                           2 + i, duel->key);
        duel_await_sleeper(duel);
    }
    lks_nap(NOT_SOON_MS); /* Redisson's miss the message while they are awake */
    end(duel, duel->a, 1, "write");
    for (unsigned i = 0; i < 4; i++)
        (void)peer_await(i % 2 ? duel->a : duel->b, ids[i], "ok", SOON_MS);
    for (unsigned i = 0; i < 4; i++)
        end(duel, i % 2 ? duel->a : duel->b, 2 + i, "read");
}

/* ---- readers ------------------------------------------------------------------------------- */

/* [37] The hash lives as long as the longest reader, each reader as long as its own hold key. */
static void mixed_readers(struct duel *duel)
{
    static const long long leases_ms[READERS] = {30000, 24000, 18000, 12000, 6000};

    for (unsigned i = 0; i < READERS; i++) {
        (void)peer_must(i % 2 ? duel->b : duel->a, "ok", "%u lock read %s wait=0 lease=%lld", 1 + i,
                        duel->key, leases_ms[i]);
        assert_int_equal(hold_keys(duel, "1"), 1 + i);
        assert_int_equal(LKS_INTEGER(duel->server, "HLEN", duel->key), 2 + i);
    }
    assert_string_equal(mode(duel), "read");
    write_as(duel, duel->b, 9, "busy");
    for (unsigned i = 0; i < READERS; i++) {
        assert_in_range(duel_ttl_ms(duel), leases_ms[i] - 3000, leases_ms[i]);
        end(duel, i % 2 ? duel->b : duel->a, 1 + i, "read");
        assert_int_equal(hold_keys(duel, "*"), READERS - 1 - i);
    }
    assert_false(duel_is_locked(duel));
}

static void nested_reads(struct duel *duel)
{
    read_as(duel, duel->a, 1, "ok");
    read_as(duel, duel->a, 1, "ok");
    assert_int_equal(hold_keys(duel, "1"), 1);
    assert_int_equal(hold_keys(duel, "2"), 1);
    end(duel, duel->a, 1, "read");
    assert_int_equal(hold_keys(duel, "2"), 0);
    write_as(duel, duel->b, 1, "busy");
    end(duel, duel->a, 1, "read");
    write_as(duel, duel->b, 1, "ok");
    end(duel, duel->b, 1, "write");
}

/* [38] A reader whose lease is over does not keep the lock; the last one that lives frees it. */
static void dead_reader(struct duel *duel)
{
    (void)peer_must(duel->a, "ok", "1 lock read %s wait=0 lease=200", duel->key);
    read_as(duel, duel->b, 1, "ok");
    LKS_EVENTUALLY(hold_keys(duel, "1") == 1, SOON_MS);
    write_as(duel, duel->a, 2, "busy");
    end(duel, duel->b, 1, "read");
    assert_false(duel_is_locked(duel));
    (void)peer_must(duel->a, "not-owner", "1 unlock read %s", duel->key);
}

/* ---- writers ------------------------------------------------------------------------------- */

static void nested_writes(struct duel *duel)
{
    write_as(duel, duel->a, 1, "ok");
    write_as(duel, duel->a, 1, "ok");
    if (duel->is_lockkit_first) {
        assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    } else {
        assert_in_range(duel_ttl_ms(duel), 59000, 60000);
        matrix_differ("writing twice, Redisson adds up the leases; lockkit begins anew");
    }
    end(duel, duel->a, 1, "write");
    read_as(duel, duel->b, 1, "busy");
    assert_in_range(duel_ttl_ms(duel), 1, 30000);
    end(duel, duel->a, 1, "write");
    read_as(duel, duel->b, 1, "ok");
    end(duel, duel->b, 1, "read");
}

/* a writes, and reads besides, while b waits to read: b's request. */
static unsigned wait_for_writer(const struct duel *duel)
{
    struct duel reading = duel_of(duel, "read");

    (void)peer_must(duel->a, "ok", "1 lock write %s wait=0 lease=%d", duel->key, WAKE_UP_LEASE_MS);
    (void)peer_must(duel->a, "ok", "1 lock read %s wait=0 lease=%d", duel->key, WAKE_UP_LEASE_MS);
    return duel_send_waiter(&reading, duel->b, 1);
}

static struct answer become_reader(const struct duel *duel)
{
    struct answer ended = peer_must(duel->a, "ok", "1 unlock write %s", duel->key);

    assert_string_equal(mode(duel), "read");
    return ended;
}

static void downgrade_of_lockkit(const struct duel *duel)
{
    struct stopwatch watch = {0};

    while (watch.count < STOPWATCH_MAX) {
        unsigned waiter = wait_for_writer(duel);
        struct answer ended = become_reader(duel);
        struct answer entered = peer_await(duel->b, waiter, "ok", WAKE_UP_LIMIT_MS);

        stopwatch_add(&watch, &ended, &entered);
        end(duel, duel->a, 1, "read");
        end(duel, duel->b, 1, "read");
    }
    duel_judge_wake_up(duel, &watch);
}

static void downgrade_of_redisson(const struct duel *duel)
{
    unsigned waiter = wait_for_writer(duel);

    lks_nap(NOT_SOON_MS); /* it must be asleep for sure */
    (void)become_reader(duel);
    lks_nap(NOT_SOON_MS);
    assert_false(peer_has_answered(duel->b, waiter));
    matrix_differ("when a writer becomes a reader, Redisson leaves waiting readers asleep; lockkit "
                  "wakes them");
    read_as(duel, duel->b, 2, "ok"); /* who asks anew comes in */
    end(duel, duel->b, 2, "read");
    end(duel, duel->a, 1, "read");
    (void)peer_await(duel->b, waiter, "ok", SOON_MS);
    end(duel, duel->b, 1, "read");
}

/* [39] */
static void downgrade(struct duel *duel)
{
    (duel->is_lockkit_first ? downgrade_of_lockkit : downgrade_of_redisson)(duel);
}

/* [40] A nested short read ends: what is left to the writer? */
static void nested_short_read(struct duel *duel)
{
    write_as(duel, duel->a, 1, "ok");
    for (int i = 0; i < 2; i++)
        (void)peer_must(duel->a, "ok", "1 lock read %s wait=0 lease=1000", duel->key);
    end(duel, duel->a, 1, "read");
    if (duel->is_lockkit_first) {
        assert_in_range(duel_ttl_ms(duel), 29000, 30000);
    } else {
        assert_in_range(duel_ttl_ms(duel), 1, 1000);
        matrix_differ(
            "the release of a read within a write cuts Redisson's write to what the other "
            "reads have left, and never lockkit's");
    }
    read_as(duel, duel->b, 1, "busy");
    end(duel, duel->a, 1, "read");
    end(duel, duel->a, 1, "write");
    assert_false(duel_is_locked(duel));
}

/* [41] */
static void upgrade(struct duel *duel)
{
    read_as(duel, duel->a, 1, "ok");
    if (duel->is_lockkit_first) {
        (void)peer_must(duel->a, "deadlock", "1 lock write %s wait=20000 lease=30000", duel->key);
    } else {
        (void)peer_must(duel->a, "busy", "1 lock write %s wait=300 lease=30000", duel->key);
        matrix_differ("a reader that wants to write waits for itself in Redisson; lockkit says "
                      "DEADLOCK at once");
    }
    read_as(duel, duel->b, 1, "ok"); /* nothing was changed */
    end(duel, duel->a, 1, "read");
    end(duel, duel->b, 1, "read");
    assert_false(duel_is_locked(duel));
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* [44] */
static void force_unlock(struct duel *duel)
{
    read_as(duel, duel->a, 1, "ok");
    (void)peer_must(duel->b, "not-owner", "1 force write %s", duel->key);
    assert_true(duel_is_locked(duel));
    (void)peer_must(duel->b, "ok", "1 force read %s", duel->key);
    (void)peer_must(duel->a, "not-owner", "1 unlock read %s", duel->key);

    write_as(duel, duel->a, 1, "ok");
    unsigned waiter = peer_send(duel->a, "2 lock read %s wait=30000 lease=30000", duel->key);
    duel_await_sleeper(duel);
    lks_nap(NOT_SOON_MS); /* Redisson's miss the message while they are awake */
    (void)peer_must(duel->b, "not-owner", "1 force read %s", duel->key);
    (void)peer_must(duel->b, "ok", "1 force write %s", duel->key);
    (void)peer_await(duel->a, waiter, "ok", SOON_MS);
    (void)peer_must(duel->a, "not-owner", "1 unlock write %s", duel->key);
    end(duel, duel->a, 2, "read");
}

static void release_by_others(struct duel *duel)
{
    static const char *const kinds[] = {"read", "write"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct duel side = duel_of(duel, kinds[i]);

        (void)duel_lock(&side, duel->a, 1, "ok");
        const char *state = duel_state(duel);
        duel_unlock(&side, duel->b, 1, duel->is_lockkit_first ? "not-owner" : "ok");
        duel_unlock(&side, duel->a, 2, duel->is_lockkit_first ? "ok" : "not-owner");
        assert_string_equal(duel_state(duel), state);
        LKS_DO(duel->server, "DEL", duel->key);
        duel_unlock(&side, duel->a, 1, "not-owner");
    }
    matrix_differ("a release by who never took it: Redisson throws, lockkit has nothing to do "
                  "(OK)");
}

static void lease_expiry(struct duel *duel)
{
    run_as(duel, "write", "write", duel_lease_expiry);
    run_as(duel, "write", "read", duel_lease_expiry);
    run_as(duel, "read", "write", duel_lease_expiry);
}

static void renewal(struct duel *duel)
{
    run_as(duel, "write", "read", duel_renewal);
    run_as(duel, "read", "write", duel_renewal);
}

static void killed_reader(struct duel *duel)
{
    run_as(duel, "read", "write", duel_killed_holder);
}

static const struct check checks[] = {
    {.what = "exclusion", .kinds = KIND, .is_once = true, .run = exclusion},
    {.what = "wake-up of a writer by a writer", .kinds = KIND, .run = writer_after_writer},
    {.what = "of a reader by a writer", .kinds = KIND, .run = reader_after_writer},
    {.what = "of a writer by a reader", .kinds = KIND, .run = writer_after_reader},
    {.what = "of all readers", .kinds = KIND, .run = crowd_of_readers},
    {.what = "mixed readers", .kinds = KIND, .run = mixed_readers},
    {.what = "nested reads", .kinds = KIND, .run = nested_reads},
    {.what = "dead reader", .kinds = KIND, .run = dead_reader},
    {.what = "nested writes", .kinds = KIND, .run = nested_writes},
    {.what = "downgrade", .kinds = KIND, .run = downgrade},
    {.what = "nested short read", .kinds = KIND, .run = nested_short_read},
    {.what = "upgrade", .kinds = KIND, .run = upgrade},
    {.what = "force unlock", .kinds = KIND, .run = force_unlock},
    {.what = "release by others", .kinds = KIND, .run = release_by_others},
    {.what = "lease expiry", .kinds = KIND, .run = lease_expiry},
    {.what = "renewal", .kinds = KIND, .run = renewal},
    {.what = "killed reader", .kinds = KIND, .run = killed_reader},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){
        .name = "rwlock", .start_rival = arena_start_redisson, .tables = {checks}});
}
