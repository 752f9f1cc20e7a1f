/*
 * Batching of payment providers' events: all events of one sale that arrive while a step is under way go together
 * into the next step. So one round trip and one entry of the ledger serve all of them; and no HTTP thread waits: the
 * batch's thread answers.
 */
#ifndef SECKILL_PAY_BATCH_H
#define SECKILL_PAY_BATCH_H

#include "store/store_pay.h"

struct book;
struct pay_batch; /* opaque; safe for any number of threads */

struct pay_wish {
    const char *sale_id;        /* borrowed, as what the event has, until done() */
    struct payment_event event; /* its result: out */
    store_status status;        /* out: as store_pay_events(); also UNKNOWN: the order has to be
                                   in the book, and is not in time */
    struct lk_error err;        /* out */
    /* Called once by the batch's thread, with the result set; the wish then belongs to the caller
       again. Must not block. */
    void (*done)(struct pay_wish *wish, void *arg);
    void *arg;
    struct pay_wish *next; /* the batch's own */
};

/* Start the thread. Store and book are borrowed; book NULL: events do not wait for one. NULL: no memory. */
struct pay_batch *pay_batch_new(struct store *store, struct book *book);
/* No event may be submitted any more; those submitted are completed first. NULL is allowed. */
void pay_batch_free(struct pay_batch *self);

void pay_batch_submit(struct pay_batch *self, struct pay_wish *wish);
/* The blocking form. It uses done and arg itself. */
void pay_batch_take(struct pay_batch *self, struct pay_wish *wish);

#endif
