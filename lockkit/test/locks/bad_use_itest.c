/*
 * What nobody should do with a lock: it gets a status, at once, and never a crash or a hang. Each
 * case goes through all kinds. What ends waits is in cancel_itest.c, what a fork leaves behind in
 * fork_itest.c.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lockkit/latch.h"
#include "lockkit/lockkit.h"
#include "lockkit/semaphore.h"

#include "test/support/lk_any.h"

enum { SOON_MS = 10000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client;
    lk_script *script;
    struct lk_eval eval;
    atomic_uint round_trips;
    atomic_uint inside; /* of them, those of a waiter */
};

static _Thread_local bool is_waiter;

static void count_round_trip(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type != LK_EVENT_ROUND_TRIP) return;
    atomic_fetch_add(&f->round_trips, 1);
    if (is_waiter) atomic_fetch_add(&f->inside, 1);
}

SET_UP(struct fixture, f)
{
    f->client = lks_client_with(
        server, (struct lk_client_options){.on_event = count_round_trip, .on_event_arg = f});
    f->script = lk_script_new(&(struct lk_script_source){.name = "x", .source = "return 1"});
    assert_non_null(f->script);
    f->eval.script = f->script;
}

TEAR_DOWN(struct fixture, f)
{
    lk_script_free(f->script);
    lk_client_close(f->client);
}

static lk_lock *make(struct fixture *f, size_t kind, const char *key)
{
    return lks_lock_of_kind(kind, f->client, key);
}

/* A key that no other test has. */
static const char *fresh_key(void)
{

    return lks_new_key(server, "bad");
}

static lk_status acquire(lk_lock *lock, int64_t wait_ms, int64_t lease_ms, struct lk_error *err)
{
    return lk_lock_acquire(
        lock, &(struct lk_lock_options){.wait_ms = wait_ms, .lease_ms = lease_ms}, err);
}

/* ---- threads --------------------------------------------------------------------------------------------- */

static lk_status wait_for_lock(struct lks_wait *wait)
{
    is_waiter = true;
    return acquire(wait->what, 60000, 0, NULL);
}

static lk_status wait_for_semaphore(struct lks_wait *wait)
{
    is_waiter = true;
    return lk_semaphore_acquire(wait->what, 1, 60000, NULL);
}

static lk_status wait_for_permit(struct lks_wait *wait)
{
    is_waiter = true;
    return lk_permits_acquire(wait->what, &(struct lk_permit_options){.wait_ms = 60000}, wait->list,
                              1, NULL);
}

static lk_status wait_for_latch(struct lks_wait *wait)
{
    is_waiter = true;
    return lk_latch_await(wait->what, 60000, NULL);
}

/* Returns when it is inside: it has had an answer, and waits. */
static void start(struct fixture *f, struct lks_wait *wait, lk_status (*run)(struct lks_wait *),
                  void *what)
{
    unsigned before = atomic_load(&f->inside);

    *wait = (struct lks_wait){.run = run, .what = what};
    lks_wait_begin(wait);
    LKS_EVENTUALLY(atomic_load(&f->inside) > before, 10000);
}

/* The second is told so, and the first goes on. */
TEST(two_threads_at_one_handle_are_one_too_many, struct fixture *f)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        struct lks_any any, other;
        struct lks_wait first;
        struct lk_error err = {0};
        const char *key = fresh_key();
        lk_reply *reply = NULL;

        lks_any_prepare(kind, f->client, key);
        lks_any_new(&any, kind, f->client, key);
        lks_any_new(&other, kind == LKS_ANY_READ ? (size_t)LKS_ANY_WRITE : kind, f->client, key);
        print_message("# %s\n", any.name);
        assert_int_equal(acquire(other.lock, 0, 30000, NULL), LK_OK);
        start(f, &first, wait_for_lock, any.lock);
        assert_int_equal(acquire(any.lock, 0, 0, &err), LK_INVALID);
        assert_non_null(strstr(err.text, "another thread"));
        assert_int_equal(lk_lock_renew(any.lock, 0, NULL), LK_INVALID);
        err.text[0] = '\0';
        assert_int_equal(lk_guarded_eval(any.lock, &f->eval, 0, &reply, &err), LK_INVALID);
        assert_non_null(strstr(err.text, "another thread"));
        if (any.rwlock)
            assert_int_equal(acquire(kind == LKS_ANY_READ ? lk_rwlock_write(any.rwlock)
                                                          : lk_rwlock_read(any.rwlock),
                                     0, 0, NULL),
                             LK_INVALID);
        if (kind == 0)
            assert_int_equal(lk_mutex_run(any.lock, NULL, &f->eval, &reply, NULL), LK_INVALID);
        assert_int_equal(lk_lock_release(other.lock, NULL), LK_OK);
        assert_int_equal(lks_wait_end(&first), LK_OK);
        assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
        lks_any_free(&any);
        lks_any_free(&other);
    }
}

/* Handles that are no locks: one thread waits, and this one tries every verb. */
TEST(two_threads_at_one_counter_are_one_too_many, struct fixture *f)
{
    lk_semaphore *semaphore = lk_semaphore_new(f->client, fresh_key(), NULL);
    lk_permits *permits = lk_permits_new(f->client, fresh_key(), NULL);
    lk_latch *latch = lk_latch_new(f->client, fresh_key(), NULL);
    struct lk_permit permit = {.id = "0123456789abcdef0123456789abcdef"};
    struct lk_permits_usage usage;
    struct lk_error err = {0};
    int64_t number = 0;
    struct lks_wait wait;

    start(f, &wait, wait_for_semaphore, semaphore);
    assert_int_equal(lk_semaphore_try_set(semaphore, 1, &err), LK_INVALID);
    assert_non_null(strstr(err.text, "another thread"));
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, 0, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_release(semaphore, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_add(semaphore, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_drain(semaphore, &number, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_available(semaphore, &number, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_delete(semaphore, NULL), LK_INVALID);
    lk_semaphore_cancel(semaphore);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    start(f, &wait, wait_for_permit, permits);
    assert_int_equal(lk_permits_try_set(permits, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_set(permits, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_acquire(permits, NULL, &permit, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_release(permits, &permit, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_renew(permits, &permit, 0, NULL), LK_INVALID);
    assert_int_equal(lk_permits_ask(permits, &permit, NULL), LK_INVALID);
    assert_int_equal(lk_permits_usage(permits, &usage, NULL), LK_INVALID);
    assert_int_equal(lk_permits_delete(permits, NULL), LK_INVALID);
    lk_permits_cancel(permits);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    assert_int_equal(lk_latch_try_set(latch, 1, NULL), LK_OK);
    start(f, &wait, wait_for_latch, latch);
    assert_int_equal(lk_latch_try_set(latch, 1, NULL), LK_INVALID);
    assert_int_equal(lk_latch_count_down(latch, NULL), LK_INVALID);
    assert_int_equal(lk_latch_count(latch, &number, NULL), LK_INVALID);
    assert_int_equal(lk_latch_await(latch, 0, NULL), LK_INVALID);
    assert_int_equal(lk_latch_delete(latch, NULL), LK_INVALID);
    lk_latch_cancel(latch);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    assert_int_equal(lk_semaphore_available(semaphore, &number, NULL), LK_OK);
    assert_int_equal(lk_permits_usage(permits, &usage, NULL), LK_OK);
    assert_int_equal(lk_latch_delete(latch, NULL), LK_OK);
    lk_semaphore_free(semaphore);
    lk_permits_free(permits);
    lk_latch_free(latch);
}

/* ---- scripts ----------------------------------------------------------------------------------------------- */

/* The first line has to stay the first, whatever stands in front of the script. */
TEST(a_script_with_flags_is_guarded_too, struct fixture *f)
{
    lk_script *script = lk_script_new(&(struct lk_script_source){
        .name = "seven", .source = "#!lua flags=no-writes\nreturn tonumber(ARGV[1]) + 6"});
    struct lk_bytes one = LK_BYTES("1");
    struct lk_eval eval = {.script = script, .args = &one, .arg_count = 1};

    for (size_t kind = 0; kind < LKS_ANY_MULTI; kind++) {
        struct lks_any any;
        struct lk_error err = {0};
        lk_reply *reply = NULL;
        const char *key = fresh_key();

        lks_any_prepare(kind, f->client, key);
        lks_any_new(&any, kind, f->client, key);
        assert_int_equal(acquire(any.lock, 0, 0, NULL), LK_OK);
        if (lk_guarded_eval(any.lock, &eval, 0, &reply, &err) != LK_OK)
            fail_msg("%s: %s", any.name, err.text);
        assert_int_equal(lks_integer_of(reply), 7);
        assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
        lks_any_free(&any);
    }
    lk_script_free(script);
}

/* ---- the descriptor of loss ------------------------------------------------------------------------------- */

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, wait_ms) == 1;
}

typedef enum asked { BEFORE, IN_A_HOLD, AFTERWARDS, MOMENTS } asked;

static bool tells_loss(lk_lock *lock, asked when)
{
    int fd = when == BEFORE ? lk_lock_lost_fd(lock) : -1;

    LKS_EVENTUALLY(acquire(lock, 0, 100, NULL) == LK_OK, SOON_MS); /* not over by the answer */
    if (when == AFTERWARDS) LKS_EVENTUALLY(!lk_held(lock), SOON_MS);
    if (when != BEFORE) fd = lk_lock_lost_fd(lock);
    bool is_told = is_readable(fd, SOON_MS);
    (void)lk_lock_release(lock, NULL);
    return is_told;
}

static void lose(struct fixture *f, size_t kind, asked when)
{
    struct lks_any any;
    const char *key = fresh_key();

    lks_any_prepare(kind, f->client, key);
    lks_any_new(&any, kind, f->client, key);
    if (!tells_loss(any.lock, when)) fail_msg("%s: never, asked for at %d", any.name, when);
    assert_int_equal(acquire(any.lock, 20000, 60000, NULL), LK_OK);
    assert_false(is_readable(lk_lock_lost_fd(any.lock), 0));
    assert_int_equal(lk_lock_release(any.lock, NULL), LK_OK);
    lks_any_free(&any);
}

TEST(a_loss_is_readable_whenever_its_descriptor_was_asked_for, struct fixture *f)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        for (asked when = BEFORE; when < MOMENTS; when++)
            lose(f, kind, when);
    }
}

TEST(closing_a_lock_releases_all_its_holds, struct fixture *f)
{
    for (size_t kind = 0; kind < LKS_KINDS; kind++) {
        const char *key = fresh_key();
        lk_lock *lock = make(f, kind, key);
        lk_lock *other = make(f, kind, key);

        assert_int_equal(lk_lock_try(lock, NULL), LK_OK);
        unsigned holds = lk_lock_try(lock, NULL) == LK_OK ? 2 : 1;
        assert_int_equal(lk_lock_hold_count(lock), holds);
        assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
        assert_int_equal(lk_lock_try(other, NULL), LK_OK);
        LKS_DO(server, "DEL", key);
        assert_int_equal(lk_lock_close(other, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_close(make(f, kind, key), NULL), LK_OK); /* it held nothing */
    }
    assert_int_equal(lk_lock_close(NULL, NULL), LK_OK);
    assert_string_equal(lk_version(), LK_VERSION);
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

/* Who was compiled with another lockkit.h. */
TEST(options_may_be_fewer_or_more_than_the_library_knows, struct fixture *f)
{
    struct {
        struct lk_lock_options known;
        int64_t later;
    } newer = {.known = {.size = sizeof newer, .lease_ms = 90000}};
    struct lk_lock_options fewer = {.size = offsetof(struct lk_lock_options, lease_ms),
                                    .lease_ms = -1}; /* and what lies behind is not looked at */
    struct lk_error err = {0};
    lk_lock *lock = make(f, 0, fresh_key());

    assert_int_equal(lk_lock_acquire(lock, &newer.known, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(lock), 80000, 90000);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    newer.later = 1;
    assert_int_equal(lk_lock_acquire(lock, &newer.known, &err), LK_INVALID);
    assert_non_null(strstr(err.text, LK_VERSION));
    assert_int_equal(lk_lock_acquire(lock, &fewer, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(lock), 20000, 30000);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(lock, LK_OPTIONS(lock, .lease_ms = 90000), NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(lock), 80000, 90000);
    assert_int_equal(lk_lock_acquire(lock, LK_OPTIONS(lock), NULL), LK_INVALID); /* held */
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
}

TEST(null_is_answered, struct fixture *f)
{
    lk_lock *mutex = make(f, 0, fresh_key());
    lk_lock *fair = make(f, LKS_KINDS - 1, fresh_key());
    lk_reply *reply = NULL;
    lk_status statuses[1];

    assert_int_equal(lk_lock_acquire(NULL, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_lock_release(NULL, NULL), LK_OK); /* nothing to release */
    assert_int_equal(lk_lock_renew(NULL, 0, NULL), LK_INVALID);
    assert_int_equal(lk_lock_force_release(NULL, NULL), LK_INVALID);
    lk_lock_cancel(NULL);
    assert_false(lk_held(NULL));
    assert_int_equal(lk_lock_remaining_ms(NULL), 0);
    assert_int_equal(lk_lock_hold_count(NULL), 0);
    assert_int_equal(lk_lock_fence(NULL), 0);
    assert_string_equal(lk_lock_token(NULL), "");
    assert_int_equal(lk_lock_lost_fd(NULL), -1);
    lk_lock_free(NULL);
    assert_null(lk_multi_new(NULL, 1, NULL, NULL));
    assert_int_equal(lk_multi_report(NULL, statuses), 0);
    assert_null(lk_rwlock_read(NULL));
    assert_null(lk_rwlock_write(NULL));
    lk_rwlock_free(NULL);
    assert_int_equal(acquire(mutex, 0, 0, NULL), LK_OK);
    assert_int_equal(lk_guarded_eval(NULL, &f->eval, 0, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_guarded_eval(mutex, NULL, 0, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_guarded_eval(mutex, &(struct lk_eval){0}, 0, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_guarded_eval(mutex, &f->eval, 0, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_lock_release(mutex, NULL), LK_OK);
    assert_int_equal(lk_mutex_run(NULL, NULL, &f->eval, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(mutex, NULL, NULL, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(mutex, NULL, &(struct lk_eval){0}, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(mutex, NULL, &f->eval, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(fair, NULL, &f->eval, &reply, NULL), LK_INVALID); /* no mutex */
    assert_null(reply);
    lk_lock_free(mutex);
    lk_lock_free(fair);
}

TEST(what_makes_no_lock_is_invalid, struct fixture *f)
{
    char long_key[514];

    memset(long_key, 'k', sizeof long_key);
    long_key[513] = '\0';
    for (size_t i = 0; i < LKS_KINDS; i++) {
        const struct {
            lk_client *client;
            const char *key;
        } rows[] = {{NULL, "key"}, {f->client, NULL}, {f->client, ""}, {f->client, long_key}};

        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            struct lk_error err = {0};

            assert_null(lks_kinds[i].make(rows[k].client, rows[k].key, &err));
            assert_int_equal(err.code, LK_INVALID);
            assert_true(strlen(err.text) > 5);
            assert_null(lks_kinds[i].make(rows[k].client, rows[k].key, NULL));
        }
    }
}

TEST(options_out_of_range_are_refused_before_anything_is_sent, struct fixture *f)
{
    static const struct lk_lock_options rows[] = {
        {.lease_ms = 1},         {.lease_ms = 9},
        {.lease_ms = -1},        {.lease_ms = INT64_MIN},
        {.lease_ms = 1LL << 31}, {.lease_ms = INT64_MAX},
        {.wait_ms = -1},         {.wait_ms = INT64_MIN},
        {.max_hold_ms = -1},     {.max_hold_ms = -5, .is_renewed = true},
    };

    for (size_t i = 0; i < LKS_KINDS; i++) {
        lk_lock *lock = make(f, i, fresh_key());
        lk_lock *multi = lk_multi_new(&lock, 1, NULL, NULL);
        unsigned before = atomic_load(&f->round_trips);

        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            struct lk_error err = {0};

            assert_int_equal(lk_lock_acquire(lock, &rows[k], &err), LK_INVALID);
            assert_true(strlen(err.text) > 5);
            assert_int_equal(lk_lock_acquire(multi, &rows[k], NULL), LK_INVALID);
        }
        assert_int_equal(atomic_load(&f->round_trips), before);
        assert_int_equal(acquire(lock, 0, 0, NULL), LK_OK); /* 0 is the default */
        assert_in_range(lk_lock_remaining_ms(lock), 20000, 30000);
        assert_int_equal(lk_lock_renew(lock, 9, NULL), LK_INVALID);
        assert_int_equal(lk_lock_renew(lock, -1, NULL), LK_INVALID);
        assert_int_equal(lk_lock_renew(lock, INT64_MAX, NULL), LK_INVALID);
        assert_true(lk_held(lock));
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lk_lock_free(multi);
        lk_lock_free(lock);
    }
}

static void await_end(const char *key)
{
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", key) == 0, SOON_MS);
}

/* 9 of the checklist in redisson.md: there a lease of 0 deletes the key and is called a success. */
TEST(the_shortest_lease_is_held_and_ends, struct fixture *f)
{
    for (size_t i = 0; i < LKS_KINDS; i++) {
        const char *key = fresh_key();
        lk_lock *lock = make(f, i, key);
        lk_status status = acquire(lock, 0, 10, NULL);

        assert_true(status == LK_OK || status == LK_LOST); /* on a busy machine */
        await_end(key);
        assert_false(lk_held(lock));
        assert_int_equal(lk_lock_release(lock, NULL), status == LK_OK ? LK_NOT_OWNER : LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lk_lock_free(lock);
    }
}

TEST(what_was_given_back_is_given_back_once, struct fixture *f)
{
    for (size_t i = 0; i < LKS_KINDS; i++) {
        const char *key = fresh_key();
        lk_lock *lock = make(f, i, key);
        lk_lock *other = make(f, i, key);
        lk_reply *reply = NULL;

        assert_int_equal(acquire(lock, 0, 0, NULL), LK_OK);
        assert_int_equal(lk_lock_release(other, NULL), LK_OK); /* it holds nothing: no effect */
        assert_int_equal(lk_lock_renew(other, 0, NULL), LK_INVALID);
        assert_int_equal(lk_guarded_eval(other, &f->eval, 0, &reply, NULL), LK_INVALID);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 1);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(acquire(other, 0, 0, NULL), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK); /* once more: the other keeps it */
        assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 1);
        assert_int_equal(lk_lock_release(other, NULL), LK_OK);
        lk_lock_free(lock);
        lk_lock_free(other);
    }
}

TEST(a_key_that_is_something_else_stays_what_it_is, struct fixture *f)
{
    for (size_t i = 0; i < LKS_KINDS; i++) {
        const char *key = fresh_key();
        lk_lock *lock = make(f, i, key);
        struct lk_error err = {0};
        lk_reply *reply = NULL;
        bool is_mutex = lks_kinds[i].make == lk_mutex_new;

        assert_int_equal(acquire(lock, 0, 0, NULL), LK_OK);
        LKS_DO(server, "DEL", key);
        LKS_DO(server, "RPUSH", key, "data");
        assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_SERVER);
        assert_int_equal(lk_guarded_eval(lock, &f->eval, 0, &reply, NULL), LK_SERVER);
        assert_int_equal(lk_lock_release(lock, &err), LK_SERVER);
        assert_non_null(strstr(err.text, "WRONGTYPE"));
        assert_int_equal(lk_lock_force_release(lock, &err), LK_SERVER);
        assert_non_null(strstr(err.text, "WRONGTYPE"));
        double begin = lks_now_ms();
        assert_int_equal(acquire(lock, is_mutex ? 50 : 60000, 0, NULL),
                         is_mutex ? LK_BUSY : LK_SERVER);
        assert_true(lks_now_ms() - begin < SOON_MS);
        assert_string_equal(LKS_TEXT(server, "LINDEX", key, "0"), "data");
        lk_lock_free(lock);
        LKS_DO(server, "DEL", key);
    }
}

/* 5 of the checklist: on one server every name is as good as another. */
TEST(names_with_stray_braces_work, struct fixture *f)
{
    static const char *const names[] = {"a{b",         "a{}b", "x}y",   "{",      "}",
                                        "{}",          "}{",   "{{a}}", "a}b{c}", " \r\n%s%n*\"'\\",
                                        "\xff\x01\xc3"};

    for (size_t i = 0; i < LKS_KINDS; i++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            lk_lock *lock = make(f, i, names[k]);
            lk_lock *other = make(f, i, names[k]);

            assert_int_equal(acquire(lock, 0, 0, NULL), LK_OK);
            assert_int_equal(LKS_INTEGER(server, "EXISTS", names[k]), 1);
            assert_int_equal(acquire(other, 1, 0, NULL), LK_BUSY);
            assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_OK);
            assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
            assert_int_equal(LKS_INTEGER(server, "EXISTS", names[k]), 0);
            assert_int_equal(lk_lock_force_release(other, NULL), LK_NOT_OWNER);
            lk_lock_free(lock);
            lk_lock_free(other);
        }
    }
}

/* ---- a closed client -------------------------------------------------------------------------------------- */

TEST(after_the_client_was_closed_nothing_works_and_nothing_breaks, struct fixture *f)
{
    lk_lock *locks[LKS_KINDS + 1];
    lk_lock *again[LKS_KINDS];
    lk_reply *reply = NULL;

    for (size_t i = 0; i < LKS_KINDS; i++) {
        locks[i] = make(f, i, fresh_key());
        again[i] = make(f, i, fresh_key());
        assert_int_equal(
            lk_lock_acquire(locks[i], &(struct lk_lock_options){.is_renewed = true}, NULL), LK_OK);
    }
    locks[LKS_KINDS] = lk_multi_new(again, 1, NULL, NULL);
    lk_client_close(f->client);

    for (size_t i = 0; i <= LKS_KINDS; i++) {
        struct lk_error err = {0};

        assert_int_equal(acquire(locks[i], 1000, 0, &err), LK_INVALID);
        assert_true(strlen(err.text) > 5);
        assert_int_equal(lk_lock_force_release(locks[i], NULL), LK_INVALID);
        assert_int_equal(lk_guarded_eval(locks[i], &f->eval, 0, &reply, NULL), LK_INVALID);
        assert_int_equal(lk_mutex_run(locks[i], NULL, &f->eval, &reply, NULL), LK_INVALID);
        assert_int_equal(lk_lock_renew(locks[i], 0, NULL), LK_INVALID);
        lk_lock_cancel(locks[i]);
        assert_int_equal(lk_lock_release(locks[i], NULL), i < LKS_KINDS ? LK_INVALID : LK_OK);
        (void)lk_held(locks[i]);
    }
    for (size_t i = 0; i < LKS_KINDS; i++) {
        assert_int_equal(acquire(again[i], 0, 0, NULL), LK_INVALID);
        assert_null(lk_multi_new(&again[i], 1, NULL, NULL));
    }
    assert_null(reply);
    for (size_t i = LKS_KINDS + 1; i-- > 0;)
        lk_lock_free(locks[i]);
    for (size_t i = 0; i < LKS_KINDS; i++)
        lk_lock_free(again[i]);
    f->client = NULL;
}
