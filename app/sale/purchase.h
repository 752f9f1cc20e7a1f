/*
 * A buyer's request for one unit on its way through group commit and guard, and its outcome.
 */
#ifndef SECKILL_PURCHASE_H
#define SECKILL_PURCHASE_H

#include "base/list.h"
#include "sale.h"

/* X(value, name in metrics and problems, did Redis surely not execute it?) */
#define OUTCOME_LIST(X)                                                                            \
    X(OUTCOME_CREATED, "created")                 /* order_id is the new order */                  \
    X(OUTCOME_REPLAYED, "replayed")               /* same idempotency key: order_id again */       \
    X(OUTCOME_ALREADY_ORDERED, "already-ordered") /* order_id is the order held */                 \
    X(OUTCOME_SOLD_OUT, "sold-out") /* retry_ms: a unit may come back; 0: none is held */          \
    X(OUTCOME_WAS_CANCELLED, "order-cancelled") /* order_id was the buyer's, and was let go */     \
    X(OUTCOME_HAS_EXPIRED, "order-expired")     /* order_id was not paid in time */                \
    X(OUTCOME_NOT_STARTED, "sale-not-started")  /* retry_ms until it starts */                     \
    X(OUTCOME_ENDED, "sale-ended")              /* */                                              \
    X(OUTCOME_PAUSED, "sale-paused")            /* */                                              \
    X(OUTCOME_NO_SALE, "no-such-sale")          /* */                                              \
    X(OUTCOME_LOCK_TIMEOUT, "lock-timeout")     /* surely not executed */                          \
    X(OUTCOME_OVERLOADED, "overloaded")         /* queue full: surely not executed */              \
    X(OUTCOME_STORE_UNAVAILABLE, "store-unavailable") /* surely not executed */                    \
    X(OUTCOME_NO_GUARD, "guard-unavailable")          /* not to be run here: not executed */       \
    X(OUTCOME_UNKNOWN, "outcome-unknown")             /* sent, no answer within the deadline */    \
    X(OUTCOME_UNSYNCED, "unsynced") /* decided, but too few replicas have it: it may be lost */

typedef enum outcome { OUTCOME_LIST(LIST_VALUE) OUTCOME_COUNT } outcome;

const char *sale_outcome_name(enum outcome which);

struct purchase {
    const char *buyer;           /* borrowed, validated */
    const char *key;             /* borrowed, validated idempotency key; "" for none */
    char order_id[ORDER_ID_MAX]; /* in: the id to use; out: the id of the order that exists */
    outcome outcome;             /* out */
    int64_t retry_ms;            /* out: NOT_STARTED: until the start; SOLD_OUT: see there */
    int64_t pay_by_ms; /* out: CREATED: it is held until then, by Redis' clock; 0: it is final */
    const char *guard; /* out: of the sale; "" while the sale is not known; static */
    /* Called once, when the outcome is set; the purchase then belongs to the caller again. Must not block. */
    void (*done)(struct purchase *purchase, void *arg);
    void *done_arg;
    /* Group commit's own. */
    struct purchase *next;
    int64_t deadline_ns;
};

/* What was bought. */
struct order {
    char id[ORDER_ID_MAX];
    char buyer[BUYER_ID_MAX + 1];
    char key[IDEMPOTENCY_KEY_MAX + 1]; /* "" for none */
    char state[16];                    /* "held", "paid", "cancelled", "expired" */
};

#endif
