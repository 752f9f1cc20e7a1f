/*
 * The hold of a redlock, and its renewal. Each member's lease counts from when its own request was sent;
 * the hold ends when fewer than a majority of leases are left. The vote of a member that answered "not
 * ours" does not count, and a renewal does not create its key again; redlock_regain.c may.
 *
 * Every member is renewed by the watchdog of its own client, so a server that hangs delays no other, and
 * one that restarted empty is noticed. A member whose vote was open when the lock was acquired is renewed,
 * too: the first answer decides whether its vote counts.
 *
 * Threads: the lock's; member_renewed() and lki_redlock_member_lost() on the watchdogs' of the members' clients.
 */
#include "base/clock.h"
#include "base/error.h"
#include "redlock.h"
#include "wire/reply.h"

static void prolong(lk_lock *lock, int64_t ends)
{
    if (ends > atomic_load(&lock->expires_at)) atomic_store(&lock->expires_at, ends);
}

/* The vote is lost. Returns whether it had counted. */
static bool lose_member(struct redlock_member *member)
{
    atomic_store(&member->since, lki_clock_now());
    return atomic_exchange(&member->vote, LKI_VOTE_LOST) == LKI_VOTE_COUNTED;
}

/* ---- on the watchdogs' threads ------------------------------------------------------------------- */

/* Not called any more once a release has begun. */
void lki_redlock_member_lost(lk_lock *lock, void *arg)
{
    struct redlock *self = arg;
    lk_lock *whole = &self->base;

    bool is_news = lose_member((struct redlock_member *)(void *)lock);
    if (lki_redlock_remaining_ms(whole) > 0) lki_redlock_regain_votes(self, is_news);
    if (lki_redlock_remaining_ms(whole) > 0 || !lki_hold_lose(whole)) return;
    lki_lock_emit(whole, LK_EVENT_LOST, LK_LOST, lki_clock_now(), 0);
    if (whole->on_lost) whole->on_lost(whole, whole->on_lost_arg);
}

/* A renewal of one member has ended. The event hook is called when this extends the hold as a whole. */
static void member_renewed(lk_lock *lock, lk_status status, int64_t begin, int64_t ends)
{
    struct redlock_member *member = (struct redlock_member *)(void *)lock;
    struct redlock *self = member->redlock;
    lk_lock *whole = &self->base;

    /* The lock is lost: the remaining votes are left to expire. */
    if (atomic_load(&whole->state) == LOCK_LOST)
        (void)lki_watchdog_remove_by(lock->client->watchdog, lock, 0);
    bool is_news = lki_redlock_regained(member, status);
    if (status != LK_OK || atomic_load(&lock->state) != LOCK_HELD) return;
    prolong(lock, ends);
    atomic_store(&member->confirmed_at, begin);
    if (atomic_load(&member->vote) == LKI_VOTE_OPEN) atomic_store(&member->vote, LKI_VOTE_COUNTED);
    lki_redlock_regain_votes(self, is_news);
    int64_t whole_ends = lki_redlock_ends_at(self);
    int64_t reported = atomic_load(&self->reported_ends_at);
    if (whole_ends <= reported || atomic_load(&whole->state) != LOCK_HELD) return;
    if (!atomic_compare_exchange_strong(&self->reported_ends_at, &reported, whole_ends)) return;
    prolong(whole, whole_ends);
    lki_lock_emit(whole, LK_EVENT_RENEW, LK_OK, begin, 1);
}

static void free_nothing(lk_lock *lock)
{
    (void)lock; /* a member is part of its redlock */
}

const struct lki_lock_ops lki_redlock_member_ops = {
    .kind = "redlock",
    .guard_script = "mutex_guard",
    .renew_script = "mutex_renew",
    .renewed = member_renewed,
    .free = free_nothing,
};

const struct lki_lock_ops lki_redlock_bound_member_ops = {
    .kind = "redlock",
    .guard_script = "mutex_guard",
    .renew_script = "redlock_renew",
    .renewed = member_renewed,
    .free = free_nothing,
};

const struct lki_lock_ops lki_redlock_regain_ops = {
    .kind = "redlock",
    .renew_script = "redlock_regain",
    .renewed = member_renewed,
    .free = free_nothing,
};

/* ---- watching ------------------------------------------------------------------------------------ */

static bool is_in(const struct redlock_member *member)
{
    int vote = atomic_load(&member->vote);

    return vote == LKI_VOTE_OPEN || vote == LKI_VOTE_COUNTED;
}

lk_status lki_redlock_watch(struct redlock *self, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (size_t i = 0; i < self->count && status == LK_OK; i++) {
        struct redlock_member *member = &self->members[i];

        if (!is_in(member) && atomic_load(&member->vote) != LKI_VOTE_REGAINED) continue;
        member->is_watched = true;
        status = lki_watchdog_add(member->base.client->watchdog, &member->base, err);
    }
    lki_redlock_begin_regain(self);
    return status;
}

size_t lki_redlock_unwatch(struct redlock *self, int64_t deadline)
{
    size_t free_count = 0;

    lki_redlock_end_regain(self);
    for (size_t i = 0; i < self->count; i++) {
        struct redlock_member *member = &self->members[i];

        if (member->is_watched)
            member->is_watched =
                !lki_watchdog_remove_by(member->base.client->watchdog, &member->base, deadline);
        free_count += !member->is_watched;
    }
    return free_count;
}

/* ---- renewal ------------------------------------------------------------------------------------- */

struct renewal {
    struct redlock *self;
    int64_t lease_ms;
    size_t asked;
    size_t renewed;
    size_t failed;
    struct lk_error why;
};

static bool ask_to_renew(void *arg, size_t i, struct lki_request **out)
{
    const struct renewal *renewal = arg;
    const struct redlock *self = renewal->self;
    const struct redlock_member *member = &self->members[i];
    char lease[LKI_NUMBER_MAX];
    struct lki_call call = lki_redlock_call(
        member, self->members_key ? "redlock_renew" : "mutex_renew", self->members_key);

    if (!is_in(member)) return false;
    call.args[call.arg_count++] = lki_number(lease, renewal->lease_ms);
    *out = lki_call_request(member->base.client, &call);
    return true;
}

static lk_status read_renewal(const struct redlock *self, const struct lki_quorum_server *server,
                              struct lk_error *err)
{
    const lk_reply *reply = lki_quorum_server_answer(server);
    bool is_other = lki_reply_is_error(reply, "WRONGTYPE"); /* the key is something else now */

    if (lk_reply_type_of(reply) == LK_REPLY_ERROR && !is_other)
        return lki_quorum_server_fail(server, err);
    if (!is_other && lk_reply_integer(reply, 0) == 1) return LK_OK;
    return LKI_FAIL(err, LK_LOST, "%s: not held by this handle any more", self->base.key);
}

static enum lki_quorum_state count_renewed(void *arg, size_t i)
{
    struct renewal *renewal = arg;
    struct redlock *self = renewal->self;
    struct redlock_member *member = &self->members[i];
    const struct lki_quorum_server *server = &self->servers[i];
    const lk_reply *reply = lki_quorum_server_answer(server);
    struct lk_error why = server->why;

    lk_status status = reply ? read_renewal(self, server, &why) : why.code;
    member->status = status;
    member->sys_errno = reply ? 0 : why.sys_errno;
    if (status == LK_OK) {
        prolong(&member->base, lki_hold_ends_at(server->sent_at, renewal->lease_ms));
        atomic_store(&member->confirmed_at, server->sent_at);
        atomic_store(&member->vote, LKI_VOTE_COUNTED);
        renewal->renewed++;
    } else {
        if (status == LK_LOST) (void)lose_member(member);
        if (renewal->failed++ == 0 || renewal->why.code == LK_LOST) renewal->why = why;
    }
    bool is_decided =
        renewal->renewed >= self->quorum || renewal->asked - renewal->failed < self->quorum;
    return is_decided ? LKI_QUORUM_DECIDED : LKI_QUORUM_UNDECIDED;
}

void lki_redlock_note_silent(struct redlock *self, struct lk_error *why)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct lki_quorum_server *server = &self->servers[i];

        if (server->phase == LKI_QUORUM_IDLE) continue;
        self->members[i].status = server->why.code;
        self->members[i].sys_errno = 0;
        if (why->code == LK_OK || why->code == LK_LOST) *why = server->why;
    }
}

static void run_renewal(struct renewal *renewal)
{
    struct redlock *self = renewal->self;
    int64_t until = lki_clock_after_ms(renewal->lease_ms);
    int64_t deadline = lki_context_deadline(self->base.client, 0);
    int64_t ends = lki_redlock_ends_at(self);
    struct lki_quorum quorum = {.servers = self->servers,
                                .count = self->count,
                                .deadline = deadline < ends ? deadline : ends,
                                .arg = renewal,
                                .ask = ask_to_renew,
                                .settle = count_renewed};

    for (size_t i = 0; i < self->count; i++)
        renewal->asked += is_in(&self->members[i]);
    lki_quorum_ask(&quorum);
    lki_redlock_note_silent(self, &renewal->why);
    for (size_t i = 0; i < self->count; i++)
        lki_quorum_server_detach(&self->servers[i], NULL, until);
    self->agreed = renewal->renewed;
}

/* Watchdogs that are still renewing go on meanwhile: their renewals do no harm. */
lk_status lki_redlock_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    struct redlock *self = lki_redlock_of(lock);
    struct renewal renewal = {.self = self, .lease_ms = lease_ms};

    (void)lki_redlock_unwatch(self, 0);
    run_renewal(&renewal);
    bool is_renewed = renewal.renewed >= self->quorum;
    bool is_held = lki_redlock_remaining_ms(lock) > 0;
    for (size_t i = 0; i < self->count && is_renewed; i++) {
        if (!self->members[i].is_watched) self->members[i].base.lease_ms = lease_ms;
    }
    if (is_renewed) lock->lease_ms = lease_ms;
    if (is_held) {
        prolong(lock, lki_redlock_ends_at(self));
        atomic_store(&self->reported_ends_at, atomic_load(&lock->expires_at));
    }
    if (!is_held || lki_redlock_watch(self, NULL) != LK_OK) (void)lki_hold_lose(lock);
    if (is_renewed && is_held) return LK_OK;
    /* A lost vote is not a lost lock: while that is held, the renewal failed for want of other votes. */
    if (!is_held || renewal.why.code == LK_LOST)
        renewal.why.code = is_held ? LK_UNREACHABLE : LK_LOST;
    if (err) *err = renewal.why;
    return renewal.why.code;
}
