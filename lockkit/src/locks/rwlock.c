/*
 * The read/write lock: a hash with its mode and a field per owner, and a string key per read hold
 * whose TTL is that hold's lease. Two handles share one owner: who writes may read besides, but
 * who reads never gets to write. Holds are counted as in hash_lock.c: every step says the number
 * it shall be.
 *
 * An owner is new for every first acquire, but for a read beside a held write, which must be of the
 * write's owner; there a number tells one read from the next. Threads as lock.h says, but one for
 * both handles: they look at each other.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/locks.h"

#include "base/error.h"
#include "base/name.h"
#include "hash_lock.h"
#include "wire/reply.h"

struct lk_rwlock {
    lk_lock read; /* its renew_key: what all hold keys' names begin with */
    lk_lock write;
    unsigned reads; /* first acquires by the owner in read.token */
};

enum answer { ANSWER_TAKEN, ANSWER_HELD, ANSWER_VOID, ANSWER_DEADLOCK };

static const char write_mark[] = ":write"; /* behind the owner: the name of its write field */

static struct lk_rwlock *rw_of_read(lk_lock *lock)
{
    return (struct lk_rwlock *)(void *)lock;
}

static struct lk_rwlock *rw_of_write(lk_lock *lock)
{
    return (struct lk_rwlock *)(void *)((char *)lock - offsetof(struct lk_rwlock, write));
}

static struct lk_bytes writing_owner(const struct lk_rwlock *rw)
{
    return (struct lk_bytes){rw->write.token, strlen(rw->write.token) - strlen(write_mark)};
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call with the keys that all rw scripts have, and the side's field as first argument. */
static struct lki_call call_of(const struct lk_rwlock *rw, const lk_lock *side, const char *script)
{
    return (struct lki_call){.script = script,
                             .keys = {lk_bytes_of(side->key), lk_bytes_of(rw->read.renew_key),
                                      lk_bytes_of(side->wake_channel)},
                             .key_count = 3,
                             .args = {lk_bytes_of(side->token)},
                             .arg_count = 1,
                             .owe_until = side->owe_until};
}

static void add_arg(struct lki_call *call, struct lk_bytes arg)
{
    call->args[call->arg_count++] = arg;
}

/* Ask for the first hold of a side; what the scripts answer as a status. */
static lk_status acquire(const lk_lock *side, const struct lki_call *call, int64_t *out_ttl_ms,
                         int64_t deadline, struct lk_error *err)
{
    long long answer[2] = {0};
    lk_reply *reply = NULL;
    lk_status status = lki_call_reply(side->client, call, deadline, &reply, err);

    if (status == LK_OK) status = lki_reply_integers(reply, answer, 2, err);
    if (status != LK_OK) return status;
    switch (answer[0]) {
    case ANSWER_HELD:
        return LK_OK;
    case ANSWER_TAKEN:
        if (out_ttl_ms) *out_ttl_ms = answer[1];
        return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", side->key);
    case ANSWER_DEADLOCK:
        return LKI_FAIL(err, LK_DEADLOCK, "%s: the read hold of this handle must be released first",
                        side->key);
    default:
        return LKI_FAIL(err, LK_LOST, "%s: a later acquire has taken its place", side->key);
    }
}

/* A call that answers 1, or 0: not ours. */
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
    struct lk_rwlock *rw = rw_of_read(lock);
    char owner[LKI_OWNER_MAX] = "";

    (void)err;
    if (lk_held(&rw->write)) {
        memcpy(owner, rw->write.token, writing_owner(rw).len);
    } else {
        lki_context_owner(lock->client, owner);
    }
    rw->reads = strcmp(owner, lock->token) == 0 ? rw->reads + 1 : 1;
    memcpy(lock->token, owner, sizeof owner);
    return LK_OK;
}

static lk_status read_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                  struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of_read(lock);
    struct lki_call call = call_of(rw, lock, "rw_read_acquire");
    char lease[LKI_NUMBER_MAX];
    char number[LKI_NUMBER_MAX];

    add_arg(&call, lki_number(lease, lock->lease_ms));
    add_arg(&call, lki_number(number, rw->reads));
    call.out_is_synced = &lock->is_synced;
    return acquire(lock, &call, out_ttl_ms, deadline, err);
}

static lk_status read_count(lk_lock *lock, int64_t lease_ms, unsigned holds, int64_t deadline,
                            struct lk_error *err)
{
    struct lki_call call = call_of(rw_of_read(lock), lock, "rw_read_count");
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
    struct lk_rwlock *rw = rw_of_read(lock);
    struct lki_call call = call_of(rw, lock, "rw_read_release");
    char number[LKI_NUMBER_MAX];

    add_arg(&call, lki_number(number, rw->reads));
    return confirm(lock, &call, "the lease had ended before the release", deadline, err);
}

static lk_status read_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return force(rw_of_read(lock), lock, "0", deadline, err);
}

/* ---- the write side -------------------------------------------------------------------------- */

static lk_status write_prepare(lk_lock *lock, struct lk_error *err)
{
    if (lk_held(&rw_of_write(lock)->read)) {
        return LKI_FAIL(err, LK_DEADLOCK, "%s: it is held for reading by this handle", lock->key);
    }
    lki_context_owner(lock->client, lock->token);
    memcpy(lock->token + strlen(lock->token), write_mark, sizeof write_mark);
    return LK_OK;
}

/* A read hold that ended here, or whose release had no answer, may still be there. */
static lk_status write_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                   struct lk_error *err)
{
    struct lk_rwlock *rw = rw_of_write(lock);
    struct lki_call call = call_of(rw, lock, "rw_write_acquire");
    char lease[LKI_NUMBER_MAX];
    bool has_read = atomic_load(&rw->read.state) != LOCK_IDLE;

    add_arg(&call, lki_number(lease, lock->lease_ms));
    add_arg(&call, lk_bytes_of(has_read ? rw->read.token : ""));
    call.out_is_synced = &lock->is_synced;
    return acquire(lock, &call, out_ttl_ms, deadline, err);
}

static lk_status write_reenter(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                               struct lk_error *err)
{
    struct lki_call call = call_of(rw_of_write(lock), lock, "reentrant_leave");
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
    struct lk_rwlock *rw = rw_of_write(lock);
    struct lki_call call = call_of(rw, lock, "rw_write_release");

    add_arg(&call, writing_owner(rw));
    return confirm(lock, &call, "the lease had ended before the release", deadline, err);
}

static lk_status write_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return force(rw_of_write(lock), lock, "1", deadline, err);
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* The handles are lent: they end with the rwlock. */
static void keep(lk_lock *lock)
{
    (void)lock;
}

static const struct lki_lock_ops read_ops = {
    .kind = "read",
    .guard_script = "rw_read_guard",
    .renew_script = "rw_read_count",
    .wake_rule = LKI_WAKE_RW,
    .prepare = read_prepare,
    .try_acquire = read_try_acquire,
    .reenter = read_reenter,
    .leave = read_leave,
    .release = read_release,
    .force = read_force,
    .free = keep,
};

static const struct lki_lock_ops write_ops = {
    .kind = "write",
    .guard_script = "reentrant_guard",
    .renew_script = "reentrant_renew",
    .wake_rule = LKI_WAKE_RW,
    .prepare = write_prepare,
    .try_acquire = write_try_acquire,
    .reenter = write_reenter,
    .leave = lki_hash_lock_leave,
    .release = write_release,
    .force = write_force,
    .free = keep,
};

static lk_status init_side(lk_lock *side, const struct lki_lock_ops *ops, lk_client *client,
                           const char *key, struct lk_error *err)
{
    if (key) side->wake_channel = lki_name_prefix("redisson_rwlock", key);
    lk_status status = lki_lock_init(side, ops, client, key, err);
    return status == LK_OK && !side->wake_channel ? LKI_FAIL(err, LK_NO_MEMORY, "%s", key) : status;
}

lk_rwlock *lk_rwlock_new(lk_client *client, const char *key, struct lk_error *err)
{
    struct lk_rwlock *rw = calloc(1, sizeof *rw);

    if (!rw) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    lk_status read_status = init_side(&rw->read, &read_ops, client, key, err);
    lk_status write_status = init_side(&rw->write, &write_ops, client, key, err);
    rw->write.in_use = &rw->read.is_in_use;
    if (read_status == LK_OK && write_status == LK_OK) {
        rw->read.renew_key = lki_name_suffix(key, "");
        if (rw->read.renew_key) return rw;
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    }
    lk_rwlock_free(rw);
    return NULL;
}

void lk_rwlock_free(lk_rwlock *rw)
{
    if (!rw) return;
    lki_lock_done(&rw->write);
    lki_lock_done(&rw->read);
    free(rw);
}

lk_lock *lk_rwlock_read(lk_rwlock *rw)
{
    return rw ? &rw->read : NULL;
}

lk_lock *lk_rwlock_write(lk_rwlock *rw)
{
    return rw ? &rw->write : NULL;
}
