/*
 * Connections whose answers are still to come, kept aside until they have; and what a server still
 * has to undo.
 */
#ifndef LKI_PARKED_H
#define LKI_PARKED_H

#include "pending_undo.h"

struct lki_parked;

/* Room for so many connections. NULL: out of memory. */
struct lki_parked *lki_parked_new(unsigned size);
/* Closes what stands there. NULL is fine. */
void lki_parked_free(struct lki_parked *parked);

/*
 * Park a connection that owes answers. With a undo, the last of them is the answer to it; when that
 * is an error, or never comes, the undo is owed anew. What has not answered until then is given up.
 *
 * Owns     takes the undo (may be NULL); the connection stays counted as lent.
 * Returns  a ticket, never 0.
 */
uint64_t lki_parked_add(struct lki_parked *parked, struct lki_redis *redis, unsigned unanswered,
                        struct lki_pending_undo *undo, int64_t until);

/*
 * Back to who parked it, with its undo (NULL: none), who sees to it from now on.
 *
 * Returns  NULL: it has answered, or ended, and has left; or it stays, as it owes more than most_owed.
 */
struct lki_redis *lki_parked_take(struct lki_parked *parked, uint64_t ticket,
                                  unsigned unanswered_max, unsigned *out_unanswered,
                                  struct lki_pending_undo **out_undo);

/* One that has answered everything, or is broken: for lki_pool_return(). NULL: none. */
struct lki_redis *lki_parked_collect(struct lki_parked *parked);

/* A undo without a connection: some, at least; a flood is left to the leases. Takes it. */
void lki_parked_undo_later(struct lki_parked *parked, struct lki_pending_undo *undo);
/* One that is due, yours until it is entered or owed again. NULL: none; or the last
   answer was a refusal, a moment ago. One thread does this. */
struct lki_pending_undo *lki_parked_take_undo(struct lki_parked *parked);
/* All that have no connection, to somebody who takes them. */
void lki_parked_hand_over(struct lki_parked *parked,
                          void (*undo_later)(void *arg, struct lki_pending_undo *undo), void *arg);
/* Whether there is any undo, parked, taken or neither. */
bool lki_parked_has_undo(struct lki_parked *parked);

/* Neither connection nor undo. */
bool lki_parked_is_empty(struct lki_parked *parked);

#endif
