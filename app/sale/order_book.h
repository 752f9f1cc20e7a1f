/*
 * All orders of one sale in memory: buyer -> order. Built once, then only read.
 */
#ifndef SECKILL_ORDER_BOOK_H
#define SECKILL_ORDER_BOOK_H

#include "purchase.h"

struct order_book; /* opaque */

/* An empty book; NULL when out of memory. */
struct order_book *order_book_new(void);
void order_book_free(struct order_book *book);

/* Add an order; it is ignored if the buyer has one already. False when out of memory. One thread. */
bool order_book_add(struct order_book *book, const struct order *order);

size_t order_book_count(const struct order_book *book);

/*
 * Find a buyer's order; false when there is none. *out_id and *out_key are borrowed from the book.
 *
 * Threads  any number, once no thread adds orders any more.
 */
bool order_book_find(const struct order_book *book, const char *buyer, const char **out_id,
                     const char **out_key);

#endif
