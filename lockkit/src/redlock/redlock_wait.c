/*
 * The pauses between two tries of a redlock. They are random, so that clients that split the votes do not
 * try again at the same time. A release by lockkit is published and wakes a waiter, but that is only a hint:
 * the subscription is on one server, and other libraries publish nothing.
 *
 * Threads: the lock's; lki_redlock_cancel(): any. Locks: none of its own.
 */
#include "base/clock.h"
#include "base/error.h"
#include "redlock.h"

enum {
    CONFIRM_MS = 100, /* limit of the wait for a subscription, as its server may hang */
    APART_MS = 2,     /* jitter between waiters that one release woke */
    SPLIT_MS = 5,     /* the longest first pause after a split vote; doubled each time */
    NEAR_TRIES = 6,   /* short pauses after a release, which may not have reached all servers yet */
    SILENT_MOST = 3,  /* unanswered tries before the subscription moves to another server */
};

static const size_t no_member = SIZE_MAX;

void lki_redlock_waiting_init(struct redlock_waiting *waiting, struct redlock *self,
                              int64_t deadline)
{
    *waiting = (struct redlock_waiting){
        .self = self, .at = no_member, .deadline = deadline, .split_ms = SPLIT_MS};
}

static bool has_answered(const struct redlock *self, size_t at)
{
    return self->members[at].status == LK_OK || self->members[at].status == LK_BUSY;
}

void lki_redlock_waiting_done(struct redlock_waiting *waiting, lk_status status)
{
    if (waiting->at == no_member) return;
    lk_lock *member = &waiting->self->members[waiting->at].base;
    struct lki_hub *hub = member->client->hub;
    if (waiting->is_woken && status != LK_OK) lki_hub_unwake(hub, &member->waiter);
    lki_hub_leave(hub, &member->waiter);
    waiting->at = no_member;
}

/* Count unanswered tries; true: subscribe at another server. One is no reason: a try ends with the majority, so a
   server may often be late. */
static bool count_silence(struct redlock_waiting *waiting)
{
    const struct redlock *self = waiting->self;

    if (waiting->at == no_member) return false;
    waiting->silent = has_answered(self, waiting->at) ? 0 : waiting->silent + 1;
    return waiting->silent >= SILENT_MOST ||
           (waiting->silent > 0 && self->members[waiting->at].status != LK_UNKNOWN);
}

/* Subscribe at the first server that has answered. So all waiters of a process use the same one, and a release
   wakes one of them. */
static lk_status join(struct redlock_waiting *waiting, struct lk_error *err)
{
    struct redlock *self = waiting->self;
    size_t at = 0;

    while (at + 1 < self->count && !has_answered(self, at))
        at++;
    struct redlock_member *member = &self->members[at];
    int64_t confirm_by = lki_clock_after_ms(CONFIRM_MS);
    if (confirm_by > waiting->deadline) confirm_by = waiting->deadline;
    lk_status status = lki_hub_join(member->base.client->hub, &member->base.waiter,
                                    member->base.wake_channel, confirm_by, err);
    if (status == LK_OK) waiting->at = at;
    waiting->silent = 0;
    return status;
}

static int64_t pause_until(struct redlock_waiting *waiting, bool is_first, bool is_split)
{
    int64_t retry_ns = waiting->self->options.retry_ms * NS_PER_MS;
    int64_t pause_ns = retry_ns / 2 + lki_random_below(retry_ns);

    if (is_first) { /* a release may have been published before the subscription */
        pause_ns = lki_random_below(APART_MS * (int64_t)NS_PER_MS);
    } else if ((is_split || waiting->near > 0) &&
               waiting->split_ms < waiting->self->options.retry_ms) {
        waiting->near -= waiting->near > 0;
        pause_ns = lki_random_below(waiting->split_ms * NS_PER_MS);
        waiting->split_ms *= 2;
    }
    int64_t until = lki_clock_now() + pause_ns;
    return until < waiting->deadline ? until : waiting->deadline;
}

static lk_status sleep_until(struct redlock_waiting *waiting, int64_t until, struct lk_error *err)
{
    lk_lock *member = &waiting->self->members[waiting->at].base;
    lk_status status = lki_hub_wait(member->client->hub, &member->waiter, until);

    if (status == LK_OK) waiting->is_woken = true;
    if (status == LK_OK || status == LK_BUSY) return LK_OK;
    return LKI_FAIL(err, status, "%s: the wait was ended", waiting->self->base.key);
}

lk_status lki_redlock_pause(struct redlock_waiting *waiting, bool is_split, struct lk_error *err)
{
    if (count_silence(waiting)) lki_redlock_waiting_done(waiting, LK_BUSY);
    bool is_first = waiting->at == no_member;
    lk_status status = is_first ? join(waiting, err) : LK_OK;

    if (status != LK_OK) return status;
    waiting->is_woken = false;
    status = sleep_until(waiting, pause_until(waiting, is_first, is_split), err);
    if (status != LK_OK || !waiting->is_woken) return status;
    waiting->split_ms = SPLIT_MS;
    waiting->near = NEAR_TRIES;
    int64_t apart = lki_clock_now() + lki_random_below(APART_MS * (int64_t)NS_PER_MS);
    lk_status second = sleep_until(waiting, apart, err);
    waiting->is_woken = true;
    return second;
}

void lki_redlock_cancel(lk_lock *lock)
{
    struct redlock *self = lki_redlock_of(lock);

    for (size_t i = 0; i < self->count; i++) {
        lk_lock *member = &self->members[i].base;

        lki_hub_cancel(member->client->hub, &member->waiter);
    }
}
