/*
 * Purchases that wait for the same sale are served together: the first of a batch leads it, runs the
 * sale's guard once for all, and answers for the others.
 */
#ifndef SECKILL_GROUP_COMMIT_H
#define SECKILL_GROUP_COMMIT_H

#include "guards/base/guard_servers.h"
#include "sale/purchase.h"
#include "store/store.h"

struct group_commit; /* opaque */
struct guard;
struct book;

struct group_commit_options {
    lk_client *client;                   /* borrowed */
    struct store *store;                 /* borrowed */
    const char *instance;                /* borrowed */
    const struct deployment *deployment; /* borrowed; NULL: one server, no replicas waited for */
    struct guard_servers *servers;       /* borrowed; NULL: guards that need some cannot run */
    struct expirer *expirer;             /* borrowed; NULL: unpaid orders are not expired here */
    struct book *book;  /* borrowed; NULL: there is none, and no sale waits for it */
    unsigned batch;     /* purchases per batch; 1: every purchase takes the lock itself */
    unsigned queue_max; /* purchases waiting or running per sale; more are OVERLOADED */
    int64_t queue_ms;   /* a purchase that would wait longer is OVERLOADED, too; 0: no limit */
    int64_t lease_ms;
    int64_t deadline_ms; /* a purchase that has not begun by then is LOCK_TIMEOUT */
    bool lab;            /* flawed guards may run */
    const char *dir;     /* borrowed; files of the guard "file"; NULL: it cannot run */
    int64_t pause_ms;    /* fault injection: a pause before the write; 0: none */
    int64_t pause_every; /* 1 in this many sells pauses; 0: as 1 */
    /* One batch ended; called by the leader with no lock held; must not block. May be NULL. */
    void (*on_batch)(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns, void *arg);
    void *on_batch_arg;
};

/* NULL when out of memory. */
struct group_commit *group_commit_new(const struct group_commit_options *options);
/* No purchase may be under way any more. NULL is allowed. */
void group_commit_free(struct group_commit *self);

/*
 * Buy one unit of a sale. purchase->done() is called once, with the outcome set: by this thread
 * before the call returns, or later by the leader of its batch.
 *
 * Shape    sale_id, purchase->buyer and purchase->key are valid (sale.h).
 * Owns     the purchase and what it borrows must live until done() is called.
 * Units    done() comes within deadline_ms and what the last round trip may take (the client's
 *          command_ms), and 300 ms more when its answer was lost and has to be resolved. In a sharded sale
 *          the last round trip is the last check of all segments, one round trip each.
 * Threads  any number at once. done() must not block.
 */
void group_commit_submit(struct group_commit *self, const char *sale_id, struct purchase *purchase);

/* The blocking form: it returns when the outcome is set. It uses done and done_arg itself; returns the guard's name. */
const char *group_commit_sell(struct group_commit *self, const char *sale_id,
                              struct purchase *purchase);

/*
 * Sell a sale by another guard from now on, here and until this process ends; Redis is not told.
 * Other instances are not affected: each of them sells it by its own guard.
 *
 * Shape    the sale exists; the guard may run here (--lab, its servers).
 * Returns  false: out of memory. After true, no run of the previous guard is under way.
 * Units    waits for the runs under way: as long as a sell may take.
 * Threads  any, also while purchases are under way: those that wait are sold by the new guard.
 */
bool group_commit_switch_guard(struct group_commit *self, const char *sale_id,
                               const struct guard *guard);

/* The guard by which this instance sells a sale; NULL: it has had no purchase yet. */
const struct guard *group_commit_guard(struct group_commit *self, const char *sale_id);

/* Purchases waiting or running now. */
unsigned group_commit_depth(const struct group_commit *self);

#endif
