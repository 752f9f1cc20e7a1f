/*
 * The negative cache: most requests of a flash sale come after the sell-out. While no unit is left, the orders
 * cannot change until a restock raises the epoch, so they are read once (the "book"), and then buyers with and
 * without an order are answered from memory. Only a failover can change them otherwise, by losing the last
 * orders: so a book also belongs to the ledger's last entry.
 *
 * A restock does not make the cache lie: no buyer is told "sold out" by one instance after another one sold him a unit.
 *   - A book is valid for SALE_BELIEVED_MS after its last comparison with Redis was sent. So a book that was
 *     compared before the restock has expired long before the new units are for sale, which is SALE_COOL_MS later.
 *   - While returned units cool they are in the stock, so no book is made or prolonged (without this, one made
 *     meanwhile, in the new epoch, would be stale: lockkit/model/restock.pml).
 * The rate of Redis' clock may differ from ours by half, and the clock may be set forward by SALE_COOL_MS less
 * SALE_BELIEVED_MS while units cool; beyond that, this promise (no other) does not hold at that moment. A clock that
 * is set back delays the sale of cooled units by at most SALE_COOL_MAX_MS.
 */
#ifndef SECKILL_SOLD_OUT_H
#define SECKILL_SOLD_OUT_H

#include "store/store.h"

struct sold_out;      /* opaque: all sales of this process */
struct sold_out_sale; /* opaque: one of them; lives as long as sold_out */

/* Start the thread. Both are borrowed; deployment may be NULL. NULL when out of memory. */
struct sold_out *sold_out_new(struct store *store, const struct deployment *deployment);
/* No thread may ask any more. NULL is allowed. */
void sold_out_free(struct sold_out *self);

/* Add a sale; NULL when out of memory: then nothing is answered from memory. */
struct sold_out_sale *sold_out_register(struct sold_out *self, const char *sale_id);

/* Redis has answered that no unit is left: the thread reads the orders in the background. */
void sold_out_mark(struct sold_out_sale *sale);

/* A unit was sold after all: the cached book is invalid, from wherever it was read. */
void sold_out_invalidate(struct sold_out_sale *sale);

/*
 * Answer a purchase from memory: ALREADY_ORDERED, REPLAYED or SOLD_OUT, with the order's id.
 *
 * Returns  false when there is no valid book: none was read, or it was not compared with Redis within
 *          SALE_BELIEVED_MS and since the last change of its servers. Also for a replay where orders wait for
 *          replicas: it is an accepted order, and the book does not know which servers have it.
 * Threads  any number.
 */
bool sold_out_answer(struct sold_out_sale *sale, struct purchase *purchase);

#endif
