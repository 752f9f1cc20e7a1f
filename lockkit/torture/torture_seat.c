/*
 * See torture_seat.h: asks the kind, or else the lock.
 */
#include "torture_seat.h"

#include <stdio.h>
#include <string.h>

void torture_key_name(const struct torture_plan *plan, unsigned key, char out[TORTURE_KEY_MAX])
{
    (void)snprintf(out, TORTURE_KEY_MAX, "%s%s:%u", plan->prefix, plan->kind->name, key);
}

bool torture_is_counter(const char *key)
{
    return strstr(key, "lockkit_claim") == NULL;
}

static bool make_lock(struct torture_seat *seat, struct lk_error *err)
{
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, seat->key, key);
    seat->lock = seat->kind->make_lock(seat->client, key, err);
    return seat->lock != NULL;
}

bool torture_seat_make(struct torture_seat *seat, struct lk_error *err)
{
    seat->claim =
        (struct torture_claim){.keys = {seat->key}, .weight = 1, .limit = seat->kind->limit};
    return seat->kind->make ? seat->kind->make(seat, err) : make_lock(seat, err);
}

void torture_seat_done(struct torture_seat *seat)
{
    if (seat->kind->done) {
        seat->kind->done(seat);
    } else {
        lk_lock_free(seat->lock);
    }
}

void torture_seat_choose(struct torture_seat *seat)
{
    if (seat->kind->choose) seat->kind->choose(seat);
}

lk_status torture_seat_acquire(struct torture_seat *seat, const struct lk_lock_options *options,
                               struct lk_error *err)
{
    return seat->kind->acquire ? seat->kind->acquire(seat, options, err)
                               : lk_lock_acquire(seat->lock, options, err);
}

lk_status torture_seat_release(struct torture_seat *seat, struct lk_error *err)
{
    return seat->kind->release ? seat->kind->release(seat, err) : lk_lock_release(seat->lock, err);
}

lk_status torture_seat_renew(struct torture_seat *seat, struct lk_error *err)
{
    if (seat->kind->renew) return seat->kind->renew(seat, err);
    return seat->lock ? lk_lock_renew(seat->lock, 0, err) : LK_OK;
}

int64_t torture_seat_remaining_ms(const struct torture_seat *seat)
{
    return seat->kind->remaining_ms ? seat->kind->remaining_ms(seat)
                                    : lk_lock_remaining_ms(seat->lock);
}

void torture_seat_cancel(struct torture_seat *seat)
{
    if (seat->kind->cancel) {
        seat->kind->cancel(seat);
    } else {
        lk_lock_cancel(seat->lock);
    }
}
