/*
 * A sale that Redis has forgotten, all of it or its last orders, made again from the book.
 *
 * While that goes on the sale is paused and has no stock; each step is atomic and begins where the ledger ends, so it
 * may be killed anywhere and begun again, by several at once. What Redis has sold beside the book since it forgot is
 * kept in the book first (table fork) and done again behind it, as far as units last and each buyer has one order;
 * what cannot stand is a row of table conflict, and unless it takes nothing from anybody (same-buyer: the booked order
 * is the buyer's) the sale stays paused. Then an operator decides: more units and once more, or resume.
 */
#ifndef SECKILL_BOOK_REBUILD_H
#define SECKILL_BOOK_REBUILD_H

#include "book_database.h"
#include "store/store_book.h"

struct book_rebuilt {
    bool was_whole; /* nothing was to do */
    char state[16]; /* of the sale, now */
    long conflicts; /* that are not settled */
};

/* Whether the entry at the book's position, the first that was read, is still that one: Redis has not forgotten. */
bool book_rebuild_is_whole(const struct book_position *position, const struct store_entries *read);

/* The last entry of Redis' ledger; 0-0: there is none. */
bool book_rebuild_last(struct store *store, const char *sale_id, struct book_place *out,
                       struct lk_error *err);

/*
 * Rebuild a sale in Redis from the book, if Redis lost any of its entries.
 *
 * Returns  false: err says why; it has to be tried again.
 * Threads  any, also of several processes.
 */
bool book_rebuild(lk_client *database, struct store *store, const char *sale_id,
                  struct book_rebuilt *out, struct lk_error *err);

#endif
