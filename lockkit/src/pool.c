/*
 * Connections are made when needed, up to a bound, and the one returned last is lent first. When a
 * connection cannot be made the pool is "down": borrowers are refused at once, and one thread tries
 * again with growing, jittered pauses until a connection stands. An attempt that only a borrower's
 * haste cut short says nothing about the server, so that thread looks first. Any thread.
 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>

#include "backoff.h"
#include "clock.h"
#include "error.h"

struct lki_pool {
    struct lki_pool_options options;
    struct lki_redis **idle; /* owned stack with room for all */
    pthread_cond_t returned; /* a borrower may look again */
    pthread_cond_t failed;   /* the pool went down, or stops */
    pthread_mutex_t mutex;   /* guards all below, and the stack */
    size_t idle_count;
    size_t open_count; /* idle, lent, and being made */
    size_t lost_count; /* broke, and no other was made in their place yet */
    uint64_t reconnects;
    bool is_down;
    bool is_suspect; /* a borrower's own deadline cut its attempt short: lki_pool_main() looks */
    bool is_stopping;
    struct lk_error down_reason;
};

struct lki_pool *lki_pool_new(const struct lki_pool_options *options, struct lk_error *err)
{
    struct lki_pool *pool = calloc(1, sizeof *pool);

    if (pool) pool->idle = calloc(options->size, sizeof(struct lki_redis *));
    if (!pool || !pool->idle) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a pool of %u connections", options->size);
        free(pool);
        return NULL;
    }
    pool->options = *options;
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->returned, NULL);
    (void)pthread_cond_init(&pool->failed, NULL);
    return pool;
}

void lki_pool_free(struct lki_pool *pool)
{
    if (!pool) return;
    while (pool->idle_count > 0)
        lki_redis_close(pool->idle[--pool->idle_count]);
    (void)pthread_cond_destroy(&pool->failed);
    (void)pthread_cond_destroy(&pool->returned);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->idle);
    free(pool);
}

/* Try to make one connection, with no mutex held; tells the hook. */
static struct lki_redis *connect_once(struct lki_pool *pool, int64_t deadline, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    int64_t limit = lki_clock_after_ms(pool->options.connect_ms);
    struct lk_error why = {0};
    struct lki_redis *redis =
        lki_redis_open(pool->options.endpoint, deadline < limit ? deadline : limit, &why);
    int64_t end = lki_clock_now();

    pool->options.on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                              .status = redis ? LK_OK : why.code,
                                              .at_ns = end,
                                              .duration_ns = end - begin,
                                              .attempts = 1},
                           pool->options.on_event_arg);
    if (!redis && err) *err = why;
    return redis;
}

static void count_connect_locked(struct lki_pool *pool)
{
    if (pool->lost_count == 0) return;
    pool->lost_count--;
    pool->reconnects++;
}

/* A slot was counted for us: fill it, or give it back and have lki_pool_main() look after it. */
static lk_status fill_slot(struct lki_pool *pool, int64_t deadline, struct lki_redis **out_redis,
                           struct lk_error *err)
{
    struct lk_error why = {0};
    struct lki_redis *redis = connect_once(pool, deadline, &why);

    if (redis) {
        (void)pthread_mutex_lock(&pool->mutex);
        count_connect_locked(pool);
        (void)pthread_mutex_unlock(&pool->mutex);
        *out_redis = redis;
        return LK_OK;
    }
    bool is_cut = why.sys_errno == ETIMEDOUT && lki_clock_left_ms(deadline) == 0;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->open_count--;
    if (is_cut) {
        pool->is_suspect = true;
    } else {
        pool->is_down = true;
        pool->down_reason = why;
    }
    (void)pthread_cond_broadcast(&pool->returned);
    (void)pthread_cond_signal(&pool->failed);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (err) *err = why;
    return why.code;
}

lk_status lki_pool_borrow(struct lki_pool *pool, int64_t deadline, struct lki_redis **out_redis,
                          struct lk_error *err)
{
    for (;;) {
        struct lki_redis *redis = NULL;

        (void)pthread_mutex_lock(&pool->mutex);
        while (pool->idle_count == 0 && pool->open_count == pool->options.size && !pool->is_down) {
            if (lki_clock_wait(&pool->returned, &pool->mutex, deadline)) continue;
            (void)pthread_mutex_unlock(&pool->mutex);
            return LKI_FAIL(err, LK_BUSY, "%s: all %u connections are in use",
                            pool->options.endpoint->label, pool->options.size);
        }
        if (pool->idle_count > 0) {
            redis = pool->idle[--pool->idle_count];
        } else if (pool->is_down) {
            lk_status status = pool->down_reason.code;

            if (err) *err = pool->down_reason;
            (void)pthread_mutex_unlock(&pool->mutex);
            return status;
        } else {
            pool->open_count++;
        }
        (void)pthread_mutex_unlock(&pool->mutex);
        if (!redis) return fill_slot(pool, deadline, out_redis, err);
        if (lki_redis_is_usable(redis)) {
            *out_redis = redis;
            return LK_OK;
        }
        lki_pool_return(pool, redis); /* closed by the server while idle: drop it, try the next */
    }
}

void lki_pool_return(struct lki_pool *pool, struct lki_redis *redis)
{
    bool is_broken = lki_redis_is_broken(redis);

    if (is_broken) lki_redis_close(redis);
    (void)pthread_mutex_lock(&pool->mutex);
    if (is_broken) {
        pool->open_count--;
        pool->lost_count++;
    } else {
        pool->idle[pool->idle_count++] = redis;
    }
    (void)pthread_cond_signal(&pool->returned);
    (void)pthread_mutex_unlock(&pool->mutex);
}

void lki_pool_usage(struct lki_pool *pool, struct lk_pool_usage *out)
{
    (void)pthread_mutex_lock(&pool->mutex);
    *out = (struct lk_pool_usage){.open = (unsigned)pool->open_count,
                                  .busy = (unsigned)(pool->open_count - pool->idle_count),
                                  .max = pool->options.size,
                                  .reconnects = pool->reconnects};
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* One attempt to come back up; tells is_down. Called and returns with the mutex held. */
static void reconnect_locked(struct lki_pool *pool)
{
    struct lk_error why = {0};

    pool->is_suspect = false;
    if (pool->open_count == pool->options.size) return; /* all lent: ask them first */
    pool->open_count++;
    (void)pthread_mutex_unlock(&pool->mutex);
    struct lki_redis *redis = connect_once(pool, INT64_MAX, &why);
    (void)pthread_mutex_lock(&pool->mutex);
    if (redis) {
        count_connect_locked(pool);
        pool->idle[pool->idle_count++] = redis;
        pool->is_down = false;
    } else {
        pool->open_count--;
        pool->is_down = true;
        pool->down_reason = why;
    }
    (void)pthread_cond_broadcast(&pool->returned);
}

void *lki_pool_main(void *arg)
{
    struct lki_pool *pool = arg;
    struct lki_backoff backoff = {0};

    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->is_stopping) {
        if (pool->is_down) {
            int64_t pause_ms = lki_backoff_next(&backoff, pool->options.backoff_ms);
            int64_t until = lki_clock_after_ms(pause_ms);

            while (!pool->is_stopping && lki_clock_wait(&pool->failed, &pool->mutex, until)) {}
            if (!pool->is_stopping) reconnect_locked(pool);
        } else if (pool->is_suspect) {
            reconnect_locked(pool);
        } else {
            backoff = (struct lki_backoff){0};
            (void)pthread_cond_wait(&pool->failed, &pool->mutex);
        }
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

void lki_pool_stop(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->is_stopping = true;
    (void)pthread_cond_signal(&pool->failed);
    (void)pthread_mutex_unlock(&pool->mutex);
}
