/*
 * FLAWED on purpose, and only for the lab: expiry and payment without an atomic check of the order's state (several
 * commands where store_pay.c has one script), and moves of units between segments that are not safe when two
 * instances move at once.
 */
#ifndef SECKILL_STORE_FLAW_H
#define SECKILL_STORE_FLAW_H

#include "store_pay.h"
#include "store_segments.h"

/* X(value, name): as it should be; a payment looks in one step, and writes in the next; each instance reads what
   is due, and gives it back in the next step; what is due is told by the instance's clock. Of segments: units are put
   in where they are wanted, and taken out later. */
#define STORE_FLAW_LIST(X)                                                                         \
    X(FLAW_NONE, "none")                                                                           \
    X(FLAW_LOOK_THEN_PAY, "look-then-pay")                                                         \
    X(FLAW_OWN_TIMERS, "own-timers")                                                               \
    X(FLAW_OWN_CLOCK, "own-clock")                                                                 \
    X(FLAW_PUT_IN_FIRST, "put-in-first")

typedef enum store_flaw {
    STORE_FLAW_LIST(LIST_VALUE) STORE_FLAW_COUNT,
    STORE_FLAW_OF_SEGMENTS = FLAW_PUT_IN_FIRST, /* and those behind it */
} store_flaw;

/* STORE_FLAW_COUNT: no such. */
store_flaw store_flaw_find(const char *name);

/* From now on what store_pay.h promises is broken in this way, with such a pause before each write; the
   instance's clock is as much ahead. */
void store_flaw_set(struct store *store, store_flaw flaw, int64_t pause_ms);

/* For segments.c. */
bool store_flaw_is(const struct store *store, store_flaw flaw);
/* So many units arrive in the target, and those that there still are then leave the source. */
store_status store_flaw_take_units(struct store *store, const char *source, const char *target,
                                   int64_t units, struct lk_error *err);

/* For store_pay.c. One event; a payment for an order that is not held is dropped. */
store_status store_flaw_pay(struct store *store, const char *id, struct payment_event *event,
                            struct lk_error *err);
/* One order, whatever its state is at the time of the write. */
store_status store_flaw_expire(struct store *store, const char *id, struct expiry *out,
                               struct lk_error *err);

#endif
