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

/* Of idle_ms: who cannot ping what was idle for longer makes another one. */
enum { LKI_IDLE_PINGS = 15 };

/* What whoever knows the other servers is told; no mutex held. */
struct lki_pool_hooks {
    void (*on_renewed)(void *arg); /* as told by lki_pool_renew() */
    /* Takes a undo whose server is perhaps another one by now. NULL: it stays here. */
    void (*on_undo_moved)(void *arg, struct lki_pending_undo *undo);
    void *arg;
};

/* Borrows the client's options and the endpoint, which outlive it. */
struct lki_pool *lki_pool_new(const struct lk_client_options *options,
                              const struct lki_endpoint *endpoint, struct lki_pool_hooks hooks,
                              struct lk_error *err);
/* Nobody may hold a connection or wait for one; lki_pool_main() has returned. */
void lki_pool_free(struct lki_pool *pool);

/*
 * Returns  OK           *out_redis is yours until lki_pool_return().
 *          EXHAUSTED    all are in use until the deadline.
 *          UNREACHABLE  none could be made. While the server is down this comes at once:
 *                       reconnecting is lki_pool_main()'s work.
 *          SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_pool_borrow(struct lki_pool *pool, int64_t deadline,
                                        struct lki_redis **out_redis, struct lk_error *err);
/* Takes the connection; one that callers' commands left another is closed. So is a broken one, and with
   it those that were last heard before it was lent: whatever cut it may have cut them. */
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
/* The one you made since begin; NULL if the pool was retired meanwhile. With a reason: it failed
   (ETIMEDOUT: was given up); the connection, if there is one, is taken. */
struct lki_redis *lki_pool_fill(struct lki_pool *pool, struct lki_redis *redis, int64_t begin,
                                const struct lk_error *why);

/* Leave a connection that owes answers: parked.h. unpark: NULL when it has answered, or ended. */
uint64_t lki_pool_park(struct lki_pool *pool, struct lki_redis *redis, unsigned unanswered,
                       struct lki_pending_undo *undo, int64_t until);
struct lki_redis *lki_pool_unpark(struct lki_pool *pool, uint64_t ticket, unsigned unanswered_max,
                                  unsigned *out_unanswered, struct lki_pending_undo **out_undo);
/* lki_pool_main() will see to it when it can. Takes the undo; NULL is fine. */
void lki_pool_undo_later(struct lki_pool *pool, struct lki_pending_undo *undo);
/* Whether it has still to see to any. */
bool lki_pool_has_pending_undo(struct lki_pool *pool);

/*
 * One connection beside the pool's, for who renews: it is made while there is nothing to renew yet, as
 * later there may be no room for it (maxclients, a limit of open files). Nothing is done while there is
 * one. In the three below NULL for a pool is fine.
 *
 * Returns  OK, or why there is none: UNREACHABLE, SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_pool_reserve(struct lki_pool *pool, int64_t deadline,
                                         struct lk_error *err);
/* Yours, and the pool makes no other; NULL: there is none, or it is of no use any more. */
struct lki_redis *lki_pool_take_reserve(struct lki_pool *pool, int64_t *out_begun_at);
/* What was taken has ended. */
void lki_pool_end_reserve(struct lki_pool *pool);
/* In its place, one that is idle, for lki_pool_return(). NULL: none is. */
struct lki_redis *lki_pool_borrow_idle(struct lki_pool *pool);

void lki_pool_usage(struct lki_pool *pool, struct lk_pool_usage *out);

/* The reconnecting thread's body (arg: the pool): returns after lki_pool_stop(). */
void *lki_pool_main(void *arg);
void lki_pool_stop(struct lki_pool *pool);

/* Its server is not to be asked any more: refuse to lend, cut what is lent (an exchange under way ends
   as UNKNOWN), and stop. */
void lki_pool_retire(struct lki_pool *pool);

/*
 * Behind its endpoint is another server now, or will be (it refuses writes, or the name has another
 * address): what was connected before this moment is asked nothing more once it is returned. Not done
 * more often than once in backoff_ms, and as often when the pool itself finds that the name has moved.
 * No mutex held.
 */
void lki_pool_renew(struct lki_pool *pool);
/* Whether a connection begun at this moment is one of those. NULL: no. */
bool lki_pool_is_outdated(const struct lki_pool *pool, int64_t begun_at);

/* Whether a borrower would be refused at once. */
bool lki_pool_is_down(struct lki_pool *pool);

#endif
