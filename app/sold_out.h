/*
 * After the sell-out: most of a flash sale's traffic comes too late. While no unit is left, the order
 * book cannot change until a restock raises the epoch, so it is read once and then winners and
 * latecomers are answered from memory.
 */
#ifndef SECKILL_SOLD_OUT_H
#define SECKILL_SOLD_OUT_H

#include "store.h"

struct sold_out;      /* opaque: all sales of this process */
struct sold_out_sale; /* opaque: one of them; lives as long as sold_out */

/* Starts a thread. The store is borrowed. NULL when out of memory. */
struct sold_out *sold_out_new(struct store *store);
/* Nobody may ask any more. NULL is fine. */
void sold_out_free(struct sold_out *self);

/* A sale to be watched; NULL when out of memory (which answers nothing from memory). */
struct sold_out_sale *sold_out_watch(struct sold_out *self, const char *sale_id);

/* Redis said that no unit is left. The order book is then read in the background. */
void sold_out_note(struct sold_out_sale *sale);

/*
 * Answer a purchase from memory: ALREADY_ORDERED, REPLAYED or SOLD_OUT, with the order's id.
 *
 * Returns  false when memory does not know, or was not compared with Redis within the last 100 ms:
 *          ask Redis then.
 * Threads  any number.
 */
bool sold_out_answer(struct sold_out_sale *sale, struct purchase *purchase);

#endif
