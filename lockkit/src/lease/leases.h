/*
 * The leases of a watchdog, sorted by their next renewal and by their end. Guarded by its mutex.
 */
#ifndef LKI_LEASES_H
#define LKI_LEASES_H

#include "hold.h"
#include "renewal_conn.h"

struct lki_leases {
    struct lki_heap
        renewals; /* every lease is always in both heaps, so that moving it needs no memory */
    struct lki_heap ends;
};

static const int64_t lki_never = INT64_MAX;

/* `at`, or never if no renewal is to be sent at that moment. */
int64_t lki_lease_renewal(const lk_lock *lock, int64_t at);
/* When to repeat a failed query: after a tenth of the lease, at most most_ms. */
int64_t lki_lease_retry(const lk_lock *lock, int64_t most_ms);

/* Add a lease; the keys of its items are set. False: no memory. */
bool lki_leases_push(struct lki_leases *leases, lk_lock *lock);
bool lki_leases_have(const lk_lock *lock);
void lki_leases_drop(struct lki_leases *leases, lk_lock *lock);
void lki_leases_done(struct lki_leases *leases);

/* Query it at this moment. */
void lki_leases_ask_at(struct lki_leases *leases, lk_lock *lock, int64_t at);
/* Look for its end at this moment, not before. */
void lki_leases_end_at(struct lki_leases *leases, lk_lock *lock, int64_t at);
/* Query it in the next round of a connection. */
void lki_leases_enqueue(struct lki_leases *leases, lk_lock *lock, struct lki_renewal_conn *conn);
/* The watchdog's thread is about to query it, or to report its end: it is_taken. */
void lki_leases_take(struct lki_leases *leases, lk_lock *lock);
/* Take leases whose end has come, `max` at most; returns their number. */
size_t lki_leases_take_ended(struct lki_leases *leases, lk_lock **out, size_t max);

/* The lease with the earliest query, or NULL. */
lk_lock *lki_leases_first(const struct lki_leases *leases);
/* Whether it is due, or so soon that it is queried along with those that are. */
bool lki_leases_is_due(const lk_lock *lock, int64_t now);
/* The lease that has waited longest for a round of the connection, or NULL. */
lk_lock *lki_leases_waiting(const struct lki_renewal_conn *conn);
/* The n-th lease, in no order; NULL: there are no more. */
lk_lock *lki_leases_at(const struct lki_leases *leases, size_t index);
/* The earliest query or end. */
int64_t lki_leases_next(const struct lki_leases *leases);

#endif
