/*
 * The steps of an order that is held: payment, cancellation, expiry. Each is one atomic script that checks the order's
 * state, so a step that comes second changes nothing.
 *
 * Layout (KEY is seckill:{ID}:...; the rest: store.h)
 *   :orders   hash    an order's STATE is "held", "paid", "cancelled" or "expired"
 *   :due      zset    buyer -> ms of Redis' clock until which the order is held; only while it is
 *   :events   hash    a provider's event -> RESULT and order; "payment:PAYMENT" -> the order it was for
 *   :refunds  hash    payment -> "ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON:STATE:MS", STATE owed|sent|done;
 *                     "order:ORDER_ID" -> the last payment that is owed back for it
 *   :ledger   stream  event paid, payment-failed: one "order" = "ORDER_ID:BUYER:PAYMENT" each; cancelled,
 *                     expired: "ORDER_ID:BUYER"; refund-owed|sent|done: "refund" =
 *                     "PAYMENT:ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON"
 *   :expirer-fence    the highest fencing token that an expirer has shown (expirer.h)
 */
#ifndef SECKILL_STORE_PAY_H
#define SECKILL_STORE_PAY_H

#include "base/list.h"
#include "store.h"

enum { PAYMENT_ID_MAX = 64, EVENTS_AT_ONCE_MAX = 128, EXPIRE_AT_ONCE_MAX = 256 };

/* X(value, the script's letter, name in answers and metrics) */
#define PAY_RESULT_LIST(X)                                                                         \
    X(PAY_PAID, 'P', "paid")                                                                       \
    X(PAY_REPEATED, 'p', "repeated") /* this event, or this payment, before */                     \
    X(PAY_LATE, 'L', "late")         /* cancelled or expired: the money is owed back; likewise: */ \
    X(PAY_MISMATCH, 'M', "mismatch") /* another amount or currency */                              \
    X(PAY_DOUBLE, 'D', "double")     /* paid by another payment */                                 \
    X(PAY_NO_ORDER, 'U', "unknown")                                                                \
    X(PAY_NOTED, 'F', "noted") /* of a payment that has begun or failed */

typedef enum pay_result { PAY_RESULT_LIST(LIST_VALUE) PAY_RESULT_COUNT } pay_result;

const char *store_pay_result_name(pay_result result);

/* A provider's event about a payment. Texts are borrowed: [A-Za-z0-9_.-]{1,64} each. */
struct payment_event {
    const char *id;
    const char *kind; /* "succeeded", "failed", "started" */
    const char *buyer;
    const char *order;
    const char *payment;
    const char *amount; /* digits */
    const char *currency;
    pay_result result; /* out */
};

/*
 * Shape    1 to EVENTS_AT_ONCE_MAX events of one sale.
 * Returns  STORE_OK         each has its result
 *          STORE_NOT_FOUND  no such sale, or nothing of it is paid for later; nothing was written,
 *                           nor with UNAVAILABLE, FAILED
 *          STORE_UNKNOWN    repeat it: what was written answers PAY_REPEATED
 */
store_status store_pay_events(struct store *store, const char *id, struct payment_event *events,
                              size_t count, struct lk_error *err);

/* X(value, the script's letter) */
#define CANCEL_END_LIST(X)                                                                         \
    X(CANCEL_DONE, 'C')                                                                            \
    X(CANCEL_BEFORE, 'c')                                                                          \
    X(CANCEL_IS_PAID, 'P')                                                                         \
    X(CANCEL_HAS_EXPIRED, 'X')                                                                     \
    X(CANCEL_NO_ORDER, 'U')

typedef enum cancel_end { CANCEL_END_LIST(LIST_VALUE) CANCEL_END_COUNT } cancel_end;

/*
 * Cancel a buyer's order, this one and no other. When the answer was lost it is settled first: what is
 * said here is final.
 *
 * Returns  STORE_OK and *out_end; UNAVAILABLE, FAILED: nothing was done; UNKNOWN: not even that is known.
 */
store_status store_cancel_order(struct store *store, const char *id, const struct order *order,
                                cancel_end *out_end, struct lk_error *err);

struct expiry {
    unsigned most;   /* in: orders in one step, up to EXPIRE_AT_ONCE_MAX */
    int64_t expired; /* orders, now */
    int64_t next_ms; /* until the next hold ends; -1: none is held */
    int64_t left;
    int64_t stale; /* in :due, and not held: must be 0 */
};

/* Expire the orders that are due. fence: the leader's fencing token; 0: the caller is not the leader.
   STORE_FAILED with STALE in err: there is a newer leader. The step can be repeated safely. */
store_status store_expire_orders(struct store *store, const char *id, uint64_t fence,
                                 struct expiry *out, struct lk_error *err);

/* Money that is owed back for an order; of several payments the last. */
struct order_refund {
    char payment[PAYMENT_ID_MAX + 1];
    char state[8]; /* "owed", "sent", "done"; "": none is */
    int64_t amount;
    char currency[PAYMENT_ID_MAX + 1]; /* a mismatch may be of any word */
};

/* How an order stands. */
struct order_standing {
    struct order order;
    int64_t pay_by_ms; /* while it is held, if it is paid for later; else 0 */
    int64_t now_ms;    /* by the same clock */
    struct order_refund refund;
};
store_status store_order_standing(struct store *store, const char *id, const char *buyer,
                                  struct order_standing *out, struct lk_error *err);

struct refund_note {
    const char *payment; /* borrowed */
    const char *state;   /* "sent" or "done" */
    int done;            /* out: 1 now, 2 before, 0 nothing is owed for it, -1 it is done */
};
store_status store_refund(struct store *store, const char *id, struct refund_note *note,
                          struct lk_error *err);
/* Every refund, in no order: its payment, and its row. Stops early when `each` returns false. */
typedef bool store_each_refund(const char *payment, const char *row, void *arg);
store_status store_scan_refunds(struct store *store, const char *id, store_each_refund *each,
                                void *arg, struct lk_error *err);

#endif
