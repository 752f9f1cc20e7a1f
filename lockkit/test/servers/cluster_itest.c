/*
 * Locks in a real cluster: every kind works wherever its key is, names whose helper keys would land
 * elsewhere are refused before anything is sent, and waiters are woken by the messages of their slot's
 * server (Redisson's rule: SPUBLISH, SSUBSCRIBE). Numbers in brackets are those of the checklist of
 * cases for clients that share keys with Redisson.
 */

#include "base/name.h"
#include "base/slot.h"
#include "test/support/lk_any.h"
#include "test/support/lk_topology.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { KEYS = 20, NAMES = 400, NAME_MAX = 9, HAND_OVERS = 10, SOON_MS = 10000, POLL_MS = 40000 };

static struct lkt *topology;
static lk_client *mine;
static lk_client *other; /* as another process would have */

/* ---- all kinds, all masters ------------------------------------------------------------------------ */

static void use_one(size_t kind, const char *key)
{
    struct lks_any any;
    struct lks_any rival;
    struct lk_error err = {0};

    lks_any_prepare(kind, mine, key);
    lks_any_new(&any, kind, mine, key);
    lks_any_new(&rival, kind, other, key);
    if (lk_lock_acquire(any.lock, NULL, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    lk_status rivals = lk_lock_acquire(rival.lock, NULL, NULL);
    assert_int_equal(rivals, kind == LKS_ANY_READ ? LK_OK : LK_BUSY);
    if (lk_lock_renew(any.lock, 0, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    if (lk_lock_release(any.lock, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    if (rivals == LK_BUSY) assert_int_equal(lk_lock_acquire(rival.lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(rival.lock, NULL), LK_OK);
    lks_any_free(&any);
    lks_any_free(&rival);
}

TEST(every_kind_works_on_every_master)
{
    int used[3] = {0};

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        for (int i = 0; i < KEYS; i++) {
            char key[64];

            (void)snprintf(key, sizeof key, "kind-%zu-%d", kind, i);
            use_one(kind, key);
            used[lki_slot_of(key, strlen(key)) * 3 / LKI_SLOTS]++;
        }
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(used[i] > KEYS);
    assert_int_equal(lk_client_primaries(mine), 3);
}

/* Then CLUSTER SLOTS and MOVED have "?" for a host. */
TEST(servers_that_have_no_name_are_found_by_their_address)
{
    char key[64];

    for (size_t i = 0; i < topology->count; i++)
        LKS_DO(topology->servers[i], "CONFIG", "SET", "cluster-preferred-endpoint-type",
               "hostname");
    lk_client *client = lkt_client_with(topology, (struct lk_client_options){0});
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "nameless-%d", i);
        lk_lock *lock = lk_mutex_new(client, key, NULL);
        assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lk_lock_free(lock);
    }
    assert_int_equal(lk_client_primaries(client), 3);
    lk_client_close(client);
    for (size_t i = 0; i < topology->count; i++)
        LKS_DO(topology->servers[i], "CONFIG", "SET", "cluster-preferred-endpoint-type", "ip");
}

static void use_counters(const char *name, int number)
{
    char key[64];
    int64_t count = -1;
    struct lk_permit permits[2];

    (void)snprintf(key, sizeof key, "%s-semaphore-%d", name, number);
    lk_semaphore *semaphore = lk_semaphore_new(mine, key, NULL);
    assert_int_equal(lk_semaphore_try_set(semaphore, 2, NULL), LK_OK);
    assert_int_equal(lk_semaphore_acquire(semaphore, 2, 0, NULL), LK_OK);
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, 0, NULL), LK_BUSY);
    assert_int_equal(lk_semaphore_release(semaphore, 2, NULL), LK_OK);
    lk_semaphore_free(semaphore);
    (void)snprintf(key, sizeof key, "%s-permits-%d", name, number);
    lk_permits *pool = lk_permits_new(mine, key, NULL);
    assert_int_equal(lk_permits_try_set(pool, 2, NULL), LK_OK);
    assert_int_equal(lk_permits_acquire(pool, NULL, permits, 2, NULL), LK_OK);
    assert_int_equal(lk_permits_release(pool, permits, 2, NULL), LK_OK);
    lk_permits_free(pool);
    (void)snprintf(key, sizeof key, "%s-latch-%d", name, number);
    lk_latch *latch = lk_latch_new(mine, key, NULL);
    assert_int_equal(lk_latch_try_set(latch, 1, NULL), LK_OK);
    assert_int_equal(lk_latch_count_down(latch, NULL), LK_OK);
    assert_int_equal(lk_latch_await(latch, 0, NULL), LK_OK);
    assert_int_equal(lk_latch_count(latch, &count, NULL), LK_OK);
    assert_int_equal(count, 0);
    lk_latch_free(latch);
}

TEST(counters_work_on_every_master)
{
    for (int i = 0; i < KEYS; i++)
        use_counters("counter", i);
}

/* ---- names ------------------------------------------------------------------------------------------ */

/* What Redisson would derive from the name is in the name's own slot. */
static bool is_safe(const char *name)
{
    char *before = lki_name_prefix("redisson_lock__channel", name);
    char *behind = lki_name_suffix(name, "timeout");
    int slot = lki_slot_of(name, strlen(name));

    assert_non_null(before);
    assert_non_null(behind);
    bool is_same =
        lki_slot_of(before, strlen(before)) == slot && lki_slot_of(behind, strlen(behind)) == slot;
    free(before);
    free(behind);
    return is_same;
}

static bool is_refused(const char *kind, const char *name, const void *made,
                       const struct lk_error *err)
{
    if (made) return false;
    if (err->code != LK_INVALID || !strstr(err->text, "slot"))
        fail_msg("%s \"%s\": %s", kind, name, err->text);
    return true;
}

static bool is_lock_refused(size_t kind, const char *name)
{
    struct lks_any any;
    struct lk_error err = {0};
    bool is_made = lks_any_try(&any, kind, mine, name, &err);
    bool is_refusal = is_refused(any.name, name, is_made ? any.lock : NULL, &err);

    lks_any_free(&any);
    return is_refusal;
}

static bool are_counters_refused(const char *name)
{
    struct lk_error err = {0};
    lk_semaphore *semaphore = lk_semaphore_new(mine, name, &err);
    bool is_refusal = is_refused("semaphore", name, semaphore, &err);

    lk_semaphore_free(semaphore);
    lk_permits *permits = lk_permits_new(mine, name, &err);
    assert_int_equal(is_refused("permits", name, permits, &err), is_refusal);
    lk_permits_free(permits);
    return is_refusal;
}

static void check_name(const char *name, bool is_good)
{
    struct lk_error err = {0};

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        if (kind == LKS_ANY_MULTI) continue; /* its second name is another one */
        if (is_lock_refused(kind, name) == is_good)
            fail_msg("kind %zu \"%s\": %s", kind, name, is_good ? "refused" : "not refused");
    }
    if (are_counters_refused(name) == is_good) fail_msg("counters \"%s\"", name);
    /* A latch's channel has braces around whatever the name is. */
    lk_latch *latch = lk_latch_new(mine, name, &err);
    if (is_refused("latch", name, latch, &err) != (!is_good || strchr(name, '{') != NULL))
        fail_msg("latch \"%s\"", name);
    lk_latch_free(latch);
}

TEST(names_are_judged_before_anything_is_sent)
{
    static const struct {
        const char *name;
        bool is_good;
    } rows[] = {{"job:1", true},     {"app:{t1}:lock", true},
                {"a}b{c}", true},    {"{x}", true},
                {"{{x}}", true},     {"a{b", false},
                {"a{}b", false},     {"x}y", false},
                {"{}x", false},      {"}", false},
                {"{", false},        {"{}", false},
                {"{}{x}", false},    {"{a}}", true},
                {"with blank", true}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(is_safe(rows[i].name), rows[i].is_good);
        check_name(rows[i].name, rows[i].is_good);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Refused, or all its keys share a slot: else a server would say CROSSSLOT. */
TEST(whatever_name_is_accepted_works)
{
    const char *given = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): alone */
    uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)lks_now_ms() | 1U;
    int accepted = 0;
    int refused = 0;

    print_message("# seed %u\n", seed);
    for (int i = 0; i < NAMES; i++) {
        static const char letters[] = {'{', '}', 'a', 'b', ':', '\xe4', '\x01', ' '};
        char name[64] = "";
        size_t len = 1 + next_random(&seed) % NAME_MAX;
        size_t kind = next_random(&seed) % (LKS_ANY_KINDS - 1);

        for (size_t k = 0; k < len; k++)
            name[k] = letters[next_random(&seed) % sizeof letters];
        if (is_lock_refused(kind, name)) {
            assert_false(is_safe(name));
            refused++;
            continue;
        }
        (void)snprintf(name + len, sizeof name - len, "%d", i); /* one that nobody has used */
        if (is_lock_refused(kind, name)) continue;
        use_one(kind, name);
        accepted++;
    }
    print_message("# %d names accepted, and they work; %d refused\n", accepted, refused);
    assert_true(accepted > NAMES / 10);
    assert_true(refused > NAMES / 10);
}

/* ---- waking ------------------------------------------------------------------------------------------ */

static struct lks_server *server_of(const char *key)
{
    return lkt_server(topology, lkt_tell(topology, "primary %d", lki_slot_of(key, strlen(key))));
}

/* Channels of the key that somebody listens to. */
static size_t channels(struct lks_server *server, const char *how, const char *key)
{
    char pattern[80];

    (void)snprintf(pattern, sizeof pattern, "*{%s}*", key);
    lk_reply *reply = LKS_ASK(server, "PUBSUB", how, pattern);
    size_t count = lk_reply_count(reply);
    lk_reply_free(reply);
    return count;
}

/* Since Redis 7. */
static bool is_sharded(struct lks_server *server)
{
    lk_reply *reply = LKS_ASK(server, "COMMAND", "INFO", "SPUBLISH");
    bool has_it = lk_reply_count(lk_reply_at(reply, 0)) > 0;

    lk_reply_free(reply);
    return has_it;
}

/* It sleeps on the slot's own server, and nowhere on an unsharded channel. Before Redis 7 on any server:
   a message goes to them all. */
static void await_waiter(struct lks_server *server, const char *key)
{
    if (!is_sharded(server)) {
        lks_nap(50);
        return;
    }
    LKS_EVENTUALLY(channels(server, "SHARDCHANNELS", key) == 1, SOON_MS);
    assert_int_equal(channels(server, "CHANNELS", key), 0);
    lks_nap(5); /* it looks once more, and sleeps */
}

static double hand_over(size_t kind, const char *key)
{
    struct lks_server *server = server_of(key);
    struct lks_any held;
    struct lks_any waited;

    lks_any_prepare(kind, mine, key);
    lks_any_new(&held, kind, mine, key);
    lks_any_new(&waited, kind, other, key);
    struct lks_wait wait;
    assert_int_equal(lk_lock_acquire(held.lock, NULL, NULL), LK_OK);
    lks_wait_start(&wait, waited.lock, 60000);
    await_waiter(server, key);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(held.lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_release(wait.lock, NULL), LK_OK);
    lks_any_free(&held);
    lks_any_free(&waited);
    return wait.ended_at_ms - begin;
}

/* Who is not woken looks after POLL_MS, a fair one after a second: even that none of ten is so soon. [17] */
TEST(a_release_wakes_the_waiter_on_its_slots_server)
{
    static const size_t kinds[] = {0, 1, 2, 4, 5, LKS_ANY_WRITE, LKS_ANY_PERMIT}; /* 3 spins */
    double least_ms[COUNT_OF(kinds)] = {0};

    for (size_t i = 0; i < COUNT_OF(kinds) * HAND_OVERS; i++) {
        size_t row = i % COUNT_OF(kinds);
        char key[64];

        (void)snprintf(key, sizeof key, "woken-%zu", i);
        double took_ms = hand_over(kinds[row], key);
        assert_true(took_ms < SOON_MS);
        if (i == row || took_ms < least_ms[row]) least_ms[row] = took_ms;
    }
    for (size_t row = 0; row < COUNT_OF(kinds); row++)
        if (least_ms[row] > 500) fail_msg("kind %zu: %.0f ms", kinds[row], least_ms[row]);
}

BEFORE_ALL()
{
    const struct lk_client_options options = {.poll_ms = POLL_MS, .command_ms = POLL_MS / 2};

    topology = lkt_start(&(struct lkt_options){.is_cluster = true});
    lkt_be_patient(topology);
    mine = lkt_client_with(topology, options);
    other = lkt_client_with(topology, options);
}

AFTER_ALL()
{
    lk_client_close(mine);
    lk_client_close(other);
    lkt_stop(topology);
}
