/*
 * A waiter's place in a queue on the server, for all kinds of lock with one. It is valid for a window after the
 * owner's last try: a live waiter tries again in time, and a dead one is dropped by the next try of another.
 */
#ifndef LKI_QUEUE_H
#define LKI_QUEUE_H

#include "lock.h"

struct queue_place {
    int64_t waiter_ms; /* the longest window */
    bool is_taken;     /* perhaps: this acquire's owner may be in the queue */
};

/* waiter_ms as in the options. Returns OK, INVALID. */
LK_MUST_CHECK lk_status lki_queue_init(struct queue_place *place, int64_t waiter_ms,
                                       struct lk_error *err);
/* How long the place of this acquire is valid after a try. */
int64_t lki_queue_window_ms(const struct queue_place *place, const lk_lock *lock);
/* When to try again: when the lock may be free, and in time to keep the place. */
int64_t lki_queue_ask_again_ms(const struct queue_place *place, int64_t ttl_ms);
/* Leave the queue by this call, which answers an integer. */
void lki_queue_abandon(struct queue_place *place, lk_client *client, const struct lki_call *call,
                       int64_t deadline);

#endif
