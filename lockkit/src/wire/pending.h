/*
 * Connections whose answers are still to come, kept aside until they have; and what a server still
 * has to undo.
 */
#ifndef LKI_PARKING_H
#define LKI_PARKING_H

#include "redis.h"

/* A compare-and-delete that no server has confirmed. */
struct lki_debt;

/* wake_channel: of a release, which is told there; NULL: nobody waits for it. until: the lease has ended
   by then. NULL when out of memory: then the lease pays. */
struct lki_debt *lki_debt_new(const char *key, const char *token, const char *wake_channel,
                              int64_t until);
void lki_debt_free(struct lki_debt *debt); /* NULL is fine */
int64_t lki_debt_until(const struct lki_debt *debt);

/* Send it; one answer follows. Statuses of lki_redis_send(). */
LK_MUST_CHECK lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                                      const struct lki_endpoint *endpoint, struct lk_error *err);

struct lki_parking;

/* Room for so many connections. NULL: out of memory. */
struct lki_parking *lki_parking_new(unsigned size);
/* Closes what stands there. NULL is fine. */
void lki_parking_free(struct lki_parking *parking);

/*
 * Park a connection that owes answers. With a debt, the last of them is the answer to it; when that
 * is no integer, or never comes, the debt is owed anew. What has not answered until then is given up.
 *
 * Owns     takes the debt (may be NULL); the connection stays counted as lent.
 * Returns  a ticket, never 0.
 */
uint64_t lki_parking_enter(struct lki_parking *parking, struct lki_redis *redis, unsigned owed,
                           struct lki_debt *debt, int64_t until);

/*
 * Back to who parked it, with its debt (NULL: none), who sees to it from now on.
 *
 * Returns  NULL: it has answered, or ended, and has left; or it stays, as it owes more than most_owed.
 */
struct lki_redis *lki_parking_leave(struct lki_parking *parking, uint64_t ticket,
                                    unsigned most_owed, unsigned *out_owed,
                                    struct lki_debt **out_debt);

/* One that has answered everything, or is broken: for lki_pool_return(). NULL: none. */
struct lki_redis *lki_parking_collect(struct lki_parking *parking);

/* A debt without a connection: some, at least; a flood is left to the leases. Takes it. */
void lki_parking_owe(struct lki_parking *parking, struct lki_debt *debt);
/* One that is due, yours. NULL: none. */
struct lki_debt *lki_parking_take_debt(struct lki_parking *parking);

/* Neither connection nor debt. */
bool lki_parking_is_empty(struct lki_parking *parking);

#endif
