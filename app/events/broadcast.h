/*
 * One thread per process that reads on in the ledgers of the sales that somebody watches, and wakes
 * who watches them. Nothing is read while nobody does. Redis is asked once per process, however many
 * streams there are.
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
 * Watch a sale from a moment on that was read from the store.
 *
 * Owns     the result is yours: broadcast_unsubscribe(). The moment is copied.
 * Returns  NULL when it ends, or is out of memory or file descriptors.
 */
struct subscriber *broadcast_subscribe(struct broadcast *self, const struct sale_moment *from);
void broadcast_unsubscribe(struct broadcast *self, struct subscriber *subscriber);

/* Readable when there may be news; broadcast_take() makes it unreadable. The watcher's. */
int broadcast_fd(const struct subscriber *subscriber);

/*
 * All that happened since the last call; what the client knows already is for events.h to leave out.
 *
 * Returns  false: this process stops, the stream ends.
 */
bool broadcast_take(struct broadcast *self, struct subscriber *subscriber, struct events_news *out);

/* Wake all who watch, and tell them that it is over. Any thread, before broadcast_free(). */
void broadcast_end(struct broadcast *self);

/* Stop the thread. Owns: takes it; NULL is fine. Nobody watches any more. */
void broadcast_free(struct broadcast *self);

#endif
