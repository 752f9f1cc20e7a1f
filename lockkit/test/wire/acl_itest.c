/*
 * A user who may neither EVAL nor SCRIPT LOAD, and a loader who may do nothing else: all that lockkit
 * has works, also when the server has forgotten every script.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_acl.h"
#include "test/support/lk_any.h"

enum { LEASE_MS = 30000, SOON_MS = 5000, SHORT_MS = 6000, THREADS = 4, ROUNDS = 100 };

static struct lks_server *server; /* the first one */

static int start(void **state)
{
    (void)lka_start_servers(state);
    server = lka_nodes[0];
    return 0;
}

static void allow(struct lks_server *node, char sign, const char *what)
{
    char rule[160];

    (void)snprintf(rule, sizeof rule, "%c%s", sign, what);
    LKS_DO(node, "ACL", "SETUSER", "locks", rule);
}

/* The commands with blanks between them, what a wait takes, and no others. */
static void allow_only(struct lks_server *node, const char *commands)
{
    char *words = strdup(commands);
    char *rest = words;

    assert_non_null(words);
    LKS_DO(node, "ACL", "SETUSER", "locks", "-@all", "+evalsha", "+publish", "+subscribe",
           "+unsubscribe", "+ping", "+command|info");
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        allow(node, '+', word);
    free(words);
}

/* ---- every kind ------------------------------------------------------------------------------------ */

static const struct lk_lock_options renewed = {
    .wait_ms = SOON_MS, .lease_ms = LEASE_MS, .is_renewed = true};

struct waiting {
    lk_lock *lock;
    lk_status status;
    struct lk_error err;
};

static void *wait_for_lock(void *arg)
{
    struct waiting *waiting = arg;

    waiting->status = lk_lock_acquire(waiting->lock, &renewed, &waiting->err);
    return NULL;
}

/* Two handles: held, wanted, guarded, renewed, given on, broken. Nothing is known to the server at each
   step if it is forgetful. */
static void use_kind(size_t kind, lk_client *client, const char *key, bool is_forgetful)
{
    lk_script *script =
        lk_script_new(&(struct lk_script_source){.name = "test", .source = "return 7"});
    struct lk_eval eval = {.script = script};
    struct lks_any mine;
    struct lks_any other;
    struct waiting waiting = {0};
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    pthread_t thread;

    lks_any_prepare(kind, client, key);
    lks_any_new(&mine, kind, client, key);
    lks_any_new(&other, kind, client, key);
    waiting.lock = other.lock;
    if (is_forgetful) lka_forget_scripts();
    lka_must_be(LK_OK, lk_lock_acquire(mine.lock, &renewed, &err), mine.name, &err);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &waiting), 0);
    lks_nap(30);
    if (is_forgetful) lka_forget_scripts();
    if (kind != LKS_ANY_MULTI) {
        lka_must_be(LK_OK, lk_guarded_eval(mine.lock, &eval, 0, &reply, &err), mine.name, &err);
        assert_int_equal(lk_reply_integer(reply, 0), 7);
        lk_reply_free(reply);
    }
    if (is_forgetful) lka_forget_scripts();
    lka_must_be(LK_OK, lk_lock_renew(mine.lock, 0, &err), mine.name, &err);
    if (is_forgetful) lka_forget_scripts();
    lka_must_be(LK_OK, lk_lock_release(mine.lock, &err), mine.name, &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    lka_must_be(LK_OK, waiting.status, mine.name, &waiting.err);
    if (is_forgetful) lka_forget_scripts();
    if (kind != LKS_ANY_MULTI && kind != LKS_ANY_PERMIT) {
        lka_must_be(LK_OK, lk_lock_force_release(mine.lock, &err), mine.name, &err);
    } else {
        lka_must_be(LK_OK, lk_lock_release(other.lock, &err), mine.name, &err);
    }
    lks_any_free(&mine);
    lks_any_free(&other);
    lk_script_free(script);
}

static void use_all_kinds(lk_client *client, const char *name, bool is_forgetful)
{
    char key[32];

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        (void)snprintf(key, sizeof key, "%s-%zu", name, kind);
        use_kind(kind, client, lks_key(server, key), is_forgetful);
    }
}

TEST(every_kind_works_and_nobody_is_refused)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});

    use_all_kinds(client, "first", false);
    use_all_kinds(client, "known", false);
    lk_client_close(client);
    lka_assert_quiet(server);
}

TEST(every_step_finds_a_server_that_has_forgotten)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});

    use_all_kinds(client, "forgotten", true);
    lk_client_close(client);
    lka_assert_quiet(server);
}

TEST(a_server_that_comes_back_empty_is_told_again)
{
    lk_client *client = lka_client(server, (struct lk_client_options){.backoff_ms = 20});

    use_all_kinds(client, "before", false);
    lks_server_restart(server);
    lk_lock *probe = lks_mutex(client, lks_key(server, "probe"));
    LKS_EVENTUALLY(lk_lock_acquire(probe, NULL, NULL) == LK_OK, SOON_MS);
    lk_lock_free(probe);
    use_all_kinds(client, "after", false);
    lk_client_close(client);
    lka_assert_quiet(server);
}

#define QUEUE "redisson_lock_queue:{%s}", "redisson_lock_timeout:{%s}"
#define RW    "exists hexists hget hgetall hset hsetnx hdel hlen get set del pttl pexpire time"

/* What GUIDE.md lists, besides what a wait takes: of each kind the commands, and the keys. */
static const struct {
    const char *commands;
    const char *keys[6]; /* %s: the lock's */
} needs[LKS_ANY_KINDS] = {
    {"set get del pttl pexpire type", {"%s", "lockkit_wake:{%s}"}},
    {"exists hexists hset del pttl pexpire type", {"%s", "redisson_lock__channel:{%s}"}},
    {"exists hexists hset del pttl pexpire type", {"%s", "redisson_lock__channel:{%s}"}},
    {"exists hexists hset del pttl pexpire type", {"%s"}},
    {"exists hexists hset del pttl pexpire type get set incr time",
     {"%s", "redisson_lock__channel:{%s}", "redisson_lock_token:{%s}"}},
    {"exists hexists hset del pttl pexpire type hlen time lindex llen lpop lpos lrange lrem rpush "
     "zadd zcard zcount zrange zrem zscore",
     {"%s", "redisson_lock__channel:{%s}*", QUEUE}},
    {RW, {"%s", "redisson_rwlock:{%s}", "{%s}:*", QUEUE}},
    {RW, {"%s", "redisson_rwlock:{%s}", "{%s}:*", QUEUE}},
    {"exists set get incrby decrby zadd zcard zrange zrem zremrangebyscore zscore time pttl "
     "pexpire",
     {"%s", "redisson_sc:{%s}", "{%s}:timeout"}},
    {"set get del pttl pexpire", {"%s", "%s-2", "lockkit_wake:{%s}", "lockkit_wake:{%s-2}"}},
};

TEST(every_kind_needs_no_more_than_is_listed)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    char pattern[128];
    char name[32];

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        (void)snprintf(name, sizeof name, "narrow-%zu", kind);
        const char *key = lks_key(server, name);
        allow_only(server, needs[kind].commands);
        LKS_DO(server, "ACL", "SETUSER", "locks", "resetkeys", "resetchannels");
        for (size_t i = 0; needs[kind].keys[i]; i++) {
            const char *at = strstr(needs[kind].keys[i], "%s");

            (void)snprintf(pattern, sizeof pattern, "%.*s%s%s", (int)(at - needs[kind].keys[i]),
                           needs[kind].keys[i], key, at + 2);
            allow(server, '~', pattern);
            allow(server, '&', pattern);
        }
        use_kind(kind, client, key, false);
        lka_assert_quiet(server);
    }
    lk_client_close(client);
}

TEST(what_is_no_lock_works_too)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    struct lk_error err = {0};
    struct lk_permit permits[2];
    struct lk_permits_usage usage;
    int64_t number = 0;

    allow_only(server, "exists set get del incrby decrby zadd zcard zrange zrem zremrangebyscore "
                       "zscore time pttl pexpire");
    lk_semaphore *semaphore = lk_semaphore_new(client, lks_key(server, "semaphore"), &err);
    lka_must_be(LK_OK, lk_semaphore_try_set(semaphore, 3, &err), "set", &err);
    lka_must_be(LK_OK, lk_semaphore_acquire(semaphore, 2, 0, &err), "acquire", &err);
    lka_forget_scripts();
    lka_must_be(LK_OK, lk_semaphore_release(semaphore, 1, &err), "release", &err);
    lka_must_be(LK_OK, lk_semaphore_available(semaphore, &number, &err), "available", &err);
    assert_int_equal(number, 2);
    lka_must_be(LK_OK, lk_semaphore_drain(semaphore, &number, &err), "drain", &err);
    lka_must_be(LK_OK, lk_semaphore_delete(semaphore, &err), "delete", &err);
    lk_semaphore_free(semaphore);

    lk_permits *set = lk_permits_new(client, lks_key(server, "permits"), &err);
    lka_must_be(LK_OK, lk_permits_set(set, 3, &err), "set", &err);
    lka_must_be(LK_OK, lk_permits_acquire(set, NULL, permits, 2, &err), "acquire", &err);
    lka_forget_scripts();
    lka_must_be(LK_OK, lk_permits_renew(set, &permits[0], LEASE_MS, &err), "renew", &err);
    lka_must_be(LK_OK, lk_permits_ask(set, &permits[1], &err), "ask", &err);
    lka_must_be(LK_OK, lk_permits_usage(set, &usage, &err), "usage", &err);
    lka_must_be(LK_OK, lk_permits_release(set, permits, 2, &err), "release", &err);
    lka_must_be(LK_OK, lk_permits_delete(set, &err), "delete", &err);
    lk_permits_free(set);

    lk_latch *latch = lk_latch_new(client, lks_key(server, "latch"), &err);
    lka_must_be(LK_OK, lk_latch_try_set(latch, 2, &err), "set", &err);
    lka_forget_scripts();
    lka_must_be(LK_OK, lk_latch_count_down(latch, &err), "count down", &err);
    lka_must_be(LK_OK, lk_latch_count(latch, &number, &err), "count", &err);
    lka_must_be(LK_BUSY, lk_latch_await(latch, 50, &err), "await", &err);
    lka_must_be(LK_OK, lk_latch_count_down(latch, &err), "count down", &err);
    lka_must_be(LK_OK, lk_latch_await(latch, 0, &err), "await", &err);
    lk_latch_free(latch);
    lk_client_close(client);
    lka_assert_quiet(server);
}

TEST(locks_are_found_and_looked_at)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    const struct lk_inspection *found = NULL;
    struct lk_error err = {0};
    struct lks_any held[LKS_ANY_KINDS];
    size_t count = 0;

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        char name[32];

        (void)snprintf(name, sizeof name, "seen-%zu", kind);
        lks_any_prepare(kind, client, lks_key(server, name));
        lks_any_new(&held[kind], kind, client, lks_key(server, name));
        lka_must_be(LK_OK, lk_lock_acquire(held[kind].lock, &renewed, &err), held[kind].name, &err);
    }
    allow_only(server, "scan type pttl strlen getrange hlen hget hscan llen lrange zscore zcount "
                       "zrangebyscore time");
    lk_walk *walk = lk_walk_new(client, NULL, &err);
    for (;;) {
        lka_must_be(LK_OK, lk_walk_next(walk, &found, &err), "walk", &err);
        if (!found) break;
        count++;
    }
    lk_walk_free(walk);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        lks_any_free(&held[kind]);
    lk_client_close(client);
    assert_true(count >= LKS_ANY_KINDS);
    lka_assert_quiet(server);
}

/* ---- renewal ---------------------------------------------------------------------------------------- */

static void count_renewal(const struct lk_event *event, void *renewals)
{
    if (event->type == LK_EVENT_RENEW && event->status == LK_OK)
        atomic_fetch_add((atomic_int *)renewals, 1);
}

TEST(the_watchdog_goes_on_while_scripts_are_forgotten)
{
    atomic_int renewals = 0;
    lk_client *client = lka_client(
        server, (struct lk_client_options){.on_event = count_renewal, .on_event_arg = &renewals});
    struct lks_any held[LKS_ANY_KINDS];
    struct lk_error err = {0};
    char name[32];

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        (void)snprintf(name, sizeof name, "renewed-%zu", kind);
        lks_any_prepare(kind, client, lks_key(server, name));
        lks_any_new(&held[kind], kind, client, lks_key(server, name));
        lka_must_be(LK_OK, lk_lock_acquire(held[kind].lock, &renewed, &err), held[kind].name, &err);
    }
    for (int i = 0; i < 3; i++) {
        int before = atomic_load(&renewals);

        LKS_DO(server, "SCRIPT", "FLUSH");
        LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); /* it asks for them */
        LKS_EVENTUALLY(atomic_load(&renewals) >= before + LKS_ANY_KINDS, SOON_MS);
    }
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        if (!lk_held(held[kind].lock)) fail_msg("%s: lost", held[kind].name);
        lka_must_be(LK_OK, lk_lock_release(held[kind].lock, &err), held[kind].name, &err);
        lks_any_free(&held[kind]);
    }
    lk_client_close(client);
    lka_assert_quiet(server);
}

/* ---- scripts ---------------------------------------------------------------------------------------- */

struct caller {
    lk_client *client;
    lk_script *script;
    const char *counter;
    int failures;
};

static void *call_often(void *arg)
{
    struct caller *caller = arg;
    struct lk_bytes key = lk_bytes_of(caller->counter);

    for (int i = 0; i < ROUNDS; i++) {
        lk_reply *reply = NULL;
        lk_status status = lk_client_eval(
            caller->client,
            &(struct lk_eval){.script = caller->script, .keys = &key, .key_count = 1}, SOON_MS,
            &reply, NULL);

        caller->failures += status != LK_OK;
        lk_reply_free(reply);
    }
    return NULL;
}

TEST(a_script_of_the_callers_runs_once_each_time_in_many_threads)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "test", .source = "return redis.call('INCR', KEYS[1])"});
    const char *counter = lks_key(server, "counter");
    struct caller callers[THREADS];
    pthread_t threads[THREADS];
    int failures = 0;

    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){client, script, counter, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        LKS_DO(server, "SCRIPT", "FLUSH");
        lks_nap(2);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        failures += callers[i].failures;
    }
    /* One that is flushed between its loading and its call may fail, without having run. */
    assert_in_range(failures, 0, 5);
    assert_int_equal(strtol(LKS_TEXT(server, "GET", counter), NULL, 10),
                     THREADS * ROUNDS - failures);
    lk_script_free(script);
    lk_client_close(client);
    lka_assert_quiet(server);
}

TEST(a_run_needs_nothing_but_digests)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    lk_lock *lock = lks_mutex(client, lks_key(server, "run"));
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "test", .source = "return redis.call('INCR', KEYS[1])"});
    struct lk_bytes key = lk_bytes_of(lks_key(server, "runs"));
    const struct lk_eval eval = {.script = script, .keys = &key, .key_count = 1};
    struct lk_error err = {0};

    for (long long i = 1; i <= 6; i++) {
        lk_reply *reply = NULL;

        if (i % 2 == 1) LKS_DO(server, "SCRIPT", "FLUSH");
        lka_must_be(LK_OK, lk_mutex_run(lock, NULL, &eval, &reply, &err), "run", &err);
        assert_int_equal(lk_reply_integer(reply, 0), i);
        lk_reply_free(reply);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", lks_key(server, "run")), 0);
        assert_false(lk_held(lock));
    }
    lk_script_free(script);
    lk_lock_free(lock);
    lk_client_close(client);
    lka_assert_quiet(server);
}

TEST(a_script_that_is_none_is_refused_in_the_servers_words)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    lk_lock *lock = lks_mutex(client, lks_key(server, "broken"));
    lk_script *script =
        lk_script_new(&(struct lk_script_source){.name = "test", .source = "no Lua at all"});
    const struct lk_eval eval = {.script = script};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    lka_must_be(LK_SERVER, lk_client_eval(client, &eval, 0, &reply, &err), "eval", &err);
    assert_non_null(strstr(err.text, "compiling"));
    err = (struct lk_error){0};
    lka_must_be(LK_SERVER, lk_mutex_run(lock, NULL, &eval, &reply, &err), "run", &err);
    assert_non_null(strstr(err.text, "compiling"));
    assert_int_equal(LKS_INTEGER(server, "EXISTS", lks_key(server, "broken")), 0);
    assert_int_equal(LKS_INTEGER(server, "DBSIZE"), 0); /* given back */
    lk_script_free(script);
    lk_lock_free(lock);
    lk_client_close(client);
}

/* ---- several servers -------------------------------------------------------------------------------- */

static lk_lock *new_redlock(lk_client *const *clients, const char *key, bool is_bound)
{
    struct lk_error err = {0};
    lk_lock *lock =
        lk_redlock_new(clients, LKA_NODES, key,
                       &(struct lk_redlock_options){.is_bound_to_members = is_bound}, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

static size_t count_keys(const char *key)
{
    size_t count = 0;

    for (size_t i = 0; i < LKA_NODES; i++)
        count += LKS_INTEGER(lka_nodes[i], "EXISTS", key) == 1;
    return count;
}

static void open_three(lk_client **clients)
{
    for (size_t i = 0; i < LKA_NODES; i++)
        clients[i] = lka_client(lka_nodes[i], (struct lk_client_options){.backoff_ms = 20});
}

static void close_three(lk_client **clients)
{
    for (size_t i = 0; i < LKA_NODES; i++)
        lk_client_close(clients[i]);
}

static void await_no_key(const char *key)
{
    LKS_EVENTUALLY(count_keys(key) == 0, SOON_MS);
}

static void use_redlock(lk_client *const *clients, const char *key, bool is_bound)
{
    lk_lock *lock = new_redlock(clients, key, is_bound);
    struct lk_error err = {0};

    lka_forget_scripts();
    lka_must_be(LK_OK,
                lk_lock_acquire(lock,
                                &(struct lk_lock_options){.lease_ms = SHORT_MS, .is_renewed = true},
                                &err),
                "acquire", &err);
    LKS_DO(lka_nodes[0], "PEXPIRE", key, "5000");
    LKS_EVENTUALLY((lka_forget_scripts(), LKS_INTEGER(lka_nodes[0], "PTTL", key) > 5000), 10000);
    assert_true(lk_held(lock));
    lka_must_be(LK_OK, lk_lock_renew(lock, 2 * (int64_t)SHORT_MS, &err), "renew", &err);
    lka_forget_scripts();
    lka_must_be(LK_OK, lk_lock_release(lock, &err), "release", &err);
    await_no_key(key);
    lka_must_be(LK_OK, lk_lock_acquire(lock, NULL, &err), "acquire", &err);
    lka_forget_scripts();
    lka_must_be(LK_OK, lk_lock_force_release(lock, &err), "break", &err);
    await_no_key(key);
    lk_lock_free(lock);
}

TEST(a_redlock_lives_through_forgetful_servers)
{
    lk_client *clients[LKA_NODES];

    for (size_t i = 0; i < LKA_NODES; i++)
        allow_only(lka_nodes[i], "set get del pttl pexpire type info");
    open_three(clients);
    use_redlock(clients, lks_key(server, "red"), false);
    use_redlock(clients, lks_key(server, "bound"), true);
    close_three(clients);
    for (size_t i = 0; i < LKA_NODES; i++)
        lka_assert_quiet(lka_nodes[i]);
}

/* Who fails undoes what it took, behind the request, where nobody hears that a digest is not known. */
TEST(a_redlock_that_fails_leaves_nothing)
{
    lk_client *clients[LKA_NODES];
    const char *key = lks_key(server, "undone");
    struct lk_error err = {0};

    open_three(clients);
    lk_lock *lock = new_redlock(clients, key, false);
    LKS_DO(lka_nodes[0], "SET", key, "another");
    LKS_DO(lka_nodes[1], "SET", key, "another");
    lka_forget_scripts();
    lka_must_be(LK_BUSY, lk_lock_acquire(lock, NULL, &err), "acquire", &err);
    LKS_EVENTUALLY(LKS_INTEGER(lka_nodes[2], "EXISTS", key) == 0, SOON_MS);
    assert_int_equal(count_keys(key), 2);
    lk_lock_free(lock);
    close_three(clients);
}

/* The answer of a server that stands is not waited for; its key goes when it goes on. */
TEST(what_a_silent_server_still_has_is_undone)
{
    lk_client *clients[LKA_NODES];
    const char *key = lks_key(server, "late");
    struct lk_error err = {0};

    open_three(clients);
    lk_lock *lock = new_redlock(clients, key, false);
    lka_forget_scripts();
    lks_server_pause(lka_nodes[2]);
    lka_must_be(LK_OK, lk_lock_acquire(lock, NULL, &err), "acquire", &err);
    lka_must_be(LK_OK, lk_lock_release(lock, &err), "release", &err);
    lk_lock_free(lock);
    lks_server_resume(lka_nodes[2]);
    LKS_EVENTUALLY(count_keys(key) == 0, SOON_MS);
    close_three(clients);
    lka_assert_quiet(lka_nodes[2]);
}

/* INFO, COMMAND INFO, PING, and the channels: without them things are slower, or less is known. */
TEST(questions_that_are_refused_break_nothing)
{
    lk_client *clients[LKA_NODES];
    struct lk_error err = {0};
    struct lk_redlock_vote votes[LKA_NODES];

    for (size_t i = 0; i < LKA_NODES; i++)
        LKS_DO(lka_nodes[i], "ACL", "SETUSER", "locks", "resetchannels", "-info", "-command",
               "-ping", "-publish", "-subscribe", "-select", "-scan");
    for (size_t i = 0; i < LKA_NODES; i++)
        clients[i] = lka_client(lka_nodes[i], (struct lk_client_options){.poll_ms = 50});
    use_all_kinds(clients[0], "narrow", false);
    lk_lock *lock = new_redlock(clients, lks_key(server, "narrow-red"), false);
    lka_must_be(LK_OK, lk_lock_acquire(lock, NULL, &err), "acquire", &err);
    (void)lk_redlock_report(lock, NULL, votes, LKA_NODES);
    assert_false(votes[0].is_checked);
    lka_must_be(LK_OK, lk_lock_release(lock, &err), "release", &err);
    lk_lock_free(lock);
    close_three(clients);
}

FIXTURE(lka_heal_servers, NULL);
GROUP(start, lka_stop_servers);
