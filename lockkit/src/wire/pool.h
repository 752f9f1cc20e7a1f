/*
 * A bounded set of connections to one server.
 */
#ifndef LKI_POOL_H
#define LKI_POOL_H

#include "lockkit/client.h"
#include "lockkit/event.h"

#include "parked.h"
#include "redis.h"

struct lki_pool;

/* A caller that cannot wait for a ping does not use a connection that was idle for this multiple of idle_ms. */
enum { LKI_IDLE_PINGS = 15 };

/* Calls to the topology, without a mutex. */
struct lki_pool_hooks {
    void (*on_renewed)(void *arg); /* lki_pool_renew() has taken effect */
    /* Takes an undo whose key may be on another server now. NULL: it stays in this pool. */
    void (*on_undo_moved)(void *arg, struct lki_pending_undo *undo);
    void *arg;
};

/* Borrows the client's options and the endpoint, which outlive it. */
struct lki_pool *lki_pool_new(const struct lk_client_options *options,
                              const struct lki_endpoint *endpoint, struct lki_pool_hooks hooks,
                              struct lk_error *err);
/* All connections were returned, no thread waits for one, and lki_pool_main() has returned. */
void lki_pool_free(struct lki_pool *pool);

/*
 * Returns  OK           *out_redis is yours until lki_pool_return().
 *          EXHAUSTED    all are in use until the deadline.
 *          UNREACHABLE  none could be made. While the server is down this is returned at once:
 *                       lki_pool_main() reconnects.
 *          SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_pool_borrow(struct lki_pool *pool, int64_t deadline,
                                        struct lki_redis **out_redis, struct lk_error *err);
/* Takes the connection. It is closed if a caller's commands have changed its state (AUTH, SELECT, ...), or if it
   is broken; then idle ones without traffic since it was lent are closed, too, as they may be broken as well. */
void lki_pool_return(struct lki_pool *pool, struct lki_redis *redis);

/*
 * The same without waiting.
 *
 * Returns  OK           *out_redis as above; NULL: you may make one: lki_redis_open_begin(), and in any case
 *                       lki_pool_fill().
 *          EXHAUSTED    all are in use.
 *          UNREACHABLE, SERVER, NO_MEMORY  the server is down.
 */
LK_MUST_CHECK lk_status lki_pool_try_borrow(struct lki_pool *pool, struct lki_redis **out_redis,
                                            struct lk_error *err);
/* The end of an attempt to connect that began at `begin`. why: NULL: it succeeded, and the connection is returned,
   or NULL if the pool was retired meanwhile. Else it failed (ETIMEDOUT: it was given up), and the connection, if
   any, is taken. */
struct lki_redis *lki_pool_fill(struct lki_pool *pool, struct lki_redis *redis, int64_t begin,
                                const struct lk_error *why);

/* Park a connection with unanswered commands, and take it back: parked.h. */
uint64_t lki_pool_park(struct lki_pool *pool, struct lki_redis *redis, unsigned unanswered,
                       struct lki_pending_undo *undo, int64_t until);
struct lki_redis *lki_pool_unpark(struct lki_pool *pool, uint64_t ticket, unsigned unanswered_max,
                                  unsigned *out_unanswered, struct lki_pending_undo **out_undo);
/* Have lki_pool_main() send it. Takes the undo; NULL is fine. */
void lki_pool_undo_later(struct lki_pool *pool, struct lki_pending_undo *undo);
bool lki_pool_has_pending_undo(struct lki_pool *pool);

/*
 * Make the reserve: one connection beside those of the pool, for renewals. It is made before the first hold
 * that is renewed, as later there may be no room for it (maxclients, open files). No effect if there is one.
 * In the three functions below the pool may be NULL.
 *
 * Returns  OK, or why there is none: UNREACHABLE, SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_pool_reserve(struct lki_pool *pool, int64_t deadline,
                                         struct lk_error *err);
/* Take the reserve; the pool makes no other before lki_pool_end_reserve(). NULL: there is none that is usable. */
struct lki_redis *lki_pool_take_reserve(struct lki_pool *pool, int64_t *out_begun_at);
/* The connection that was taken has been closed. */
void lki_pool_end_reserve(struct lki_pool *pool);
/* Borrow an idle connection without making one, for lki_pool_return(). NULL: there is none. */
struct lki_redis *lki_pool_borrow_idle(struct lki_pool *pool);

void lki_pool_usage(struct lki_pool *pool, struct lk_pool_usage *out);

/* The body of the pool's thread, which reconnects and sends undos (arg: the pool): returns after lki_pool_stop(). */
void *lki_pool_main(void *arg);
void lki_pool_stop(struct lki_pool *pool);

/* The server is no longer part of the topology: lend no more, shut down lent connections (an exchange under way
   ends as UNKNOWN), and stop. */
void lki_pool_retire(struct lki_pool *pool);

/*
 * Another server is behind the endpoint now, or soon (this one refuses writes, or the host name has another
 * address): connections that were begun before this moment are not lent again. Takes effect once in backoff_ms at
 * most, and as often when the pool itself finds that the name has moved. Without a mutex.
 */
void lki_pool_renew(struct lki_pool *pool);
/* Whether a connection that was begun at this moment is one of those. pool: may be NULL: false. */
bool lki_pool_is_outdated(const struct lki_pool *pool, int64_t begun_at);

/* Whether a borrower would be refused at once. */
bool lki_pool_is_down(struct lki_pool *pool);

#endif
