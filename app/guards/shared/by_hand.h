/*
 * What purchase.lua does in one atomic step, done by the client in three: read, decide, write. The
 * guards that sell so differ in what keeps others out in between: nothing (none), a lock that the
 * write does not check (mutex-unchecked), or WATCH (watch).
 */
#ifndef SECKILL_BY_HAND_H
#define SECKILL_BY_HAND_H

#include "guards/base/guard.h"
#include "sale/sale_keys.h"

enum { BY_HAND_READS = 6, BY_HAND_WRITES = 3, BY_HAND_WORD = 24 };

/* What is to become of one purchase, once the write has succeeded. */
struct by_hand_answer {
    outcome outcome;
    char order_id[ORDER_ID_MAX]; /* of ALREADY_ORDERED and REPLAYED */
};

/* One new order as it is written. */
struct by_hand_order {
    char value[ORDER_ID_MAX + IDEMPOTENCY_KEY_MAX + 8];              /* in the orders hash */
    char row[ORDER_ID_MAX + BUYER_ID_MAX + IDEMPOTENCY_KEY_MAX + 3]; /* in the ledger */
};

struct by_hand {
    const struct guard_ctx *ctx; /* borrowed, as is the batch */
    struct purchase **batch;
    size_t count;
    struct sale_keys keys;
    struct sale sale; /* as it was read; left: what will be left */
    size_t sold;
    struct by_hand_answer *answers; /* owned, one per purchase */
    struct by_hand_order *orders;   /* owned, room for one per purchase */
    struct lk_bytes *words;         /* owned, of the commands under way */
    char left[BY_HAND_WORD];
    char epoch[BY_HAND_WORD];
    bool has_paused;
};

/* False when out of memory; by_hand_done() is right in any case. *out must not move. */
bool by_hand_make(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                  struct by_hand *out);
void by_hand_done(struct by_hand *self);

/* The commands that read. They live until the next call on self. */
void by_hand_reads(struct by_hand *self, struct lk_command out[BY_HAND_READS]);

/*
 * Decide from their answers, as purchase.lua would. May be done again after another reading.
 *
 * Returns  OK, and self->sold says how many orders there are to write.
 *          SERVER  Redis refused, the sale makes no sense, or the attempt is void.
 */
LK_MUST_CHECK lk_status by_hand_decide(struct by_hand *self, lk_reply *const replies[BY_HAND_READS],
                                       struct lk_error *err);

/* The commands that write what was decided (sold > 0), the ledger first; as by_hand_reads(). */
void by_hand_writes(struct by_hand *self, struct lk_command out[BY_HAND_WRITES]);

/*
 * Write them.
 *
 * Returns  OK, UNREACHABLE (nothing was sent), UNKNOWN, SERVER: some or all may be written.
 */
LK_MUST_CHECK lk_status by_hand_write(struct by_hand *self, struct lk_error *err);

/* It was written: give every purchase its outcome. */
void by_hand_set_outcomes(const struct by_hand *self);

/* The moment of ctx->pause: it is called once in the life of self. */
void by_hand_pause(struct by_hand *self);

/*
 * Read, decide, pause, write, tell: for guards with no connection of their own, two round trips.
 *
 * lock     looked at before the pause, and no more; NULL: there is none to look at.
 * Returns  DONE         every purchase has its outcome.
 *          BUSY         no time is left, or the lock was held no more: nothing was written.
 *          UNAVAILABLE  nothing was written.
 *          UNKNOWN      some or all may be written.
 */
struct guard_result by_hand_sell(struct by_hand *self, int64_t deadline_ms, const lk_lock *lock);

#endif
