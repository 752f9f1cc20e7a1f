/*
 * Semaphores and latches whose n-th call to Redis is refused, answered by an error, done with its
 * reply lost, or comes when everybody has given it up, for n = 1, 2, ... until nothing is left to
 * go wrong. Each time, nothing is counted twice and nothing is forgotten.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_clock_now
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "test/support/lk_fault.h"
#include "test/support/lk_support.h"

enum { TOTAL = 5, LEASE_MS = 1000, CALLS_MAX = 16 };

LKS_SERVER(lks_server_start(NULL));

static _Atomic int64_t slept_ns; /* as this process believes */

FAKE(int64_t, lki_clock_now, void)
{
    return __real_lki_clock_now() + atomic_load(&slept_ns);
}

struct fixture {
    lk_client *client, *other_client;
    lk_semaphore *semaphore;
    lk_permits *permits;
    lk_latch *latch;
    const char *semaphore_key, *permits_key, *latch_key;
    struct lk_permit list[2];
    int64_t drained;
};

static const char *new_key(const char *kind)
{
    static unsigned serial;
    char name[48];

    (void)snprintf(name, sizeof name, "%s-%u", kind, serial++);
    return lks_key(server, name);
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.backoff_ms = 5, .poll_ms = 50};

    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
}

TEAR_DOWN(struct fixture, f)
{
    (void)lks_fault_disarm();
    lk_client_close(f->client);
    lk_client_close(f->other_client);
}

/* New handles on new keys: no case knows of the one before. */
static void begin(struct fixture *f)
{
    f->semaphore_key = new_key("semaphore");
    f->permits_key = new_key("permits");
    f->latch_key = new_key("latch");
    f->semaphore = lk_semaphore_new(f->client, f->semaphore_key, NULL);
    f->permits = lk_permits_new(f->client, f->permits_key, NULL);
    f->latch = lk_latch_new(f->client, f->latch_key, NULL);
    assert_true(f->semaphore && f->permits && f->latch);
    assert_int_equal(lk_semaphore_try_set(f->semaphore, TOTAL, NULL), LK_OK);
    assert_int_equal(lk_permits_try_set(f->permits, TOTAL, NULL), LK_OK);
    assert_int_equal(lk_latch_try_set(f->latch, TOTAL, NULL), LK_OK);
    f->drained = 0;
}

static void end(struct fixture *f)
{
    lk_semaphore_free(f->semaphore);
    lk_permits_free(f->permits);
    lk_latch_free(f->latch);
}

static long long number_at(const char *key)
{
    return strtoll(LKS_TEXT(server, "GET", key), NULL, 10);
}

/* ---- the operations -------------------------------------------------------------------------- */

/* How an operation ended, and whether it may end so: status, number, and what settles it. */
struct operation {
    const char *name;
    void (*prepare)(struct fixture *f);
    lk_status (*run)(struct fixture *f);
    /* After it, faults over: makes up for what it left open, and checks what is counted. */
    void (*check)(struct fixture *f, lk_status status);
    bool is_asked_again; /* one lost reply does not stop it */
};

/* The semaphore: afterwards all are free but those that are surely held. */
static void assert_held(struct fixture *f, int64_t held)
{
    assert_int_equal(lk_semaphore_acquire(f->semaphore, 1, 0, NULL), LK_OK); /* settles */
    assert_int_equal(lk_semaphore_release(f->semaphore, 1, NULL), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), TOTAL - held);
}

static lk_status acquire(struct fixture *f)
{
    return lk_semaphore_acquire(f->semaphore, 2, 0, NULL);
}

static void check_acquire(struct fixture *f, lk_status status)
{
    assert_held(f, status == LK_OK ? 2 : 0);
}

/* So many that the try after a lost one finds too few, and waits in vain. */
static lk_status acquire_in_vain(struct fixture *f)
{
    return lk_semaphore_acquire(f->semaphore, TOTAL + 1, 30, NULL);
}

static void check_acquire_in_vain(struct fixture *f, lk_status status)
{
    assert_int_not_equal(status, LK_OK);
    assert_held(f, 0);
    assert_int_equal(lk_semaphore_add(f->semaphore, TOTAL, NULL), LK_OK); /* now it could */
}

static lk_status drain(struct fixture *f)
{
    return lk_semaphore_drain(f->semaphore, &f->drained, NULL);
}

static void check_drain(struct fixture *f, lk_status status)
{
    if (status != LK_OK) {
        assert_held(f, 0);
        return;
    }
    assert_int_equal(f->drained, TOTAL);
    assert_int_equal(number_at(f->semaphore_key), 0);
}

static void hold(struct fixture *f)
{
    assert_int_equal(lk_semaphore_acquire(f->semaphore, 2, 0, NULL), LK_OK);
}

static lk_status release(struct fixture *f)
{
    return lk_semaphore_release(f->semaphore, 2, NULL);
}

static void check_release(struct fixture *f, lk_status status)
{
    if (status != LK_OK) assert_int_equal(release(f), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), TOTAL);
}

static lk_status add(struct fixture *f)
{
    return lk_semaphore_add(f->semaphore, 3, NULL);
}

static void check_add(struct fixture *f, lk_status status)
{
    if (status != LK_OK) assert_int_equal(add(f), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), TOTAL + 3);
}

/* Refused for want of free ones, and it stays refused when there are some. */
static lk_status take_away_in_vain(struct fixture *f)
{
    return lk_semaphore_add(f->semaphore, -TOTAL, NULL);
}

static void check_take_away_in_vain(struct fixture *f, lk_status status)
{
    assert_int_not_equal(status, LK_OK);
    if (status == LK_UNKNOWN) assert_int_equal(take_away_in_vain(f), LK_BUSY);
    assert_int_equal(lk_semaphore_release(f->semaphore, 2, NULL), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), TOTAL);
}

static lk_status count_down(struct fixture *f)
{
    return lk_latch_count_down(f->latch, NULL);
}

static void check_count_down(struct fixture *f, lk_status status)
{
    if (status != LK_OK) assert_int_equal(count_down(f), LK_OK);
    assert_int_equal(number_at(f->latch_key), TOTAL - 1);
}

static lk_status await(struct fixture *f)
{
    return lk_latch_await(f->latch, 30, NULL);
}

static void check_await(struct fixture *f, lk_status status)
{
    assert_int_not_equal(status, LK_OK);
    assert_int_equal(number_at(f->latch_key), TOTAL);
}

static bool is_out(struct fixture *f, int64_t acquired)
{
    struct lk_permits_usage usage = {0};

    assert_int_equal(lk_permits_usage(f->permits, &usage, NULL), LK_OK);
    assert_int_equal(usage.available + usage.acquired, TOTAL);
    return usage.acquired == acquired;
}

static lk_status acquire_permits(struct fixture *f)
{
    struct lk_permit_options options = {.lease_ms = LEASE_MS};

    return lk_permits_acquire(f->permits, &options, f->list, 2, NULL);
}

static void check_acquire_permits(struct fixture *f, lk_status status)
{
    if (status == LK_OK) assert_true(is_out(f, 2));
    LKS_EVENTUALLY(is_out(f, 0), LEASE_MS + 10000); /* by its undoing or by its lease */
}

static void hold_permits(struct fixture *f)
{
    assert_int_equal(lk_permits_acquire(f->permits, NULL, f->list, 2, NULL), LK_OK);
}

static lk_status release_permits(struct fixture *f)
{
    return lk_permits_release(f->permits, f->list, 2, NULL);
}

static void check_release_permits(struct fixture *f, lk_status status)
{
    if (status != LK_OK) {
        lk_status again = release_permits(f);

        assert_true(again == LK_OK || (status == LK_UNKNOWN && again == LK_NOT_OWNER));
    }
    assert_true(is_out(f, 0));
}

static lk_status renew(struct fixture *f)
{
    return lk_permits_renew(f->permits, &f->list[0], 60000, NULL);
}

static void check_renew(struct fixture *f, lk_status status)
{
    struct lk_permit asked = f->list[0];

    assert_true(is_out(f, 2));
    assert_int_equal(lk_permits_ask(f->permits, &asked, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&f->list[0]) <= lk_permit_remaining_ms(&asked) + 700);
    if (status == LK_OK) assert_true(lk_permit_remaining_ms(&f->list[0]) > 50000);
}

static lk_status set_permits(struct fixture *f)
{
    return lk_permits_set(f->permits, TOTAL, NULL);
}

static void check_set_permits(struct fixture *f, lk_status status)
{
    assert_true(is_out(f, 2));
}

static const struct operation operations[] = {
    {"acquire", NULL, acquire, check_acquire, true},
    {"acquire in vain", NULL, acquire_in_vain, check_acquire_in_vain, false},
    {"drain", NULL, drain, check_drain, true},
    {"release", hold, release, check_release, true},
    {"add", NULL, add, check_add, true},
    {"take away in vain", hold, take_away_in_vain, check_take_away_in_vain, false},
    {"count down", NULL, count_down, check_count_down, true},
    {"await", NULL, await, check_await, false},
    {"acquire permits", NULL, acquire_permits, check_acquire_permits, true},
    {"release permits", hold_permits, release_permits, check_release_permits, true},
    {"renew a permit", hold_permits, renew, check_renew, false},
    {"set permits", hold_permits, set_permits, check_set_permits, false},
};

/* ---- the loop -------------------------------------------------------------------------------- */

static bool is_right(enum lks_fault_kind kind, lk_status status)
{
    switch (status) {
    case LK_OK:
    case LK_BUSY: /* in vain */
        return true;
    case LK_UNREACHABLE:
        return kind != LKS_ERROR_ANSWER;
    case LK_SERVER:
        return kind == LKS_ERROR_ANSWER;
    case LK_UNKNOWN:
        return kind >= LKS_REPLY_LOST;
    case LK_NOT_OWNER:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_UNSYNCED:
    case LK_CANCELLED:
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_EXHAUSTED:
    case LK_STATUS_COUNT:
        break;
    }
    return false;
}

/* What was given up comes after all, and once more: nothing changes, or not for long. */
static void assert_late_is_too_late(struct fixture *f)
{
    long long permits = number_at(f->semaphore_key);
    long long count = number_at(f->latch_key);
    bool has_two_out = is_out(f, 2);

    for (int i = 0; i < 2; i++) {
        lks_fault_deliver(f->other_client);
        assert_int_equal(number_at(f->semaphore_key), permits);
        assert_int_equal(number_at(f->latch_key), count);
    }
    LKS_EVENTUALLY(is_out(f, has_two_out ? 2 : 0), LEASE_MS + 10000);
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct fixture *f, const struct operation *operation,
                           enum lks_fault_kind kind, int n, bool goes_on)
{
    begin(f);
    if (operation->prepare) operation->prepare(f);
    if (goes_on) {
        lks_fault_arm_for_good(kind, n);
    } else {
        lks_fault_arm(kind, n);
    }
    lk_status status = operation->run(f);
    bool is_hit = lks_fault_disarm();

    if (is_hit ? !is_right(kind, status) : status != LK_OK && status != LK_BUSY) {
        fail_msg("%s, call %d %s: %s", operation->name, n, lks_fault_name(kind),
                 lk_status_name(status));
    }
    if (operation->is_asked_again && kind >= LKS_REPLY_LOST && !goes_on)
        assert_int_equal(status, LK_OK);
    if (is_hit && kind == LKS_LATE && goes_on) lks_fault_deliver(f->other_client);
    operation->check(f, status);
    if (is_hit && kind == LKS_LATE) assert_late_is_too_late(f);
    end(f);
    return is_hit;
}

static void try_all_faults(struct fixture *f, const struct operation *operation, bool goes_on)
{
    static const enum lks_fault_kind kinds[] = {LKS_REFUSED, LKS_ERROR_ANSWER, LKS_REPLY_LOST,
                                                LKS_LATE};

    print_message("# %s\n", operation->name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int n = 1;

        while (n < CALLS_MAX && try_with_fault(f, operation, kinds[i], n, goes_on))
            n++;
        assert_in_range(n, 2, CALLS_MAX - 1); /* at least one fault, and an end */
    }
}

TEST(nothing_is_counted_twice_or_forgotten)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        try_all_faults(*state, &operations[i], false);
}

TEST(nor_when_the_server_stays_away_for_a_while)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        try_all_faults(*state, &operations[i], true);
}

/* Undone without another word of the handle, and only then there is enough for what comes late. */
TEST(what_was_undone_stays_undone, struct fixture *f)
{
    begin(f);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lk_semaphore_acquire(f->semaphore, TOTAL + 1, 30, NULL), LK_BUSY);
    (void)lks_fault_disarm();
    LKS_DO(server, "INCRBY", f->semaphore_key, "5");
    lks_fault_deliver(f->other_client);
    assert_int_equal(number_at(f->semaphore_key), TOTAL + 5);

    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lk_semaphore_add(f->semaphore, -TOTAL - 6, NULL), LK_BUSY);
    (void)lks_fault_disarm();
    LKS_DO(server, "INCRBY", f->semaphore_key, "5");
    lks_fault_deliver(f->other_client);
    assert_int_equal(number_at(f->semaphore_key), TOTAL + 10);
    end(f);
}

/* A release that nobody confirmed, and then something else is asked for. */
TEST(what_is_unfinished_is_finished_by_what_comes_next, struct fixture *f)
{
    begin(f);
    hold(f);
    lks_fault_arm_for_good(LKS_LATE, 1);
    assert_int_equal(release(f), LK_UNKNOWN);
    assert_int_equal(release(f), LK_UNKNOWN);
    (void)lks_fault_disarm();
    assert_int_equal(lk_semaphore_release(f->semaphore, 1, NULL), LK_INVALID);
    assert_int_equal(lk_semaphore_acquire(f->semaphore, TOTAL, 0, NULL), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), 0);
    assert_int_equal(lk_semaphore_release(f->semaphore, TOTAL, NULL), LK_OK);
    lks_fault_deliver(f->other_client);
    assert_int_equal(number_at(f->semaphore_key), TOTAL);
    end(f);
}

/* ---- suspended until the claims have ended ---------------------------------------------------------- */

/* Nobody asks for longer than the claims live: they are gone, and the clock has gone on. */
static void sleep_past_claims(void)
{
    LKS_DO(server, "EVAL",
           "for _, key in ipairs(redis.call('KEYS', '*:lockkit_claim:*')) do redis.call('DEL', "
           "key) end",
           "0");
    atomic_fetch_add(&slept_ns, 65000LL * NS_PER_MS);
}

static const struct operation done_once[] = {
    {.name = "release", .prepare = hold, .run = release},
    {.name = "add", .run = add},
    {.name = "count down", .run = count_down},
};

TEST(what_is_asked_again_when_its_claim_has_ended_is_not_done_twice, struct fixture *f)
{
    for (size_t i = 0; i < sizeof done_once / sizeof done_once[0]; i++) {
        const struct operation *operation = &done_once[i];

        begin(f);
        if (operation->prepare) operation->prepare(f);
        lks_fault_arm_for_good(LKS_REPLY_LOST, 1);
        assert_int_equal(operation->run(f), LK_UNKNOWN);
        (void)lks_fault_disarm();
        long long permits = number_at(f->semaphore_key), count = number_at(f->latch_key);
        sleep_past_claims();
        assert_int_equal(operation->run(f), LK_LOST);
        assert_int_equal(number_at(f->semaphore_key), permits);
        assert_int_equal(number_at(f->latch_key), count);
        assert_int_equal(operation->run(f), LK_OK); /* another one */
        assert_int_not_equal(number_at(f->semaphore_key) + number_at(f->latch_key),
                             permits + count);
        end(f);
    }
}

/* In the middle of an acquire: it has sent its question, and connects to send it again. */
static void fall_asleep(const struct lk_event *event, void *arg)
{
    pthread_t *sleeper = arg;

    if (event->type != LK_EVENT_CONNECT || !pthread_equal(*sleeper, pthread_self())) return;
    if (lks_fault_disarm()) sleep_past_claims();
}

TEST(an_acquire_that_was_suspended_is_not_counted_twice, struct fixture *f)
{
    pthread_t sleeper = pthread_self();
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.on_event = fall_asleep, .on_event_arg = &sleeper});
    struct lk_error err = {0};

    begin(f);
    lk_semaphore *semaphore = lk_semaphore_new(client, f->semaphore_key, NULL);
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, 0, NULL), LK_OK);
    lks_fault_arm(LKS_REPLY_LOST, 1);
    assert_int_equal(lk_semaphore_acquire(semaphore, 2, 0, &err), LK_LOST);
    assert_int_equal(number_at(f->semaphore_key), TOTAL - 3);
    assert_int_equal(lk_semaphore_acquire(semaphore, 2, 0, NULL), LK_OK);
    assert_int_equal(number_at(f->semaphore_key), TOTAL - 5);
    lk_semaphore_free(semaphore);
    end(f);
    lk_client_close(client);
}
