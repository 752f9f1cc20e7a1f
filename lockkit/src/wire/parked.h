/*
 * Parked connections: those whose answers are outstanding. And pending undos.
 */
#ifndef LKI_PARKED_H
#define LKI_PARKED_H

#include "pending_undo.h"

struct lki_parked;

/* For this number of connections at most. NULL: out of memory. */
struct lki_parked *lki_parked_new(unsigned size);
/* Closes the connections. NULL is fine. */
void lki_parked_free(struct lki_parked *parked);

/*
 * Park a connection with unanswered commands. undo: NULL, or the last of these; if its answer is an error or
 * does not come, the undo is sent again. The connection is closed if it has not answered by `until`.
 *
 * Owns     takes the undo; the pool goes on counting the connection as lent.
 * Returns  a ticket, never 0.
 */
uint64_t lki_parked_add(struct lki_parked *parked, struct lki_redis *redis, unsigned unanswered,
                        struct lki_pending_undo *undo, int64_t until);

/*
 * Take a connection back, with its undo (NULL: none), which is yours then.
 *
 * Returns  NULL: it is not here any more, as it has answered or was closed; or it stays, as it has more than
 *          unanswered_max unanswered commands.
 */
struct lki_redis *lki_parked_take(struct lki_parked *parked, uint64_t ticket,
                                  unsigned unanswered_max, unsigned *out_unanswered,
                                  struct lki_pending_undo **out_undo);

/* Take one connection that has answered everything or is broken, for lki_pool_return(). NULL: there is none. */
struct lki_redis *lki_parked_collect(struct lki_parked *parked);

/* Add an undo that is to be sent. Takes it; if there are too many, it is dropped, and the lease ends instead. */
void lki_parked_undo_later(struct lki_parked *parked, struct lki_pending_undo *undo);
/* Take one undo to send it, and add it again afterwards, parked or not. NULL: none; or the last one was refused a
   moment ago. One thread does this. */
struct lki_pending_undo *lki_parked_take_undo(struct lki_parked *parked);
/* Pass all undos that are not parked to a function, which takes them. */
void lki_parked_hand_over(struct lki_parked *parked,
                          void (*undo_later)(void *arg, struct lki_pending_undo *undo), void *arg);
/* Whether there is any undo: parked, taken, or to be sent. */
bool lki_parked_has_undo(struct lki_parked *parked);

/* Whether there are no parked connections and no undos to be sent. */
bool lki_parked_is_empty(struct lki_parked *parked);

#endif
