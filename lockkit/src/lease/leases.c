/*
 * Two heaps, by the next query and by the end of the lease, and per connection a queue of leases that wait
 * for its next round. All times are absolute. No threads, no network.
 */
#include "leases.h"

#include <stddef.h>

#include "base/clock.h"

enum {
    RETRY_FLOOR_MS = 5, /* shortest pause before a failed renewal is repeated */
    EARLY_PART = 30, /* a renewal may be early by this part of the lease, to go along with others */
};

static lk_lock *lock_of_renewal(struct lki_heap_item *item)
{
    return (lk_lock *)(void *)((char *)item - offsetof(lk_lock, lease.renewal));
}

static lk_lock *lock_of_end(struct lki_heap_item *item)
{
    return (lk_lock *)(void *)((char *)item - offsetof(lk_lock, lease.end));
}

int64_t lki_lease_renewal(const lk_lock *lock, int64_t at)
{
    return lock->is_renewed && at < lock->lease.stop_at ? at : lki_never;
}

int64_t lki_lease_retry(const lk_lock *lock, int64_t most_ms)
{
    int64_t ms = lock->lease_ms / 10 < most_ms ? lock->lease_ms / 10 : most_ms;

    return lki_clock_after_ms(ms > RETRY_FLOOR_MS ? ms : RETRY_FLOOR_MS);
}

/* ---- in and out ------------------------------------------------------------------------------ */

bool lki_leases_push(struct lki_leases *leases, lk_lock *lock)
{
    if (!lki_heap_push(&leases->ends, &lock->lease.end)) return false;
    if (lki_heap_push(&leases->renewals, &lock->lease.renewal)) return true;
    lki_heap_remove(&leases->ends, &lock->lease.end);
    return false;
}

bool lki_leases_have(const lk_lock *lock)
{
    return lock->lease.end.place != 0;
}

static void dequeue(struct lki_lease *lease)
{
    struct lki_renewal_conn *conn = lease->conn;

    if (!conn) return;
    *(lease->previous ? &lease->previous->next : &conn->first) = lease->next;
    *(lease->next ? &lease->next->previous : &conn->last) = lease->previous;
    lease->conn = NULL;
}

void lki_leases_drop(struct lki_leases *leases, lk_lock *lock)
{
    dequeue(&lock->lease);
    lki_heap_remove(&leases->renewals, &lock->lease.renewal);
    lki_heap_remove(&leases->ends, &lock->lease.end);
    lock->lease.is_taken = false;
}

void lki_leases_done(struct lki_leases *leases)
{
    lki_heap_done(&leases->renewals);
    lki_heap_done(&leases->ends);
}

/* ---- what is next ---------------------------------------------------------------------------- */

static void set_key(struct lki_heap *heap, struct lki_heap_item *item, int64_t key)
{
    lki_heap_remove(heap, item);
    item->key = key;
    (void)lki_heap_push(heap, item); /* never fails: the removal left room */
}

void lki_leases_ask_at(struct lki_leases *leases, lk_lock *lock, int64_t at)
{
    dequeue(&lock->lease);
    set_key(&leases->renewals, &lock->lease.renewal, at);
}

void lki_leases_end_at(struct lki_leases *leases, lk_lock *lock, int64_t at)
{
    set_key(&leases->ends, &lock->lease.end, at);
}

void lki_leases_enqueue(struct lki_leases *leases, lk_lock *lock, struct lki_renewal_conn *conn)
{
    struct lki_lease *lease = &lock->lease;

    lki_leases_ask_at(leases, lock, lki_never);
    lease->conn = conn;
    lease->next = NULL;
    lease->previous = conn->last;
    *(conn->last ? &conn->last->next : &conn->first) = lease;
    conn->last = lease;
}

void lki_leases_take(struct lki_leases *leases, lk_lock *lock)
{
    lki_leases_ask_at(leases, lock, lki_never);
    lock->lease.is_taken = true;
}

size_t lki_leases_take_ended(struct lki_leases *leases, lk_lock **out, size_t max)
{
    int64_t now = lki_clock_now();
    size_t count = 0;

    while (count < max) {
        struct lki_heap_item *item = lki_heap_first(&leases->ends);

        if (!item || item->key > now) break;
        lk_lock *lock = lock_of_end(item);
        int64_t ends = atomic_load(&lock->expires_at);
        if (ends > now) { /* renewed since it was put there */
            set_key(&leases->ends, item, ends);
        } else if (lock->lease.is_taken) { /* the end of its round reports it */
            set_key(&leases->ends, item, lki_clock_after_ms(RETRY_FLOOR_MS));
        } else {
            lki_leases_take(leases, lock);
            set_key(&leases->ends, item, lki_never);
            out[count++] = lock;
        }
    }
    return count;
}

lk_lock *lki_leases_first(const struct lki_leases *leases)
{
    struct lki_heap_item *item = lki_heap_first(&leases->renewals);

    return item ? lock_of_renewal(item) : NULL;
}

/* Renewals that are slightly early fall into step with others, so that a round trip serves many leases. */
bool lki_leases_is_due(const lk_lock *lock, int64_t now)
{
    const struct lki_lease *lease = &lock->lease;
    bool is_exact = lease->is_exact || lease->is_suspect;
    int64_t early = is_exact ? 0 : lock->lease_ms * NS_PER_MS / EARLY_PART;

    return lease->renewal.key < lki_never && lease->renewal.key - early <= now;
}

lk_lock *lki_leases_waiting(const struct lki_renewal_conn *conn)
{
    if (!conn->first) return NULL;
    return (lk_lock *)(void *)((char *)conn->first - offsetof(lk_lock, lease));
}

lk_lock *lki_leases_at(const struct lki_leases *leases, size_t index)
{
    return index < leases->ends.count ? lock_of_end(leases->ends.items[index]) : NULL;
}

int64_t lki_leases_next(const struct lki_leases *leases)
{
    const struct lki_heap_item *renewal = lki_heap_first(&leases->renewals);
    const struct lki_heap_item *end = lki_heap_first(&leases->ends);

    if (!renewal || !end) return lki_never;
    return renewal->key < end->key ? renewal->key : end->key;
}
