/*
 * A lock that consists of locks: it is held while enough of its members are. A round acquires them in an order
 * that is the same for all clients (server, then key). For a member that another owner holds it first waits a
 * moment while it holds the ones before; then it releases those, and waits for this member alone. So a client
 * that waits long holds nothing, and clients that want the same locks mostly meet at the first one. At the end,
 * members that were acquired before a wait are renewed, which checks that they are still held.
 *
 * Threads: as lock.h says; the members' losses come from their clients' watchdogs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "lock.h"
#include "wire/endpoint.h"

enum {
    MEMBERS_MAX = 64,
    PATIENCE_MS = 10,  /* wait for one member while others are held */
    ALONE_MS = 100,    /* wait for one member alone, if others would do as well */
    PAUSE_MAX_MS = 10, /* random pause before another round */
};

static const size_t no_member = SIZE_MAX;

struct member {
    lk_lock *lock;    /* borrowed */
    size_t place;     /* in the caller's array */
    bool is_taken;    /* acquired, and its release is not confirmed */
    lk_status status; /* of its last acquire or release */
};

struct multi {
    lk_lock base;
    size_t count;
    size_t needed;           /* number of members that must be held */
    struct member members[]; /* in the order in which they are acquired */
};

/* ---- the local view ------------------------------------------------------------------------------ */

/* The end of the hold: when fewer members than needed are left. */
static int64_t ends_at(const struct multi *self)
{
    int64_t ends[MEMBERS_MAX];
    int64_t latest = 0;

    for (size_t i = 0; i < self->count; i++) {
        const lk_lock *lock = self->members[i].lock;

        ends[i] = atomic_load(&lock->state) == LOCK_HELD ? atomic_load(&lock->expires_at) : 0;
    }
    for (size_t i = 0; i < self->count; i++) {
        size_t as_long = 0;

        for (size_t k = 0; k < self->count; k++)
            as_long += ends[k] >= ends[i];
        if (as_long >= self->needed && ends[i] > latest) latest = ends[i];
    }
    return latest;
}

static int64_t multi_remaining_ms(const lk_lock *lock)
{
    int64_t left = ends_at((const struct multi *)(const void *)lock) - lki_clock_now();

    return left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0;
}

/* On the watchdog's thread of any member's client; not any more once a release has begun. */
static void member_lost(lk_lock *member, void *arg)
{
    lk_lock *lock = arg;

    (void)member;
    if (multi_remaining_ms(lock) > 0 || !lki_hold_lose(lock)) return;
    lki_lock_emit(lock, LK_EVENT_LOST, LK_LOST, lki_clock_now(), 0);
    if (lock->on_lost) lock->on_lost(lock, lock->on_lost_arg);
}

/* ---- a round ------------------------------------------------------------------------------------- */

struct round {
    const struct lk_lock_options *options;
    int64_t deadline;
    size_t first;    /* the member to wait for before the others are tried, or no_member */
    size_t busy;     /* the first member that another owner holds, or no_member */
    size_t failures; /* members that were not acquired... */
    size_t hopeless; /* ...and among these, those that a wait would not help */
    bool has_waited; /* while members were held */
    struct lk_error why_busy, why_hopeless;
};

/* Whether a failure is temporary: another owner holds it, or its server is unreachable. */
static bool is_for_now(const struct member *member)
{
    bool is_away = member->status == LK_UNREACHABLE || member->status == LK_UNKNOWN;

    if (is_away) return !member->lock->client->options.fail_fast;
    return member->status == LK_BUSY || member->status == LK_EXHAUSTED;
}

static lk_status acquire_member(struct multi *self, struct round *round, size_t i, int64_t wait_ms)
{
    struct member *member = &self->members[i];
    struct lk_lock_options options = *round->options;
    struct lk_error why = {0};

    options.wait_ms = wait_ms;
    options.lease_ms = self->base.lease_ms;
    options.on_lost = member_lost;
    options.on_lost_arg = self;
    (void)lk_lock_release(member->lock, NULL); /* if an earlier release was not confirmed */
    member->status = lk_lock_acquire(member->lock, &options, &why);
    member->is_taken = member->status == LK_OK;
    if (member->status != LK_OK)
        *(is_for_now(member) ? &round->why_busy : &round->why_hopeless) = why;
    return member->status;
}

/* Acquire a member: without waiting, or with a short wait behind members that are held. */
static lk_status acquire_soon(struct multi *self, struct round *round, size_t i)
{
    lk_status status = acquire_member(self, round, i, 0);
    bool is_behind = self->needed == self->count && i > round->first;
    int left_ms = lki_clock_left_ms(round->deadline);

    if (!is_for_now(&self->members[i]) || !is_behind || left_ms == 0) return status;
    round->has_waited = true;
    return acquire_member(self, round, i, left_ms < PATIENCE_MS ? left_ms : PATIENCE_MS);
}

/* Wait for a member alone, with nothing held; not for long if the others would be enough. */
static lk_status acquire_alone(struct multi *self, struct round *round, size_t i)
{
    int left_ms = lki_clock_left_ms(round->deadline);
    bool is_needed = self->needed == self->count;

    return acquire_member(self, round, i, is_needed || left_ms < ALONE_MS ? left_ms : ALONE_MS);
}

static bool is_hopeless(const struct multi *self, const struct round *round)
{
    return round->hopeless > self->count - self->needed;
}

/* Whether the round may still succeed. */
static bool note(const struct multi *self, struct round *round, size_t i, lk_status status)
{
    size_t allowed = self->count - self->needed;

    if (status == LK_OK) return true;
    if (status == LK_CANCELLED || status == LK_INVALID) {
        round->hopeless = self->count;
    } else if (!is_for_now(&self->members[i])) {
        round->hopeless++;
    } else if (round->busy == no_member ||
               (status == LK_BUSY && self->members[round->busy].status != LK_BUSY)) {
        round->busy = i;
    }
    return ++round->failures <= allowed && !is_hopeless(self, round);
}

/* OK: enough members are held. Else, unless it is hopeless, wait for round->busy. */
static lk_status acquire_round(struct multi *self, struct round *round, struct lk_error *err)
{
    bool goes_on = true;

    round->busy = no_member;
    round->failures = round->hopeless = 0;
    round->has_waited = false;
    for (size_t i = 0; i < self->count; i++)
        self->members[i].status = LK_CANCELLED; /* not tried */
    if (round->first != no_member) {
        goes_on = note(self, round, round->first, acquire_alone(self, round, round->first));
    }
    for (size_t i = 0; i < self->count && goes_on; i++) {
        if (i != round->first) goes_on = note(self, round, i, acquire_soon(self, round, i));
    }
    if (goes_on) return LK_OK;
    *err = is_hopeless(self, round) ? round->why_hopeless : round->why_busy;
    return err->code;
}

/* Undo a round; false: nothing was held. A member whose release fails is left to its lease. */
static bool give_back(struct multi *self)
{
    bool is_any = false;

    for (size_t i = self->count; i-- > 0;) {
        struct member *member = &self->members[i];

        if (member->is_taken) (void)lk_lock_release(member->lock, NULL);
        is_any |= member->is_taken;
        member->is_taken = false;
    }
    return is_any;
}

/* ---- renewal ------------------------------------------------------------------------------------- */

static lk_status multi_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    struct multi *self = (struct multi *)(void *)lock;
    struct lk_error why = {0};
    size_t renewed = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct member *member = &self->members[i];

        if (!member->is_taken) continue;
        struct lk_error own = {0};
        renewed += lk_lock_renew(member->lock, lease_ms, &own) == LK_OK;
        if (own.code != LK_OK && (own.code != LK_LOST || why.code == LK_OK)) why = own;
    }
    if (renewed >= self->needed) {
        lock->lease_ms = lease_ms;
        atomic_store(&lock->expires_at, ends_at(self));
        return LK_OK;
    }
    if (err) *err = why;
    if (multi_remaining_ms(lock) > 0) return why.code;
    (void)lki_hold_lose(lock);
    if (err) err->code = LK_LOST;
    return LK_LOST;
}

/* ---- acquire ------------------------------------------------------------------------------------- */

static lk_status begin(struct multi *self, const struct lk_lock_options *options,
                       struct lk_error *err)
{
    lk_status status = lki_lock_begin(&self->base, options, err);

    for (size_t i = 0; i < self->count && status == LK_OK; i++) {
        const lk_lock *lock = self->members[i].lock;
        int state = atomic_load(&lock->state);

        if (state == LOCK_HELD || state == LOCK_LOST) {
            status = LKI_FAIL(err, LK_INVALID, "%s: held apart from the multi lock", lock->key);
        }
    }
    return status;
}

/* Whether lk_lock_cancel() of this lock, in place of the members', ends their waits. */
static void let_cancel(struct multi *self, bool is_ours)
{
    for (size_t i = 0; i < self->count; i++) {
        lk_lock *lock = self->members[i].lock;

        lock->waiter.cancelled_by = is_ours ? &self->base.is_cancelled : &lock->is_cancelled;
    }
}

/* Too short to be cancelled. */
static void multi_cancel(lk_lock *lock)
{
    struct multi *self = (struct multi *)(void *)lock;

    for (size_t i = 0; i < self->count; i++) {
        lk_lock *member = self->members[i].lock;

        lki_hub_cancel(member->client->hub, &member->waiter);
    }
}

static lk_status pause_by_chance(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lki_hub *hub = lock->client->hub;
    int64_t until = lki_clock_now() + lki_random_below(PAUSE_MAX_MS * (int64_t)NS_PER_MS);

    if (until > deadline) until = deadline;
    lk_status status = lki_hub_join(hub, &lock->waiter, NULL, until, err);
    if (status != LK_OK) return status;
    status = lki_hub_wait(hub, &lock->waiter, until);
    lki_hub_leave(hub, &lock->waiter);
    if (status == LK_BUSY) return LK_OK;
    return LKI_FAIL(err, status, "%s: the wait was ended", lock->key);
}

/* Enough members are held: check them, and set the end of the hold. */
static lk_status become_holder(struct multi *self, const struct round *round, struct lk_error *err)
{
    lk_lock *lock = &self->base;
    lk_status status = LK_OK;
    bool is_old = multi_remaining_ms(lock) < lock->lease_ms * 9 / 10;

    if (round->has_waited || is_old) status = multi_renew(lock, lock->lease_ms, err);
    if (status != LK_OK) return status;
    atomic_store(&lock->expires_at, ends_at(self));
    lki_lock_hold(lock, round->options);
    if (multi_remaining_ms(lock) > 0 || !lki_hold_lose(lock)) return LK_OK;
    return LKI_FAIL(err, LK_LOST, "%s: lost while the others were taken", lock->key);
}

static lk_status acquire_by_rounds(struct multi *self, const struct lk_lock_options *options,
                                   unsigned *out_attempts, struct lk_error *err)
{
    struct round round = {.options = options,
                          .deadline = lki_clock_after_ms(options->wait_ms),
                          .first = self->needed == self->count ? 0 : no_member};

    for (;;) {
        ++*out_attempts;
        lk_status status = acquire_round(self, &round, err);
        bool goes_on = !is_hopeless(self, &round);
        if (status == LK_OK) {
            status = become_holder(self, &round, err);
            goes_on = status == LK_EXHAUSTED;
        }
        if (status == LK_OK) return LK_OK;
        bool has_met = give_back(self);
        if (!goes_on || lki_clock_left_ms(round.deadline) == 0) return status;
        if (has_met) status = pause_by_chance(&self->base, round.deadline, err);
        if (has_met && status != LK_OK) return status;
        round.first = round.busy;
    }
}

static lk_status multi_acquire(lk_lock *lock, const struct lk_lock_options *options,
                               unsigned *out_attempts, struct lk_error *err)
{
    struct multi *self = (struct multi *)(void *)lock;
    struct lk_error why = {0};
    lk_status status = begin(self, options, &why);

    if (status == LK_OK) {
        let_cancel(self, true);
        status = acquire_by_rounds(self, options, out_attempts, &why);
        let_cancel(self, false);
        if (status != LK_OK) {
            lock->depth = 0;
            atomic_store(&lock->state, LOCK_IDLE);
        }
    }
    if (err && status != LK_OK) *err = why;
    return status;
}

/* ---- release ------------------------------------------------------------------------------------- */

/* Write the names of acquired members that were lost, as "a, b"; returns their number. */
static size_t name_lost(const struct multi *self, char *out, size_t size)
{
    size_t count = 0;
    size_t len = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct member *member = &self->members[i];

        if (!member->is_taken || member->status != LK_NOT_OWNER) continue;
        if (len < size) {
            len += (size_t)snprintf(out + len, size - len, "%s%s", count > 0 ? ", " : "",
                                    member->lock->key);
        }
        count++;
    }
    return count;
}

/* Release all members, also if one fails, and those whose last release was not confirmed. */
static lk_status multi_release(lk_lock *lock, struct lk_error *err)
{
    struct multi *self = (struct multi *)(void *)lock;
    struct lk_error why = {0};
    char lost[100];
    size_t taken = 0;

    atomic_store(&lock->state, LOCK_UNCERTAIN); /* not held from here on: no loss is reported */
    for (size_t i = self->count; i-- > 0;) {
        struct member *member = &self->members[i];

        taken += member->is_taken;
        if (!member->is_taken || atomic_load(&member->lock->state) == LOCK_IDLE) continue;
        struct lk_error own = {0};
        member->status = lk_lock_release(member->lock, &own);
        if (member->status != LK_OK && member->status != LK_NOT_OWNER) why = own;
    }
    lock->depth = 0;
    if (why.code != LK_OK) {
        if (err) *err = why;
        return why.code;
    }
    size_t lost_count = name_lost(self, lost, sizeof lost);
    for (size_t i = 0; i < self->count; i++)
        self->members[i].is_taken = false;
    atomic_store(&lock->state, LOCK_IDLE);
    if (taken - lost_count >= self->needed) return LK_OK;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the hold had ended before the release", lost);
}

/* ---- life ---------------------------------------------------------------------------------------- */

/* The members are the caller's. Those that are still held are left to their leases. */
static void multi_free(lk_lock *lock)
{
    struct multi *self = (struct multi *)(void *)lock;

    for (size_t i = 0; i < self->count; i++) {
        lk_lock *member = self->members[i].lock;

        if (!self->members[i].is_taken || lki_context_is_foreign(member->client)) continue;
        lki_watchdog_remove(member->client->watchdog, member);
        member->on_lost = NULL;
        member->is_renewed = false;
    }
    lki_lock_done(lock);
    free(self);
}

static const struct lki_lock_ops multi_ops = {
    .kind = "multi",
    .free = multi_free,
    .acquire_all = multi_acquire,
    .release_all = multi_release,
    .renew_all = multi_renew,
    .remaining_ms = multi_remaining_ms,
    .cancel = multi_cancel,
};

static int compare_members(const void *a, const void *b)
{
    const lk_lock *one = ((const struct member *)a)->lock;
    const lk_lock *other = ((const struct member *)b)->lock;
    const struct lki_endpoint *here = &one->client->url.seeds[0];
    const struct lki_endpoint *there = &other->client->url.seeds[0];
    int order = strcmp(here->label, there->label);

    if (order == 0) order = (here->db > there->db) - (here->db < there->db);
    return order != 0 ? order : strcmp(one->key, other->key);
}

static lk_status check_members(lk_lock *const *locks, size_t count, unsigned allowed,
                               struct lk_error *err)
{
    if (!locks || count < 1 || count > MEMBERS_MAX) {
        return LKI_FAIL(err, LK_INVALID, "a multi lock has 1 to %d locks", MEMBERS_MAX);
    }
    if (allowed > (count - 1) / 2) {
        return LKI_FAIL(err, LK_INVALID, "without %u of %zu locks two could hold it", allowed,
                        count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!locks[i]) return LKI_FAIL(err, LK_INVALID, "no lock (NULL)");
        lk_status status = lki_context_check(locks[i]->client, err);
        if (status == LK_OK) status = lki_context_check_redis(locks[i]->client, "multi", err);
        if (status != LK_OK) return status;
        if (locks[i]->ops->acquire_all) {
            return LKI_FAIL(err, LK_INVALID, "%s: a %s lock cannot be part of a multi lock",
                            locks[i]->key, locks[i]->ops->kind);
        }
    }
    return LK_OK;
}

static lk_status set_members(struct multi *self, lk_lock *const *locks, struct lk_error *err)
{
    for (size_t i = 0; i < self->count; i++)
        self->members[i] = (struct member){.lock = locks[i], .place = i};
    qsort(self->members, self->count, sizeof self->members[0], compare_members);
    for (size_t i = 1; i < self->count; i++) {
        if (compare_members(&self->members[i - 1], &self->members[i]) == 0) {
            return LKI_FAIL(err, LK_INVALID, "%s: twice in a multi lock",
                            self->members[i].lock->key);
        }
    }
    return LK_OK;
}

/* The name is made of all keys, and cut if it is too long. */
static void make_name(lk_lock *const *locks, size_t count, char out[LKI_KEY_MAX + 1])
{
    size_t len = 0;

    for (size_t i = 0; i < count && len <= LKI_KEY_MAX; i++)
        len += (size_t)snprintf(out + len, LKI_KEY_MAX + 1 - len, "%s%s", i > 0 ? "," : "",
                                locks[i]->key);
}

lk_lock *lk_multi_new(lk_lock *const *locks, size_t count, const struct lk_multi_options *options,
                      struct lk_error *err)
{
    struct lk_multi_options known;
    char name[LKI_KEY_MAX + 1];

    if (LKI_OPTIONS_COPY(&known, options, failures_allowed, err) != LK_OK) return NULL;
    if (check_members(locks, count, known.failures_allowed, err) != LK_OK) return NULL;
    struct multi *self = calloc(1, sizeof *self + count * sizeof self->members[0]);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    self->count = count;
    self->needed = count - known.failures_allowed;
    make_name(locks, count, name);
    lk_status status = lki_lock_init(&self->base, &multi_ops, locks[0]->client, name, err);
    if (status == LK_OK) status = set_members(self, locks, err);
    if (status == LK_OK) return &self->base;
    self->count = 0;
    multi_free(&self->base);
    return NULL;
}

size_t lk_multi_report(const lk_lock *multi, lk_status *out_statuses)
{
    const struct multi *self = (const struct multi *)(const void *)multi;

    if (!multi || multi->ops != &multi_ops || !out_statuses) return 0;
    for (size_t i = 0; i < self->count; i++)
        out_statuses[self->members[i].place] = self->members[i].status;
    return self->count;
}
