/*
 * The n-th fault loop: every step of every kind of lock, with its n-th call to Redis refused, answered by an
 * error, or done (or begun) with the reply lost, for n = 1, 2, ... until it runs untouched. Each time the
 * status is right, what we believe is what the server has, nobody stays behind in a queue, somebody else
 * gets the lock in the end, and nothing is left. Numbers are cases of the checklist in redisson.md.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 */
#include "test/support/lk_any.h"
#include "test/support/lk_fair.h"
#include "test/support/lk_fault.h"
#include "test/support/lk_rw.h"

enum { LEASE_MS = 5000, HASTY_MS = 400, LONG_MS = 30000, CALLS_MAX = 12, SOON_MS = 10000 };
enum { RENEWED_MS = 1200 }; /* long enough for a renewal that failed, and for the next */

LKS_SERVER(lks_server_start(NULL));

/* ---- the kinds ----------------------------------------------------------------------------------------- */

/* In masks. As of lk_any.h; a non-reentrant lock is a mutex, and permits are counter_fault_itest's. */
enum {
    MUTEX = 1,
    REENTRANT = 2,
    SPIN = 8,
    FENCED = 16,
    FAIR = 32,
    READ = 64,
    WRITE = 128,
    EXACT = REENTRANT | SPIN | FENCED, /* their holds are known after each fault */
    SIDES = READ | WRITE,
    ALL = MUTEX | EXACT | FAIR | SIDES
};

/* One more kind: a write as any, by a lock that has an order. */
enum { ORDERED = LKS_ANY_KINDS };

struct fixture {
    size_t kind;
    unsigned mask;
    lk_client *client, *other_client;
    struct lks_any mine, other; /* who has faults, and who comes after */
    lk_lock *lock, *beside;     /* mine, and the other side of it */
    struct lkf_keys keys;       /* of a fair lock; the key is everybody's */
    lk_script *script;          /* adds one to the counter */
    const char *key, *counter;
    struct lk_bytes script_keys[1];
    struct lk_eval eval;
    int64_t lease_ms;
};

static void new_script(struct fixture *f)
{
    static const struct lk_script_source add = {.name = "add",
                                                .source = "return redis.call('INCR', KEYS[1])"};

    lk_script_free(f->script);
    f->script = lk_script_new(&add);
    assert_non_null(f->script);
    f->eval.script = f->script;
}

/* Who writes and who reads keep each other out. */
static void open_one(struct lks_any *any, const struct fixture *f, bool is_other, lk_client *client)
{
    struct lk_error err = {0};
    struct lk_fair_options fair = {.waiter_ms = is_other ? 0 : 100};
    struct lk_rwlock_options ordered = {.order = LK_RWLOCK_FAIR, .waiter_ms = 300};

    if (f->kind == ORDERED) {
        *any = (struct lks_any){.name = "fair write",
                                .rwlock = lk_rwlock_new_with(client, f->key, &ordered, &err)};
        any->lock = lk_rwlock_write(any->rwlock);
        if (!any->lock) fail_msg("%s", err.text);
        return;
    }
    if (f->mask != FAIR) {
        lks_any_new(any, is_other && f->mask == READ ? (size_t)LKS_ANY_WRITE : f->kind, client,
                    f->key);
        return;
    }
    *any = (struct lks_any){.name = "fair", .lock = lk_fair_new(client, f->key, &fair, &err)};
    if (!any->lock) fail_msg("%s", err.text);
}

static void open_mine(struct fixture *f)
{
    f->client = lks_client_with(server, (struct lk_client_options){.backoff_ms = 5, .poll_ms = 50});
    open_one(&f->mine, f, false, f->client);
    f->lock = f->mine.lock;
    if (f->mask & SIDES)
        f->beside =
            f->mask == READ ? lk_rwlock_write(f->mine.rwlock) : lk_rwlock_read(f->mine.rwlock);
}

static void close_mine(struct fixture *f)
{
    lks_any_free(&f->mine);
    lk_client_close(f->client);
}

static void begin(struct fixture *f, size_t kind)
{
    *f = (struct fixture){
        .kind = kind, .mask = kind == ORDERED ? (unsigned)WRITE : 1U << kind, .lease_ms = LONG_MS};
    lkf_keys_init(&f->keys, server, "fault");
    f->key = f->keys.lock;
    f->counter = lks_new_key(server, "count");
    f->other_client =
        lks_client_with(server, (struct lk_client_options){.backoff_ms = 5, .poll_ms = 50});
    open_mine(f);
    open_one(&f->other, f, true, f->other_client);
    f->script_keys[0] = lk_bytes_of(f->counter);
    f->eval = (struct lk_eval){.keys = f->script_keys, .key_count = 1};
    new_script(f);
}

static void end(struct fixture *f)
{
    (void)lks_fault_disarm();
    close_mine(f);
    lks_any_free(&f->other);
    lk_client_close(f->other_client);
    lk_script_free(f->script);
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

static lk_status acquire_for(struct fixture *f, int64_t wait_ms, struct lk_error *err)
{
    struct lk_lock_options options = {.lease_ms = f->lease_ms, .wait_ms = wait_ms};

    return lk_lock_acquire(f->lock, &options, err);
}

static lk_status acquire(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 0, err);
}

static lk_status acquire_waiting(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 5000, err);
}

static lk_status acquire_in_vain(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 15, err);
}

static lk_status upgrade_for(struct fixture *f, int64_t wait_ms, struct lk_error *err)
{
    struct lk_lock_options options = {.lease_ms = f->lease_ms, .wait_ms = wait_ms};

    return lk_rwlock_upgrade(f->mine.rwlock, &options, err);
}

static lk_status upgrade(struct fixture *f, struct lk_error *err)
{
    return upgrade_for(f, 0, err);
}

static lk_status upgrade_waiting(struct fixture *f, struct lk_error *err)
{
    return upgrade_for(f, 5000, err);
}

static lk_status release(struct fixture *f, struct lk_error *err)
{
    return lk_lock_release(f->lock, err);
}

static lk_status renew(struct fixture *f, struct lk_error *err)
{
    return lk_lock_renew(f->lock, f->lease_ms, err);
}

static lk_status force(struct fixture *f, struct lk_error *err)
{
    return lk_lock_force_release(f->lock, err);
}

static lk_status guarded_eval(struct fixture *f, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lk_guarded_eval(f->lock, &f->eval, 0, &reply, err);

    lk_reply_free(reply);
    return status;
}

static lk_status run_for(struct fixture *f, int64_t wait_ms, struct lk_error *err)
{
    struct lk_lock_options options = {.lease_ms = f->lease_ms, .wait_ms = wait_ms};
    lk_reply *reply = NULL;
    lk_status status = lk_mutex_run(f->lock, &options, &f->eval, &reply, err);

    lk_reply_free(reply);
    return status;
}

static lk_status run(struct fixture *f, struct lk_error *err)
{
    return run_for(f, 0, err);
}

static lk_status run_waiting(struct fixture *f, struct lk_error *err)
{
    return run_for(f, 5000, err);
}

/* What comes before: the scripts' digests are known here, the caller's script is new, they are forgotten
   there; a peer holds it for a moment, others stand in its queue; the other side is held, too, or before. */
enum { LEARNED = 1, UNLEARNED = 2, FORGOTTEN = 4, PEER = 8, QUEUE = 16, BESIDE = 32, READING = 64 };

static const struct step {
    const char *name;
    unsigned kinds;
    unsigned before, after; /* holds of ours */
    unsigned state;
    lk_status (*run)(struct fixture *f, struct lk_error *err);
} steps[] = {
    {"acquire", ALL, 0, 1, 0, acquire},
    {"acquire, waiting", ALL & ~SPIN, 0, 1, PEER, acquire_waiting},
    {"wait in a queue", FAIR, 0, 1, PEER | QUEUE, acquire_waiting},
    {"wait in vain", FAIR, 0, 0, PEER | QUEUE, acquire_in_vain},
    {"acquire again", ALL & ~MUTEX, 1, 2, 0, acquire},
    {"acquire once more", EXACT, 2, 3, 0, acquire},
    {"acquire beside the other side", READ, 0, 1, BESIDE, acquire},
    {"inner release", ALL & ~MUTEX, 2, 1, 0, release},
    {"upgrade", WRITE, 0, 1, READING, upgrade},
    {"upgrade, waiting", WRITE, 0, 1, READING | PEER, upgrade_waiting},
    {"release", ALL, 1, 0, 0, release},
    {"release, scripts forgotten", ALL & ~EXACT, 1, 0, LEARNED | FORGOTTEN, release},
    {"release beside the other side", SIDES, 1, 0, BESIDE, release},
    {"renew", ALL, 1, 1, 0, renew},
    {"break", FAIR, 0, 0, PEER, force},
    {"guarded eval", MUTEX, 1, 1, LEARNED, guarded_eval},
    {"guarded eval, new script", MUTEX, 1, 1, UNLEARNED, guarded_eval},
    {"guarded eval, scripts forgotten", MUTEX, 1, 1, LEARNED | FORGOTTEN, guarded_eval},
    {"run", MUTEX, 0, 0, LEARNED, run},
    {"run, new script", MUTEX, 0, 0, UNLEARNED, run},
    {"run, scripts forgotten", MUTEX, 0, 0, LEARNED | FORGOTTEN, run},
    {"run, waiting", MUTEX, 0, 0, PEER, run_waiting},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

static bool is_eval(const struct step *step)
{
    return step->run == guarded_eval || step->run == run || step->run == run_waiting;
}

/* For 30 ms. */
static void let_a_peer_hold_it(struct fixture *f, int64_t lease_ms)
{
    static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
    static const char take[] =
        "redis.call('HSET', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 30)";

    if (f->mask == MUTEX) LKS_DO(server, "SET", f->key, peer, "PX", "30");
    if (f->mask & EXACT) LKS_DO(server, "EVAL", take, "1", f->key, peer);
    if (f->mask == READ) assert_int_equal(lkr_peer_write(server, f->key, peer, "30"), LKR_HELD);
    if (f->mask == WRITE) assert_int_equal(lkr_peer_read(server, f->key, peer, "30"), LKR_HELD);
    if (f->mask == FAIR)
        assert_int_equal(
            lkf_foreign_try(&f->keys, &(struct lkf_foreign){.owner = peer, .lease_ms = lease_ms}),
            LKF_TAKEN);
}

static void prepare(struct fixture *f, const struct step *step)
{
    if (step->state & UNLEARNED) new_script(f);
    if (step->state & LEARNED && f->mask == MUTEX) assert_int_equal(run(f, NULL), LK_OK);
    if (step->state & READING || (step->state & BESIDE && f->mask == READ))
        assert_int_equal(lks_acquire(f->beside, 0, LONG_MS), LK_OK);
    for (unsigned i = 0; i < step->before; i++)
        assert_int_equal(acquire(f, NULL), LK_OK);
    if (step->state & BESIDE && f->mask == WRITE)
        assert_int_equal(lks_acquire(f->beside, 0, LONG_MS), LK_OK);
    if (step->state & PEER) let_a_peer_hold_it(f, step->run == force ? 1000 : 30);
    if (step->state & QUEUE) lkf_add_dead(&f->keys, "f:2", 50);
    LKS_EVENTUALLY(!lk_client_has_pending_undo(f->client),
                   5000); /* which would bring the script back */
    if (step->state & FORGOTTEN || f->mask & SIDES) LKS_DO(server, "SCRIPT", "FLUSH");
}

/* ---- what is right ------------------------------------------------------------------------------------- */

/* How many holds the server counts for us. */
static long long counted(struct fixture *f)
{
    if (f->mask == MUTEX)
        return strcmp(LKS_TEXT(server, "GET", f->key), lk_lock_token(f->lock)) == 0;
    const char *text = LKS_TEXT(server, "HGET", f->key, lk_lock_token(f->lock));
    return strcmp(text, "(nil)") == 0 ? 0 : strtoll(text, NULL, 10);
}

static long long count_of(struct fixture *f)
{
    const char *text = LKS_TEXT(server, "GET", f->counter);

    return strcmp(text, "(nil)") == 0 ? 0 : strtoll(text, NULL, 10);
}

static bool is_error(enum lks_fault_kind kind)
{
    return kind == LKS_ERROR_ANSWER || kind == LKS_QUEUED;
}

/*
 * Whether a step whose n-th call was faulty may end so. A lost reply is UNKNOWN, or UNREACHABLE when it was
 * one of lockkit's own steps and nothing of the caller's was asked; a step that only tidies up may fail
 * unseen; an inner release is counted here at once, and there by the next one.
 */
static bool is_right(const struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                     lk_status status)
{
    bool is_lost = kind >= LKS_REPLY_LOST;

    if (status == LK_OK) return !(f->mask & EXACT && is_error(kind)) || step->run == renew;
    if (status == LK_BUSY) return step->run == acquire_in_vain;
    if (status == LK_SERVER) return is_error(kind);
    if (f->mask & EXACT && step->run == release && step->after > 0) return false;
    if (status == LK_UNREACHABLE)
        return kind == LKS_REFUSED || (is_lost && f->mask & (MUTEX | FAIR));
    return status == LK_UNKNOWN && is_lost;
}

static void believes_what_is_true(struct fixture *f, lk_lock *side)
{
    long long left_ms = LKS_INTEGER(server, "PTTL", f->key); /* first: it only gets less */
    int64_t remaining_ms = lk_lock_remaining_ms(side);

    if (remaining_ms == 0) return;
    assert_true(left_ms >= remaining_ms);
    assert_string_not_equal(LKS_TEXT(server, "HGET", f->key, lk_lock_token(side)), "(nil)");
    if (side != lk_rwlock_read(f->mine.rwlock)) return;
    left_ms = lkr_hold_ms(server, f->key, lk_lock_token(side), 1);
    assert_true(left_ms >= lk_lock_remaining_ms(side));
}

static struct {
    int all, late;
} undone;

/* A first hold whose answer was lost is given back at once; if the machine is too busy for that, by
   its lease. */
static void await_undo(struct fixture *f)
{
    long long left = counted(f);

    if (f->mask == MUTEX) assert_int_equal(left, 0);
    undone.all++;
    undone.late += left != 0;
    LKS_EVENTUALLY(counted(f) == 0, LEASE_MS + 5000);
}

/* Here and there, and each release takes one away. */
static void holds_are_exact(struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                            lk_status status, bool goes_on)
{
    unsigned holds = step->run == acquire || step->run == acquire_waiting
                         ? (status == LK_OK ? step->after : step->before)
                         : step->after;

    assert_int_equal(lk_lock_hold_count(f->lock), holds);
    /* An error keeps the last release or an inner one from being counted: the next step mends it. */
    if (!goes_on && !is_error(kind) && !(status == LK_UNREACHABLE && holds == 0))
        assert_int_equal(counted(f), holds);
    for (unsigned left = holds; left > 0; left--) {
        assert_true(counted(f) >= left);
        assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
        assert_int_equal(counted(f), left - 1);
    }
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK); /* if the last one was not confirmed */
    assert_int_equal(counted(f), 0);
}

/* One without an answer is repeated. */
static void give_back(lk_lock *side)
{
    for (int i = 0; side && i < 6 && (lk_lock_release(side, NULL) != LK_OK || lk_held(side)); i++) {
    }
    if (side) assert_false(lk_held(side));
}

static void somebody_else_gets_it(struct fixture *f)
{
    struct lk_error err = {0};

    if (f->mask & SIDES) /* the peer's are short; none waits for ours to end */
        LKS_EVENTUALLY(lkr_keys(server, f->key) == 0, 10000);
    if (lk_lock_acquire(f->other.lock, &(struct lk_lock_options){.wait_ms = 10000}, &err) != LK_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lk_lock_release(f->other.lock, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    if (f->mask == FAIR) assert_true(lkf_is_gone(&f->keys));
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

/* What cannot be undone ends with its lease. */
static int64_t lease_of(const struct fixture *f, const struct step *step, bool goes_on)
{
    if (f->mask & SIDES) return LONG_MS;
    if (f->mask & EXACT) return goes_on && step->before == 0 ? HASTY_MS : LEASE_MS;
    return f->mask == MUTEX && step->before > 0 ? 1000 : HASTY_MS;
}

/* How a step ended. */
struct ending {
    lk_status status;
    struct lk_error err;
    bool is_hit;   /* by a fault */
    long long ran; /* times that the caller's script was */
};

static bool is_told(const struct ending *ending)
{
    return ending->err.code == ending->status &&
           (ending->status == LK_OK || ending->err.text[0] != '\0');
}

static bool has_run_right(const struct step *step, const struct ending *ending)
{
    if (!is_eval(step)) return ending->ran == 0;
    return ending->ran == (ending->status == LK_OK) ||
           (ending->status == LK_UNKNOWN && ending->ran == 1);
}

static bool is_left_behind(struct fixture *f)
{
    const char *token = lk_lock_token(f->lock);

    return f->mask & (FAIR | SIDES) && token[0] && strstr(lkf_queue(&f->keys), token);
}

/* What is believed here is so there; afterwards nothing of ours is left. */
static void settle(struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                   lk_status status, bool goes_on)
{
    if (status == LK_OK && lk_held(f->lock))
        assert_int_equal(counted(f), lk_lock_hold_count(f->lock));
    if (status == LK_UNKNOWN && f->mask & (MUTEX | EXACT) && step->before == 0 && !goes_on)
        await_undo(f);
    if (f->mask & SIDES) {
        believes_what_is_true(f, f->lock);
        believes_what_is_true(f, f->beside);
    }
    if (f->mask & EXACT && step->run != renew) holds_are_exact(f, step, kind, status, goes_on);
    if (f->mask == WRITE) give_back(f->lock);
    give_back(f->beside);
    give_back(f->lock);
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                           int n, bool goes_on)
{
    struct ending ending = {.status = LK_OK};

    if (f->mask == FAIR) { /* a new client has no scripts yet */
        close_mine(f);
        open_mine(f);
    }
    f->lease_ms = lease_of(f, step, goes_on);
    prepare(f, step);
    long long before = count_of(f);
    (goes_on ? lks_fault_arm_for_good : lks_fault_arm)(kind, n);
    ending.status = step->run(f, &ending.err);
    ending.is_hit = lks_fault_disarm();
    ending.ran = count_of(f) - before;
    if (!ending.is_hit) kind = LKS_REFUSED;

    bool is_fine = ending.is_hit ? is_right(f, step, kind, ending.status)
                                 : ending.status == LK_OK || ending.status == LK_BUSY;
    if (!is_fine || !is_told(&ending) || !has_run_right(step, &ending) ||
        (!goes_on && is_left_behind(f))) {
        fail_msg("%s, %s, call %d %s%s: %s (\"%s\"), ran %lld times", f->mine.name, step->name, n,
                 lks_fault_name(kind), goes_on ? " and all later ones refused" : "",
                 lk_status_name(ending.status), ending.err.text, ending.ran);
    }
    settle(f, step, kind, ending.status, goes_on);
    if (kind == LKS_LATE) lks_fault_deliver(f->other_client);
    somebody_else_gets_it(f);
    return ending.is_hit;
}

/* Until nothing is left to go wrong. */
static void try_all(struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                    bool goes_on)
{
    int least = f->mask & SIDES ? 3 : 2; /* by digest, by text, and an end */
    int n = 1;

    while (n < CALLS_MAX && try_with_fault(f, step, kind, n, goes_on))
        n++;
    assert_in_range(n, least, CALLS_MAX - 1);
}

static void each_step(void (*test)(struct fixture *f, const struct step *step))
{
    for (size_t kind = 0; kind <= ORDERED; kind++) {
        struct fixture f;

        if (kind != ORDERED && !(ALL & 1U << kind)) continue;
        begin(&f, kind);
        print_message("# %s\n", f.mine.name);
        for (size_t i = 0; i < STEPS; i++)
            if (steps[i].kinds & f.mask) test(&f, &steps[i]);
        end(&f);
    }
}

static void with_each_fault(struct fixture *f, const struct step *step)
{
    for (int kind = 0; kind < (f->mask == FAIR ? LKS_CUT_SHORT : LKS_FAULT_KINDS); kind++)
        if (kind != LKS_QUEUED || !is_eval(step)) /* whose script may say anything */
            try_all(f, step, (enum lks_fault_kind)kind, false);
}

TEST(every_step_survives_a_fault_at_every_call)
{
    undone.all = undone.late = 0;
    each_step(with_each_fault);
    assert_true(undone.late <= undone.all / 2);
}

/* The undo after it, or the second time it is asked, is refused too. */
static void with_a_lost_reply_for_good(struct fixture *f, const struct step *step)
{
    if (f->mask == MUTEX) try_all(f, step, LKS_REPLY_LOST, true);
    if (f->mask == REENTRANT && step->before > 0 && step->run != renew &&
        !(step->state & FORGOTTEN))
        assert_true(try_with_fault(f, step, LKS_REPLY_LOST, 1, true));
    for (int n = 1; f->mask == FAIR && n < 4; n++)
        (void)try_with_fault(f, step, LKS_REPLY_LOST, n, true);
}

TEST(every_step_survives_a_lost_reply_and_then_no_server)
{
    each_step(with_a_lost_reply_for_good);
}

/* What arrives when it was given up is left to time: the others wait for it, but not for ever. */
static void coming_late(struct fixture *f, const struct step *step)
{
    for (int n = 1; f->mask == FAIR && n < 4; n++)
        (void)try_with_fault(f, step, LKS_LATE, n, false);
}

TEST(what_comes_late_is_left_to_time)
{
    each_step(coming_late);
}

/* ---- what a fault leaves open -------------------------------------------------------------------------- */

TEST(a_failed_call_hands_out_no_reply)
{
    lk_client *client = lks_client(server);
    struct lk_bytes sleep_words[] = {LK_BYTES("BLPOP"), LK_BYTES("nothing"), LK_BYTES("1")};
    struct lk_bytes ping = LK_BYTES("PING");
    struct lk_command commands[] = {{&ping, 1}, {&ping, 1}, {sleep_words, 3}};
    lk_reply *replies[3] = {NULL};

    assert_int_equal(lk_client_call(client, commands, 3, 100, replies, NULL), LK_UNKNOWN);

    for (size_t i = 0; i < 3; i++)
        assert_null(replies[i]); /* two were answered: freed, and not left behind */
    lk_client_close(client);
}

/* The server knows the scripts: what follows takes one call each. */
static void warm_up(struct fixture *f)
{
    assert_int_equal(acquire(f, NULL), LK_OK);
    assert_int_equal(release(f, NULL), LK_OK);
}

/* 32: nobody there, and then somebody else. */
TEST(a_release_without_answer_is_done_once_and_told_once)
{
    static const size_t kinds[] = {1, LKS_ANY_READ, LKS_ANY_WRITE};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] * 2; i++) {
        struct fixture f;

        begin(&f, kinds[i / 2]);
        warm_up(&f);
        struct lks_monitor *monitor = lks_monitor_open(server);
        assert_int_equal(acquire(&f, NULL), LK_OK);
        lks_fault_arm(LKS_REPLY_LOST, 1);
        assert_int_equal(release(&f, NULL), LK_UNKNOWN);
        assert_true(lks_fault_disarm());
        assert_false(lk_held(f.lock));
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f.key), 0);
        if (i % 2) assert_int_equal(lks_acquire(f.other.lock, 0, 0), LK_OK);
        assert_int_equal(release(&f, NULL), LK_OK);
        assert_int_equal(lks_count(lks_monitor_text(monitor, server), "\"PUBLISH\""), 1);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f.key), i % 2);
        lks_monitor_close(monitor);
        if (i % 2) assert_int_equal(lk_lock_release(f.other.lock, NULL), LK_OK);
        end(&f);
    }
}

/* ---- and of a read/write lock ---------------------------------------------------------------------------- */

LKR_PAIR();

static void hold(lk_lock *side)
{
    assert_int_equal(lkr_take(side, LONG_MS), LK_OK);
}

/* [41] The read hold is released here, but not there. */
TEST(a_writer_is_told_of_an_own_read_that_the_server_still_has, struct lkr_pair *p)
{
    struct lk_error err = {0};

    hold(p->read);
    lks_fault_arm(LKS_REFUSED, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNREACHABLE);
    assert_true(lks_fault_disarm());
    assert_false(lk_held(p->read));
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_acquire(p->write, &(struct lk_lock_options){.wait_ms = 60000}, &err),
                     LK_DEADLOCK);
    assert_true(lks_now_ms() - begin < SOON_MS);
    assert_non_null(strstr(err.text, p->key));

    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_take(p->write, LONG_MS), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

/* A read beside a held write is of the same owner as the one before, which may be there still. */
TEST(a_read_may_follow_one_whose_release_failed, struct lkr_pair *p)
{
    hold(p->write);
    hold(p->read);
    lks_fault_arm(LKS_REFUSED, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNREACHABLE);
    assert_true(lks_fault_disarm());
    hold(p->read);
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->read)), "1");
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(a_late_release_of_one_read_does_not_touch_the_next, struct lkr_pair *p)
{
    hold(p->write);
    hold(p->read);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    hold(p->read);
    lks_fault_deliver(p->clients[1]);

    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_take(p->other_write, LONG_MS), LK_BUSY);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

/* A try to upgrade has a name of its own, though the reader is the same. */
TEST(a_late_release_of_one_upgrade_does_not_touch_the_next, struct lkr_pair *p)
{
    hold(p->read);
    assert_int_equal(lk_rwlock_upgrade(p->rwlocks[0], NULL, NULL), LK_OK);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lk_rwlock_upgrade(p->rwlocks[0], NULL, NULL), LK_OK);
    lks_fault_deliver(p->clients[1]);

    assert_int_equal(lkr_take(p->other_read, LONG_MS), LK_BUSY);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

TEST(a_late_acquire_of_one_read_does_not_touch_the_next, struct lkr_pair *p)
{
    hold(p->write);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lkr_take(p->read, HASTY_MS), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    hold(p->read);
    lks_fault_deliver(p->clients[1]);

    assert_in_range(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1), LONG_MS - 10000,
                    LONG_MS);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}
