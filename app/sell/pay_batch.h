/*
 * What payment providers say, many at once: whatever came while a step was under way goes together with
 * the next, as far as it is of one sale. So a round trip and a line of the ledger serve as many as came
 * meanwhile; and who sent them waits for no thread: they are answered by the one that takes the steps.
 */
#ifndef SECKILL_PAY_BATCH_H
#define SECKILL_PAY_BATCH_H

#include "store/store_pay.h"

struct book;
struct pay_batch; /* opaque; safe for any number of threads */

struct pay_wish {
    const char *sale_id;        /* borrowed, as what the event has, until done() */
    struct payment_event event; /* its result: out */
    store_status status;        /* out: as store_pay_events(); UNKNOWN, too: the book is waited for,
                                   and has not got it in time */
    struct lk_error err;        /* out */
    /* Called once, by the batch's thread, when that is known; the wish is the caller's again. Must not
       block. */
    void (*done)(struct pay_wish *wish, void *arg);
    void *arg;
    struct pay_wish *next; /* the batch's own */
};

/* Starts a thread. Store and book are borrowed; book NULL: none is waited for. NULL: no memory. */
struct pay_batch *pay_batch_new(struct store *store, struct book *book);
/* Nobody may submit any more; what was is done before. NULL is fine. */
void pay_batch_free(struct pay_batch *self);

void pay_batch_submit(struct pay_batch *self, struct pay_wish *wish);
/* The same, coming back when it is done. Uses done and arg itself. */
void pay_batch_take(struct pay_batch *self, struct pay_wish *wish);

#endif
