/*
 * A waiter's place in a queue on the server, of whatever kind of lock: it lasts a window from when its
 * owner last asked, so who lives asks again in time, and who has died is dropped by whoever asks then.
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
/* How long the place of this acquire's owner is good without a question. */
int64_t lki_queue_window_ms(const struct queue_place *place, const lk_lock *lock);
/* When to ask again: when there may be something to take, and in time to keep the place. */
int64_t lki_queue_ask_again_ms(const struct queue_place *place, int64_t ttl_ms);
/* Leave it by this call, which answers an integer. */
void lki_queue_abandon(struct queue_place *place, lk_client *client, const struct lki_call *call,
                       int64_t deadline);

#endif
