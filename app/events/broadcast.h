/*
 * One thread per process that reads new entries of the ledgers of all sales with subscribers, and wakes the
 * subscribers. Without subscribers nothing is read. Redis is asked once per process, however many streams there are.
 */
#ifndef SECKILL_BROADCAST_H
#define SECKILL_BROADCAST_H

#include "events.h"
#include "store/store.h"

struct broadcast;  /* opaque; safe for any number of threads */
struct subscriber; /* opaque; one thread each */

/* Both are borrowed; deployment may be NULL. NULL when out of memory. */
struct broadcast *broadcast_new(struct store *store, const struct deployment *deployment);

/*
 * Subscribe to the changes of a sale after a moment that was read from the store.
 *
 * Owns     the result is yours: broadcast_unsubscribe(). The moment is copied.
 * Returns  NULL when the process is stopping, or is out of memory or file descriptors.
 */
struct subscriber *broadcast_subscribe(struct broadcast *self, const struct sale_moment *from);
void broadcast_unsubscribe(struct broadcast *self, struct subscriber *subscriber);

/* A descriptor, owned by the subscriber, that is readable when there may be news until broadcast_take() is called. */
int broadcast_fd(const struct subscriber *subscriber);

/*
 * Everything new since the last call; events.h leaves out what this client was sent already.
 *
 * Returns  false: this process stops, the stream ends.
 */
bool broadcast_take(struct broadcast *self, struct subscriber *subscriber, struct events_news *out);

/* Wake all subscribers: broadcast_take() returns false from now on. Any thread, before broadcast_free(). */
void broadcast_end(struct broadcast *self);

/* Stop the thread. Owns: takes it; NULL is allowed. There may be no subscribers any more. */
void broadcast_free(struct broadcast *self);

#endif
