/*
 * Lua under a lock on a real server: lk_client_eval(), lk_guarded_eval() and lk_mutex_run(), on
 * servers that know the scripts and on servers that forgot them.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_support.h"
#include "wire/script.h"

LKS_SERVER(lks_server_any());

struct fixture {
    lk_client *client;
    lk_lock *mine, *other;
    lk_script *add; /* INCRBY KEYS[1] ARGV[1] */
    const char *key, *counter;
    struct lk_bytes keys[1], args[1];
    struct lk_eval eval;
    atomic_uint round_trips;
};

static void count_round_trip(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_ROUND_TRIP) atomic_fetch_add(&f->round_trips, 1);
}

static lk_script *script_of(const char *source)
{
    lk_script *script = lk_script_new(&(struct lk_script_source){.name = "test", .source = source});

    assert_non_null(script);
    return script;
}

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "script");
    f->counter = lks_new_key(server, "counter");
    f->client = lks_client_with(
        server, (struct lk_client_options){.on_event = count_round_trip, .on_event_arg = f});
    f->mine = lks_mutex(f->client, f->key);
    f->other = lks_mutex(f->client, f->key);
    f->add = script_of("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    f->keys[0] = lk_bytes_of(f->counter);
    f->args[0] = LK_BYTES("5");
    f->eval = (struct lk_eval){
        .script = f->add, .keys = f->keys, .key_count = 1, .args = f->args, .arg_count = 1};
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lk_script_free(f->add);
    lk_client_close(f->client);
    LKS_DO(server, "DEL", f->key, f->counter);
}

static void acquire(lk_lock *lock, int64_t lease_ms)
{
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = lease_ms}, &err) != LK_OK) {
        fail_msg("%s", err.text);
    }
}

static void flush_scripts(void)
{
    assert_string_equal(LKS_TEXT(server, "SCRIPT", "FLUSH"), "OK");
}

static const char *counter_text(struct fixture *f)
{
    return LKS_TEXT(server, "GET", f->counter);
}

/* ---- scripts as such -------------------------------------------------------------------------------- */

TEST(embedded_digests_are_what_the_server_computes)
{
    for (const struct lk_script_source *row = lki_script_all(); row->name; row++)
        assert_string_equal(LKS_TEXT(server, "SCRIPT", "LOAD", row->source), row->sha1);
}

TEST(a_plain_eval_runs_once_also_on_a_server_that_forgot, struct fixture *f)
{
    for (int i = 1; i <= 4; i++) {
        lk_reply *reply = NULL;

        if (i % 2) flush_scripts();
        assert_int_equal(lk_client_eval(f->client, &f->eval, 0, &reply, NULL), LK_OK);
        assert_int_equal(lks_integer_of(reply), 5 * i);
    }
}

TEST(an_eval_that_fails_says_the_servers_words, struct fixture *f)
{
    static const struct {
        const char *source, *word;
    } rows[] = {
        {"return redis.call('INCR', KEYS[1], 'too', 'many')", "rong number"},
        {"return redis.error_reply('MINE of my own making')", "MINE of my own making"},
        {"return redis.error_reply('NOSCRIPT as I please')", "NOSCRIPT as I please"},
        {"this is no Lua", "rror compiling"},
        {"return redis.call('LPUSH', KEYS[1], 1)", "WRONGTYPE"},
    };

    LKS_DO(server, "SET", f->counter, "0");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};
        lk_reply *reply = NULL;
        lk_script *script = script_of(rows[i].source);
        struct lk_eval eval = {.script = script, .keys = f->keys, .key_count = 1};

        assert_int_equal(lk_client_eval(f->client, &eval, 0, &reply, &err), LK_SERVER);
        assert_null(reply);
        if (!strstr(err.text, rows[i].word)) fail_msg("\"%s\" in \"%s\"", rows[i].word, err.text);
        acquire(f->mine, 5000);
        assert_int_equal(lk_guarded_eval(f->mine, &eval, 0, &reply, &err), LK_SERVER);
        if (!strstr(err.text, rows[i].word)) fail_msg("\"%s\" in \"%s\"", rows[i].word, err.text);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
        lk_script_free(script);
    }
}

/* ---- guarded eval ------------------------------------------------------------------------------------ */

TEST(a_holders_script_runs, struct fixture *f)
{
    lk_reply *reply = NULL;

    acquire(f->mine, 5000);
    for (int i = 1; i <= 4; i++) {
        if (i % 2 == 0) flush_scripts();
        assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, NULL), LK_OK);
        assert_int_equal(lks_integer_of(reply), 5 * i); /* once each */
    }

    assert_true(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(key_and_token_come_last, struct fixture *f)
{
    lk_script *script = script_of("return {#KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1], ARGV[2]}");
    struct lk_eval eval = f->eval;
    lk_reply *reply = NULL;

    eval.script = script;
    acquire(f->mine, 5000);
    const char *token = LKS_TEXT(server, "GET", f->key);
    assert_int_equal(lk_guarded_eval(f->mine, &eval, 0, &reply, NULL), LK_OK);

    assert_int_equal(lk_reply_count(reply), 6);
    assert_int_equal(lk_reply_integer(lk_reply_at(reply, 0), 0), 2);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 1)).data, f->counter);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 2)).data, f->key);
    assert_int_equal(lk_reply_integer(lk_reply_at(reply, 3), 0), 2);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 4)).data, "5");
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 5)).data, token);
    lk_reply_free(reply);
    lk_script_free(script);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(a_script_whose_lock_was_lost_does_not_run, struct fixture *f)
{
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    acquire(f->mine, 50);
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", f->key) == 0, 1000);
    assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, &err), LK_NOT_OWNER);
    acquire(f->other, 5000);
    assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, &err), LK_NOT_OWNER);

    assert_null(reply);
    assert_int_equal(err.code, LK_NOT_OWNER);
    assert_non_null(strstr(err.text, f->key));
    assert_string_equal(counter_text(f), "(nil)");
    assert_int_equal(lk_guarded_eval(f->other, &f->eval, 0, &reply, NULL), LK_OK);
    assert_int_equal(lks_integer_of(reply), 5);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(who_holds_nothing_runs_nothing, struct fixture *f)
{
    lk_reply *reply = NULL;

    assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, NULL), LK_INVALID);
    acquire(f->mine, 5000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, NULL), LK_INVALID);

    assert_null(reply);
    assert_string_equal(counter_text(f), "(nil)");
}

TEST(a_lock_key_of_another_type_lets_nothing_run, struct fixture *f)
{
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    acquire(f->mine, 5000);
    LKS_DO(server, "DEL", f->key);
    LKS_DO(server, "RPUSH", f->key, "x");
    assert_int_equal(lk_guarded_eval(f->mine, &f->eval, 0, &reply, &err), LK_SERVER);

    assert_non_null(strstr(err.text, "WRONGTYPE"));
    assert_string_equal(counter_text(f), "(nil)");
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_SERVER);
    LKS_DO(server, "DEL", f->key);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
}

TEST(a_server_that_forgot_releases_all_the_same, struct fixture *f)
{
    for (int i = 0; i < 3; i++) {
        acquire(f->mine, 5000);
        flush_scripts();
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    }
}

/* ---- run ---------------------------------------------------------------------------------------------- */

static lk_status run(struct fixture *f, int64_t wait_ms, lk_reply **reply, struct lk_error *err)
{
    return lk_mutex_run(f->mine, &(struct lk_lock_options){.wait_ms = wait_ms, .lease_ms = 5000},
                        &f->eval, reply, err);
}

TEST(a_run_takes_the_lock_runs_and_gives_it_back, struct fixture *f)
{
    lk_reply *reply = NULL;

    for (int i = 1; i <= 5; i++) {
        assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
        assert_int_equal(lks_integer_of(reply), 5 * i);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
        assert_false(lk_held(f->mine));
    }
}

TEST(a_run_costs_one_round_trip, struct fixture *f)
{
    lk_reply *reply = NULL;

    assert_int_equal(run(f, 0, &reply, NULL), LK_OK); /* learns the digest, loads the scripts */
    lk_reply_free(reply);
    unsigned before = atomic_load(&f->round_trips);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
        lk_reply_free(reply);
    }

    assert_int_equal(atomic_load(&f->round_trips) - before, 10);
}

TEST(a_run_holds_the_lock_while_its_script_runs, struct fixture *f)
{
    lk_script *script = script_of("return {redis.call('GET', KEYS[#KEYS]) == ARGV[#ARGV] and 1,"
                                  " redis.call('PTTL', KEYS[#KEYS])}");
    struct lk_eval eval = {.script = script};
    lk_reply *reply = NULL;

    assert_int_equal(
        lk_mutex_run(f->mine, &(struct lk_lock_options){.lease_ms = 5000}, &eval, &reply, NULL),
        LK_OK);

    assert_int_equal(lk_reply_integer(lk_reply_at(reply, 0), 0), 1);
    assert_in_range(lk_reply_integer(lk_reply_at(reply, 1), 0), 4900, 5000);
    lk_reply_free(reply);
    lk_script_free(script);
}

TEST(a_run_of_a_taken_lock_is_busy_and_does_nothing, struct fixture *f)
{
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    acquire(f->other, 5000);
    const char *token = LKS_TEXT(server, "GET", f->key);
    assert_int_equal(run(f, 0, &reply, &err), LK_BUSY);
    flush_scripts();
    assert_int_equal(run(f, 0, &reply, &err), LK_BUSY);
    assert_int_equal(run(f, 60, &reply, &err), LK_BUSY);

    assert_null(reply);
    assert_int_equal(err.code, LK_BUSY);
    assert_string_equal(counter_text(f), "(nil)");
    assert_string_equal(LKS_TEXT(server, "GET", f->key), token);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

struct runner {
    struct fixture *f;
    lk_status status;
    lk_reply *reply;
};

static void *run_main(void *arg)
{
    struct runner *runner = arg;

    runner->status = run(runner->f, 20000, &runner->reply, NULL);
    return NULL;
}

TEST(a_run_waits_for_the_holder, struct fixture *f)
{
    struct runner runner = {.f = f};
    pthread_t thread;

    acquire(f->other, 30000);
    assert_int_equal(pthread_create(&thread, NULL, run_main, &runner), 0);
    LKS_EVENTUALLY(atomic_load(&f->round_trips) >= 4, 5000); /* it has learned, tried, tried */
    assert_string_equal(counter_text(f), "(nil)");
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(runner.status, LK_OK);
    assert_int_equal(lks_integer_of(runner.reply), 5);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
}

TEST(a_waiting_run_can_be_cancelled, struct fixture *f)
{
    struct runner runner = {.f = f};
    pthread_t thread;

    acquire(f->other, 30000);
    assert_int_equal(pthread_create(&thread, NULL, run_main, &runner), 0);
    LKS_EVENTUALLY(atomic_load(&f->round_trips) >= 4, 5000);
    lk_lock_cancel(f->mine);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(runner.status, LK_CANCELLED);
    assert_null(runner.reply);
    assert_string_equal(counter_text(f), "(nil)");
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(a_run_on_a_server_that_forgot_runs_once_and_releases, struct fixture *f)
{
    lk_reply *reply = NULL;

    for (int i = 1; i <= 4; i++) {
        flush_scripts();
        if (i == 3) { /* it knows the release only: the first pipeline frees the lock at once */
            LKS_DO(server, "SCRIPT", "LOAD", lki_script_named("mutex_release")->source);
        }
        assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
        assert_int_equal(lks_integer_of(reply), 5 * i);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    }
}

TEST(a_run_on_a_server_that_forgot_only_the_release_runs_once, struct fixture *f)
{
    char guarded[1024];
    lk_reply *reply = NULL;

    (void)snprintf(guarded, sizeof guarded, "%s%s", lki_script_named("mutex_guard")->source,
                   "return redis.call('INCRBY', KEYS[1], ARGV[1])");
    for (int i = 1; i <= 3; i++) {
        flush_scripts();
        LKS_DO(server, "SCRIPT", "LOAD", guarded);
        assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
        assert_int_equal(lks_integer_of(reply), 5 * i);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    }
}

TEST(a_script_that_fails_releases_the_lock, struct fixture *f)
{
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    for (int i = 0; i < 4; i++) {
        if (i % 2) flush_scripts();
        LKS_DO(server, "SET", f->counter, "not a number");
        assert_int_equal(run(f, 0, &reply, &err), LK_SERVER);
        assert_null(reply);
        assert_non_null(strstr(err.text, "not an integer"));
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    }
}

TEST(a_script_that_does_not_compile_takes_no_lock, struct fixture *f)
{
    lk_script *script = script_of("this is no Lua");
    struct lk_eval eval = {.script = script};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    assert_int_equal(lk_mutex_run(f->mine, NULL, &eval, &reply, &err), LK_SERVER);

    assert_non_null(strstr(err.text, "compiling"));
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    lk_script_free(script);
}

TEST(a_handle_that_holds_does_not_run, struct fixture *f)
{
    lk_reply *reply = NULL;

    acquire(f->mine, 5000);
    assert_int_equal(run(f, 0, &reply, NULL), LK_INVALID);

    assert_true(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
    assert_int_equal(lks_integer_of(reply), 5);
}

TEST(a_release_the_server_refused_does_not_bar_the_handle, struct fixture *f)
{
    lk_reply *reply = NULL;

    acquire(f->mine, 5000);
    LKS_DO(server, "DEL", f->key);
    LKS_DO(server, "RPUSH", f->key, "x");
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_SERVER);
    LKS_DO(server, "DEL", f->key);

    assert_int_equal(run(f, 0, &reply, NULL), LK_OK);
    assert_int_equal(lks_integer_of(reply), 5);
}

TEST(an_answer_of_any_shape_comes_back_whole, struct fixture *f)
{
    lk_script *script = script_of("return {1, 'a\\0b', {false, {-7}}, redis.status_reply('fine')}");
    struct lk_eval eval = {.script = script};
    lk_reply *reply = NULL;

    assert_int_equal(lk_mutex_run(f->mine, NULL, &eval, &reply, NULL), LK_OK);

    assert_int_equal(lk_reply_type_of(reply), LK_REPLY_ARRAY);
    assert_int_equal(lk_reply_count(reply), 4);
    assert_int_equal(lk_reply_integer(lk_reply_at(reply, 0), 0), 1);
    assert_int_equal(lk_reply_bytes(lk_reply_at(reply, 1)).len, 3);
    assert_memory_equal(lk_reply_bytes(lk_reply_at(reply, 1)).data, "a\0b", 3);
    const lk_reply *inner = lk_reply_at(reply, 2);
    assert_int_equal(lk_reply_type_of(lk_reply_at(inner, 0)), LK_REPLY_NIL);
    assert_int_equal(lk_reply_integer(lk_reply_at(lk_reply_at(inner, 1), 0), 0), -7);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 3)).data, "fine");
    assert_null(lk_reply_at(reply, 4));
    assert_null(lk_reply_at(lk_reply_at(reply, 0), 0));
    lk_reply_free(reply);
    lk_script_free(script);
}
