/*
 * The n-th fault loop: every operation, with its n-th call to Redis refused, answered by an error, or
 * done (or begun) with the reply lost, for n = 1, 2, ... until it runs untouched. Each time the status is
 * right, and somebody else gets the lock in the end.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */
#include <stdatomic.h>

#include "test/support/lk_fault.h"
#include "test/support/lk_support.h"

enum { LEASE_MS = 400, CALLS_MAX = 12 };

LKS_SERVER(lks_server_start(NULL));

/* ---- the operations -------------------------------------------------------------------------------------- */

struct fixture {
    lk_client *client, *other_client;
    lk_lock *lock, *other;
    lk_script *script;
    const char *key, *counter;
    struct lk_bytes keys[1];
    struct lk_eval eval;
};

static const char add_one[] = "return redis.call('INCR', KEYS[1])";

static lk_script *new_script(void)
{
    lk_script *script = lk_script_new(&(struct lk_script_source){.name = "add", .source = add_one});

    assert_non_null(script);
    return script;
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.backoff_ms = 5, .poll_ms = 50};

    f->key = lks_new_key(server, "fault");
    f->counter = lks_new_key(server, "count");
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
    f->lock = lks_mutex(f->client, f->key);
    f->other = lks_mutex(f->other_client, f->key);
    f->script = new_script();
    f->keys[0] = lk_bytes_of(f->counter);
    f->eval = (struct lk_eval){.script = f->script, .keys = f->keys, .key_count = 1};
}

TEAR_DOWN(struct fixture, f)
{
    (void)lks_fault_disarm();
    lk_lock_free(f->lock);
    lk_lock_free(f->other);
    lk_script_free(f->script);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
}

/* One operation, ready to run: what comes before the fault, and the operation itself. */
struct operation {
    const char *name;
    void (*prepare)(struct fixture *f);
    lk_status (*run)(struct fixture *f, struct lk_error *err);
};

static const struct lk_lock_options short_lease = {.lease_ms = LEASE_MS};

static void forget_scripts(struct fixture *f)
{
    (void)f;
    LKS_DO(server, "SCRIPT", "FLUSH");
}

static void unlearn(struct fixture *f)
{
    lk_script_free(f->script);
    f->script = new_script();
    f->eval.script = f->script;
}

/* The digests are known here, and forgotten there. */
static void learn_and_forget(struct fixture *f)
{
    lk_reply *reply = NULL;

    assert_int_equal(lk_mutex_run(f->lock, &short_lease, &f->eval, &reply, NULL), LK_OK);
    lk_reply_free(reply);
    forget_scripts(f);
}

static void learn(struct fixture *f)
{
    lk_reply *reply = NULL;

    assert_int_equal(lk_mutex_run(f->lock, &short_lease, &f->eval, &reply, NULL), LK_OK);
    lk_reply_free(reply);
}

static void hold(struct fixture *f)
{
    assert_int_equal(lk_lock_acquire(f->lock, &(struct lk_lock_options){.lease_ms = 1000}, NULL),
                     LK_OK);
}

static void learn_hold(struct fixture *f)
{
    learn(f);
    hold(f);
}

static void unlearn_hold(struct fixture *f)
{
    unlearn(f);
    hold(f);
}

static void learn_hold_forget(struct fixture *f)
{
    learn(f);
    hold(f);
    forget_scripts(f);
}

static void let_a_peer_hold_it(struct fixture *f)
{
    LKS_DO(server, "SET", f->key, "a peer", "PX", "30");
}

static lk_status acquire(struct fixture *f, struct lk_error *err)
{
    return lk_lock_acquire(f->lock, &short_lease, err);
}

static lk_status acquire_waiting(struct fixture *f, struct lk_error *err)
{
    return lk_lock_acquire(f->lock,
                           &(struct lk_lock_options){.lease_ms = LEASE_MS, .wait_ms = 5000}, err);
}

static lk_status release(struct fixture *f, struct lk_error *err)
{
    return lk_lock_release(f->lock, err);
}

static lk_status guarded_eval(struct fixture *f, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lk_guarded_eval(f->lock, &f->eval, 0, &reply, err);

    lk_reply_free(reply);
    return status;
}

static lk_status run(struct fixture *f, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lk_mutex_run(f->lock, &short_lease, &f->eval, &reply, err);

    lk_reply_free(reply);
    return status;
}

static lk_status run_waiting(struct fixture *f, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status =
        lk_mutex_run(f->lock, &(struct lk_lock_options){.lease_ms = LEASE_MS, .wait_ms = 5000},
                     &f->eval, &reply, err);

    lk_reply_free(reply);
    return status;
}

static const struct operation operations[] = {
    {"acquire", NULL, acquire},
    {"acquire, waiting", let_a_peer_hold_it, acquire_waiting},
    {"release", hold, release},
    {"release, scripts forgotten", learn_hold_forget, release},
    {"guarded eval", learn_hold, guarded_eval},
    {"guarded eval, new script", unlearn_hold, guarded_eval},
    {"guarded eval, scripts forgotten", learn_hold_forget, guarded_eval},
    {"run", learn, run},
    {"run, new script", unlearn, run},
    {"run, scripts forgotten", learn_and_forget, run},
    {"run, waiting", let_a_peer_hold_it, run_waiting},
};

/* ---- the loop -------------------------------------------------------------------------------------------- */

static long long count_of(struct fixture *f)
{
    const char *text = LKS_TEXT(server, "GET", f->counter);

    return strcmp(text, "(nil)") == 0 ? 0 : strtoll(text, NULL, 10);
}

/*
 * Whether an operation whose n-th call was faulty may end so. A lost reply is UNKNOWN, or
 * UNREACHABLE when it was one of lockkit's own steps and nothing of the caller's was asked; and a
 * step that only tidies up may fail unseen.
 */
static bool is_right(enum lks_fault_kind kind, lk_status status, long long ran)
{
    switch (status) {
    case LK_OK:
        return true; /* what was done is checked by the count */
    case LK_UNREACHABLE:
        return kind != LKS_ERROR_ANSWER && ran == 0;
    case LK_SERVER:
        return kind == LKS_ERROR_ANSWER && ran == 0;
    case LK_UNKNOWN:
        return kind >= LKS_REPLY_LOST && ran <= 1;
    case LK_BUSY:
    case LK_NOT_OWNER:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_UNSYNCED:
    case LK_CANCELLED:
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_STATUS_COUNT:
        break;
    }
    return false;
}

static void somebody_else_gets_it(struct fixture *f)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {.wait_ms = 5000, .lease_ms = 5000};

    if (lk_lock_acquire(f->other, &options, &err) != LK_OK) fail_msg("%s", err.text);
    assert_int_equal(lk_lock_release(f->other, &err), LK_OK);
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct fixture *f, const struct operation *operation,
                           enum lks_fault_kind kind, int n, bool goes_on)
{
    struct lk_error err = {.code = LK_OK};
    bool is_eval =
        strncmp(operation->name, "acq", 3) != 0 && strncmp(operation->name, "rel", 3) != 0;

    if (operation->prepare) operation->prepare(f);
    long long before = count_of(f);
    (goes_on ? lks_fault_arm_for_good : lks_fault_arm)(kind, n);
    lk_status status = operation->run(f, &err);
    bool is_hit = lks_fault_disarm();
    long long ran = count_of(f) - before;

    bool is_clean = status == LK_OK && err.code == LK_OK;
    bool is_told = status != LK_OK && err.code == status && err.text[0] != '\0';
    if (!(is_hit ? is_right(kind, status, ran) : status == LK_OK) || !(is_clean || is_told) ||
        (status == LK_OK && ran != is_eval)) {
        fail_msg("%s, call %d %s%s: %s (\"%s\"), ran %lld times", operation->name, n,
                 lks_fault_name(kind), goes_on ? " and all later ones refused" : "",
                 lk_status_name(status), err.text, ran);
    }
    for (int i = 0; i < 3 && lk_lock_release(f->lock, NULL) != LK_OK; i++) {}
    if (status == LK_UNKNOWN && !goes_on) { /* taken back at once, not left to the lease */
        const char *holder = LKS_TEXT(server, "GET", f->key);

        if (strcmp(holder, "a peer") != 0) assert_string_equal(holder, "(nil)");
    }
    assert_false(lk_held(f->lock));
    somebody_else_gets_it(f);
    return is_hit;
}

TEST(every_operation_survives_a_fault_at_every_call, struct fixture *f)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        int calls = 0;

        for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
            int n = 1;

            while (n < CALLS_MAX &&
                   try_with_fault(f, &operations[i], (enum lks_fault_kind)kind, n, false))
                n++;
            assert_in_range(n, 2, CALLS_MAX - 1); /* at least one fault, and an end */
            if (n - 1 > calls) calls = n - 1;
        }
        print_message("# %s: up to %d calls, each faulty in turn\n", operations[i].name, calls);
    }
}

TEST(every_operation_survives_a_lost_reply_and_then_no_server, struct fixture *f)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        int n = 1;

        while (n < CALLS_MAX && try_with_fault(f, &operations[i], LKS_REPLY_LOST, n, true))
            n++;
        assert_in_range(n, 2, CALLS_MAX - 1);
    }
}

TEST(a_failed_call_hands_out_no_reply, struct fixture *f)
{
    struct lk_bytes sleep_words[] = {LK_BYTES("BLPOP"), lk_bytes_of(f->key), LK_BYTES("1")};
    struct lk_bytes ping = LK_BYTES("PING");
    struct lk_command commands[] = {{&ping, 1}, {&ping, 1}, {sleep_words, 3}};
    lk_reply *replies[3] = {NULL};

    assert_int_equal(lk_client_call(f->client, commands, 3, 100, replies, NULL), LK_UNKNOWN);

    for (size_t i = 0; i < 3; i++)
        assert_null(replies[i]); /* two were answered: freed, and not left behind */
}

static void hold_over_a_failed_renewal(struct fixture *f, enum lks_fault_kind kind, int n)
{
    atomic_int losses = 0;
    struct lk_lock_options options = {.lease_ms = LEASE_MS,
                                      .is_renewed = true,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &losses};

    lks_fault_arm_renewal(kind, n);
    assert_int_equal(lk_lock_acquire(f->lock, &options, NULL), LK_OK);
    LKS_EVENTUALLY(lks_fault_renewal_is_over(), 2000);
    double hit_at_ms = lks_now_ms();
    while (lks_now_ms() - hit_at_ms < LEASE_MS + 50) {
        assert_true(lk_held(f->lock));
        lks_nap(2);
    }
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    somebody_else_gets_it(f);
}

TEST(a_renewal_that_fails_once_is_made_up_for)
{
    for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
        hold_over_a_failed_renewal(*state, (enum lks_fault_kind)kind, 1);
        hold_over_a_failed_renewal(*state, (enum lks_fault_kind)kind, 2);
    }
}
