/*
 * The leases that the watchdog looks after, by what comes next for each. Guarded by its mutex.
 */
#ifndef LKI_LEASES_H
#define LKI_LEASES_H

#include "hold.h"
#include "renewal_conn.h"

struct lki_leases {
    struct lki_heap renewals; /* every lease is in both, so that there is room for it later */
    struct lki_heap ends;
};

static const int64_t lki_never = INT64_MAX;

/* When a renewal of this moment is due; never, when none is to be sent then. */
int64_t lki_lease_renewal(const lk_lock *lock, int64_t at);
/* When to try again: after a tenth of the lease, or most_ms. */
int64_t lki_lease_retry(const lk_lock *lock, int64_t most_ms);

/* With the keys that its items have. False: no memory. */
bool lki_leases_push(struct lki_leases *leases, lk_lock *lock);
bool lki_leases_have(const lk_lock *lock);
void lki_leases_drop(struct lki_leases *leases, lk_lock *lock);
void lki_leases_done(struct lki_leases *leases);

/* It is asked for at this moment. */
void lki_leases_ask_at(struct lki_leases *leases, lk_lock *lock, int64_t at);
/* It does not end before that. */
void lki_leases_end_at(struct lki_leases *leases, lk_lock *lock, int64_t at);
/* It is asked for in the next round of a connection. */
void lki_leases_enqueue(struct lki_leases *leases, lk_lock *lock, struct lki_renewal_conn *conn);
/* The watchdog's thread is about to ask for it, or to tell of its end. */
void lki_leases_take(struct lki_leases *leases, lk_lock *lock);
/* Those whose end has come; all are taken. */
size_t lki_leases_take_ended(struct lki_leases *leases, lk_lock **out, size_t max);

/* The one to ask for first, or NULL. */
lk_lock *lki_leases_first(const struct lki_leases *leases);
/* Whether it goes along with what is due now. */
bool lki_leases_is_due(const lk_lock *lock, int64_t now);
/* The one that waits longest at a connection, or NULL. */
lk_lock *lki_leases_waiting(const struct lki_renewal_conn *conn);
/* All of them, in no order, until NULL. */
lk_lock *lki_leases_at(const struct lki_leases *leases, size_t index);
/* When something is to be asked for, or has ended. */
int64_t lki_leases_next(const struct lki_leases *leases);

#endif
