/*
 * How a redlock is taken: tries, with pauses between them (redlock_wait.c). A try asks all servers at once,
 * with a token of its own, so that nothing of an earlier one can be taken for it. When it fails, all
 * that it took or may have taken is undone: behind the request on the same connection, where it cannot
 * be overtaken; what stays unanswered is parked, and asked again on another connection if its own
 * breaks (pending.h).
 *
 * Threads: the lock's. Locks: none of its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "redlock.h"
#include "wire/endpoint.h"
#include "wire/pending_undo.h"
#include "wire/reply.h"

enum {
    PARKED_ANSWERS_MAX = 4, /* answers still out on a connection, behind which it is asked again */
    GRACE_MS = 20,  /* for the last votes, when a majority of servers has answered undecided... */
    GRACE_PART = 2, /* ...or so many times what that took, if it is more */
    UNDO_MAX_MS = 100, /* what an undo may cost where the server has just answered */
};

/* One attempt, as it is counted. */
struct attempt {
    struct redlock *self;
    struct lki_quorum quorum;
    int64_t begin;
    size_t yes;
    size_t no;       /* somebody else's */
    size_t failures; /* no vote to be had */
    size_t hopeless; /* of these: trying again at once would not help */
    bool is_decided;
    struct lk_error why;                  /* of the first failure */
    struct lk_error why_invalid;          /* a server whose holders count others */
    bool is_left[LKI_QUORUM_SERVERS_MAX]; /* it may have our key */
    size_t awaited;                       /* undoes whose answers come soon */
};

/* ---- the vote ------------------------------------------------------------------------------------ */

static bool ask_for_vote(void *arg, size_t i, struct lki_request **out)
{
    struct redlock *self = ((struct attempt *)arg)->self;
    const struct redlock_member *member = &self->members[i];
    const lk_lock *lock = &self->base;
    char lease[LKI_NUMBER_MAX];

    if (member->is_watched) return false;
    const struct lk_bytes lease_ms = lki_number(lease, lock->lease_ms);
    if (self->members_key) {
        struct lki_call call = lki_redlock_call(member, "redlock_acquire", self->members_key);

        call.args[call.arg_count++] = lease_ms;
        call.args[call.arg_count++] = lk_bytes_of(self->members_hash);
        *out = lki_call_request(member->base.client, &call);
    } else {
        const struct lk_bytes words[] = {LK_BYTES("SET"),          lk_bytes_of(lock->key),
                                         lk_bytes_of(lock->token), LK_BYTES("NX"),
                                         LK_BYTES("PX"),           lease_ms};

        *out = lki_wire_request(words, sizeof words / sizeof words[0]);
    }
    return true;
}

/* What one answer says: OK, BUSY, INVALID (other members), SERVER. */
static lk_status read_vote(const struct redlock *self, size_t i, const lk_reply *reply,
                           struct lk_error *err)
{
    const struct lki_quorum_server *server = &self->servers[i];
    const char *label = self->servers[i].client->url.seeds[0].label;

    switch (lk_reply_type_of(reply)) {
    case LK_REPLY_STRING:
        if (lki_reply_is_ok(reply)) return LK_OK;
        break;
    case LK_REPLY_NIL:
        return LK_BUSY;
    case LK_REPLY_INTEGER:
        if (!self->members_key) break;
        if (lk_reply_integer(reply, 0) == 1) return LK_OK;
        if (lk_reply_integer(reply, 0) == 0) return LK_BUSY;
        return LKI_FAIL(err, LK_INVALID, "%s: its last holder counted other servers", label);
    case LK_REPLY_ERROR:
    case LK_REPLY_ARRAY:
        break;
    }
    return lki_quorum_server_fail(server, err);
}

static void count_failure(struct attempt *attempt, const struct lk_error *why, bool is_hopeless)
{
    if (attempt->failures == 0) attempt->why = *why;
    attempt->failures++;
    attempt->hopeless += is_hopeless;
}

/* Two yes, two no, and the fifth stands still: it is not waited for all of node_ms. */
static void shorten_deadline(struct attempt *attempt)
{
    const struct redlock *self = attempt->self;
    int64_t now = lki_clock_now();
    int64_t grace = (now - attempt->begin) * GRACE_PART;

    if (attempt->yes + attempt->no < self->quorum || self->members_key) return;
    if (grace < GRACE_MS * (int64_t)NS_PER_MS) grace = GRACE_MS * (int64_t)NS_PER_MS;
    if (now + grace < attempt->quorum.deadline) attempt->quorum.deadline = now + grace;
}

/* Bound to its members it hears all of them: one that disagrees may be the last to answer. */
static enum lki_quorum_state decide(struct attempt *attempt)
{
    const struct redlock *self = attempt->self;
    bool is_won = attempt->yes >= self->quorum && !self->members_key;
    bool is_off = attempt->no + attempt->failures > self->count - self->quorum;

    attempt->is_decided = is_won || is_off || attempt->why_invalid.code != LK_OK;
    return attempt->is_decided ? LKI_QUORUM_DECIDED : LKI_QUORUM_UNDECIDED;
}

static enum lki_quorum_state count_vote(void *arg, size_t i)
{
    struct attempt *attempt = arg;
    struct redlock *self = attempt->self;
    const struct lki_quorum_server *server = &self->servers[i];
    struct redlock_member *member = &self->members[i];
    const lk_reply *reply = lki_quorum_server_answer(server);
    struct lk_error why = server->why;

    lk_status status = reply ? read_vote(self, i, reply, &why) : why.code;
    member->status = status;
    member->sys_errno = reply ? 0 : why.sys_errno;
    attempt->is_left[i] = status == LK_OK || (!reply && lki_quorum_server_is_unanswered(server));
    if (status == LK_OK) {
        attempt->yes++;
    } else if (status == LK_BUSY && reply) {
        attempt->no++;
    } else if (status == LK_INVALID && reply) {
        attempt->why_invalid = why;
    } else {
        bool is_away = status == LK_UNREACHABLE || status == LK_INVALID; /* or a replica by now */
        bool is_passing = status == LK_UNKNOWN || status == LK_EXHAUSTED ||
                          (is_away && (reply || !self->servers[i].client->options.fail_fast));

        count_failure(attempt, &why, !is_passing);
    }
    if (reply) shorten_deadline(attempt);
    return decide(attempt);
}

/* Before a majority is won, or out of reach. */
static size_t votes_missing(void *arg)
{
    const struct attempt *attempt = arg;
    const struct redlock *self = attempt->self;
    size_t to_win = self->quorum - (attempt->yes < self->quorum ? attempt->yes : self->quorum);
    size_t to_lose = self->count - self->quorum + 1 - attempt->no - attempt->failures;

    return to_win < to_lose ? to_win : to_lose;
}

/* Those who have not answered by the end. They have failed, unless it was decided before. */
static void count_silent(struct attempt *attempt)
{
    struct redlock *self = attempt->self;

    for (size_t i = 0; i < self->count; i++) {
        const struct lki_quorum_server *server = &self->servers[i];
        struct redlock_member *member = &self->members[i];
        struct lk_error why = server->why;

        if (member->is_watched) {
            (void)LKI_FAIL(&why, LK_UNREACHABLE, "%s: the last renewal is under way",
                           server->client->url.seeds[0].label);
        } else if (server->phase == LKI_QUORUM_IDLE) {
            continue;
        } else {
            member->status = why.code;
            attempt->is_left[i] = lki_quorum_server_is_unanswered(server);
        }
        if (!attempt->is_decided) count_failure(attempt, &why, false);
    }
}

/* ---- a try that failed --------------------------------------------------------------------------- */

/* By text: the answer may come when nobody is there to ask again. */
static bool ask_to_undo(void *arg, size_t i, struct lki_request **out)
{
    const struct attempt *attempt = arg;
    lk_client *client = attempt->self->servers[i].client;
    struct lki_call call = lki_redlock_call(&attempt->self->members[i], "redlock_undo", NULL);

    if (!attempt->is_left[i] || !attempt->self->servers[i].redis) return false;
    *out = lki_call_request(client, &call);
    if (*out) (void)lki_script_spell_out(*out, client->has_loader);
    return true;
}

static enum lki_quorum_state count_undone(void *arg, size_t i)
{
    struct attempt *attempt = arg;

    if (lk_reply_type_of(lki_quorum_server_answer(&attempt->self->servers[i])) == LK_REPLY_INTEGER)
        attempt->is_left[i] = false;
    if (attempt->self->members[i].status == LK_OK && attempt->awaited > 0) attempt->awaited--;
    return attempt->awaited == 0 ? LKI_QUORUM_DECIDED : LKI_QUORUM_UNDECIDED;
}

/* Where the answer is still out, nothing is waited for: it is parked. */
static void undo(struct attempt *attempt)
{
    struct redlock *self = attempt->self;
    int64_t until = attempt->begin + self->base.lease_ms * NS_PER_MS;
    int64_t budget_ms = self->node_ms < UNDO_MAX_MS ? self->node_ms : UNDO_MAX_MS;

    attempt->awaited = 0;
    for (size_t i = 0; i < self->count; i++) {
        attempt->awaited += attempt->is_left[i] && self->members[i].status == LK_OK;
        if (!attempt->is_left[i]) lki_quorum_server_detach(&self->servers[i], NULL, until);
    }
    struct lki_quorum quorum = {.servers = self->servers,
                                .count = self->count,
                                .deadline = attempt->awaited > 0 ? lki_clock_after_ms(budget_ms)
                                                                 : lki_clock_now(),
                                .arg = attempt,
                                .ask = ask_to_undo,
                                .settle = count_undone};
    lki_quorum_ask(&quorum);
    for (size_t i = 0; i < self->count; i++) {
        struct lki_pending_undo *undo =
            attempt->is_left[i] ? lki_redlock_pending_undo(&self->members[i], self->base.token,
                                                           "redlock_undo", until)
                                : NULL;

        lki_quorum_server_detach(&self->servers[i], undo, until);
    }
}

/* Why it failed. *out_goes_on: another try may win. */
static lk_status judge(const struct attempt *attempt, bool *out_goes_on, struct lk_error *err)
{
    const struct redlock *self = attempt->self;
    size_t allowed = self->count - self->quorum;

    *out_goes_on = false;
    if (attempt->why_invalid.code != LK_OK) {
        *err = attempt->why_invalid;
        return LK_INVALID;
    }
    if (attempt->failures > allowed) {
        lk_status status = attempt->why.code == LK_SERVER ? LK_SERVER : LK_UNREACHABLE;

        *out_goes_on = attempt->hopeless <= allowed;
        return lki_error_fill(err, status, attempt->why.sys_errno, __func__,
                              "%zu of %zu servers can vote, %zu must; %s",
                              self->count - attempt->failures, self->count, self->quorum,
                              attempt->why.text);
    }
    *out_goes_on = true;
    return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else on %zu of %zu servers", self->base.key,
                    attempt->no, self->count);
}

/* ---- a try --------------------------------------------------------------------------------------- */

static lk_status make_token(struct redlock *self, struct lk_error *err)
{
    lk_status status = lki_random_token(self->base.token, err);

    for (size_t i = 0; i < self->count; i++) {
        struct redlock_member *member = &self->members[i];

        member->status = LK_CANCELLED;
        member->sys_errno = 0;
        if (member->is_watched) continue; /* its vote is of the last hold */
        atomic_store(&member->vote, LKI_VOTE_NONE);
        lki_watchdog_expect(member->base.client->watchdog, &member->base);
    }
    return status;
}

/* Its validity is counted from before the first request of this try. */
static lk_status try_once(struct attempt *attempt, bool *out_goes_on, struct lk_error *err)
{
    struct redlock *self = attempt->self;
    lk_lock *lock = &self->base;

    attempt->quorum = (struct lki_quorum){.servers = self->servers,
                                          .count = self->count,
                                          .deadline = attempt->begin + self->node_ms * NS_PER_MS,
                                          .arg = attempt,
                                          .ask = ask_for_vote,
                                          .parked_answers_max = PARKED_ANSWERS_MAX,
                                          .check = lki_redlock_check,
                                          .settle = count_vote,
                                          .missing = votes_missing};

    *out_goes_on = false;
    lk_status status = make_token(self, err);
    if (status != LK_OK) return status;
    self->attempts++;
    lki_quorum_ask(&attempt->quorum);
    count_silent(attempt);
    self->agreed = attempt->yes;
    bool is_won = attempt->yes >= self->quorum && attempt->why_invalid.code == LK_OK;
    int64_t ends = lki_hold_ends_at(attempt->begin, lock->lease_ms);
    if (is_won && lki_clock_now() < ends) {
        atomic_store(&lock->expires_at, ends);
        return LK_OK;
    }
    undo(attempt);
    if (!is_won) return judge(attempt, out_goes_on, err);
    return LKI_FAIL(err, LK_LOST, "%s: the answers came after the lease of %lld ms had ended",
                    lock->key, (long long)lock->lease_ms);
}

/* It is ours: note whose vote counts, and who may yet have said yes. */
static void note_hold(struct attempt *attempt, const struct lk_lock_options *options)
{
    struct redlock *self = attempt->self;
    int64_t until = attempt->begin + self->base.lease_ms * NS_PER_MS;

    for (size_t i = 0; i < self->count; i++) {
        struct redlock_member *member = &self->members[i];
        lk_lock *lock = &member->base;

        lki_quorum_server_detach(&self->servers[i], NULL, until);
        if (!attempt->is_left[i]) continue;
        lock->ops = self->member_ops;
        memcpy(lock->token, self->base.token, sizeof lock->token);
        lock->lease_ms = self->base.lease_ms;
        lock->is_renewed = options->is_renewed;
        lock->lease.stop_at =
            options->max_hold_ms > 0 ? lki_clock_after_ms(options->max_hold_ms) : INT64_MAX;
        member->may_be_released = false;
        atomic_store(&lock->expires_at, atomic_load(&self->base.expires_at));
        atomic_store(&lock->state, LOCK_HELD);
        atomic_store(&member->confirmed_at, attempt->begin);
        atomic_store(&member->vote, member->status == LK_OK ? LKI_VOTE_COUNTED : LKI_VOTE_OPEN);
        if (member->status != LK_OK) lock->lease.asked_at = 0; /* the first look at it asks */
    }
    atomic_store(&self->reported_ends_at, atomic_load(&self->base.expires_at));
    lki_lock_hold(&self->base, options);
}

/* ---- acquire ------------------------------------------------------------------------------------- */

/* A watchdog may still be at work for the last hold: that member is not touched before it is done. It
   is left out, but for a majority we wait. */
static void await_watchdogs(struct redlock *self)
{
    int64_t deadline = lki_clock_after_ms(self->node_ms);
    size_t free_count = lki_redlock_unwatch(self, 0);

    if (free_count < self->quorum) (void)lki_redlock_unwatch(self, deadline);
}

static lk_status acquire_by_tries(struct redlock *self, const struct lk_lock_options *options,
                                  struct lk_error *err)
{
    struct redlock_waiting waiting;
    struct attempt attempt;
    bool goes_on = true;
    lk_status status = LK_OK;

    lki_redlock_waiting_init(&waiting, self, lki_clock_after_ms(options->wait_ms));
    await_watchdogs(self);
    for (;;) {
        attempt = (struct attempt){.self = self, .begin = lki_clock_now()};
        status = try_once(&attempt, &goes_on, err);
        if (status == LK_OK || !goes_on || lki_clock_left_ms(waiting.deadline) == 0) break;
        lk_status paused = lki_redlock_pause(
            &waiting, attempt.no <= self->count - self->quorum && attempt.no > 0, err);
        if (paused != LK_OK) status = paused;
        if (paused != LK_OK || lki_clock_left_ms(waiting.deadline) == 0) break;
    }
    lki_redlock_waiting_done(&waiting, status);
    if (status == LK_OK) note_hold(&attempt, options);
    return status;
}

lk_status lki_redlock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                              unsigned *out_attempts, struct lk_error *err)
{
    struct redlock *self = lki_redlock_of(lock);
    struct lk_error why = {0};
    lk_status status = lki_lock_begin(lock, options, &why);

    for (size_t i = 0; i < self->count && status == LK_OK; i++)
        status = lki_context_check(self->servers[i].client, &why);
    if (status == LK_OK) {
        self->attempts = 0;
        self->validity_ms = 0;
        self->node_ms = lki_redlock_node_ms(self, lock->lease_ms);
        status = acquire_by_tries(self, options, &why);
        *out_attempts = self->attempts;
    }
    if (status == LK_OK) {
        self->validity_ms = lki_redlock_remaining_ms(lock);
        status = lki_redlock_watch(self, &why);
        if (status != LK_OK) (void)lki_redlock_release(lock, NULL);
    }
    if (err && status != LK_OK) *err = why;
    return status;
}
