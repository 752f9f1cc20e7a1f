/*
 * A bounded set of connections to one server.
 */
#ifndef LKI_POOL_H
#define LKI_POOL_H

#include "lockkit/client.h"
#include "lockkit/event.h"

#include "redis.h"

struct lki_pool;

struct lki_pool_options {
    const struct lki_endpoint *endpoint; /* borrowed; outlives the pool */
    unsigned size;
    int64_t connect_ms;
    int64_t backoff_ms;
    lk_event_hook on_event; /* never NULL */
    void *on_event_arg;
};

struct lki_pool *lki_pool_new(const struct lki_pool_options *options, struct lk_error *err);
/* Nobody may hold a connection or wait for one; lki_pool_main() has returned. */
void lki_pool_free(struct lki_pool *pool);

/*
 * Returns  OK           *out_redis is yours until lki_pool_return().
 *          BUSY         all are in use until the deadline.
 *          UNREACHABLE  none could be made. While the server is down this comes at once:
 *                       reconnecting is lki_pool_main()'s work.
 *          SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_pool_borrow(struct lki_pool *pool, int64_t deadline,
                                        struct lki_redis **out_redis, struct lk_error *err);
/* Takes the connection; a broken one is closed. */
void lki_pool_return(struct lki_pool *pool, struct lki_redis *redis);

void lki_pool_usage(struct lki_pool *pool, struct lk_pool_usage *out);

/* The reconnecting thread's body (arg: the pool): returns after lki_pool_stop(). */
void *lki_pool_main(void *arg);
void lki_pool_stop(struct lki_pool *pool);

#endif
