/*
 * A child has its parent's memory, and neither its threads nor the right to its connections. Whatever
 * it does with the parent's clients and locks is refused, frees without a hang, and is not noticed
 * by the parent. A child that hangs is ended by its alarm; its exit status names the step that
 * failed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum { HAMMERS = 3, FORKS = 25, CHILD_S = 20 };

LKS_SERVER(lks_server_start(NULL));

struct family {
    lk_client *client;
    lk_lock *held, *waited, *member, *multi;
    lk_session *session;
    lk_script *script;
    struct lk_eval eval;
};

/* ---- the child ------------------------------------------------------------------------------------------ */

/* 0 when all that takes a lock is refused; else the number of the first step that was not. */
static int try_locks(const struct family *family)
{
    lk_lock *lock = family->held;
    lk_reply *reply = NULL;

    if (lk_held(lock) || lk_held(family->multi)) return 1;
    if (lk_lock_remaining_ms(lock) != 0 || lk_lock_hold_count(lock) != 0) return 2;
    if (lks_acquire(lock, 5000, 0) != LK_INVALID) return 3;
    if (lk_lock_release(lock, NULL) != LK_INVALID) return 4;
    if (lk_lock_renew(lock, 0, NULL) != LK_INVALID) return 5;
    if (lk_lock_force_release(lock, NULL) != LK_INVALID) return 6;
    if (lk_guarded_eval(lock, &family->eval, 0, &reply, NULL) != LK_INVALID) return 7;
    if (lk_mutex_run(family->waited, NULL, &family->eval, &reply, NULL) != LK_INVALID) return 8;
    if (lks_acquire(family->multi, 0, 0) != LK_INVALID) return 9;
    if (lk_lock_release(family->multi, NULL) != LK_INVALID) return 10;
    if (lk_multi_new(&family->held, 1, NULL, NULL)) return 11;
    lk_lock_cancel(family->waited);
    return 0;
}

static int try_client(const struct family *family)
{
    struct lk_bytes ping = LK_BYTES("PING");
    struct lk_command command = {&ping, 1};
    struct lk_pool_usage usage = {.open = 1};
    lk_reply *reply = NULL;

    if (lk_client_eval(family->client, &family->eval, 0, &reply, NULL) != LK_INVALID) return 12;
    if (lk_client_call(family->client, &command, 1, 0, &reply, NULL) != LK_INVALID) return 13;
    if (lk_session_open(family->client, NULL, 0, NULL)) return 14;
    if (lk_session_call(family->session, &command, 1, 0, &reply, NULL) != LK_INVALID) return 15;
    lk_client_pool_usage(family->client, &usage);
    return usage.open == 0 ? 0 : 16;
}

static void free_all(const struct family *family)
{
    lk_session_close(family->session);
    lk_lock_free(family->multi);
    lk_lock_free(family->member);
    lk_lock_free(family->waited); /* a thread of the parent sleeps on it */
    lk_lock_free(family->held);
    lk_client_close(family->client);
}

static int use_own_client(void)
{
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);
    lk_lock *lock = client ? lk_reentrant_new(client, "fork-own", NULL) : NULL;

    if (!lock) return 21;
    if (lks_acquire(lock, 10000, 0) != LK_OK) return 22;
    if (lk_lock_release(lock, NULL) != LK_OK) return 23;
    lk_lock_free(lock);
    lk_client_close(client);
    return 0;
}

static int be_a_child(const struct family *family)
{
    int failed = try_locks(family);

    if (failed == 0) failed = try_client(family);
    free_all(family);
    return failed != 0 ? failed : use_own_client();
}

static void let_a_child_try(const struct family *family)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(CHILD_S);
        _exit(be_a_child(family));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) fail_msg("the child failed in step %d", WEXITSTATUS(status));
}

/* ---- the parent ----------------------------------------------------------------------------------------- */

SET_UP(struct family, family)
{
    family->client = lks_client_with(server, (struct lk_client_options){.command_ms = 20000});
    family->held = lk_reentrant_new(family->client, lks_key(server, "held"), NULL);
    family->waited = lks_mutex(family->client, lks_key(server, "waited"));
    family->member = lks_mutex(family->client, lks_key(server, "member"));
    family->multi = lk_multi_new(&family->member, 1, NULL, NULL);
    family->session = lk_session_open(family->client, NULL, 0, NULL);
    family->script = lk_script_new(&(struct lk_script_source){.name = "x", .source = "return 1"});
    family->eval.script = family->script;
    assert_non_null(family->held);
    assert_non_null(family->multi);
    assert_non_null(family->session);
    assert_int_equal(
        lk_lock_acquire(family->held, &(struct lk_lock_options){.is_renewed = true}, NULL), LK_OK);
    assert_int_equal(lks_acquire(family->multi, 0, 0), LK_OK);
}

TEAR_DOWN(struct family, family)
{
    bool is_released = lk_lock_release(family->held, NULL) == LK_OK &&
                       lk_lock_release(family->multi, NULL) == LK_OK;

    free_all(family);
    lk_script_free(family->script);
    assert_true(is_released);
}

TEST(a_child_is_refused_and_its_parent_does_not_notice, struct family *family)
{
    lk_client *other_client = lks_client(server);
    lk_lock *other = lks_mutex(other_client, lks_key(server, "waited"));
    struct lks_wait wait;

    LKS_DO(server, "SET", lks_key(server, "waited"), "somebody", "PX", "60000");
    lks_wait_start(&wait, family->waited, 60000);
    LKS_EVENTUALLY(lks_info(server, "stats", "pubsub_channels") == 1, 5000);
    lks_nap(20); /* it sleeps */
    let_a_child_try(family);

    LKS_DO(server, "PEXPIRE", lks_key(server, "held"), "20000");
    LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); /* it is asked for */
    LKS_EVENTUALLY(LKS_INTEGER(server, "PTTL", lks_key(server, "held")) > 20000, 5000);
    assert_true(lk_held(family->held) && lk_held(family->multi));
    assert_int_equal(lk_lock_force_release(other, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK); /* nobody cancelled it */
    assert_int_equal(lk_lock_release(family->waited, NULL), LK_OK);
    lk_lock_free(other);
    lk_client_close(other_client);
}

struct hammer {
    struct family *family;
    pthread_t thread;
    atomic_bool is_over;
    atomic_int failures;
};

/* Keeps the mutexes of the client busy: pool, hub, watchdog, scripts. */
static void *hammer_main(void *arg)
{
    struct hammer *hammer = arg;
    struct family *family = hammer->family;
    lk_lock *lock = lk_reentrant_new(family->client, "fork-hammered", NULL);

    while (!atomic_load(&hammer->is_over)) {
        lk_reply *reply = NULL;

        if (lks_acquire(lock, 20000, 0) != LK_OK ||
            lk_guarded_eval(lock, &family->eval, 0, &reply, NULL) != LK_OK ||
            lk_lock_release(lock, NULL) != LK_OK) {
            atomic_fetch_add(&hammer->failures, 1);
        }
        lk_reply_free(reply);
    }
    lk_lock_free(lock);
    return NULL;
}

/* A mutex that another thread holds at the moment of the fork is held in the child for ever. */
TEST(a_child_of_busy_threads_does_not_hang, struct family *family)
{
    struct hammer hammers[HAMMERS];

    for (size_t i = 0; i < HAMMERS; i++) {
        hammers[i] = (struct hammer){.family = family};
        assert_int_equal(pthread_create(&hammers[i].thread, NULL, hammer_main, &hammers[i]), 0);
    }
    for (int i = 0; i < FORKS; i++)
        let_a_child_try(family);
    for (size_t i = 0; i < HAMMERS; i++) {
        atomic_store(&hammers[i].is_over, true);
        assert_int_equal(pthread_join(hammers[i].thread, NULL), 0);
        assert_int_equal(atomic_load(&hammers[i].failures), 0);
    }
}
