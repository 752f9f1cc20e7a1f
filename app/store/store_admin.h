/*
 * Operators' steps on an existing sale: end, pause, resume, patch, restock, remove. Each is one atomic script that
 * also appends to the ledger.
 */
#ifndef SECKILL_STORE_ADMIN_H
#define SECKILL_STORE_ADMIN_H

#include "base/list.h"
#include "sale/sale_audit.h"
#include "store.h"

/* X(value, what the script answers, name in logs and metrics) */
#define SALE_STEP_LIST(X)                                                                          \
    X(SALE_STEP_DONE, 1, "done")                                                                   \
    X(SALE_STEP_REPEATED, 2, "repeated")              /* done before, under the same key */        \
    X(SALE_STEP_HAS_ENDED, -1, "has-ended")           /* the state, or the clock, says so */       \
    X(SALE_STEP_NOT_PAUSED, -2, "not-paused")         /* so it cannot be resumed */                \
    X(SALE_STEP_HAS_STARTED, -3, "has-started")       /* too late for another start */             \
    X(SALE_STEP_ENDS_IN_PAST, -4, "ends-in-past")     /* the new end is not in the future */       \
    X(SALE_STEP_ENDS_TOO_EARLY, -5, "ends-too-early") /* the end does not come after the start */  \
    X(SALE_STEP_KEY_REUSED, -6, "key-reused")         /* the key stands for other units */         \
    X(SALE_STEP_TOO_MANY, -7, "too-many-units")       /* more than SALE_STOCK_MAX would be left */ \
    X(SALE_STEP_NOT_OVER, -8, "not-over")             /* so it cannot be removed; nor with: */     \
    X(SALE_STEP_IS_HELD, -9, "orders-held")                                                        \
    X(SALE_STEP_OWES, -10, "money-owed")                                                           \
    X(SALE_STEP_NOT_BOOKED, -11, "not-booked")      /* the book has not got all of it */           \
    X(SALE_STEP_NO_WAITING, -12, "no-waiting-room") /* so nobody is let in */

typedef enum sale_step { SALE_STEP_LIST(LIST_VALUE) SALE_STEP_COUNT } sale_step;

const char *store_step_name(sale_step step);

/* What became of a step, and of the sale. */
struct sale_step_end {
    sale_step step;
    int64_t epoch;       /* of the sale, as the step left it */
    int64_t sellable_ms; /* of a restock that was done: from when its units are for sale; else 0 */
};

/* What to change; a NULL or negative member stays as it is. */
struct sale_patch {
    const char *title; /* borrowed; 1 to SALE_TITLE_MAX bytes */
    int64_t starts_ms;
    int64_t ends_ms; /* 0: open end */
    int64_t admit;   /* places a second, of its waiting room; 0: as it is */
};

struct sale_restock {
    int64_t units;
    const char *key; /* borrowed; a valid idempotency key */
};

/*
 * One step each.
 *
 * Shape    patch: changes something.
 * Returns  STORE_OK  and *out_end. Only with DONE was anything written; ending an ended sale, or
 *                    pausing a paused one, is DONE too, and writes nothing.
 *          STORE_NOT_FOUND, STORE_UNAVAILABLE, STORE_FAILED: nothing was.
 *          STORE_UNKNOWN  sent, no answer. Each may just be repeated.
 */
store_status store_end_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                            struct lk_error *err);
store_status store_pause_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                              struct lk_error *err);
store_status store_resume_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                               struct lk_error *err);
store_status store_patch_sale(struct store *store, const char *id, const struct sale_patch *patch,
                              struct sale_step_end *out_end, struct lk_error *err);
store_status store_restock_sale(struct store *store, const char *id,
                                const struct sale_restock *restock, struct sale_step_end *out_end,
                                struct lk_error *err);

/*
 * Remove a sale that has ended, whose orders are final and whose refunds are done: after the begin the sale does not
 * change any more, after the end it is gone. If the caller is killed in between, it begins again.
 */
store_status store_begin_removal(struct store *store, const char *id, struct sale_step_end *out_end,
                                 struct lk_error *err);
store_status store_end_removal(struct store *store, const char *id, struct sale_step_end *out_end,
                               struct lk_error *err);

/*
 * Export a sale whose removal has begun, as JSON lines: of each of its keys sale, stock, orders, refunds and ledger (of
 * each segment) {"key", "value"} of a string, {"key", "field", "value"} of a hash, where one may come twice,
 * {"key", "entry", "words": [...]} of a stream; and at the end {"archive": id, "last": the last entry}, which no other
 * sale of that id has.
 *
 * Returns  FAILED also when `each` has returned false.
 */
typedef bool store_each_line(const char *line, size_t len, void *arg);
store_status store_archive_sale(struct store *store, const char *id, store_each_line *each,
                                void *arg, struct lk_error *err);

/* Delete the rest of a sharded sale whose removal was interrupted, which cannot be loaded. NOT_FOUND: there is none. */
store_status store_clear_segments(struct store *store, const char *id,
                                  struct sale_step_end *out_end, struct lk_error *err);

/*
 * The service's own audit of a sale (sale_audit.h). Purchases may go on meanwhile.
 *
 * Returns  STORE_OK, whatever the verdict; STORE_NOT_FOUND, STORE_UNAVAILABLE, STORE_UNKNOWN,
 *          STORE_FAILED: it could not be read.
 */
store_status store_audit_sale(struct store *store, const char *id, struct sale_audit *out,
                              struct lk_error *err);

#endif
