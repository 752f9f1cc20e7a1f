/*
 * One connection to a server. With reply.c the only door to hiredis.
 */
#ifndef LKI_REDIS_H
#define LKI_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/reply.h"

#include "endpoint.h"
#include "traces.h"

struct lki_redis;

/* Connect and log in before the deadline, at the first of its name's addresses that takes it. NULL: *err says UNREACHABLE, SERVER or NO_MEMORY. */
struct lki_redis *lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                 struct lk_error *err);
/*
 * The same without waiting: begin, then go on each time lki_redis_fd(), which may be another one each
 * time, is ready for *out_events (of poll()), first of all at once. To give up at the deadline is the
 * caller's affair: by it is only reckoned how long each address may take.
 *
 * Returns  OK: connected and logged in. BUSY: goes on when the socket is ready. Else as
 *          lki_redis_open(), and all that is left to do is lki_redis_close().
 */
struct lki_redis *lki_redis_open_begin(const struct lki_endpoint *endpoint, int64_t deadline,
                                       struct lk_error *err);
LK_MUST_CHECK lk_status lki_redis_open_go_on(struct lki_redis *redis,
                                             const struct lki_endpoint *endpoint, short *out_events,
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

/*
 * Bring a script to the server before what is sent next: log in as endpoint->loader, SCRIPT LOAD, log
 * in again as before, without waiting for the answers. Nobody is handed those; where the loader was
 * refused the script stays unknown there. A connection that cannot log in again is broken.
 *
 * Returns  as lki_redis_send(), but nothing was done that matters when it fails
 */
LK_MUST_CHECK lk_status lki_redis_load_script(struct lki_redis *redis,
                                              const struct lki_endpoint *endpoint, const char *text,
                                              int64_t deadline, struct lk_error *err);
/* Why one of the introductions last under way was refused, with the loader's name: SERVER; UNREACHABLE:
   just now (LOADING); OK: none was. */
const struct lk_error *lki_redis_refusal(const struct lki_redis *redis);

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

/* False when the server has closed an idle connection; it counts as broken then. A system call. */
bool lki_redis_is_usable(struct lki_redis *redis);
bool lki_redis_is_broken(const struct lki_redis *redis);

/* Broken: the server accepted it, said that it has no room (maxclients), and did nothing. */
bool lki_redis_is_unadmitted(const struct lki_redis *redis);
/* End it from another thread: whoever uses it meets a broken connection. Not after lki_redis_close(). */
void lki_redis_cut(struct lki_redis *redis);
int lki_redis_fd(const struct lki_redis *redis);
/* Of its host's name, the one that was connected; "": it has none. Borrowed. */
const char *lki_redis_address(const struct lki_redis *redis);

/* Who is at the other end. It goes with the connection: when that ends, another may be there. Filled by
   whoever asks first. */
struct lki_identity {
    bool is_asked;
    bool is_replica;
    char run_id[48]; /* "": it does not tell */
};
struct lki_identity *lki_redis_identity(struct lki_redis *redis);

/* What callers' commands have left on it, as those note who send such. */
struct lki_traces *lki_redis_traces(struct lki_redis *redis);

#endif
