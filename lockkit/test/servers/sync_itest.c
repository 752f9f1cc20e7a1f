/*
 * sync_replicas: what enough replicas have not confirmed was not acquired, and is given back; what they
 * have confirmed outlives the primary. Numbers in brackets are those of the checklist of cases for
 * clients that share keys with Redisson.
 */
#include "test/support/lk_any.h"
#include "test/support/lk_topology.h"

enum { SYNC_MS = 100, LONG_MS = 20000, SOON_MS = 5000, LEASE_MS = 60000, SHORT_LEASE_MS = 6000 };

static struct lkt *topology;
static struct lks_server *primary;
static lk_client *strict; /* wants one replica, however long it takes... */
static lk_client *hasty;  /* ...and while they stand, not for long */
static lk_client *plain;
static bool are_paused;

static void pause_replicas(void)
{
    are_paused = true;
    (void)lkt_tell(topology, "pause n2");
    (void)lkt_tell(topology, "pause n3");
}

static void resume_replicas(void)
{
    are_paused = false;
    (void)lkt_tell(topology, "resume n2");
    (void)lkt_tell(topology, "resume n3");
}

/* How often the primary has run a script, by text or digest. */
static long long scripts_run(void)
{
    static const char *const commands[] = {"cmdstat_eval:calls=", "cmdstat_evalsha:calls="};
    lk_reply *reply = LKS_ASK(primary, "INFO", "commandstats");
    const char *text = lk_reply_bytes(reply).data;
    long long calls = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *found = text ? strstr(text, commands[i]) : NULL;

        if (found) calls += strtoll(found + strlen(commands[i]), NULL, 10);
    }
    lk_reply_free(reply);
    return calls;
}

/* ---- acquiring ----------------------------------------------------------------------------------- */

static void key_of(size_t kind, const char *name, char key[64])
{
    (void)snprintf(key, 64, "%s-%zu", name, kind);
}

static void try_with_replicas(size_t kind)
{
    char key[64];
    struct lks_any any;
    struct lk_error err = {0};

    key_of(kind, "confirmed", key);
    lks_any_prepare(kind, plain, key);
    lks_any_new(&any, kind, strict, key);
    if (lk_lock_acquire(any.lock, NULL, &err) != LK_OK) fail_msg("%s: %s", any.name, err.text);
    assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
    lks_any_free(&any);
}

static void try_without_replicas(size_t kind)
{
    char key[64];
    struct lks_any any;
    struct lks_any other;
    struct lk_error err = {0};
    struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = true};

    key_of(kind, "undone", key);
    lks_any_prepare(kind, plain, key);
    lks_any_new(&any, kind, hasty, key);
    lks_any_new(&other, kind, plain, key);
    double begin = lks_now_ms();
    lk_status status = lk_lock_acquire(any.lock, &options, &err);
    double took_ms = lks_now_ms() - begin;

    if (status != LK_UNSYNCED) fail_msg("%s: %s", any.name, lk_status_name(status));
    assert_int_equal(err.code, LK_UNSYNCED);
    assert_true(took_ms >= SYNC_MS - 5);
    assert_true(took_ms < SOON_MS); /* it does not wait until they go on */
    assert_false(lk_held(any.lock));
    assert_int_equal(lk_lock_remaining_ms(any.lock), 0);
    LKS_EVENTUALLY(kind == LKS_ANY_PERMIT || LKS_INTEGER(primary, "EXISTS", key) == 0, SOON_MS);
    LKS_EVENTUALLY(lk_lock_acquire(other.lock, NULL, &err) == LK_OK, SOON_MS);
    assert_int_equal(lk_lock_release(other.lock, NULL), LK_OK);
    assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK); /* nothing to release */
    lks_any_free(&any);
    lks_any_free(&other);
}

static void try_again_with_replicas(size_t kind)
{
    char key[64];
    struct lks_any any;

    key_of(kind, "undone", key);
    lks_any_new(&any, kind, strict, key);
    assert_int_equal(lk_lock_acquire(any.lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
    lks_any_free(&any);
}

/* [33] */
TEST(an_acquire_that_no_replica_confirms_is_undone)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        try_with_replicas(kind);
    pause_replicas();
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        try_without_replicas(kind);
    resume_replicas();
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        try_again_with_replicas(kind);
}

/* [33] A renewal would be a script within a third of the lease. */
TEST(an_undone_acquire_leaves_no_watchdog)
{
    struct lk_lock_options options = {.lease_ms = SHORT_LEASE_MS / 2, .is_renewed = true};
    lk_lock *lock = lk_reentrant_new(hasty, "unwatched", NULL);
    lk_lock *watched = lk_reentrant_new(plain, "watched", NULL);

    pause_replicas();
    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_UNSYNCED);
    long long before = scripts_run();
    lks_nap(SHORT_LEASE_MS / 4);
    assert_int_equal(scripts_run(), before);
    resume_replicas();

    assert_int_equal(lk_lock_acquire(watched, &options, NULL), LK_OK); /* the counter does count */
    before = scripts_run();
    LKS_EVENTUALLY(scripts_run() > before, LONG_MS);
    assert_int_equal(lk_lock_release(watched, NULL), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(watched);
}

/* ---- releasing ----------------------------------------------------------------------------------- */

static void release_without_replicas(size_t kind)
{
    char key[64];
    struct lks_any any;
    struct lks_any other;

    key_of(kind, "released", key);
    lks_any_prepare(kind, plain, key);
    lks_any_new(&any, kind, hasty, key);
    lks_any_new(&other, kind, plain, key);
    LKS_EVENTUALLY(lk_lock_acquire(any.lock, NULL, NULL) == LK_OK, LONG_MS);
    pause_replicas();
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
    assert_true(lks_now_ms() - begin < SOON_MS); /* nor does this */
    assert_int_equal(lk_lock_acquire(other.lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(other.lock, NULL), LK_OK);
    resume_replicas();
    lks_any_free(&any);
    lks_any_free(&other);
}

/* [35] */
TEST(a_release_that_no_replica_confirms_is_a_release)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        release_without_replicas(kind);
}

/* [35] */
TEST(the_outer_hold_stays_and_is_renewed_without_replicas)
{
    struct lk_lock_options options = {.lease_ms = SHORT_LEASE_MS, .is_renewed = true};
    lk_lock *lock = lk_reentrant_new(hasty, "outer", NULL);

    LKS_EVENTUALLY(lk_lock_acquire(lock, &options, NULL) == LK_OK, LONG_MS);
    LKS_EVENTUALLY(lk_lock_acquire(lock, &options, NULL) == LK_OK, LONG_MS);
    pause_replicas();
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_status again = lk_lock_acquire(lock, &options, NULL); /* nothing new: may be either */
    assert_true(again == LK_OK || again == LK_UNSYNCED);
    if (again == LK_OK) assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lk_lock_hold_count(lock), 1);
    LKS_DO(primary, "PEXPIRE", "outer", "5000");
    LKS_EVENTUALLY(LKS_INTEGER(primary, "PTTL", "outer") > 5000, SOON_MS);
    assert_true(lk_held(lock));
    assert_int_equal(LKS_INTEGER(primary, "EXISTS", "outer"), 1);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(primary, "EXISTS", "outer"), 0);
    resume_replicas();
    lk_lock_free(lock);
}

/* ---- counters ------------------------------------------------------------------------------------- */

static int64_t available_of(lk_semaphore *semaphore)
{
    int64_t available = -1;

    assert_int_equal(lk_semaphore_available(semaphore, &available, NULL), LK_OK);
    return available;
}

static void take_without_replicas(lk_semaphore *semaphore, lk_semaphore *patient, int64_t total)
{
    int64_t drained = -1;

    pause_replicas();
    lk_status status = LK_UNKNOWN; /* once or twice: an undo has 100 ms, and is made up for */
    LKS_EVENTUALLY((status = lk_semaphore_acquire(semaphore, 1, 0, NULL)) != LK_UNKNOWN, LONG_MS);
    if (status != LK_UNSYNCED && (total > 0 || status != LK_BUSY))
        fail_msg("acquire of %d: %s", (int)total, lk_status_name(status));
    assert_int_equal(available_of(semaphore), total);
    LKS_EVENTUALLY((status = lk_semaphore_drain(semaphore, &drained, NULL)) != LK_UNKNOWN, LONG_MS);
    if (status != LK_UNSYNCED && (total > 0 || status != LK_OK))
        fail_msg("drain of %d: %s", (int)total, lk_status_name(status));
    assert_int_equal(available_of(semaphore), total);
    resume_replicas();
    status = total > 0 ? LK_OK : LK_BUSY;
    assert_int_equal(lk_semaphore_acquire(patient, 1, 0, NULL), status);
}

/* [36] */
TEST(a_semaphore_has_as_many_permits_as_before)
{
    static const int64_t totals[] = {0, 1, 5};
    lk_semaphore *semaphore = lk_semaphore_new(hasty, "semaphore", NULL);
    lk_semaphore *patient = lk_semaphore_new(strict, "semaphore", NULL);

    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        (void)lk_semaphore_delete(patient, NULL);
        assert_int_equal(lk_semaphore_try_set(patient, totals[i], NULL), LK_OK);
        take_without_replicas(semaphore, patient, totals[i]);
    }
    lk_semaphore_free(patient);
    lk_semaphore_free(semaphore);
}

/* [36] */
TEST(permits_that_no_replica_has_come_back)
{
    lk_permits *permits = lk_permits_new(hasty, "permits", NULL);
    lk_permits *patient = lk_permits_new(strict, "permits", NULL);
    struct lk_permits_usage usage = {0};
    struct lk_permit taken[3];

    assert_int_equal(lk_permits_try_set(patient, 3, NULL), LK_OK);
    pause_replicas();
    assert_int_equal(lk_permits_acquire(permits, NULL, taken, 2, NULL), LK_UNSYNCED);
    LKS_EVENTUALLY(lk_permits_acquire(permits, NULL, taken, 3, NULL) == LK_UNSYNCED,
                   SOON_MS); /* all three are there */
    LKS_EVENTUALLY(lk_permits_usage(permits, &usage, NULL) == LK_OK && usage.available == 3,
                   SOON_MS);
    assert_int_equal(usage.acquired, 0);
    resume_replicas();
    assert_int_equal(lk_permits_acquire(patient, NULL, taken, 3, NULL), LK_OK);
    lk_permits_free(permits);
    lk_permits_free(patient);
}

/* ---- scripts -------------------------------------------------------------------------------------- */

TEST(a_script_that_no_replica_confirms_ran_and_says_so)
{
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "incr", .source = "return redis.call('INCR', KEYS[1])"});
    struct lk_bytes key = LK_BYTES("counted");
    struct lk_eval eval = {.script = script, .keys = &key, .key_count = 1};
    lk_lock *lock = lks_mutex(hasty, "guard");
    lk_lock *runner = lks_mutex(hasty, "runner");
    lk_reply *reply = NULL;
    struct lk_error err = {0};

    LKS_EVENTUALLY(lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, NULL) ==
                       LK_OK,
                   LONG_MS);
    pause_replicas();
    assert_int_equal(lk_client_eval(hasty, &eval, 0, &reply, &err), LK_UNSYNCED);
    assert_int_equal(err.code, LK_UNSYNCED);
    assert_int_equal(lk_guarded_eval(lock, &eval, 0, &reply, NULL), LK_UNSYNCED);
    assert_int_equal(lk_mutex_run(runner, NULL, &eval, &reply, NULL), LK_UNSYNCED);
    assert_null(reply);
    assert_string_equal(LKS_TEXT(primary, "GET", "counted"), "3");
    assert_int_equal(LKS_INTEGER(primary, "EXISTS", "runner"), 0);
    assert_true(lk_held(lock));
    resume_replicas();

    assert_int_equal(lk_client_eval(strict, &eval, 0, &reply, NULL), LK_OK);
    lk_reply_free(reply);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(runner);
    lk_script_free(script);
}

/* Also after one that failed in between. */
BEFORE_EACH()
{
    if (are_paused) resume_replicas();
    LKS_DO(primary, "SET", "marker", "x");
    LKS_EVENTUALLY(LKS_INTEGER(primary, "WAIT", "2", "100") == 2, LONG_MS);
}

BEFORE_ALL()
{
    struct lk_client_options options = {.command_ms = 2L * LONG_MS};

    topology = lkt_start(NULL);
    lkt_be_patient(topology);
    primary = lkt_server(topology, "n1");
    plain = lkt_client_with(topology, options);
    options.sync_replicas = 1;
    options.sync_ms = SYNC_MS;
    hasty = lkt_client_with(topology, options);
    options.sync_ms = LONG_MS;
    strict = lkt_client_with(topology, options);
}

AFTER_ALL()
{
    lk_client_close(strict);
    lk_client_close(hasty);
    lk_client_close(plain);
    lkt_stop(topology);
}
