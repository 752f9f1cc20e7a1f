/*
 * The lanes of group commit: what this process knows of each sale, or segment of one, that somebody has bought at. They
 * only become more; a sale that was made anew under its id is looked at again.
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
    atomic_bool is_gone;     /* there is no such sale any more, or another one of its id */
    atomic_bool is_switched; /* sold by another guard than its own */
    pthread_rwlock_t runs;   /* shared by runs of the guard; held alone while it is switched */
    _Atomic(const struct guard *) guard;
    _Atomic(struct sold_out_sale *) sold_out; /* borrowed; NULL: memory answers nothing */
    pthread_mutex_t mutex;                    /* guards the queue below */
    struct batch *head;                       /* waiting batches, oldest first */
    struct batch *tail;
    bool is_running;        /* some batch is being served, or has been given the turn */
    struct purchase **list; /* owned, room for a batch: of whoever has the turn */
    atomic_uint depth;      /* purchases inside */
    _Atomic int64_t ran_ns; /* what a batch takes of late; 0: none has run */
};

struct lanes {
    const struct group_commit_options *options; /* borrowed */
    struct known all;
    pthread_mutex_t mutex;      /* guards additions */
    struct sold_out *sold_out;  /* owned */
    struct segments **segments; /* owned, all there were; under the mutex */
    size_t segments_count;
};

/* False: out of memory; then, too, lanes_free(). */
bool lanes_init(struct lanes *self, const struct group_commit_options *options);
/* Nobody buys any more. */
void lanes_free(struct lanes *self);

/* The lane of a sale; NULL with the outcome that says why not. */
struct lane *lanes_open(struct lanes *self, const char *sale_id, outcome *out_outcome);
/* The lane of a buyer's segment; of a sale in one piece, its own. NULL: no memory. */
struct lane *lanes_open_home(struct lanes *self, struct lane *whole, const char *buyer);
/* The lane of a sale, made now unless another thread was faster. sale NULL: it is looked at when somebody buys.
   NULL: no memory. */
struct lane *lanes_add(struct lanes *self, const char *sale_id, const struct guard *guard,
                       const struct sale *sale);

#endif
