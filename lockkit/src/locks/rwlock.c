/*
 * The read/write lock: a hash with its mode and a field per owner, and a string key per read hold whose TTL is
 * that hold's lease. Two handles share one owner: a writer may also read, but a reader cannot also write. Holds
 * are counted as in hash_lock.c: every step sets the number.
 *
 * Each first acquire has a new owner name, except a read beside a held write, which must have the write's
 * owner; a number distinguishes successive reads. The same holds for a write to which a read is upgraded.
 * Threads as lock.h says, but one thread for both handles, which read each other's state.
 *
 * The order of waiters is that of rw_queue.lua. A waiter with a place in that queue has a channel of its own, so
 * a release wakes only those that may go on.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "hash_lock.h"
#include "queue.h"
#include "wire/reply.h"

struct lk_rwlock {
    lk_lock read; /* its renew_key: the prefix of the names of hold keys */
    lk_lock write;
    lk_lock *sides[2]; /* owned; with a backend, in place of these two */
    unsigned reads;    /* number of first acquires by the owner in read.token */
    unsigned upgrades; /* number of tries to upgrade */
    bool is_upgrade;   /* this acquire of the write side */
    lk_rwlock_order order;
    struct queue_place place; /* of this acquire */
    char *channel;            /* owned; a place's own is "channel:place" */
    char *queue_key;          /* owned */
    char *windows_key;        /* owned */
};

enum answer { ANSWER_TAKEN, ANSWER_HELD, ANSWER_VOID, ANSWER_DEADLOCK };

static const char write_mark[] = ":write"; /* behind the owner: the name of its write field */

/* Both handles share is_in_use. */
static struct lk_rwlock *rw_of(const lk_lock *side)
{
    void *flag = side->in_use;

    return (struct lk_rwlock *)(void *)((char *)flag - offsetof(struct lk_rwlock, read.is_in_use));
}

static struct lk_bytes writing_owner(const struct lk_rwlock *rw)
{
    return (struct lk_bytes){rw->write.token, strlen(rw->write.token) - strlen(write_mark)};
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call with the keys of all rw scripts, and the side's field as first argument. */
static struct lki_call call_of(const struct lk_rwlock *rw, const lk_lock *side, const char *script)
{
    return (struct lki_call){.script = script,
                             .preamble = "rw_queue",
                             .keys = {lk_bytes_of(side->key), lk_bytes_of(rw->read.renew_key),
                                      lk_bytes_of(rw->channel), lk_bytes_of(rw->queue_key),
                                      lk_bytes_of(rw->windows_key)},
                             .key_count = 5,
                             .args = {lk_bytes_of(side->token)},
                             .arg_count = 1,
                             .undo_until = side->undo_until};
}

static bool has_place(const struct lk_rwlock *rw)
{
    return rw->is_upgrade || rw->order != LK_RWLOCK_UNORDERED;
}

/* The name of this acquire's place in the queue; "": it has none. */
static struct lk_bytes place_of(const struct lk_rwlock *rw, const lk_lock *side)
{
    const char *behind = side->wake_channel + strlen(rw->channel);

    return lk_bytes_of(*behind ? behind + 1 : behind);
}

/* After the token is set: with a place in the queue it uses a channel of its own. */
static lk_status prepare_place(struct lk_rwlock *rw, lk_lock *side, struct lk_error *err)
{
    bool is_own = has_place(rw);
    char *channel = NULL;

    rw->place.is_taken = false;
    side->waiter.is_alone = is_own;
    if (!is_own && strcmp(side->wake_channel, rw->channel) == 0) return LK_OK;
    if (asprintf(&channel, "%s%s%s%s", rw->channel, is_own ? ":" : "", is_own ? side->token : "",
                 rw->is_upgrade ? ":upgrade" : "") < 0)
        return LKI_FAIL(err, LK_NO_MEMORY, "%s", side->key);
    free(side->wake_channel);
    side->wake_channel = channel;
    return LK_OK;
}

static void add_arg(struct lki_call *call, struct lk_bytes arg)
{
    call->args[call->arg_count++] = arg;
}

/* The status of a script's answer to a first acquire. */
static lk_status verdict(const lk_lock *side, long long answer, struct lk_error *err)
{
    bool is_upgrade = rw_of(side)->is_upgrade;

    switch (answer) {
    case ANSWER_HELD:
        return LK_OK;
    case ANSWER_TAKEN:
        return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else, or others are before us",
                        side->key);
    case ANSWER_DEADLOCK:
        return LKI_FAIL(err, LK_DEADLOCK, "%s: %s", side->key,
                        is_upgrade ? "another reader waits to write until this one has left"
                                   : "the read hold of this handle must be released first");
    default:
        return LKI_FAIL(err, LK_LOST, "%s: %s", side->key,
                        is_upgrade ? "the read hold has ended"
                                   : "a later acquire has taken its place");
    }
}

/* A read hold that ended here, or whose release had no answer, may still be there. */
static const char *reader_of(const struct lk_rwlock *rw)
{
    return atomic_load(&rw->read.state) != LOCK_IDLE ? rw->read.token : "";
}

static lk_status ask(lk_lock *side, long long answer[3], int64_t deadline, struct lk_error *err)
{
    const struct lk_rwlock *rw = rw_of(side);
    bool is_read = side == &rw->read;
    char lease[LKI_NUMBER_MAX];
    char window[LKI_NUMBER_MAX];
    char number[LKI_NUMBER_MAX];
    struct lki_call call = call_of(rw, side, is_read ? "rw_read_acquire" : "rw_write_acquire");
    lk_reply *reply = NULL;

    add_arg(&call, lki_number(lease, side->lease_ms));
    add_arg(&call, place_of(rw, side));
    add_arg(&call,
            lki_number(window, side->wait_ms > 0 ? lki_queue_window_ms(&rw->place, side) : 0));
    add_arg(&call, rw->order == LK_RWLOCK_WRITERS_FIRST ? LK_BYTES("1") : LK_BYTES("0"));
    add_arg(&call, is_read ? lki_number(number, rw->reads) : lk_bytes_of(reader_of(rw)));
    call.out_is_synced = &side->is_synced;
    lk_status status = lki_call_reply(side->client, &call, deadline, &reply, err);
    return status == LK_OK ? lki_reply_integers(reply, answer, 3, err) : status;
}

static lk_status try_acquire(lk_lock *side, int64_t *out_ttl_ms, int64_t deadline,
                             struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of(side);
    bool had_place = rw->place.is_taken;
    int64_t begin = lki_clock_now();
    long long answer[3] = {0};
    lk_status status = ask(side, answer, deadline, err);

    if (status == LK_OK || status == LK_UNKNOWN)
        rw->place.is_taken = has_place(rw) && side->wait_ms > 0;
    if (status != LK_OK) return status;
    /* It had lost its place before it got the lock: as in fair.c. */
    bool is_placed = answer[2] == 1 && (answer[0] == ANSWER_TAKEN || had_place);
    if (is_placed && rw->order == LK_RWLOCK_FAIR && !rw->is_upgrade)
        lki_lock_emit(side, LK_EVENT_QUEUED, LK_OK, begin, 1);
    if (out_ttl_ms && answer[0] == ANSWER_TAKEN)
        *out_ttl_ms = has_place(rw) ? lki_queue_ask_again_ms(&rw->place, answer[1]) : answer[1];
    return verdict(side, answer[0], err);
}

static void abandon(lk_lock *side, int64_t deadline)
{
    struct lk_rwlock *rw = rw_of(side);
    struct lki_call call = call_of(rw, side, "rw_abandon");

    call.args[0] = place_of(rw, side);
    lki_queue_abandon(&rw->place, side->client, &call, deadline);
}

/* Run a call that answers 1, or 0: the lock is not ours. */
static lk_status confirm(const lk_lock *side, const struct lki_call *call, const char *otherwise,
                         int64_t deadline, struct lk_error *err)
{
    long long answer = 0;
    lk_status status = lki_call_integer(side->client, call, deadline, &answer, err);

    if (status != LK_OK || answer == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: %s", side->key, otherwise);
}

static lk_status force(const struct lk_rwlock *rw, const lk_lock *side, const char *message,
                       int64_t deadline, struct lk_error *err)
{
    struct lki_call call = call_of(rw, side, "rw_force");

    call.args[0] = lk_bytes_of(side->ops->kind);
    add_arg(&call, lk_bytes_of(message));
    return confirm(side, &call, "nobody held it this way", deadline, err);
}

/* ---- the read side --------------------------------------------------------------------------- */

static lk_status read_prepare(lk_lock *lock, struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of(lock);
    char owner[LKI_OWNER_MAX] = "";

    if (lk_held(&rw->write)) {
        memcpy(owner, rw->write.token, writing_owner(rw).len);
    } else {
        lki_context_owner(lock->client, owner);
    }
    rw->reads = strcmp(owner, lock->token) == 0 ? rw->reads + 1 : 1;
    memcpy(lock->token, owner, sizeof owner);
    return prepare_place(rw, lock, err);
}

static lk_status read_count(lk_lock *lock, int64_t lease_ms, unsigned holds, int64_t deadline,
                            struct lk_error *err)
{
    struct lki_call call = call_of(rw_of(lock), lock, "rw_read_count");
    call.preamble = NULL;
    char lease[LKI_NUMBER_MAX];
    char count[LKI_NUMBER_MAX];

    add_arg(&call, lki_number(lease, lease_ms));
    add_arg(&call, lki_number(count, holds));
    return confirm(lock, &call, "the lease had ended before", deadline, err);
}

static lk_status read_reenter(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                              struct lk_error *err)
{
    lk_status status = read_count(lock, lease_ms, lock->depth + 1, deadline, err);

    if (status != LK_NOT_OWNER) return status;
    return LKI_FAIL(err, LK_LOST, "%s: the outer hold has ended", lock->key);
}

static lk_status read_leave(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err)
{
    return read_count(lock, lock->lease_ms, depth, deadline, err);
}

static lk_status read_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of(lock);
    struct lki_call call = call_of(rw, lock, "rw_read_release");
    char number[LKI_NUMBER_MAX];

    add_arg(&call, lki_number(number, rw->reads));
    return confirm(lock, &call, "the lease had ended before the release", deadline, err);
}

static lk_status read_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return force(rw_of(lock), lock, "0", deadline, err);
}

/* ---- the write side -------------------------------------------------------------------------- */

/* The reader's name, a new number, and the mark: a late command of one try cannot affect another. */
static lk_status draw_upgrade(struct lk_rwlock *rw, struct lk_error *err)
{
    const char *reader = rw->read.token;
    const char *number = reader + strcspn(reader, ":");
    size_t len = strlen(reader) - strlen(number) + 1 + strcspn(number + (*number == ':'), ":");

    if (!lk_held(&rw->read)) {
        int state = atomic_load(&rw->read.state);
        bool has_ended = state == LOCK_HELD || state == LOCK_LOST;

        return LKI_FAIL(err, has_ended ? LK_LOST : LK_INVALID,
                        "%s: no read hold that could become a write hold", rw->read.key);
    }
    (void)snprintf(rw->write.token, sizeof rw->write.token, "%.*s:%u%s", (int)len, reader,
                   ++rw->upgrades, write_mark);
    return prepare_place(rw, &rw->write, err);
}

static lk_status write_prepare(lk_lock *lock, struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of(lock);

    if (rw->is_upgrade) return draw_upgrade(rw, err);
    if (lk_held(&rw->read)) {
        return LKI_FAIL(err, LK_DEADLOCK, "%s: it is held for reading by this handle", lock->key);
    }
    lki_context_owner(lock->client, lock->token);
    memcpy(lock->token + strlen(lock->token), write_mark, sizeof write_mark);
    return prepare_place(rw, lock, err);
}

static lk_status write_reenter(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                               struct lk_error *err)
{
    struct lki_call call = call_of(rw_of(lock), lock, "reentrant_leave");
    call.preamble = NULL;
    char lease[LKI_NUMBER_MAX];
    char count[LKI_NUMBER_MAX];

    add_arg(&call, lki_number(lease, lease_ms));
    add_arg(&call, lki_number(count, lock->depth + 1));
    lk_status status = confirm(lock, &call, "", deadline, err);
    if (status != LK_NOT_OWNER) return status;
    return LKI_FAIL(err, LK_LOST, "%s: the outer hold has ended", lock->key);
}

static lk_status write_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of(lock);
    struct lki_call call = call_of(rw, lock, "rw_write_release");

    add_arg(&call, lk_bytes_of(rw->read.token));
    return confirm(lock, &call, "the lease had ended before the release", deadline, err);
}

static lk_status write_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return force(rw_of(lock), lock, "1", deadline, err);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const struct lki_lock_ops read_ops = {
    .kind = "read",
    .guard_script = "rw_read_guard",
    .renew_script = "rw_read_count",
    .wake_rule = LKI_WAKE_RW,
    .prepare = read_prepare,
    .try_acquire = try_acquire,
    .abandon = abandon,
    .reenter = read_reenter,
    .leave = read_leave,
    .release = read_release,
    .force = read_force,
};

static const struct lki_lock_ops write_ops = {
    .kind = "write",
    .guard_script = "reentrant_guard",
    .renew_script = "reentrant_renew",
    .wake_rule = LKI_WAKE_RW,
    .prepare = write_prepare,
    .try_acquire = try_acquire,
    .abandon = abandon,
    .reenter = write_reenter,
    .leave = lki_hash_lock_leave,
    .release = write_release,
    .force = write_force,
};

static lk_status init_side(lk_lock *side, const struct lki_lock_ops *ops, lk_client *client,
                           const char *key, struct lk_error *err)
{
    if (key) side->wake_channel = lki_name_prefix("redisson_rwlock", key);
    lk_status status = lki_lock_init(side, ops, client, key, err);
    return status == LK_OK && !side->wake_channel ? LKI_FAIL(err, LK_NO_MEMORY, "%s", key) : status;
}

/* Both sides share is_in_use, and are freed with the rwlock. */
static void join(lk_lock *read, lk_lock *write)
{
    write->in_use = read->in_use;
    read->other = write;
    write->other = read;
}

static lk_status make_sides(struct lk_rwlock *rw, lk_client *client, const char *key,
                            const struct lk_rwlock_options *options, struct lk_error *err)
{
    if (options->order == LK_RWLOCK_WRITERS_FIRST)
        return LKI_FAIL(err, LK_INVALID, "%s lets in whoever came first", client->backend->name);
    rw->sides[0] = client->backend->lock_new(client, "read", key, err);
    if (rw->sides[0]) rw->sides[1] = client->backend->lock_new(client, "write", key, err);
    if (!rw->sides[1]) return LK_INVALID; /* *err is filled */
    join(rw->sides[0], rw->sides[1]);
    return LK_OK;
}

static lk_status make(struct lk_rwlock *rw, lk_client *client, const char *key,
                      const struct lk_rwlock_options *options, struct lk_error *err)
{
    if (client && client->backend) return make_sides(rw, client, key, options, err);
    lk_status status = init_side(&rw->read, &read_ops, client, key, err);
    if (status == LK_OK) status = init_side(&rw->write, &write_ops, client, key, err);
    if (status == LK_OK) status = lki_queue_init(&rw->place, options->waiter_ms, err);
    if (status != LK_OK) return status;
    join(&rw->read, &rw->write);
    if (options->order > LK_RWLOCK_FAIR)
        return LKI_FAIL(err, LK_INVALID, "%s: order is none of lk_rwlock_order", key);
    rw->order = options->order;
    rw->read.renew_key = lki_name_suffix(key, "");
    rw->channel = lki_name_prefix("redisson_rwlock", key);
    rw->queue_key = lki_name_prefix("redisson_lock_queue", key);
    rw->windows_key = lki_name_prefix("redisson_lock_timeout", key);
    if (rw->read.renew_key && rw->channel && rw->queue_key && rw->windows_key) return LK_OK;
    return LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
}

lk_rwlock *lk_rwlock_new(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_rwlock_new_with(client, key, NULL, err);
}

lk_rwlock *lk_rwlock_new_with(lk_client *client, const char *key,
                              const struct lk_rwlock_options *options, struct lk_error *err)
{
    struct lk_rwlock_options known;
    struct lk_rwlock *rw = NULL;

    if (LKI_OPTIONS_COPY(&known, options, waiter_ms, err) != LK_OK) return NULL;
    rw = calloc(1, sizeof *rw);
    if (!rw) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    if (make(rw, client, key, &known, err) == LK_OK) return rw;
    lk_rwlock_free(rw);
    return NULL;
}

void lk_rwlock_free(lk_rwlock *rw)
{
    if (!rw) return;
    for (size_t i = 0; i < 2; i++) {
        if (rw->sides[i]) rw->sides[i]->ops->free(rw->sides[i]);
    }
    if (rw->write.ops) lki_lock_done(&rw->write);
    if (rw->read.ops) lki_lock_done(&rw->read);
    free(rw->channel);
    free(rw->queue_key);
    free(rw->windows_key);
    free(rw);
}

lk_status lk_rwlock_upgrade(lk_rwlock *rw, const struct lk_lock_options *options,
                            struct lk_error *err)
{
    if (!rw) return LKI_FAIL(err, LK_INVALID, "no lock (NULL)");
    if (rw->sides[0]) return LKI_FAIL(err, LK_INVALID, "%s: no upgrade there", rw->sides[0]->key);
    return lki_lock_acquire_as(&rw->write, options, &rw->is_upgrade, err);
}

lk_lock *lk_rwlock_read(lk_rwlock *rw)
{
    if (rw && rw->sides[0]) return rw->sides[0];
    return rw ? &rw->read : NULL;
}

lk_lock *lk_rwlock_write(lk_rwlock *rw)
{
    if (rw && rw->sides[1]) return rw->sides[1];
    return rw ? &rw->write : NULL;
}
