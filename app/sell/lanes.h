/*
 * The lanes of group commit: this process's state of each sale, or segment, that has had a purchase. Lanes are only
 * ever added; when a sale was removed and created again under the same id, its lane is loaded again.
 */
#ifndef SECKILL_LANES_H
#define SECKILL_LANES_H

#include <pthread.h>

#include "group_commit.h"
#include "sale/known.h"
#include "segments.h"
#include "sold_out.h"

struct batch; /* group_commit.c's */

struct lane {
    struct known_sale base;
    struct lane *whole;                  /* of a segment: the sale's lane; else itself */
    unsigned number;                     /* of a segment */
    _Atomic(struct segments *) segments; /* borrowed; NULL: it is in one piece */
    atomic_bool is_gone;                 /* the sale was removed, and perhaps created again */
    atomic_bool is_switched;             /* sold by another guard than its own */
    pthread_rwlock_t runs; /* shared by runs of the guard; held alone while it is switched */
    _Atomic(const struct guard *) guard;
    _Atomic(struct sold_out_sale *) sold_out; /* borrowed; NULL: nothing is answered from memory */
    pthread_mutex_t mutex;                    /* guards the queue below */
    struct batch *head;                       /* waiting batches, oldest first */
    struct batch *tail;
    bool is_running;        /* some batch is being served, or has been given the turn */
    struct purchase **list; /* owned, room for a batch; used by the thread that has the turn */
    atomic_uint depth;      /* purchases waiting or running */
    _Atomic int64_t ran_ns; /* moving average of a batch's duration; 0: none has run */
};

struct lanes {
    const struct group_commit_options *options; /* borrowed */
    struct known all;
    pthread_mutex_t mutex;      /* guards additions */
    struct sold_out *sold_out;  /* owned */
    struct segments **segments; /* owned, also those replaced; under the mutex */
    size_t segments_count;
};

/* False: out of memory; lanes_free() must be called then, too. */
bool lanes_init(struct lanes *self, const struct group_commit_options *options);
/* No purchase may be under way any more. */
void lanes_free(struct lanes *self);

/* The lane of a sale; NULL, and *out_outcome says why. */
struct lane *lanes_open(struct lanes *self, const char *sale_id, outcome *out_outcome);
/* The lane of a buyer's home segment; of an unsharded sale, its own lane. NULL: no memory. */
struct lane *lanes_open_home(struct lanes *self, struct lane *whole, const char *buyer);
/* The lane of a sale, added unless another thread was faster. sale NULL: it is loaded at the first purchase.
   NULL: no memory. */
struct lane *lanes_add(struct lanes *self, const char *sale_id, const struct guard *guard,
                       const struct sale *sale);

#endif
