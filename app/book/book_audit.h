/*
 * Compare a sale in Redis with the book, in both directions, order by order and entry by entry, up to the end of the
 * ledger at that moment: so it works during sales, too. It does not rely on values that the book has derived.
 */
#ifndef SECKILL_BOOK_AUDIT_H
#define SECKILL_BOOK_AUDIT_H

#include "lockkit/client.h"

#include "store/store.h"

struct book_audit {
    lk_client *database; /* borrowed, as all */
    struct store *store;
    const char *sale_id;
    /* One check has ended: NULL: it passed; else what was found first. */
    void (*say)(const char *check, const char *found, void *arg);
    void *arg;
};

/* False: err says why the comparison failed; nothing is proved. */
bool book_audit(const struct book_audit *audit, struct lk_error *err);

#endif
