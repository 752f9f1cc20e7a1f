/*
 * Builds and tears down what one client needs: pool, wait hub, watchdog, and lockkit's own scripts.
 * The only file that starts threads: one reconnects, one listens, one renews. They take no signals.
 *
 * Mutexes, each guarding only its own module; none is ever taken while another is held:
 *   pool.c, waithub.c, watchdog.c, script.c
 */
#include "client.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "pid.h"
#include "pool.h"
#include "waithub.h"
#include "watchdog.h"

enum { POOL_SIZE = 16, CONNECT_MS = 1000, COMMAND_MS = 1000, BACKOFF_MS = 1000, POLL_MS = 1000 };
enum { SPAN_MAX_MS = 24 * 60 * 60 * 1000, POOL_SIZE_MAX = 10000, SCRIPTS_MAX = 64 };

struct lk_client {
    struct lk_client_options options;
    pid_t pid;                    /* who opened it: a fork has the memory, not the threads */
    char uuid[LKI_UUID_LEN + 1];  /* of its owners */
    _Atomic unsigned long owners; /* named so far */
    _Atomic unsigned long references;
    _Atomic bool is_closed;
    struct lki_endpoint endpoint;
    struct lki_pool *pool;         /* owned */
    struct lki_hub *hub;           /* owned */
    struct lki_watchdog *watchdog; /* owned */
    struct {
        const char *name;  /* borrowed, static */
        lk_script *script; /* owned */
    } scripts[SCRIPTS_MAX];
    struct {
        pthread_t id;
        bool is_started;
    } threads[3];
};

/* ---- opening and closing ------------------------------------------------------------------------- */

static void ignore_event(const struct lk_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value ? value : fallback;
}

static lk_status take_options(lk_client *client, const struct lk_client_options *options,
                              struct lk_error *err)
{
    struct lk_client_options *own = &client->options;
    const char *url = options->url ? options->url : "redis://127.0.0.1:6379";
    const int64_t spans[] = {options->connect_ms, options->command_ms, options->backoff_ms,
                             options->poll_ms};

    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        if (spans[i] < 0 || spans[i] > SPAN_MAX_MS) {
            return LKI_FAIL(err, LK_INVALID, "a time limit is not between 0 and a day");
        }
    }
    if (options->pool_size > POOL_SIZE_MAX) {
        return LKI_FAIL(err, LK_INVALID, "pool_size is more than %d", POOL_SIZE_MAX);
    }
    *own = *options;
    own->url = NULL; /* borrowed for this call only */
    own->pool_size = options->pool_size ? options->pool_size : POOL_SIZE;
    own->connect_ms = or_default(options->connect_ms, CONNECT_MS);
    own->command_ms = or_default(options->command_ms, COMMAND_MS);
    own->backoff_ms = or_default(options->backoff_ms, BACKOFF_MS);
    own->poll_ms = or_default(options->poll_ms, POLL_MS);
    if (!own->on_event) own->on_event = ignore_event;
    return lki_endpoint_parse(url, &client->endpoint, err);
}

static lk_status prepare_scripts(lk_client *client, struct lk_error *err)
{
    const struct lk_script_source *source = lki_script_all();

    for (size_t i = 0; source[i].name; i++) {
        assert(i < SCRIPTS_MAX);
        client->scripts[i].name = source[i].name;
        client->scripts[i].script = lk_script_new(&source[i]);
        if (!client->scripts[i].script) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    }
    return LK_OK;
}

static lk_status build_parts(lk_client *client, struct lk_error *err)
{
    const struct lk_client_options *own = &client->options;

    client->pool = lki_pool_new(&(struct lki_pool_options){.endpoint = &client->endpoint,
                                                           .size = own->pool_size,
                                                           .connect_ms = own->connect_ms,
                                                           .backoff_ms = own->backoff_ms,
                                                           .on_event = own->on_event,
                                                           .on_event_arg = own->on_event_arg},
                                err);
    if (!client->pool) return LK_NO_MEMORY;
    client->hub = lki_hub_new(&(struct lki_hub_options){.endpoint = &client->endpoint,
                                                        .connect_ms = own->connect_ms,
                                                        .command_ms = own->command_ms,
                                                        .backoff_ms = own->backoff_ms,
                                                        .on_event = own->on_event,
                                                        .on_event_arg = own->on_event_arg},
                              err);
    if (!client->hub) return LK_NO_MEMORY;
    client->watchdog =
        lki_watchdog_new(&(struct lki_watchdog_options){.client = client,
                                                        .endpoint = &client->endpoint,
                                                        .connect_ms = own->connect_ms,
                                                        .command_ms = own->command_ms},
                         err);
    return client->watchdog ? LK_OK : LK_NO_MEMORY;
}

static lk_status start_threads(lk_client *client, struct lk_error *err)
{
    const struct {
        void *(*main)(void *);
        void *arg;
    } bodies[] = {{lki_pool_main, client->pool},
                  {lki_hub_main, client->hub},
                  {lki_watchdog_main, client->watchdog}};
    sigset_t all;
    sigset_t before;
    int failure = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0] && failure == 0; i++) {
        failure = pthread_create(&client->threads[i].id, NULL, bodies[i].main, bodies[i].arg);
        client->threads[i].is_started = failure == 0;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) return LK_OK;
    return lki_fail(err, LK_NO_MEMORY, failure, __func__, "a thread");
}

lk_client *lk_client_open(const struct lk_client_options *options, struct lk_error *err)
{
    static const struct lk_client_options defaults = {0};
    struct lki_redis *first = NULL;
    lk_client *client = calloc(1, sizeof *client);

    if (!client) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a client");
        return NULL;
    }
    client->pid = lki_pid();
    client->references = 1;
    if (lki_uuid_make(client->uuid, err) != LK_OK) goto fail;
    if (take_options(client, options ? options : &defaults, err) != LK_OK) goto fail;
    if (prepare_scripts(client, err) != LK_OK) goto fail;
    if (build_parts(client, err) != LK_OK) goto fail;
    if (lki_pool_borrow(client->pool, lki_client_deadline(client, client->options.connect_ms),
                        &first, err) != LK_OK) {
        goto fail;
    }
    lki_pool_return(client->pool, first);
    if (start_threads(client, err) != LK_OK) goto fail;
    return client;

fail:
    lk_client_close(client);
    return NULL;
}

/* The last one who knew it has let go. */
static void client_free(lk_client *client)
{
    lki_watchdog_free(client->watchdog);
    lki_hub_free(client->hub);
    lki_pool_free(client->pool);
    for (size_t i = 0; i < SCRIPTS_MAX; i++)
        lk_script_free(client->scripts[i].script);
    lki_endpoint_done(&client->endpoint);
    free(client);
}

void lk_client_close(lk_client *client)
{
    if (!client || client->pid != lki_pid()) return; /* a child has nothing to join or to say */
    if (atomic_exchange(&client->is_closed, true)) return;
    if (client->watchdog) lki_watchdog_stop(client->watchdog);
    if (client->hub) lki_hub_stop(client->hub);
    if (client->pool) lki_pool_stop(client->pool);
    for (size_t i = sizeof client->threads / sizeof client->threads[0]; i-- > 0;) {
        if (client->threads[i].is_started) (void)pthread_join(client->threads[i].id, NULL);
    }
    lki_client_unref(client);
}

void lk_client_pool_usage(const lk_client *client, struct lk_pool_usage *out)
{
    *out = (struct lk_pool_usage){0};
    if (lki_client_check(client, NULL) == LK_OK) lki_pool_usage(client->pool, out);
}

lk_client *lki_client_ref(lk_client *client)
{
    atomic_fetch_add(&client->references, 1);
    return client;
}

void lki_client_unref(lk_client *client)
{
    if (!client || client->pid != lki_pid()) return; /* a child's copies end with the child */
    if (atomic_fetch_sub(&client->references, 1) == 1) client_free(client);
}

/* ---- what the other files ask -------------------------------------------------------------------- */

bool lki_client_is_foreign(const lk_client *client)
{
    return client->pid != lki_pid();
}

lk_status lki_client_check(const lk_client *client, struct lk_error *err)
{
    if (!client) return LKI_FAIL(err, LK_INVALID, "no client (NULL)");
    if (client->pid != lki_pid()) {
        return LKI_FAIL(err, LK_INVALID,
                        "the client belongs to process %ld: open another after fork()",
                        (long)client->pid);
    }
    if (atomic_load(&client->is_closed)) return LKI_FAIL(err, LK_INVALID, "the client is closed");
    return LK_OK;
}

void lki_client_owner(lk_client *client, char out_owner[LKI_OWNER_MAX])
{
    (void)snprintf(out_owner, LKI_OWNER_MAX, "%s:%lu", client->uuid,
                   atomic_fetch_add(&client->owners, 1) + 1);
}

struct lki_hub *lki_client_hub(lk_client *client)
{
    return client->hub;
}

struct lki_watchdog *lki_client_watchdog(lk_client *client)
{
    return client->watchdog;
}

struct lki_pool *lki_client_pool(lk_client *client)
{
    return client->pool;
}

int64_t lki_client_poll_ms(const lk_client *client)
{
    return client->options.poll_ms;
}

const struct lki_endpoint *lki_client_endpoint(const lk_client *client)
{
    return &client->endpoint;
}

int64_t lki_client_deadline(const lk_client *client, int64_t limit_ms)
{
    return lki_clock_after_ms(limit_ms > 0 ? limit_ms : client->options.command_ms);
}

lk_script *lki_client_script(lk_client *client, const char *name)
{
    size_t i = 0;

    while (i < SCRIPTS_MAX && client->scripts[i].name && strcmp(client->scripts[i].name, name) != 0)
        i++;
    assert(i < SCRIPTS_MAX && client->scripts[i].name);
    return client->scripts[i].script;
}

const struct lki_variant *lki_client_own_script(lk_client *client, const char *name)
{
    return lki_script_variant(lki_client_script(client, name), "");
}

void lki_client_emit(const lk_client *client, struct lk_event event)
{
    if (event.at_ns == 0) event.at_ns = lki_clock_now();
    client->options.on_event(&event, client->options.on_event_arg);
}

/* ---- round trips ----------------------------------------------------------------------------------- */

lk_status lki_client_exchange(lk_client *client, const struct lk_command *commands, size_t count,
                              int64_t deadline, lk_reply **replies, struct lk_error *err)
{
    struct lki_redis *redis = NULL;
    int64_t begin = lki_clock_now();
    lk_status status = lki_client_check(client, err);

    if (status != LK_OK) return status;
    /* Half the time for a connection: a request sent at the last moment ends as UNKNOWN. */
    status = lki_pool_borrow(client->pool, begin + (deadline - begin) / 2, &redis, err);

    if (status != LK_OK) return status;
    begin = lki_clock_now();
    status = lki_redis_exchange(redis, commands, count, deadline, replies, err);
    lki_pool_return(client->pool, redis);
    lki_client_emit(client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                              .status = status,
                                              .duration_ns = lki_clock_now() - begin,
                                              .attempts = (unsigned)count});
    return status;
}

lk_status lk_client_call(lk_client *client, const struct lk_command *commands, size_t count,
                         int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    lk_status status = lki_client_check(client, err);

    if (status != LK_OK) return status;
    return lki_client_exchange(client, commands, count, lki_client_deadline(client, limit_ms),
                               replies, err);
}

lk_status lki_client_eval_variant(lk_client *client, const struct lk_eval *eval,
                                  const struct lki_variant *variant, const char *lock_key,
                                  const char *token, int64_t deadline, lk_reply **out_reply,
                                  struct lk_error *err)
{
    struct lki_eval_words words = {0};
    lk_reply *reply = NULL;
    lk_status status = lki_script_learn(eval->script, variant, client, deadline, err);

    for (int by_text = 0; by_text < 2 && status == LK_OK; by_text++) {
        status = lki_eval_words_make(variant, eval, lock_key, token, by_text, &words, err);
        if (status != LK_OK) break;
        status = lki_client_exchange(client, &(struct lk_command){words.words, words.count}, 1,
                                     deadline, &reply, err);
        free(words.words);
        if (status != LK_OK || by_text || !lki_reply_is_error(reply, "NOSCRIPT")) break;
        lk_reply_free(reply); /* not known there: nothing ran */
        reply = NULL;
    }
    if (status != LK_OK) return status;
    if (lk_reply_type_of(reply) != LK_REPLY_ERROR) {
        *out_reply = reply;
        return LK_OK;
    }
    if (lock_key && lki_reply_is_error(reply, "NOTOWNER")) {
        status = LKI_FAIL(err, LK_NOT_OWNER, "%s: not held by this handle any more", lock_key);
    } else {
        status = lki_fail_reply(err, reply);
    }
    lk_reply_free(reply);
    return status;
}

struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call)
{
    return (struct lk_eval){.script = lki_client_script(client, call->script),
                            .keys = call->keys,
                            .key_count = call->key_count,
                            .args = call->args,
                            .arg_count = call->arg_count};
}

lk_status lki_call_reply(lk_client *client, const struct lki_call *call, int64_t deadline,
                         lk_reply **out_reply, struct lk_error *err)
{
    struct lk_eval eval = lki_eval_of(client, call);

    return lki_client_eval_variant(client, &eval, lki_script_variant(eval.script, ""), NULL, NULL,
                                   deadline, out_reply, err);
}

lk_status lki_call_integer(lk_client *client, const struct lki_call *call, int64_t deadline,
                           long long *out_answer, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lki_call_reply(client, call, deadline, &reply, err);

    if (status != LK_OK) return status;
    *out_answer = lk_reply_integer(reply, 0);
    lk_reply_free(reply);
    return LK_OK;
}
