/*
 * Connections whose answers are still to come, kept aside until they have; and what a server still
 * has to undo.
 */
#ifndef LKI_PENDING_H
#define LKI_PENDING_H

#include "debt.h"

struct lki_pending;

/* Room for so many connections. NULL: out of memory. */
struct lki_pending *lki_pending_new(unsigned size);
/* Closes what stands there. NULL is fine. */
void lki_pending_free(struct lki_pending *pending);

/*
 * Park a connection that owes answers. With a debt, the last of them is the answer to it; when that
 * is an error, or never comes, the debt is owed anew. What has not answered until then is given up.
 *
 * Owns     takes the debt (may be NULL); the connection stays counted as lent.
 * Returns  a ticket, never 0.
 */
uint64_t lki_pending_enter(struct lki_pending *pending, struct lki_redis *redis, unsigned owed,
                           struct lki_debt *debt, int64_t until);

/*
 * Back to who parked it, with its debt (NULL: none), who sees to it from now on.
 *
 * Returns  NULL: it has answered, or ended, and has left; or it stays, as it owes more than most_owed.
 */
struct lki_redis *lki_pending_leave(struct lki_pending *pending, uint64_t ticket,
                                    unsigned most_owed, unsigned *out_owed,
                                    struct lki_debt **out_debt);

/* One that has answered everything, or is broken: for lki_pool_return(). NULL: none. */
struct lki_redis *lki_pending_collect(struct lki_pending *pending);

/* A debt without a connection: some, at least; a flood is left to the leases. Takes it. */
void lki_pending_owe(struct lki_pending *pending, struct lki_debt *debt);
/* One that is due, yours until it is entered or owed again. NULL: none; or the last
   answer was a refusal, a moment ago. One thread does this. */
struct lki_debt *lki_pending_take_debt(struct lki_pending *pending);
/* All that have no connection, to somebody who takes them. */
void lki_pending_pass_on(struct lki_pending *pending, void (*owe)(void *arg, struct lki_debt *debt),
                         void *arg);
/* Whether there is any debt, parked, taken or neither. */
bool lki_pending_owes(struct lki_pending *pending);

/* Neither connection nor debt. */
bool lki_pending_is_empty(struct lki_pending *pending);

#endif
