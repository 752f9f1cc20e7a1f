/*
 * See torture_turn.h. A turn: draw a key and how to take it, take it, stand on the board while it is
 * held for certain, do as if there was something to do, give it back. An answer that speaks against
 * a lease that is still good is a violation as much as two who meet.
 */
#include "torture_turn.h"

#include <sched.h>

#include "test/support/lk_support.h"

enum {
    NS_PER_MS = 1000000,
    RELEASE_TRIES = 10,
    UNLEASED_TRIES = 1000, /* nobody else gives it back */
    RELEASE_PAUSE_MOST_MS = 20,
    PAUSE_MOST_MS = 10,         /* before another turn, after one that was in vain */
    BROKEN_PAUSE_MOST_MS = 100, /* likewise, after one without an answer */
    RENEW_PERCENT = 5,
    RENEW_AT_PERCENT = 75, /* of the lease */
    RENEWALS = 3,
    NEST_PERCENT = 20,
    LEAVE_PERCENT = 5,
};

/* ---- what must be true of an answer ---------------------------------------------------------------- */

/* It was full, and this asked for more. */
static bool is_out_of_memory(const struct torture_member *member, const char *step,
                             lk_status status, const struct lk_error *err)
{
    bool is_more = strcmp(step, "renew") != 0 && !strstr(step, "release");

    return status == LK_SERVER && is_more && strncmp(err->text, "OOM ", 4) == 0 &&
           member->place.asked_ns <= atomic_load(&member->place.board->full_ns);
}

static void expect(const struct torture_member *member, const char *step, lk_status status,
                   const struct lk_error *err)
{
    static const bool is_expected[LK_STATUS_COUNT] = {
        [LK_OK] = true,      [LK_BUSY] = true,      [LK_NOT_OWNER] = true,   [LK_LOST] = true,
        [LK_UNKNOWN] = true, [LK_CANCELLED] = true, [LK_UNREACHABLE] = true, [LK_EXHAUSTED] = true};

    if (is_expected[status] || is_out_of_memory(member, step, status, err)) return;
    torture_violation(member->place.board, "%s: %s: %s", step, lk_status_name(status), err->text);
}

/* "Not yours" while the lease is good: somebody has ended it who had no right to. */
static void expect_owner(const struct torture_member *member, const char *step, lk_status status)
{
    int64_t left_ns = member->until_ns - torture_now_ns();

    if ((status != LK_NOT_OWNER && status != LK_LOST) || left_ns <= 0) return;
    if (member->place.asked_ns <= atomic_load(&member->place.board->emptied_ns)) return;
    torture_violation(member->place.board, "%s: %s, %.1f ms before the lease ends", step,
                      lk_status_name(status), (double)left_ns / 1e6);
}

/* Of whoever waits, as long as the wait lasts. */
static void expect_patience(const struct torture_member *member, lk_status status,
                            const struct lk_lock_options *options)
{
    int64_t took_ms = (torture_now_ns() - member->place.asked_ns) / NS_PER_MS;
    bool is_broken = status == LK_UNREACHABLE || status == LK_UNKNOWN;

    if (member->plan->kind->acquire || member->plan->kind->gives_up)
        return; /* no lk_lock of one key */
    if (!is_broken || took_ms >= options->wait_ms) return;
    torture_violation(member->place.board, "acquire: %s after %lld of %lld ms",
                      lk_status_name(status), (long long)took_ms, (long long)options->wait_ms);
}

/* ---- inside ------------------------------------------------------------------------------------------ */

/* Until when the hold is certain; 0: it is not. */
static int64_t certain_until(const struct torture_seat *seat)
{
    int64_t now = torture_now_ns();
    int64_t left_ms = torture_seat_remaining_ms(seat);

    if (left_ms == INT64_MAX) return INT64_MAX;
    return left_ms > 1 ? now + (left_ms - 1) * NS_PER_MS : 0; /* it was rounded up */
}

static void step_inside(struct torture_member *member, const struct torture_seat *seat)
{
    member->until_ns = certain_until(seat);
    if (member->until_ns == 0) return;
    torture_enter(&member->place, &seat->claim, member->until_ns);
    torture_look(&member->place, &seat->claim);
}

/* Still inside, and told so? */
static void look_again(struct torture_member *member, const struct torture_seat *seat)
{
    int64_t until_ns = certain_until(seat);

    if (until_ns > member->until_ns) member->until_ns = until_ns;
    if (torture_seat_remaining_ms(seat) == 0) expect_owner(member, "held", LK_LOST);
    torture_prolong(&member->place, member->until_ns);
    torture_look(&member->place, &seat->claim);
}

/* ---- work ---------------------------------------------------------------------------------------------- */

static lk_status renew_by_hand(struct torture_member *member, struct torture_seat *seat)
{
    struct lk_error err = {0};
    lk_status status = torture_seat_renew(seat, &err);

    atomic_fetch_add(&member->place.board->renewals, 1);
    expect(member, "renew", status, &err);
    expect_owner(member, "renew", status);
    return status;
}

/* Always near the end of the lease, so that a renewal that is held up comes too late. */
static void work_and_renew(struct torture_member *member, struct torture_seat *seat,
                           const struct lk_lock_options *options)
{
    lk_status status = LK_OK;

    for (int i = 0; i < RENEWALS && status == LK_OK; i++) {
        lks_nap(options->lease_ms * RENEW_AT_PERCENT / 100);
        status = renew_by_hand(member, seat);
        if (status == LK_OK) look_again(member, seat);
    }
}

/* Mostly nothing; now and then past the lease, which the watchdog prolongs, or which ends. */
static void work(struct torture_member *member, struct torture_seat *seat,
                 const struct lk_lock_options *options)
{
    uint32_t chance = torture_random(&member->seed) % 1000;
    bool sleeps_past = seat->kind->is_leased && chance >= 990 && chance < 995;

    if (member->oversleeps || sleeps_past)
        lks_nap(options->is_renewed ? options->lease_ms * 2 : options->lease_ms + 50);
    else if (chance < 600)
        (void)sched_yield();
    else if (chance < 950 || !seat->kind->is_leased)
        lks_nap(torture_between(&member->seed, 1, 2));
    else if (chance < 985)
        lks_nap(torture_between(&member->seed, 3, 10));
    else if (chance < 990)
        lks_nap(options->lease_ms / 2);
    else
        work_and_renew(member, seat, options);
}

/* A hold inside the hold. */
static void nest(struct torture_member *member, const struct torture_seat *seat,
                 const struct lk_lock_options *options)
{
    struct lk_error err = {0};
    lk_status status = lk_lock_acquire(seat->lock, options, &err);

    expect(member, "taken again", status, &err);
    expect_owner(member, "taken again", status);
    if (status != LK_OK) return;
    atomic_fetch_add(&member->place.board->reentries, 1);
    look_again(member, seat);
    status = lk_lock_release(seat->lock, &err);
    expect(member, "inner release", status, &err);
    expect_owner(member, "inner release", status);
}

/* Give it back; again when it is not known whether it was. Only a lock remembers that then. */
static lk_status release(struct torture_member *member, struct torture_seat *seat)
{
    struct torture_board *board = member->place.board;
    int tries = seat->kind->is_leased ? RELEASE_TRIES : UNLEASED_TRIES;
    lk_status status = LK_OK;
    struct lk_error err = {0};

    for (int i = 0; i < tries; i++) {
        if (i > 0) lks_nap(torture_between(&member->seed, 1, RELEASE_PAUSE_MOST_MS));
        status = torture_seat_release(seat, &err);
        atomic_fetch_add(&board->releases[status], 1);
        expect(member, "release", status, &err);
        if (i == 0 || !seat->kind->release) expect_owner(member, "release", status);
        if (status == LK_OK || status == LK_NOT_OWNER) break;
    }
    return status;
}

static void let_cancel(struct torture_member *member, struct torture_seat *seat)
{
    (void)pthread_mutex_lock(&member->mutex);
    member->waiting = seat;
    (void)pthread_mutex_unlock(&member->mutex);
}

/* From a hold that excludes everybody to one that admits some, without a moment between. */
static void soften(struct torture_member *member, struct torture_seat *seat, lk_lock *softer,
                   const struct lk_lock_options *options)
{
    struct torture_seat firm = *seat;
    struct lk_error err = {0};
    lk_status status = lk_lock_acquire(softer, options, &err);

    expect(member, "soften", status, &err);
    if (status != LK_OK) return;
    seat->lock = softer;
    torture_leave(&member->place); /* soon others may be there */
    (void)release(member, &firm);
    seat->claim.weight = 1;
    step_inside(member, seat);
}

/* From a hold that admits others to one that excludes them, and back. */
static void harden(struct torture_member *member, const struct torture_seat *seat, lk_lock *firmer,
                   const struct lk_lock_options *options)
{
    struct torture_seat firm = *seat;
    struct lk_error err = {0};

    firm.lock = firmer;
    let_cancel(member, &firm);
    lk_status status = seat->kind->upgrade(&firm, options, &err);
    let_cancel(member, NULL);
    if (status != LK_DEADLOCK) expect(member, "harden", status, &err);
    if (status != LK_OK) return;
    torture_leave(&member->place);
    step_inside(member, &firm);
    work(member, &firm, options);
    look_again(member, &firm);
    torture_leave(&member->place);
    (void)release(member, &firm);
    step_inside(member, seat);
}

static void hold(struct torture_member *member, struct torture_seat *seat,
                 const struct lk_lock_options *options)
{
    const struct torture_kind *kind = seat->kind;
    lk_lock *softer = kind->soften ? kind->soften(seat) : NULL;
    lk_lock *firmer = kind->harden ? kind->harden(seat) : NULL;

    work(member, seat, options);
    if (torture_chance(&member->seed, RENEW_PERCENT)) (void)renew_by_hand(member, seat);
    if (kind->is_reentrant && torture_chance(&member->seed, NEST_PERCENT))
        nest(member, seat, options);
    look_again(member, seat);
    if (softer) soften(member, seat, softer, options);
    if (firmer) harden(member, seat, firmer, options);
}

/* ---- turns --------------------------------------------------------------------------------------------- */

static void count_loss(lk_lock *lock, void *board)
{
    (void)lock;
    atomic_fetch_add(&((struct torture_board *)board)->losses, 1);
}

static struct lk_lock_options draw_options(struct torture_member *member)
{
    uint32_t *seed = &member->seed;
    uint32_t chance = torture_random(seed) % 100;
    int64_t wait_ms = torture_between(seed, 1000, TORTURE_WAIT_MOST_MS);

    if (chance < 40) wait_ms = torture_between(seed, 10, 200);
    if (chance < 10) wait_ms = 0;
    return (struct lk_lock_options){
        .wait_ms = wait_ms,
        .lease_ms = torture_between(seed, TORTURE_LEASE_LEAST_MS, TORTURE_LEASE_MOST_MS),
        .is_renewed = torture_chance(seed, 50) && !member->oversleeps,
        .on_lost = torture_chance(seed, 50) || member->oversleeps ? count_loss : NULL,
        .on_lost_arg = member->place.board};
}

void torture_member_cancel(struct torture_member *member)
{
    (void)pthread_mutex_lock(&member->mutex);
    if (member->waiting) {
        torture_seat_cancel(member->waiting);
        atomic_fetch_add(&member->place.board->cancels, 1);
    }
    (void)pthread_mutex_unlock(&member->mutex);
}

static void leave_seat(struct torture_seat *seat)
{
    if (seat->kind) torture_seat_done(seat);
    seat->kind = NULL;
}

static struct torture_seat *seat_of(struct torture_member *member, unsigned key)
{
    struct torture_seat *seat = &member->seats[key];
    struct lk_error err = {0};

    if (seat->kind) return seat;
    *seat = (struct torture_seat){.kind = member->plan->kind,
                                  .plan = member->plan,
                                  .place = &member->place,
                                  .writer = member->writer,
                                  .client = member->client,
                                  .seed = &member->seed,
                                  .key = key};
    if (torture_seat_make(seat, &err)) return seat;
    torture_violation(member->place.board, "no handle: %s", err.text);
    leave_seat(seat);
    return NULL;
}

static lk_status take(struct torture_member *member, struct torture_seat *seat,
                      const struct lk_lock_options *options)
{
    struct lk_error err = {0};

    torture_seat_choose(seat);
    let_cancel(member, seat);
    member->place.asked_ns = torture_now_ns();
    lk_status status = torture_seat_acquire(seat, options, &err);
    let_cancel(member, NULL);
    atomic_fetch_add(&member->place.board->acquires[status], 1);
    expect(member, "acquire", status, &err);
    expect_patience(member, status, options);
    return status;
}

/* One thread of each process surely loses a lease, once the faults have begun. */
static bool shall_oversleep(const struct torture_member *member)
{
    return member->place.thread == 0 && !member->has_overslept && member->plan->kind->is_leased &&
           atomic_load(&member->place.board->quiet_taken) > 0;
}

static void take_turn(struct torture_member *member)
{
    const struct torture_plan *plan = member->plan;
    struct torture_seat *seat = seat_of(member, 1 + torture_random(&member->seed) % plan->keys);
    member->oversleeps = shall_oversleep(member);
    struct lk_lock_options options = draw_options(member);
    lk_status status = seat ? take(member, seat, &options) : LK_INVALID;
    bool is_broken = status == LK_UNKNOWN || status == LK_UNREACHABLE;

    if (status != LK_OK || !plan->kind->has_holds) {
        lks_nap(
            torture_between(&member->seed, 1, is_broken ? BROKEN_PAUSE_MOST_MS : PAUSE_MOST_MS));
        return;
    }
    step_inside(member, seat);
    hold(member, seat, &options);
    torture_leave(&member->place);
    member->has_overslept |= member->oversleeps;
    status = release(member, seat);
    /* A read hold that may have been left would be a deadlock for the write side. */
    bool is_doubtful = plan->kind->soften && status != LK_OK && status != LK_NOT_OWNER;
    if (is_doubtful || (status == LK_OK && torture_chance(&member->seed, LEAVE_PERCENT)))
        leave_seat(seat);
}

void *torture_member_main(void *arg)
{
    struct torture_member *member = arg;

    while (atomic_load(&member->place.board->phase) == PHASE_RUN)
        take_turn(member);
    for (unsigned key = 0; key < TORTURE_SEATS; key++)
        leave_seat(&member->seats[key]);
    return NULL;
}
