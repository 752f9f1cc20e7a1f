/*
 * Acquire a redlock: tries, with pauses between them (redlock_wait.c). A try asks all servers at once,
 * with a new token, so that no vote of an earlier try can be counted. After a failed try every server
 * that granted it, or may have, is sent an undo, behind the request on the same connection, where the
 * server runs it after the request. A connection with answers outstanding is parked (wire/parked.h); if
 * it breaks, the undo is sent on another one (wire/pending_undo.h).
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
    PARKED_ANSWERS_MAX = 4, /* a connection with more answers outstanding gets no request */
    GRACE_MS = 20,          /* for the last votes, after a majority has answered undecided... */
    GRACE_PART = 2,         /* ...or this multiple of the time so far, if that is more */
    UNDO_MAX_MS = 100,      /* limit of the wait for undos, where the server has just answered */
};

/* One try, and its count of votes. */
struct attempt {
    struct redlock *self;
    struct lki_quorum quorum;
    int64_t begin;
    size_t yes;
    size_t no;       /* held by another owner */
    size_t failures; /* servers that cannot vote */
    size_t hopeless; /* the failures among these that would recur at once */
    bool is_decided;
    struct lk_error why;                  /* of the first failure */
    struct lk_error why_invalid;          /* a server whose last holder counted other servers */
    bool is_left[LKI_QUORUM_SERVERS_MAX]; /* our key may be on this server */
    size_t awaited;                       /* undos whose answers are expected soon */
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

/* The vote in an answer: OK, BUSY, INVALID (its last holder counted other members), SERVER. */
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

/* Two of five voted yes, two no, and the fifth hangs: do not wait all of node_ms for it. */
static void shorten_deadline(struct attempt *attempt)
{
    const struct redlock *self = attempt->self;
    int64_t now = lki_clock_now();
    int64_t grace = (now - attempt->begin) * GRACE_PART;

    if (attempt->yes + attempt->no < self->quorum || self->members_key) return;
    if (grace < GRACE_MS * (int64_t)NS_PER_MS) grace = GRACE_MS * (int64_t)NS_PER_MS;
    if (now + grace < attempt->quorum.deadline) attempt->quorum.deadline = now + grace;
}

/* A redlock that is bound to its members waits for all answers: the last one may disagree about the members. */
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
        bool is_away =
            status == LK_UNREACHABLE || status == LK_INVALID; /* INVALID: now a replica */
        bool is_passing = status == LK_UNKNOWN || status == LK_EXHAUSTED ||
                          (is_away && (reply || !self->servers[i].client->options.fail_fast));

        count_failure(attempt, &why, !is_passing);
    }
    if (reply) shorten_deadline(attempt);
    return decide(attempt);
}

/* The number of votes that could still win a majority, or put it out of reach. */
static size_t votes_missing(void *arg)
{
    const struct attempt *attempt = arg;
    const struct redlock *self = attempt->self;
    size_t to_win = self->quorum - (attempt->yes < self->quorum ? attempt->yes : self->quorum);
    size_t to_lose = self->count - self->quorum + 1 - attempt->no - attempt->failures;

    return to_win < to_lose ? to_win : to_lose;
}

/* Servers that have not answered by the deadline count as failures, unless the outcome is known. */
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

/* The script goes as text (EVAL): nobody may be left to repeat it after NOSCRIPT. */
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

/* Undo where the try succeeded, or may have. Only servers that granted it are waited for. */
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

/* The status of a failed try. *out_goes_on: another try may succeed. */
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
        if (member->is_watched) continue; /* its vote belongs to the last hold */
        atomic_store(&member->vote, LKI_VOTE_NONE);
        lki_watchdog_expect(member->base.client->watchdog, &member->base);
    }
    return status;
}

/* The validity counts from before the first request of this try. */
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

/* The lock is held: set up the members whose vote counts, and those whose answer is outstanding. */
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
        if (member->status != LK_OK)
            lock->lease.asked_at = 0; /* its watchdog asks at the first check */
    }
    atomic_store(&self->reported_ends_at, atomic_load(&self->base.expires_at));
    lki_lock_hold(&self->base, options);
}

/* ---- acquire ------------------------------------------------------------------------------------- */

/* A watchdog may still renew for the last hold; its member must not be used until that has ended. Such members
   are left out; only when too few others are left for a majority is their end awaited. */
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
