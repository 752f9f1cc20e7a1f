/*
 * What unit tests of the selling core share: no server behind it (guards_find, store_load_sale and
 * order_node_number are those here, by the linker's --wrap), and buyers of whom it is known when they wait.
 */
#ifndef SECKILL_SALE_FAKES_H
#define SECKILL_SALE_FAKES_H

#include <pthread.h>
#include <stdatomic.h>

#include "guards/guards.h"
#include "sell/group_commit.h"

extern struct sale_fakes {
    const struct guard *guards; /* all there are */
    size_t guard_count;
    const char *far_guard; /* of the sale "far"; NULL: as others */
    const char *guard;     /* of other sales; NULL: the first there is */
    atomic_int node;       /* the number for order ids */
    void (*on_node)(void); /* somebody asks for it; NULL: nothing */
    void (*on_load)(void); /* likewise, for a sale */
    atomic_int answer;     /* store_status of a read */
    atomic_uint loads;
} sale_fakes;

/* With these guards, else as new. */
void sale_fakes_reset(const struct guard *guards, size_t count);

struct sale_buyer {
    pthread_t thread;
    atomic_int thread_id; /* 0: not running yet */
    atomic_bool is_back;
    struct group_commit *group;
    const char *sale_id;
    char name[16]; /* "b7" */
    struct purchase purchase;
    const char *guard;
};

/* Buy now, in this thread; the outcome is in the purchase. */
void sale_buyer_buys(struct sale_buyer *buyer, struct group_commit *group, const char *sale,
                     int number);
/* In one of its own. Come back when the buyer waits inside, or is back; nobody else may come or go meanwhile. */
void sale_buyer_enters(struct sale_buyer *buyer, struct group_commit *group, const char *sale,
                       int number);
void sale_buyer_leaves(struct sale_buyer *buyer);

/* Come back when that thread sleeps: twice, so not just on its way; or is back (NULL: nobody says). */
void sale_await_sleep(const atomic_int *thread_id, const atomic_bool *is_back);

#endif
