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
    struct expirer *expirer;             /* borrowed; NULL: nobody ends what is not paid in time */
    struct book *book;                   /* borrowed; NULL: none is kept, and holds sales up */
    unsigned batch;     /* purchases per batch; 1: every purchase takes the lock itself */
    unsigned queue_max; /* purchases waiting or running per sale; more are OVERLOADED */
    int64_t queue_ms;   /* one that would wait longer for its turn is too; 0: however long */
    int64_t lease_ms;
    int64_t deadline_ms; /* a purchase that has not begun by then is LOCK_TIMEOUT */
    bool lab;            /* flawed guards may run */
    const char *dir;     /* borrowed; files of the guard "file"; NULL: it cannot run */
    int64_t pause_ms;    /* a fault: sells pause so long before they write; 0: none does */
    int64_t pause_every; /* of so many one does; 0: as 1 */
    /* One batch ended; called by the leader with no lock held; must not block. May be NULL. */
    void (*on_batch)(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns, void *arg);
    void *on_batch_arg;
};

/* NULL when out of memory. */
struct group_commit *group_commit_new(const struct group_commit_options *options);
/* No purchase may be under way any more. NULL is fine. */
void group_commit_free(struct group_commit *self);

/*
 * Buy one unit of a sale. purchase->done() is called once, with the outcome set: by this thread
 * before the call returns, or later by the leader of its batch.
 *
 * Shape    sale_id, purchase->buyer and purchase->key are valid (sale.h).
 * Owns     the purchase and what it borrows must live until done() is called.
 * Units    done() comes within deadline_ms and what the last round trip may take (the client's
 *          command_ms), and 300 ms more when its answer was lost and has to be settled. Of a sale in
 *          segments it is the last look at all of them, one round trip each.
 * Threads  any number at once. done() must not block.
 */
void group_commit_submit(struct group_commit *self, const char *sale_id, struct purchase *purchase);

/* The same, coming back with the outcome set. Uses done and done_arg itself; returns guard. */
const char *group_commit_sell(struct group_commit *self, const char *sale_id,
                              struct purchase *purchase);

/*
 * Sell a sale by another guard from now on, here and until this process ends; Redis is not told.
 * Nobody else's purchases are affected: another instance sells it by its own guard.
 *
 * Shape    the sale exists; the guard may run here (--lab, its servers).
 * Returns  false: out of memory. With true, no run of the guard before is under way any more.
 * Units    waits for what runs: as long as a sell may take.
 * Threads  any, also while purchases are under way: those that wait are sold by the new guard.
 */
bool group_commit_switch_guard(struct group_commit *self, const char *sale_id,
                               const struct guard *guard);

/* The guard by which a sale is sold here; NULL: nobody has asked for it yet. */
const struct guard *group_commit_guard(struct group_commit *self, const char *sale_id);

/* Purchases waiting or running now. */
unsigned group_commit_depth(const struct group_commit *self);

#endif
