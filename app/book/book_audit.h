/*
 * Do Redis and the book say the same of a sale? Both ways, order by order and entry by entry, up to where Redis' ledger
 * ends when it is looked at: so also while it sells. Trusts nothing that the book derives.
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

/* False: err says why it could not be looked at, and nothing is proved. */
bool book_audit(const struct book_audit *audit, struct lk_error *err);

#endif
