/*
 * The plain lock: SET key token NX PX lease; compare-and-delete. Each acquisition has a new token, so a late
 * command of one hold cannot affect another. Also lk_mutex_run(): the whole critical section in one round
 * trip. Threads as lock.h says.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lockkit/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "lock.h"
#include "wire/reply.h"

struct mutex {
    lk_lock base;
};

/* The words of SET key token NX PX lease, and of PTTL key. */
struct mutex_words {
    struct lk_bytes set[6];
    struct lk_bytes ttl[2];
    char lease[LKI_NUMBER_MAX];
};

static void make_words(const lk_lock *lock, struct mutex_words *words)
{
    words->set[0] = LK_BYTES("SET");
    words->set[1] = lk_bytes_of(lock->key);
    words->set[2] = lk_bytes_of(lock->token);
    words->set[3] = LK_BYTES("NX");
    words->set[4] = LK_BYTES("PX");
    words->set[5] = lki_number(words->lease, lock->lease_ms);
    words->ttl[0] = LK_BYTES("PTTL");
    words->ttl[1] = lk_bytes_of(lock->key);
}

/* The status of SET NX's answer: OK, BUSY (nil), or SERVER. */
static lk_status set_status(const lk_lock *lock, const lk_reply *reply, struct lk_error *err)
{
    switch (lk_reply_type_of(reply)) {
    case LK_REPLY_STRING:
        if (lki_reply_is_ok(reply)) return LK_OK;
        break;
    case LK_REPLY_NIL:
        return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", lock->key);
    case LK_REPLY_INTEGER:
    case LK_REPLY_ERROR:
    case LK_REPLY_ARRAY:
        break;
    }
    return lki_exchange_fail(lock->client, reply, err);
}

static lk_status mutex_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                   struct lk_error *err)
{
    struct mutex_words words = {0};
    lk_reply *replies[2] = {0};

    make_words(lock, &words);
    struct lk_command commands[] = {{words.set, 6}, {words.ttl, 2}};
    if (out_ttl_ms) *out_ttl_ms = -2; /* no answer, no holder known */
    lk_status status = lki_route_send(lock->client,
                                      &(struct lki_pipeline){.commands = commands,
                                                             .count = out_ttl_ms ? 2 : 1,
                                                             .deadline = deadline,
                                                             .out_is_synced = &lock->is_synced},
                                      replies, err);
    if (status != LK_OK) return status;
    status = set_status(lock, replies[0], err);
    if (out_ttl_ms) *out_ttl_ms = lk_reply_integer(replies[1], -2);
    lk_reply_free(replies[0]);
    lk_reply_free(replies[1]);
    return status;
}

/* The keys and arguments of mutex_release.lua. */
static struct lki_call release_call(const lk_lock *lock)
{
    return (struct lki_call){.script = "mutex_release",
                             .keys = {lk_bytes_of(lock->key), lk_bytes_of(lock->wake_channel)},
                             .key_count = 2,
                             .args = {lk_bytes_of(lock->token)},
                             .arg_count = 1,
                             .undo_until = lock->undo_until};
}

static lk_status mutex_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lki_call call = release_call(lock);
    long long is_released = 0;
    lk_status status = lki_call_integer(lock->client, &call, deadline, &is_released, err);

    if (status != LK_OK || is_released == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the lease had ended before the release", lock->key);
}

static lk_status mutex_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lki_call call = {.script = "force_release",
                            .keys = {lk_bytes_of(lock->key), lk_bytes_of(lock->wake_channel)},
                            .key_count = 2,
                            .args = {LK_BYTES("string")},
                            .arg_count = 1};
    long long was_held = 0;
    lk_status status = lki_call_integer(lock->client, &call, deadline, &was_held, err);

    if (status != LK_OK || was_held == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: nobody held it", lock->key);
}

static void mutex_free(lk_lock *lock)
{
    lki_lock_done(lock);
    free(lock);
}

/* ---- acquire, script and release in one round trip ---------------------------------------------- */

struct run {
    lk_lock *lock;
    struct lki_call call; /* of the script, behind the owner check */
    const struct lki_variant *guarded;
    int64_t deadline;        /* of the attempt under way */
    bool by_text;            /* send texts instead of digests; with a loader, load them first */
    struct lk_error refusal; /* why the loader was refused */
    lk_reply *reply;         /* of the script, when it ran */
    lk_status released;
};

enum { RUN_SET, RUN_SCRIPT, RUN_RELEASE, RUN_TTL, RUN_COMMANDS };

static void free_run_replies(lk_reply **replies)
{
    for (size_t i = 0; i < RUN_COMMANDS; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
}

/* Read the four answers. Frees all but the script's. */
static lk_status read_run(lk_lock *lock, struct run *run, lk_reply **replies, int64_t *out_ttl_ms,
                          struct lk_error *err)
{
    lk_status status = set_status(lock, replies[RUN_SET], err);
    lk_reply *script = replies[RUN_SCRIPT];
    bool is_too_late = lki_reply_is_error(script, "NOTOWNER");

    if (lk_reply_type_of(replies[RUN_RELEASE]) == LK_REPLY_INTEGER) {
        run->released = lk_reply_integer(replies[RUN_RELEASE], 0) == 1 ? LK_OK : LK_NOT_OWNER;
    } else if (!lki_reply_is_error(replies[RUN_RELEASE], "NOSCRIPT")) {
        run->released = LK_SERVER; /* NOSCRIPT: run_once() has released it */
    }
    /* In a cluster, SET may have been redirected and run after the release, or the release may have been refused. */
    if (status == LK_OK && (run->released == LK_SERVER || (is_too_late && run->released != LK_OK)))
        lki_lock_undo(lock);
    if (status == LK_OK && is_too_late) {
        status = LKI_FAIL(err, LK_NOT_OWNER, "%s: the lease ended before the script", lock->key);
    } else if (status == LK_OK && lk_reply_type_of(script) == LK_REPLY_ERROR) {
        status = lki_script_fail(err, script, &run->refusal);
    } else if (status == LK_OK) {
        status = lki_exchange_check_synced(lock->client, lock->is_synced, err);
        run->reply = status == LK_OK ? script : NULL;
        if (status == LK_OK) replies[RUN_SCRIPT] = NULL;
    }
    if (out_ttl_ms) *out_ttl_ms = lk_reply_integer(replies[RUN_TTL], -2);
    free_run_replies(replies);
    return status;
}

/* Send one pipeline. *out_forgot: the server does not know a digest (NOSCRIPT); that script did not run. */
static lk_status send_run(struct run *run, lk_reply **replies, bool with_ttl, bool *out_forgot,
                          struct lk_error *err)
{
    lk_lock *lock = run->lock;
    struct mutex_words words = {0};
    struct lki_call giving_back = release_call(lock);
    bool has_loader = lock->client->has_loader;
    struct lki_request *script = lki_script_request(run->guarded, &run->call);
    struct lki_request *release = lki_call_request(lock->client, &giving_back);
    lk_status status = LK_NO_MEMORY;

    make_words(lock, &words);
    run->refusal = (struct lk_error){0};
    if (!script || !release) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a script's arguments");
    } else {
        if (run->by_text) (void)lki_script_spell_out(script, has_loader);
        if (run->by_text) (void)lki_script_spell_out(release, has_loader);
        struct lk_command commands[RUN_COMMANDS] = {[RUN_SET] = {words.set, 6},
                                                    [RUN_SCRIPT] = script->command,
                                                    [RUN_RELEASE] = release->command,
                                                    [RUN_TTL] = {words.ttl, 2}};
        struct lki_pipeline pipeline = {.commands = commands,
                                        .count = with_ttl ? RUN_COMMANDS : RUN_TTL,
                                        .deadline = run->deadline,
                                        .out_is_synced = &lock->is_synced,
                                        .load_first = {script->load_first, release->load_first},
                                        .out_refusal = &run->refusal};

        lock->is_synced = true;
        status = lki_route_send(lock->client, &pipeline, replies, err);
    }
    free(script);
    free(release);
    *out_forgot = status == LK_OK && (lki_reply_is_error(replies[RUN_SCRIPT], "NOSCRIPT") ||
                                      lki_reply_is_error(replies[RUN_RELEASE], "NOSCRIPT"));
    return status;
}

/*
 * The server did not know a script, so the lock that the pipeline acquired is still held. Release it before the
 * texts are sent: a second SET NX would meet our own token and answer "taken", and the owner check behind it
 * would let the script run all the same. If this fails, the caller's script did not run. Afterwards the server
 * knows the scripts, and the next run is one round trip.
 */
static lk_status free_for_second_run(lk_lock *lock, struct run *run, struct lk_error *err)
{
    run->released = mutex_release(lock, run->deadline, err);
    if (run->released == LK_OK || run->released == LK_NOT_OWNER) return LK_OK;
    if (run->released != LK_UNKNOWN) return run->released;
    if (err) err->code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}

static lk_status run_once(struct run *run, int64_t *out_ttl_ms, struct lk_error *err)
{
    lk_lock *lock = run->lock;
    lk_reply *replies[RUN_COMMANDS] = {0};
    bool forgot = false;

    run->deadline = lki_context_deadline(lock->client, 0);
    if (out_ttl_ms) *out_ttl_ms = -2; /* no answer, no holder known */
    lk_status status = send_run(run, replies, out_ttl_ms != NULL, &forgot, err);

    if (status == LK_UNKNOWN)
        lki_lock_undo(lock); /* the pipeline may have been cut before its end */
    if (status != LK_OK) return status;
    bool is_taken = lki_reply_is_ok(replies[RUN_SET]);
    bool has_run = !lki_reply_is_error(replies[RUN_SCRIPT], "NOSCRIPT");
    if (forgot && !run->by_text) {
        run->by_text = true;
        if (is_taken) status = free_for_second_run(lock, run, err);
        if (is_taken && !has_run) {
            free_run_replies(replies);
            run->released = LK_SERVER; /* until the answer says more */
            return status == LK_OK ? run_once(run, out_ttl_ms, err) : status;
        }
    }
    return read_run(lock, run, replies, out_ttl_ms, err);
}

static lk_status run_whole(struct run *run, const struct lk_lock_options *options,
                           struct lk_error *err)
{
    lk_lock *lock = run->lock;
    int64_t begin = lki_clock_now();
    lk_status status = lki_lock_begin(lock, options, err);

    if (status != LK_OK) return status;
    run->call.preamble = lock->ops->guard_script;
    run->call.keys[run->call.key_count++] = lk_bytes_of(lock->key);
    run->call.args[run->call.arg_count++] = lk_bytes_of(lock->token);
    status = lki_call_learn(lock->client, &run->call, lki_context_deadline(lock->client, 0),
                            &run->guarded, err);
    struct lki_pursuit pursuit = lki_lock_pursuit(lock, lki_clock_after_ms(options->wait_ms));
    if (status == LK_OK) {
        do {
            status = run_once(run, pursuit.ttl_ms, &pursuit.why);
        } while (lki_wait_again(&pursuit, &status, err));
    }
    lki_lock_emit(lock, LK_EVENT_RUN, status, begin, pursuit.attempts);
    if (run->reply) lki_lock_emit(lock, LK_EVENT_RELEASE, run->released, begin, 1);
    return status;
}

lk_status lk_mutex_run(lk_lock *lock, const struct lk_lock_options *options,
                       const struct lk_eval *eval, lk_reply **out_reply, struct lk_error *err)
{
    struct lk_lock_options known;
    struct run run = {.lock = lock, .call.eval = eval};

    if (!lock || lock->ops->try_acquire != mutex_try_acquire || !eval || !eval->script ||
        !out_reply) {
        return LKI_FAIL(err, LK_INVALID, "a run without mutex, script or answer (NULL)");
    }
    lk_status status = LKI_OPTIONS_COPY(&known, options, on_lost_arg, err);
    if (status == LK_OK) status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    status = run_whole(&run, &known, err);
    if (status == LK_OK) *out_reply = run.reply;
    return lki_lock_leave_wait(lock, &known, status);
}

/* ---- the table ------------------------------------------------------------------------------------- */

static const struct lki_lock_ops mutex_ops = {
    .kind = "mutex",
    .guard_script = "mutex_guard",
    .try_acquire = mutex_try_acquire,
    .release = mutex_release,
    .force = mutex_force,
    .renew_script = "mutex_renew",
    .free = mutex_free,
};

lk_lock *lk_mutex_new(lk_client *client, const char *key, struct lk_error *err)
{
    if (client && client->backend) return client->backend->lock_new(client, "mutex", key, err);
    struct mutex *self = calloc(1, sizeof *self);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    if (key) self->base.wake_channel = lki_name_prefix("lockkit_wake", key);
    if (lki_lock_init(&self->base, &mutex_ops, client, key, err) == LK_OK) return &self->base;
    mutex_free(&self->base);
    return NULL;
}
