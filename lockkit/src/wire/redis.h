/*
 * One connection to a Redis server. Only this and reply.c use hiredis.
 */
#ifndef LKI_REDIS_H
#define LKI_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/reply.h"

#include "endpoint.h"
#include "traces.h"

struct lki_redis;

/* Connect and log in before the deadline, at the first address of the host that accepts. NULL with *err: UNREACHABLE,
   SERVER, NO_MEMORY. */
struct lki_redis *lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                 struct lk_error *err);
/*
 * The same without blocking: begin; call go_on at once, and then each time lki_redis_fd(), which may change, is
 * ready for *out_events (of poll()). The caller gives up at the deadline: here it only divides the time between
 * the addresses.
 *
 * Returns  OK: connected and logged in. BUSY: call again when the socket is ready. Else as lki_redis_open(), and
 *          only lki_redis_close() is left.
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
 * Load a script ahead of the next command: log in as endpoint->loader, SCRIPT LOAD, log in again as before,
 * in one pipeline. The answers are read here later and not returned; if the loader is refused, the script is
 * not loaded (lki_redis_refusal()). A connection that cannot log in again is broken.
 *
 * Returns  as lki_redis_send(), but when it fails nothing was done
 */
LK_MUST_CHECK lk_status lki_redis_load_script(struct lki_redis *redis,
                                              const struct lki_endpoint *endpoint, const char *text,
                                              int64_t deadline, struct lk_error *err);
/* Why one of the last loads was refused, with the loader's name: SERVER; UNREACHABLE: temporarily (LOADING); OK: none
   was. */
const struct lk_error *lki_redis_refusal(const struct lki_redis *redis);

/* Send, without reading answers. After UNREACHABLE or UNKNOWN the connection is broken. */
LK_MUST_CHECK lk_status lki_redis_send(struct lki_redis *redis, const struct lk_command *commands,
                                       size_t count, int64_t deadline, struct lk_error *err);

/*
 * The next answer or message, without blocking; *out is NULL if none has arrived.
 *
 * Returns  OK; UNREACHABLE: the connection was closed.
 */
LK_MUST_CHECK lk_status lki_redis_receive(struct lki_redis *redis, lk_reply **out,
                                          struct lk_error *err);

/* False: the server has closed the idle connection, which is broken then. A system call. */
bool lki_redis_is_usable(struct lki_redis *redis);
bool lki_redis_is_broken(const struct lki_redis *redis);

/* The server refused the connection (maxclients): it is broken, and no command was run. */
bool lki_redis_is_unadmitted(const struct lki_redis *redis);
/* Shut the socket down, from another thread: its user finds a broken connection. Not after lki_redis_close(). */
void lki_redis_cut(struct lki_redis *redis);
int lki_redis_fd(const struct lki_redis *redis);
/* The address that was connected, if the host is a name; else "". Borrowed. */
const char *lki_redis_address(const struct lki_redis *redis);

/* The identity of the server, valid for this connection. Filled by the first caller that asks the server. */
struct lki_identity {
    bool is_asked;
    bool is_replica;
    char run_id[48]; /* "": unknown */
};
struct lki_identity *lki_redis_identity(struct lki_redis *redis);

/* Changes of the connection's state by callers' commands; noted by those that send them. */
struct lki_traces *lki_redis_traces(struct lki_redis *redis);

#endif
