/*
 * After the sell-out: most of a flash sale's traffic comes too late. While no unit is left, the order
 * book cannot change until units come back and raise the epoch, so it is read once and then winners and
 * latecomers are answered from memory. What changes it otherwise is a failover, which may take back
 * the last orders: a book belongs to the last entry of the ledger as well.
 *
 * Nobody who has got a unit that came back hears "sold out" from another instance's book:
 *   - a book counts for SALE_BELIEVED_MS after the comparison was sent, so one that was compared before
 *     the units came is over long before they are for sale, SALE_COOL_MS after they came;
 *   - while units cool they are in the stock, so no book is made or prolonged (without this, one made
 *     meanwhile, in the new epoch, would lie: lockkit/model/restock.pml).
 * Redis' clock may run otherwise than ours by half, or be set forward by SALE_COOL_MS less
 * SALE_BELIEVED_MS while they cool; by more, and this promise (no other) is off for that moment. Set back,
 * it keeps units that have cooled from being sold for SALE_COOL_MAX_MS more, at most.
 */
#ifndef SECKILL_SOLD_OUT_H
#define SECKILL_SOLD_OUT_H

#include "store/store.h"

struct sold_out;      /* opaque: all sales of this process */
struct sold_out_sale; /* opaque: one of them; lives as long as sold_out */

/* Starts a thread. Both are borrowed; deployment may be NULL. NULL when out of memory. */
struct sold_out *sold_out_new(struct store *store, const struct deployment *deployment);
/* Nobody may ask any more. NULL is fine. */
void sold_out_free(struct sold_out *self);

/* A sale to be watched; NULL when out of memory (which answers nothing from memory). */
struct sold_out_sale *sold_out_register(struct sold_out *self, const char *sale_id);

/* Redis said that no unit is left. The order book is then read in the background. */
void sold_out_mark(struct sold_out_sale *sale);

/* A unit was sold all the same: what memory says is wrong, whatever it was read from. */
void sold_out_invalidate(struct sold_out_sale *sale);

/*
 * Answer a purchase from memory: ALREADY_ORDERED, REPLAYED or SOLD_OUT, with the order's id.
 *
 * Returns  false when memory does not know, or was not compared with Redis within SALE_BELIEVED_MS and
 *          since the last change of its servers: ask Redis then. Also for a replay where replicas are waited for: it is an accepted order, and
 *          memory does not know who has it.
 * Threads  any number.
 */
bool sold_out_answer(struct sold_out_sale *sale, struct purchase *purchase);

#endif
