/*
 * Reading the ledgers of sales, for event streams (broadcast.h, streams.c).
 */
#ifndef SECKILL_STORE_LEDGER_H
#define SECKILL_STORE_LEDGER_H

#include "sale/ledger.h"
#include "store.h"

enum {
    LEDGER_PAGE = 128, /* entries read at once from one ledger */
    LEDGER_PAGES = 32, /* ledgers read at once */
};

struct ledger_page {
    const char *sale_id;    /* in: borrowed */
    struct ledger_id after; /* in: the last entry known; later ones are wanted */
    size_t count;           /* out; LEDGER_PAGE: there may be more */
    struct ledger_entry entries[LEDGER_PAGE];
};

/* The sale, its orders and the end of its ledger, all of one moment; of a sale in segments, of several, and in place of
   that end, when that was. */
store_status store_load_moment(struct store *store, const char *id, struct sale_moment *out,
                               struct lk_error *err);

/* Of sales in one piece, or segments, in one round trip, each of a moment of its own. STORE_NOT_FOUND, or FAILED: one of
   them is not there, or makes no sense; its id is "" then, and the others are read. */
store_status store_load_moments(struct store *store, const struct sale_id *ids, size_t count,
                                struct sale_moment *out, struct lk_error *err);

/* One entry by its id. STORE_NOT_FOUND: the ledger has none of this id (any more). */
store_status store_find_entry(struct store *store, const char *id, struct ledger_id which,
                              struct ledger_entry *out, struct lk_error *err);

/*
 * Read the next entries of up to LEDGER_PAGES ledgers, in one round trip that does not wait for new ones.
 *
 * Returns  on STORE_OK also Redis' clock; else nothing was written.
 */
store_status store_read_ledgers(struct store *store, struct ledger_page *pages, size_t count,
                                int64_t *out_now_ms, struct lk_error *err);

#endif
