/*
 * One connection to a server. The only door to hiredis.
 */
#ifndef LKI_REDIS_H
#define LKI_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/reply.h"

#include "endpoint.h"

struct lki_redis;

/* Connect and log in before the deadline. NULL: *err says UNREACHABLE, SERVER or NO_MEMORY. */
struct lki_redis *lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                 struct lk_error *err);
void lki_redis_close(struct lki_redis *redis);

/*
 * Send commands as one pipeline and read all their answers before the deadline.
 *
 * Owns     on OK the replies are yours.
 * Returns  OK           all answered, perhaps with error replies.
 *          UNREACHABLE  not one byte was sent.
 *          UNKNOWN      something was sent, not everything was answered; the connection is broken.
 *          NO_MEMORY    nothing was sent.
 */
LK_MUST_CHECK lk_status lki_redis_exchange(struct lki_redis *redis,
                                           const struct lk_command *commands, size_t count,
                                           int64_t deadline, lk_reply **replies,
                                           struct lk_error *err);

/* Send only; UNREACHABLE or UNKNOWN break the connection. For subscribers. */
LK_MUST_CHECK lk_status lki_redis_send(struct lki_redis *redis, const struct lk_command *commands,
                                       size_t count, int64_t deadline, struct lk_error *err);

/*
 * The next answer or message that has arrived, without waiting; *out is NULL when there is none.
 *
 * Returns  OK, or UNREACHABLE when the connection has ended.
 */
LK_MUST_CHECK lk_status lki_redis_receive(struct lki_redis *redis, lk_reply **out,
                                          struct lk_error *err);

/* Wait for something to receive. False when the moment came first, or the wait failed. */
bool lki_redis_wait(struct lki_redis *redis, int64_t until);

/* False when the server has closed an idle connection; it counts as broken then. A system call. */
bool lki_redis_is_usable(struct lki_redis *redis);
bool lki_redis_is_broken(const struct lki_redis *redis);
int lki_redis_fd(const struct lki_redis *redis);

#endif
