/*
 * Release a redlock: on all servers at once, including those whose answer to the acquire is outstanding.
 * The release succeeds when a majority has confirmed it. Connections with answers outstanding are parked,
 * and the release is repeated if they break. Also lk_lock_force_release().
 *
 * Threads: the lock's. Locks: none of its own.
 */
#include "base/clock.h"
#include "base/error.h"
#include "redlock.h"
#include "wire/pending_undo.h"

/* ---- release ------------------------------------------------------------------------------------- */

struct release {
    struct redlock *self;
    size_t wanted; /* members where the key may be */
    size_t confirmed;
    struct lk_error why;
};

static bool may_be_there(const struct redlock_member *member)
{
    int vote = atomic_load(&member->vote);

    return vote != LKI_VOTE_NONE && vote != LKI_VOTE_RELEASED;
}

static bool ask_to_release(void *arg, size_t i, struct lki_request **out)
{
    const struct release *release = arg;
    const struct redlock_member *member = &release->self->members[i];
    struct lki_call call = lki_redlock_call(member, "mutex_release", member->base.wake_channel);

    if (!may_be_there(member)) return false;
    *out = lki_call_request(member->base.client, &call);
    return true;
}

/* The answer 0 from a server that may have run an earlier release: before the end of the lease, that release
   has deleted the key. */
static bool was_released_before(const struct redlock *self, const struct redlock_member *member)
{
    return member->may_be_released && lki_clock_now() < atomic_load(&self->base.expires_at);
}

static enum lki_quorum_state count_released(void *arg, size_t i)
{
    struct release *release = arg;
    struct redlock *self = release->self;
    struct redlock_member *member = &self->members[i];
    const struct lki_quorum_server *server = &self->servers[i];
    const lk_reply *reply = lki_quorum_server_answer(server);
    struct lk_error why = server->why;

    member->sys_errno = reply ? 0 : why.sys_errno;
    member->status = why.code;
    if (lk_reply_type_of(reply) == LK_REPLY_ERROR) {
        member->status = lki_quorum_server_fail(server, &why);
    } else if (reply) {
        bool is_ours = lk_reply_integer(reply, 0) == 1 || was_released_before(self, member);

        member->status = is_ours ? LK_OK : LK_NOT_OWNER;
        release->confirmed++;
        if (atomic_load(&member->vote) != LKI_VOTE_LOST)
            atomic_store(&member->vote, is_ours ? LKI_VOTE_RELEASED : LKI_VOTE_LOST);
    }
    if (release->why.code == LK_OK && member->status != LK_OK && member->status != LK_NOT_OWNER)
        release->why = why;
    bool is_enough = release->confirmed >= self->quorum || release->confirmed == release->wanted;
    return is_enough ? LKI_QUORUM_DECIDED : LKI_QUORUM_UNDECIDED;
}

static size_t releases_missing(void *arg)
{
    const struct release *release = arg;
    size_t needed =
        release->self->quorum < release->wanted ? release->self->quorum : release->wanted;

    return needed > release->confirmed ? needed - release->confirmed : 1;
}

/* Whether the server has run this release. After an error the key may still be there. */
static bool has_answered(const struct redlock_member *member)
{
    return member->status == LK_OK || member->status == LK_NOT_OWNER;
}

/* Leave releases without an answer to the pools: on the same connection, or on another one. */
static void leave_to_pools(struct release *release)
{
    struct redlock *self = release->self;
    int64_t until = lki_clock_after_ms(self->base.lease_ms);

    for (size_t i = 0; i < self->count; i++) {
        struct redlock_member *member = &self->members[i];
        struct lki_quorum_server *server = &self->servers[i];
        struct lki_pending_undo *undo = NULL;

        if (may_be_there(member) && !has_answered(member)) {
            member->may_be_released = atomic_load(&member->vote) != LKI_VOTE_LOST;
            undo = lki_redlock_pending_undo(member, self->base.token, "mutex_release", until);
        }
        lki_quorum_server_detach(server, undo, until);
    }
}

static void run_release(struct release *release)
{
    struct redlock *self = release->self;
    struct lki_quorum quorum = {.servers = self->servers,
                                .count = self->count,
                                .deadline = lki_context_deadline(self->base.client, 0),
                                .arg = release,
                                .ask = ask_to_release,
                                .settle = count_released,
                                .missing = releases_missing};

    for (size_t i = 0; i < self->count; i++) {
        self->members[i].status = LK_CANCELLED;
        release->wanted += may_be_there(&self->members[i]);
    }
    lki_quorum_ask(&quorum);
    lki_redlock_note_silent(self, &release->why);
    leave_to_pools(release);
}

static void forget_hold(struct redlock *self)
{
    for (size_t i = 0; i < self->count; i++) {
        atomic_store(&self->members[i].vote, LKI_VOTE_NONE);
    }
    atomic_store(&self->base.state, LOCK_IDLE);
}

/* After this no loss is reported; a report under way has ended. Returns whether the lock was lost. */
static bool end_watch(struct redlock *self)
{
    int before = atomic_exchange(&self->base.state, LOCK_UNCERTAIN);

    (void)lki_redlock_unwatch(self, before == LOCK_LOST ? INT64_MAX : 0);
    for (size_t i = 0; i < self->count; i++)
        atomic_store(&self->members[i].base.state, LOCK_IDLE);
    return before == LOCK_LOST;
}

lk_status lki_redlock_release(lk_lock *lock, struct lk_error *err)
{
    struct redlock *self = lki_redlock_of(lock);
    struct release release = {.self = self};
    size_t released_before = lki_redlock_count(self, LKI_VOTE_RELEASED);

    bool was_lost = end_watch(self);
    lock->depth = 0;
    run_release(&release);
    size_t confirmed = released_before + release.confirmed;
    self->agreed = lki_redlock_count(self, LKI_VOTE_RELEASED);
    if (confirmed < self->quorum && release.confirmed < release.wanted) {
        if (err) *err = release.why;
        return release.why.code;
    }
    size_t lost = lki_redlock_count(self, LKI_VOTE_LOST);
    bool was_held = released_before + release.wanted - lost >= self->quorum;
    forget_hold(self);
    if (was_held && !was_lost) return LK_OK;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the hold had ended before the release", lock->key);
}

/* ---- by force ------------------------------------------------------------------------------------ */

struct breaking {
    struct redlock *self;
    size_t confirmed;
    size_t broken;
    struct lk_error why;
};

static bool ask_to_break(void *arg, size_t i, struct lki_request **out)
{
    const struct redlock_member *member = &((struct breaking *)arg)->self->members[i];
    struct lki_call call = lki_redlock_call(member, "force_release", member->base.wake_channel);

    call.args[0] = LK_BYTES("string");
    *out = lki_call_request(member->base.client, &call);
    return true;
}

static enum lki_quorum_state count_broken(void *arg, size_t i)
{
    struct breaking *breaking = arg;
    const struct lki_quorum_server *server = &breaking->self->servers[i];
    const lk_reply *reply = lki_quorum_server_answer(server);
    struct lk_error why = server->why;

    if (lk_reply_type_of(reply) == LK_REPLY_INTEGER) {
        breaking->confirmed++;
        breaking->broken += lk_reply_integer(reply, 0) == 1;
    } else {
        if (reply) (void)lki_quorum_server_fail(server, &why);
        if (breaking->why.code == LK_OK) breaking->why = why;
    }
    return LKI_QUORUM_UNDECIDED;
}

/* This waits for all servers: one that is left out might have the vote that completes a majority. */
lk_status lki_redlock_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct redlock *self = lki_redlock_of(lock);
    struct breaking breaking = {.self = self};
    struct lki_quorum quorum = {.servers = self->servers,
                                .count = self->count,
                                .deadline = deadline,
                                .arg = &breaking,
                                .ask = ask_to_break,
                                .settle = count_broken};

    lki_quorum_ask(&quorum);
    lki_redlock_note_silent(self, &breaking.why);
    for (size_t i = 0; i < self->count; i++)
        lki_quorum_server_detach(&self->servers[i], NULL, lki_clock_after_ms(self->base.lease_ms));
    if (breaking.confirmed < self->quorum) {
        if (err) *err = breaking.why;
        return breaking.why.code;
    }
    if (breaking.broken > 0) return LK_OK;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: nobody held it", lock->key);
}
