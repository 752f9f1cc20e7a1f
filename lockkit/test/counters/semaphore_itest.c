/*
 * The semaphore on a real server: what lies on the wire, what it counts, what it refuses. Numbers
 * in brackets are those of the checklist of cases for clients that share keys with Redisson.
 */
#include "test/support/lk_support.h"

enum { ROUNDS = 1000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_semaphore *mine, *other;
    const char *key;
    char channel[160];
};

LKS_NEW(lk_semaphore, new_semaphore, lk_semaphore_new);

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.poll_ms = 10000}; /* what comes sooner came by a message */

    f->key = lks_new_key(server, "semaphore");
    (void)snprintf(f->channel, sizeof f->channel, "redisson_sc:{%s}", f->key);
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
    f->mine = new_semaphore(f->client, f->key);
    f->other = new_semaphore(f->other_client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_semaphore_free(f->mine);
    lk_semaphore_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

static void set(struct fixture *f, int64_t permits)
{
    assert_int_equal(lk_semaphore_try_set(f->mine, permits, NULL), LK_OK);
}

static void take(lk_semaphore *semaphore, int64_t permits)
{
    assert_int_equal(lk_semaphore_acquire(semaphore, permits, 0, NULL), LK_OK);
}

static void give(lk_semaphore *semaphore, int64_t permits)
{
    assert_int_equal(lk_semaphore_release(semaphore, permits, NULL), LK_OK);
}

static void assert_free(struct fixture *f, int64_t permits)
{
    int64_t available = -4711;

    assert_int_equal(lk_semaphore_available(f->other, &available, NULL), LK_OK);
    assert_int_equal(available, permits);
}

/* ---- on the wire ----------------------------------------------------------------------------- */

TEST(it_is_a_number_and_a_release_tells_the_new_total, struct fixture *f) /* [59] */
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    char message[256];

    set(f, 5);
    take(f->mine, 4);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "1");
    assert_int_equal(LKS_INTEGER(server, "PTTL", f->key), -1);
    give(f->other, 2);

    assert_string_equal(LKS_TEXT(server, "GET", f->key), "3");
    const char *text = lks_monitor_text(monitor, server);
    (void)snprintf(message, sizeof message, "lua] \"PUBLISH\" \"%s\" \"3\"", f->channel);
    assert_int_equal(lks_count(text, message), 1);
    (void)snprintf(message, sizeof message, "lua] \"PUBLISH\" \"%s\" \"5\"", f->channel);
    assert_int_equal(lks_count(text, message), 1); /* from setting it */
    assert_int_equal(lks_count(text, "lua] \"PUBLISH\""), 2);
    lks_monitor_close(monitor);
}

TEST(a_key_with_a_brace_brings_its_own_tag, struct fixture *f)
{
    const char *key = lks_key(server, "app:{t}:semaphore");
    lk_semaphore *semaphore = new_semaphore(f->client, key);
    struct lks_monitor *monitor = lks_monitor_open(server);
    char word[256];

    give(semaphore, 1);

    const char *text = lks_monitor_text(monitor, server);
    (void)snprintf(word, sizeof word, "\"PUBLISH\" \"redisson_sc:%s\" \"1\"", key);
    assert_int_equal(lks_count(text, word), 1);
    (void)snprintf(word, sizeof word, "\"%s:lockkit_claim:", key);
    assert_true(lks_count(text, word) > 0);
    lks_monitor_close(monitor);
    lk_semaphore_free(semaphore);
}

TEST(what_it_leaves_besides_the_number_ends_by_itself, struct fixture *f)
{
    char pattern[160];

    set(f, 3);
    take(f->mine, 1);
    give(f->mine, 1);
    (void)snprintf(pattern, sizeof pattern, "*%s*", f->key);
    lk_reply *keys = LKS_ASK(server, "KEYS", pattern);

    assert_int_equal(lk_reply_count(keys), 2);
    for (size_t i = 0; i < 2; i++) {
        const char *key = lk_reply_bytes(lk_reply_at(keys, i)).data;

        if (strcmp(key, f->key) == 0) continue;
        assert_non_null(strstr(key, "}:lockkit_claim:"));
        assert_in_range(LKS_INTEGER(server, "PTTL", key), 50000, 100000);
    }
    lk_reply_free(keys);
}

/* ---- the number ------------------------------------------------------------------------------ */

TEST(setting_leaves_alone_what_is_set, struct fixture *f)
{
    set(f, 3);
    assert_int_equal(lk_semaphore_try_set(f->other, 7, NULL), LK_BUSY);
    assert_free(f, 3);
    assert_int_equal(lk_semaphore_delete(f->mine, NULL), LK_OK);
    assert_int_equal(lk_semaphore_delete(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_semaphore_try_set(f->other, 7, NULL), LK_OK);
    assert_free(f, 7);
}

TEST(too_few_is_busy_and_changes_nothing, struct fixture *f)
{
    struct lk_error err = {0};

    assert_int_equal(lk_semaphore_acquire(f->mine, 1, 0, &err), LK_BUSY); /* never set */
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    set(f, 2);
    assert_int_equal(lk_semaphore_acquire(f->mine, 3, 0, &err), LK_BUSY);
    assert_int_equal(err.code, LK_BUSY);
    assert_non_null(strstr(err.text, f->key));
    assert_free(f, 2);
    take(f->mine, 2);
    take(f->mine, 0);
    give(f->mine, 0);
    assert_free(f, 0);
}

TEST(adding_refuses_nonsense, struct fixture *f)
{
    set(f, 2);
    assert_int_equal(lk_semaphore_add(f->mine, 3, NULL), LK_OK);
    assert_free(f, 5);
    assert_int_equal(lk_semaphore_add(f->mine, -4, NULL), LK_OK);
    assert_free(f, 1);
    assert_int_equal(lk_semaphore_add(f->mine, -2, NULL), LK_BUSY); /* so many are not free */
    assert_int_equal(lk_semaphore_add(f->mine, INT32_MAX, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_release(f->mine, INT32_MAX, NULL), LK_INVALID);
    assert_free(f, 1);
    assert_int_equal(lk_semaphore_add(f->mine, INT32_MAX - 1, NULL), LK_OK);
    assert_free(f, INT32_MAX);
}

TEST(draining_takes_all_that_are_free, struct fixture *f)
{
    int64_t taken = -1;

    assert_int_equal(lk_semaphore_drain(f->mine, &taken, NULL), LK_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    set(f, 7);
    take(f->other, 2);
    assert_int_equal(lk_semaphore_drain(f->mine, &taken, NULL), LK_OK);
    assert_int_equal(taken, 5);
    assert_free(f, 0);
    give(f->mine, taken);
    assert_free(f, 5);
}

/* Redisson's addPermits() may take it below 0; its clients choke on a message that says so. */
TEST(a_number_below_zero_is_lived_with, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    int64_t taken = -1;

    LKS_DO(server, "SET", f->key, "-2");
    assert_int_equal(lk_semaphore_acquire(f->mine, 1, 0, NULL), LK_BUSY);
    assert_int_equal(lk_semaphore_drain(f->mine, &taken, NULL), LK_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(lk_semaphore_add(f->mine, -1, NULL), LK_BUSY);
    give(f->mine, 2);
    assert_free(f, 0);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), "PUBLISH"), 0);
    lks_monitor_close(monitor);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(bad_arguments_are_told, struct fixture *f)
{
    char long_key[514];
    int64_t number = 0;
    static const int64_t bad_numbers[] = {-1, INT64_MIN, (int64_t)INT32_MAX + 1, INT64_MAX};

    set(f, 3);
    for (size_t i = 0; i < sizeof bad_numbers / sizeof bad_numbers[0]; i++) {
        assert_int_equal(lk_semaphore_acquire(f->mine, bad_numbers[i], 0, NULL), LK_INVALID);
        assert_int_equal(lk_semaphore_release(f->mine, bad_numbers[i], NULL), LK_INVALID);
        assert_int_equal(lk_semaphore_try_set(f->mine, bad_numbers[i], NULL), LK_INVALID);
        if (i > 0) assert_int_equal(lk_semaphore_add(f->mine, bad_numbers[i], NULL), LK_INVALID);
    }
    assert_int_equal(lk_semaphore_acquire(f->mine, 1, -1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_drain(f->mine, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_available(f->mine, NULL, NULL), LK_INVALID);
    assert_free(f, 3);

    memset(long_key, 'x', sizeof long_key - 1);
    long_key[sizeof long_key - 1] = '\0';
    assert_null(lk_semaphore_new(f->client, long_key, NULL));
    assert_null(lk_semaphore_new(f->client, "", NULL));
    assert_null(lk_semaphore_new(f->client, NULL, NULL));
    assert_null(lk_semaphore_new(NULL, f->key, NULL));
    assert_int_equal(lk_semaphore_acquire(NULL, 1, 0, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_release(NULL, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_add(NULL, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_try_set(NULL, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_drain(NULL, &number, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_available(NULL, &number, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_delete(NULL, NULL), LK_INVALID);
    lk_semaphore_cancel(NULL);
    lk_semaphore_free(NULL);
}

static void assert_all_fail(struct fixture *f)
{
    struct lk_error err = {0};
    int64_t number = -4711;

    assert_int_equal(lk_semaphore_acquire(f->mine, 1, 100, &err), LK_SERVER);
    assert_int_equal(lk_semaphore_release(f->mine, 1, &err), LK_SERVER);
    assert_int_equal(lk_semaphore_add(f->mine, 1, &err), LK_SERVER);
    assert_int_equal(lk_semaphore_drain(f->mine, &number, &err), LK_SERVER);
    assert_int_equal(lk_semaphore_available(f->mine, &number, &err), LK_SERVER);
    assert_int_equal(err.code, LK_SERVER);
    assert_true(err.text[0] != '\0');
    assert_int_equal(number, -4711);
}

TEST(a_key_that_is_no_number_is_an_error_and_stays, struct fixture *f)
{
    static const char *const values[] = {"", "many", "3.5", "4 or 5"};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        LKS_DO(server, "SET", f->key, values[i]);
        assert_all_fail(f);
        assert_string_equal(LKS_TEXT(server, "GET", f->key), values[i]);
    }
    LKS_DO(server, "DEL", f->key);
    LKS_DO(server, "RPUSH", f->key, "a list");
    assert_all_fail(f);
    LKS_DO(server, "DEL", f->key);
    set(f, 1); /* and the handle is as good as before */
    take(f->mine, 1);
    give(f->mine, 1);
    assert_free(f, 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void note_event(const struct lk_event *event, void *arg)
{
    char *line = arg;
    size_t len = strlen(line);

    if (!event->kind || strcmp(event->kind, "semaphore") != 0) return;
    (void)snprintf(line + len, 200 - len, "%s %s %lld, ", lk_event_name(event->type),
                   lk_status_name(event->status), (long long)event->count);
}

TEST(the_hook_is_told_how_many_moved, struct fixture *f)
{
    char line[200] = "";
    int64_t taken = 0;
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.on_event = note_event, .on_event_arg = line});
    lk_semaphore *semaphore = new_semaphore(client, f->key);

    set(f, 5);
    take(semaphore, 3);
    assert_int_equal(lk_semaphore_acquire(semaphore, 3, 0, NULL), LK_BUSY);
    give(semaphore, 3);
    assert_int_equal(lk_semaphore_drain(semaphore, &taken, NULL), LK_OK);

    assert_string_equal(line, "acquire ok 3, acquire busy 0, release ok 3, acquire ok 5, ");
    lk_semaphore_free(semaphore);
    lk_client_close(client);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static lk_status acquire_some(struct lks_wait *wait)
{
    return lk_semaphore_acquire(wait->what, wait->count, 60000, NULL);
}

static void start_wait(struct lks_wait *wait, lk_semaphore *semaphore, int64_t permits)
{
    *wait = (struct lks_wait){.run = acquire_some, .what = semaphore, .count = permits};
    lks_wait_begin(wait);
}

/* The waiter is subscribed and has had time to look once more and fall asleep. */
static void let_it_sleep(struct fixture *f)
{
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 1, 5000);
    lks_nap(20);
}

TEST(a_release_wakes_whom_it_serves, struct fixture *f)
{
    lk_semaphore *third = new_semaphore(f->client, f->key);
    struct lks_wait wants_three, wants_one;

    set(f, 0);
    start_wait(&wants_three, f->mine, 3); /* longest waiting, but one is no help to it */
    let_it_sleep(f);
    start_wait(&wants_one, third, 1);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    give(f->other, 1);
    lks_wait_is_woken(&wants_one, given_at_ms);
    assert_false(atomic_load(&wants_three.has_ended));

    given_at_ms = lks_now_ms();
    give(f->other, 3);
    lks_wait_is_woken(&wants_three, given_at_ms);
    assert_free(f, 0);
    lk_semaphore_free(third);
}

TEST(a_release_of_many_wakes_many, struct fixture *f)
{
    enum { WAITERS = 4 };
    lk_semaphore *semaphores[WAITERS];
    struct lks_wait waits[WAITERS];

    for (size_t i = 0; i < WAITERS; i++) {
        semaphores[i] = new_semaphore(f->client, f->key);
        start_wait(&waits[i], semaphores[i], 1 + (int64_t)(i % 2));
    }
    let_it_sleep(f);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    give(f->other, 6);

    for (size_t i = 0; i < WAITERS; i++) {
        lks_wait_is_woken(&waits[i], given_at_ms);
        lk_semaphore_free(semaphores[i]);
    }
    assert_free(f, 0);
}

/* ---- beside a peer that does as Redisson does ------------------------------------------------ */

static atomic_int inside, too_many, rounds;

static void pass_through(void)
{
    if (atomic_fetch_add(&inside, 1) >= 2) atomic_fetch_add(&too_many, 1);
    if (atomic_fetch_add(&rounds, 1) % 16 == 0) lks_nap(1);
    atomic_fetch_sub(&inside, 1);
}

struct visitor {
    lk_semaphore *semaphore;
    atomic_int failures;
};

static void *visitor_main(void *arg)
{
    struct visitor *visitor = arg;

    for (int i = 0; i < ROUNDS / 2; i++) {
        if (lk_semaphore_acquire(visitor->semaphore, 1, 20000, NULL) == LK_OK) {
            pass_through();
            if (lk_semaphore_release(visitor->semaphore, 1, NULL) == LK_OK) continue;
        }
        atomic_fetch_add(&visitor->failures, 1);
    }
    return NULL;
}

/* What Redisson's scripts do, in our words. */
static bool peer_takes_one(const struct fixture *f)
{
    static const char take_one[] = "local free = redis.call('GET', KEYS[1]) "
                                   "if not free or tonumber(free) < 1 then return 0 end "
                                   "redis.call('DECRBY', KEYS[1], 1) return 1";

    return LKS_INTEGER(server, "EVAL", take_one, "1", f->key) == 1;
}

static void peer_gives_one(const struct fixture *f)
{
    static const char give_one[] = "local total = redis.call('INCRBY', KEYS[1], 1) "
                                   "redis.call('PUBLISH', KEYS[2], total)";

    LKS_DO(server, "EVAL", give_one, "2", f->key, f->channel);
}

static void peer_passes_through(const struct fixture *f)
{
    LKS_EVENTUALLY(peer_takes_one(f), 20000);
    pass_through();
    peer_gives_one(f);
}

TEST(a_peer_and_two_handles_are_never_three, struct fixture *f) /* [59] */
{
    struct visitor visitors[] = {{.semaphore = f->mine}, {.semaphore = f->other}};
    pthread_t threads[2];

    set(f, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, visitor_main, &visitors[i]), 0);
    for (int i = 0; i < ROUNDS / 2; i++)
        peer_passes_through(f);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(atomic_load(&visitors[i].failures), 0);
    }

    assert_int_equal(atomic_load(&too_many), 0);
    assert_int_equal(atomic_load(&rounds), 3 * (ROUNDS / 2));
    assert_free(f, 2);
}
