/*
 * Semaphores and permits under torture. A semaphore's permits have no lease: whoever takes the place
 * of a process that was killed gives back what that one had taken for certain; what it had taken or
 * given back unseen is missing in the end, unless nobody was killed.
 */
#include "test/support/lk_support.h"
#include "torture_kinds.h"
#include "torture_turn.h"

enum { PERMITS = 5, LOCK_PERCENT = 50, SETTLE_TRIES = 50, SETTLE_PAUSE_MS = 20 };

/* ---- semaphores ----------------------------------------------------------------------------------------- */

static bool make_semaphore(struct torture_seat *seat, struct lk_error *err)
{
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, seat->key, key);
    seat->thing = lk_semaphore_new(seat->client, key, err);
    return seat->thing != NULL;
}

static bool set_semaphore(lk_client *client, const char *key, unsigned limit, struct lk_error *err)
{
    lk_semaphore *semaphore = lk_semaphore_new(client, key, err);
    bool is_set = semaphore && lk_semaphore_try_set(semaphore, limit, err) == LK_OK;

    lk_semaphore_free(semaphore);
    return is_set;
}

/* What those who were killed had taken or given unseen may be missing, but nothing can be too much. */
static void check_semaphore(const struct torture_plan *plan, lk_client *client, const char *key,
                            struct torture_board *board)
{
    unsigned least = plan->kind->is_spared ? plan->kind->limit : 0;
    lk_semaphore *semaphore = lk_semaphore_new(client, key, NULL);
    int64_t free = -1;

    if (!semaphore || lk_semaphore_available(semaphore, &free, NULL) != LK_OK || free < least ||
        free > plan->kind->limit) {
        torture_violation(board, "%s: %lld permits in the end, of %u", key, (long long)free,
                          plan->kind->limit);
    }
    lk_semaphore_free(semaphore);
}

static bool is_open(lk_status status)
{
    return status == LK_UNKNOWN || status == LK_UNREACHABLE;
}

/* What a lost answer has left open is settled by the handle's next change. */
static void semaphore_done(struct torture_seat *seat)
{
    lk_status status = lk_semaphore_acquire(seat->thing, 1, 0, NULL);

    for (int i = 0; i < SETTLE_TRIES && is_open(status); i++) {
        lks_nap(SETTLE_PAUSE_MS);
        status = lk_semaphore_acquire(seat->thing, 1, 0, NULL);
    }
    if (status == LK_OK) status = lk_semaphore_release(seat->thing, 1, NULL);
    for (int i = 0; i < SETTLE_TRIES && is_open(status); i++) {
        lks_nap(SETTLE_PAUSE_MS);
        status = lk_semaphore_release(seat->thing, 1, NULL);
    }
    lk_semaphore_free(seat->thing);
}

static void choose_weight(struct torture_seat *seat)
{
    seat->claim.weight = 1 + torture_random(seat->seed) % TORTURE_PARTS_MAX;
}

static lk_status acquire_semaphore(struct torture_seat *seat, const struct lk_lock_options *options,
                                   struct lk_error *err)
{
    return lk_semaphore_acquire(seat->thing, seat->claim.weight, options->wait_ms, err);
}

static lk_status release_semaphore(struct torture_seat *seat, struct lk_error *err)
{
    return lk_semaphore_release(seat->thing, seat->claim.weight, err);
}

static int64_t no_lease(const struct torture_seat *seat)
{
    (void)seat;
    return INT64_MAX;
}

static void cancel_semaphore(struct torture_seat *seat)
{
    lk_semaphore_cancel(seat->thing);
}

static void restore_semaphore(struct torture_seat *seat, unsigned weight)
{
    (void)lk_semaphore_release(seat->thing, weight, NULL); /* else they are missing */
}

#define SEMAPHORE                                                                                  \
    .keys = TORTURE_KEYS, .shows = CHECK_PERMITS, .limit = PERMITS, .has_holds = true,             \
    .limited_as = "semaphore", .set_up = set_semaphore, .check = check_semaphore,                  \
    .stays = torture_is_counter, .make = make_semaphore, .done = semaphore_done,                   \
    .choose = choose_weight, .acquire = acquire_semaphore, .release = release_semaphore,           \
    .remaining_ms = no_lease, .cancel = cancel_semaphore
const struct torture_kind torture_semaphore = {SEMAPHORE, .name = "semaphore",
                                               .restore = restore_semaphore};
const struct torture_kind torture_semaphore_spared = {SEMAPHORE, .name = "semaphore-spared",
                                                      .is_spared = true};

/* ---- permits -------------------------------------------------------------------------------------------- */

/* Two ways to one semaphore: by ids, and as a lock. */
static bool make_permits(struct torture_seat *seat, struct lk_error *err)
{
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, seat->key, key);
    seat->thing = lk_permits_new(seat->client, key, err);
    seat->parts[0] = lk_permit_lock_new(seat->client, key, err);
    return seat->thing && seat->parts[0];
}

static void permits_done(struct torture_seat *seat)
{
    lk_permits_free(seat->thing);
    lk_lock_free(seat->parts[0]);
}

static bool set_permits(lk_client *client, const char *key, unsigned limit, struct lk_error *err)
{
    lk_permits *permits = lk_permits_new(client, key, err);
    bool is_set = permits && lk_permits_set(permits, limit, err) == LK_OK;

    lk_permits_free(permits);
    return is_set;
}

/* None is lost, and none is added. */
static void check_permits(const struct torture_plan *plan, lk_client *client, const char *key,
                          struct torture_board *board)
{
    lk_permits *permits = lk_permits_new(client, key, NULL);
    struct lk_permits_usage usage = {.available = -1};

    if (!permits || lk_permits_usage(permits, &usage, NULL) != LK_OK ||
        usage.available + usage.acquired != plan->kind->limit) {
        torture_violation(board, "%s: %lld permits and %lld out in the end, of %u", key,
                          (long long)usage.available, (long long)usage.acquired, plan->kind->limit);
    }
    lk_permits_free(permits);
}

static void choose_permits(struct torture_seat *seat)
{
    bool is_lock = torture_chance(seat->seed, LOCK_PERCENT);

    seat->lock = is_lock ? seat->parts[0] : NULL;
    seat->claim.weight = is_lock ? 1 : 1 + torture_random(seat->seed) % TORTURE_PARTS_MAX;
}

static lk_status acquire_permits(struct torture_seat *seat, const struct lk_lock_options *options,
                                 struct lk_error *err)
{
    struct lk_permit_options own = {.wait_ms = options->wait_ms, .lease_ms = options->lease_ms};

    if (seat->lock) return lk_lock_acquire(seat->lock, options, err);
    return lk_permits_acquire(seat->thing, &own, seat->permits, seat->claim.weight, err);
}

static lk_status release_permits(struct torture_seat *seat, struct lk_error *err)
{
    if (seat->lock) return lk_lock_release(seat->lock, err);
    return lk_permits_release(seat->thing, seat->permits, seat->claim.weight, err);
}

static lk_status renew_permits(struct torture_seat *seat, struct lk_error *err)
{
    if (seat->lock) return lk_lock_renew(seat->lock, 0, err);
    return lk_permits_renew(seat->thing, &seat->permits[0], TORTURE_LEASE_MOST_MS, err);
}

/* Of the one that ends first. */
static int64_t permits_remaining_ms(const struct torture_seat *seat)
{
    int64_t least_ms = INT64_MAX;

    if (seat->lock) return lk_lock_remaining_ms(seat->lock);
    for (unsigned i = 0; i < seat->claim.weight; i++) {
        int64_t left_ms = lk_permit_remaining_ms(&seat->permits[i]);

        if (left_ms < least_ms) least_ms = left_ms;
    }
    return least_ms;
}

static void cancel_permits(struct torture_seat *seat)
{
    if (seat->lock)
        lk_lock_cancel(seat->lock);
    else
        lk_permits_cancel(seat->thing);
}

const struct torture_kind torture_permits = {
    .name = "permits",
    .keys = TORTURE_KEYS,
    .shows = CHECK_PERMITS,
    .limit = PERMITS,
    .is_leased = true,
    .has_holds = true,
    .limited_as = "permits",
    .set_up = set_permits,
    .check = check_permits,
    .stays = torture_is_counter,
    .make = make_permits,
    .done = permits_done,
    .choose = choose_permits,
    .acquire = acquire_permits,
    .release = release_permits,
    .renew = renew_permits,
    .remaining_ms = permits_remaining_ms,
    .cancel = cancel_permits,
};
