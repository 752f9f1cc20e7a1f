/*
 * A sale in segments (sale/segment.h) in Redis. Under its own id it has one key alone, "COUNT:GENERATION": what is not
 * there under its own id is looked for in its segments, so that other sales pay a read where something is missing. Each is a
 * sale like any, with three fields more:
 *   moved   units that came in less those that went out
 *   moves, moving   how many it has begun to move out; "NUMBER:UNITS:TARGET" of the one that is pending
 *   from:N  the last move from segment N that has arrived
 * A move is three steps, each in one slot: withdraw, deposit, settle; whoever sees one pending completes it, and the
 * deposit happens once. The protocol, its proof and its wrong variants: lockkit/model/segments.pml.
 */
#ifndef SECKILL_STORE_SEGMENTS_H
#define SECKILL_STORE_SEGMENTS_H

#include "sale/segment.h"
#include "store_ledger.h"

/* Of *out its id, segments.count and .generation. STORE_NOT_FOUND: there is no such sale in segments. */
store_status store_find_segments(struct store *store, const char *id, struct sale *out,
                                 struct lk_error *err);

/* The three steps. Each may just be repeated; on a deployment with replicas each is there, too, before the next may
   be sent, which the caller's --sync-replicas sees to. */
/* Take units out for move->target, move->units at most; *move is what is pending then, perhaps another one; its units 0:
   nothing is. */
store_status store_withdraw_units(struct store *store, const char *segment, struct sale_move *move,
                                  struct lk_error *err);
store_status store_deposit_units(struct store *store, const char *segment, unsigned source,
                                 const struct sale_move *move, struct lk_error *err);
store_status store_settle_move(struct store *store, const char *segment, int64_t number,
                               struct lk_error *err);

#endif
