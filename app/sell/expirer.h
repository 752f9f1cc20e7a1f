/*
 * Expires orders that were not paid in time. Of all instances one leads, elected by a lock of lockkit; it expires the
 * orders that are due and presents the lock's fencing token, so that a leader with an expired lease is refused. The
 * leader only saves work and keeps the ledger readable: a unit is returned once because the step itself checks each
 * order's state (expire_orders.lua). So any instance that has no unit to sell while an order is due may run the step.
 *
 * Until a sale that is paid for later is added, the expirer sends nothing and has no lock.
 */
#ifndef SECKILL_EXPIRER_H
#define SECKILL_EXPIRER_H

#include "store/store_pay.h"

struct expirer; /* opaque */

struct expirer_options {
    lk_client *client; /* borrowed, as the next */
    struct store *store;
    /* Called by the expirer's thread after each step, also a failed one (status). May be NULL. */
    void (*on_step)(const char *sale_id, store_status status, const struct expiry *step, void *arg);
    void *on_step_arg;
    bool is_leaderless; /* a flaw, for the lab: every instance acts as the leader */
};

/* Start the thread, which lists the existing sales once. NULL: no memory. */
struct expirer *expirer_new(const struct expirer_options *options);
/* End the thread, and the leadership if it leads. NULL is allowed. */
void expirer_free(struct expirer *self);

/* Add a sale that is paid for later. Any thread; no I/O. */
void expirer_add(struct expirer *self, const char *sale_id);
/* An added sale has no unit left, and an order is due: run a step now. Any thread; no I/O. */
void expirer_wake(struct expirer *self, const char *sale_id);

/* Whether this instance leads. */
bool expirer_leads(struct expirer *self);

#endif
