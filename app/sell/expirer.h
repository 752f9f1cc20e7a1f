/*
 * The time to pay is over: somebody has to look. Of all instances one leads, elected by a lock of
 * lockkit, and ends what is due, showing the lock's fencing token; whoever believes in an old lease is
 * refused. That saves work, and keeps the ledger readable: a unit comes back once because the step
 * itself looks at each order's state (expire_orders.lua). So an instance that has nothing to sell while
 * something is due may look, too, whoever leads.
 *
 * Until it is told of a sale that is paid for later, it asks nothing and has no lock.
 */
#ifndef SECKILL_EXPIRER_H
#define SECKILL_EXPIRER_H

#include "store/store_pay.h"

struct expirer; /* opaque */

struct expirer_options {
    lk_client *client; /* borrowed, as the next */
    struct store *store;
    /* Of the expirer's thread: a step has ended, or (status) has not. NULL: nobody is told. */
    void (*on_step)(const char *sale_id, store_status status, const struct expiry *step, void *arg);
    void *on_step_arg;
    bool is_leaderless; /* a flaw, for the lab: every instance acts as if it led */
};

/* Start a thread, which looks once for sales that are there. NULL: no memory. */
struct expirer *expirer_new(const struct expirer_options *options);
/* End the thread, and the leadership, if it leads. NULL is fine. */
void expirer_free(struct expirer *self);

/* A sale that is paid for later is sold here. Any thread; does not wait for the server. */
void expirer_add(struct expirer *self, const char *sale_id);
/* Of one that is watched: nothing is left, though a hold is due. Likewise. */
void expirer_wake(struct expirer *self, const char *sale_id);

/* Whether this instance leads. */
bool expirer_leads(struct expirer *self);

#endif
