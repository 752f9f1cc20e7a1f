/*
 * Connections are made on demand, up to a bound; the one returned last is lent first. When a connection
 * cannot be made the pool is "down": borrowers are refused at once, and one thread reconnects with growing,
 * jittered pauses. An attempt that a borrower's deadline cut short says nothing about the server, so that
 * thread tries once more before the pool is down.
 *
 * A connection that a firewall has dropped looks idle. So one that was idle for long is pinged before it is
 * lent; if it does not answer, all that were silent for longer are closed with it. Threads: any.
 */
#include "pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "dns.h"

enum {
    SWEEP_MS = 20,        /* interval in which the thread polls parked connections */
    SWEEP_UNDO_MS = 5,    /* ...while undos are pending */
    IDLE_SWEEPS_MAX = 50, /* after this many sweeps without any it sleeps until one is parked */
    DUE_PAUSE_MAX_MS = 600000,
    RENEW_MS = 500, /* a reason for renewal is ignored for this time at most after the last one */
    UNDO_MS = 2000, /* an unanswered undo is sent again after this, on another connection */
    PING_PART = 4,  /* a ping may take this part of connect_ms, and of the borrower's time */
};

struct entry {
    struct lki_redis *redis;
    int64_t begun_at; /* to connect */
    int64_t since;    /* when it was returned, or lent */
};

struct lki_pool {
    const struct lk_client_options *options; /* borrowed */
    const struct lki_endpoint *endpoint;     /* borrowed */
    struct lki_pool_hooks hooks;
    struct entry *idle; /* owned stack with room for all: the one returned first is at the bottom */
    struct entry *lent; /* owned list with room for all, so that they can be shut down */
    struct lki_parked *parked;  /* owned; lent connections with answers outstanding, and undos */
    pthread_cond_t returned;    /* a connection or a slot may be free */
    pthread_cond_t failed;      /* the pool went down, or stops */
    _Atomic int64_t renewed_at; /* connections that were begun before are outdated */
    _Atomic int64_t refused_at; /* the last renewal because the server refused writes */
    _Atomic int64_t moved_at;   /* ...because the name had another address */
    atomic_bool is_move_due;    /* the name had another address too soon after the last renewal */
    _Atomic int64_t due_pause;  /* the pause from that to the one that is due */
    pthread_mutex_t mutex;      /* guards all below, and the stack */
    size_t idle_count;
    size_t lent_count;
    size_t open_count; /* idle, lent, and being made */
    size_t lost_count; /* closed, and not replaced yet */
    uint64_t reconnects;
    bool is_down;
    bool is_suspect; /* a borrower's deadline cut an attempt short: lki_pool_main() makes another */
    bool is_stopping;
    bool is_retired;         /* and down for ever */
    struct entry reserve;    /* owned; for renewals, unless it was taken */
    atomic_bool has_reserve; /* it was made, and has not been closed */
    bool is_sweeping;        /* lki_pool_main() polls parked connections */
    struct lk_error down_reason;
    char address
        [LKI_ADDRESS_SIZE]; /* of the host name, at the last connect; "": not known, or no name */
};

struct lki_pool *lki_pool_new(const struct lk_client_options *options,
                              const struct lki_endpoint *endpoint, struct lki_pool_hooks hooks,
                              struct lk_error *err)
{
    struct lki_pool *pool = calloc(1, sizeof *pool);

    if (pool) {
        pool->idle = calloc(options->pool_size, sizeof *pool->idle);
        pool->lent = calloc(options->pool_size, sizeof *pool->lent);
        pool->parked = lki_parked_new(options->pool_size);
    }
    if (!pool || !pool->idle || !pool->lent || !pool->parked) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a pool of %u connections", options->pool_size);
        if (pool) free(pool->idle);
        if (pool) free(pool->lent);
        if (pool) lki_parked_free(pool->parked);
        free(pool);
        return NULL;
    }
    pool->options = options;
    pool->endpoint = endpoint;
    pool->hooks = hooks;
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->returned, NULL);
    (void)pthread_cond_init(&pool->failed, NULL);
    return pool;
}

void lki_pool_free(struct lki_pool *pool)
{
    if (!pool) return;
    while (pool->idle_count > 0)
        lki_redis_close(pool->idle[--pool->idle_count].redis);
    lki_redis_close(pool->reserve.redis);
    (void)pthread_cond_destroy(&pool->failed);
    (void)pthread_cond_destroy(&pool->returned);
    (void)pthread_mutex_destroy(&pool->mutex);
    lki_parked_free(pool->parked);
    free(pool->idle);
    free(pool->lent);
    free(pool);
}

/* Enter it as lent; false: the pool was retired meanwhile. */
static bool lend_locked(struct lki_pool *pool, struct lki_redis *redis, int64_t begun_at)
{
    if (!pool->is_retired)
        pool->lent[pool->lent_count++] = (struct entry){redis, begun_at, lki_clock_now()};
    return !pool->is_retired;
}

/* Lend the connection that was returned last; returns when that was. A retired pool has no idle ones. */
static int64_t lend_idle_locked(struct lki_pool *pool, struct lki_redis **out)
{
    struct entry last = pool->idle[--pool->idle_count];

    (void)lend_locked(pool, last.redis, last.begun_at);
    *out = last.redis;
    return last.since;
}

static struct entry take_back_locked(struct lki_pool *pool, struct lki_redis *redis)
{
    struct entry entry = {redis, 0, 0};
    size_t i = pool->lent_count;

    while (i > 0 && pool->lent[i - 1].redis != redis)
        i--;
    if (i > 0) {
        entry = pool->lent[i - 1];
        pool->lent[i - 1] = pool->lent[--pool->lent_count];
    }
    return entry;
}

static void keep_idle_locked(struct lki_pool *pool, struct lki_redis *redis, int64_t begun_at)
{
    pool->idle[pool->idle_count++] = (struct entry){redis, begun_at, lki_clock_now()};
}

/* ---- unusable connections ------------------------------------------------------------------------ */

/* Close idle connections that were returned before this moment. */
static void drop_idle(struct lki_pool *pool, int64_t heard_before)
{
    struct lki_redis *redis = NULL;

    do {
        redis = NULL;
        (void)pthread_mutex_lock(&pool->mutex);
        if (pool->idle_count > 0 && pool->idle[0].since < heard_before) {
            redis = pool->idle[0].redis;
            memmove(pool->idle, pool->idle + 1, --pool->idle_count * sizeof *pool->idle);
            pool->open_count--;
            pool->lost_count++;
            (void)pthread_cond_signal(&pool->returned);
        }
        (void)pthread_mutex_unlock(&pool->mutex);
        lki_redis_close(redis);
    } while (redis);
}

/* Whether a caller's commands have changed its state, so that it cannot be lent again. */
static bool has_foreign_state(struct lki_redis *redis)
{
    const struct lki_traces *traces = lki_redis_traces(redis);

    return traces->is_changed || traces->is_watching;
}

/* The server accepts no more clients, for now. */
static void go_down_locked(struct lki_pool *pool)
{
    if (pool->is_down) return;
    pool->is_down = true;
    (void)LKI_FAIL(&pool->down_reason, LK_UNREACHABLE, "%s: ERR max number of clients reached",
                   pool->endpoint->label);
    (void)pthread_cond_signal(&pool->failed);
}

/* Make it idle, or close it. Returns when it was lent if it is broken, else 0. */
static int64_t take_back(struct lki_pool *pool, struct lki_redis *redis)
{
    (void)pthread_mutex_lock(&pool->mutex);
    struct entry entry =
        take_back_locked(pool, redis); /* from here on lki_pool_retire() does not shut it down */
    bool is_broken = lki_redis_is_broken(redis);
    bool is_of_use = !is_broken && !has_foreign_state(redis) && !pool->is_retired &&
                     !lki_pool_is_outdated(pool, entry.begun_at);
    if (is_of_use) {
        keep_idle_locked(pool, redis, entry.begun_at);
    } else {
        pool->open_count--;
        pool->lost_count++;
        if (lki_redis_is_unadmitted(redis)) go_down_locked(pool);
    }
    (void)pthread_cond_signal(&pool->returned);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (!is_of_use) lki_redis_close(redis); /* system calls: not under the mutex */
    return is_broken ? entry.since : 0;
}

/* Renew as of that moment. False: too soon after the last time for the same reason. Reasons count on their own: a
   client that came back to the old server just after a refusal must leave it when the name moves. */
static bool renew(struct lki_pool *pool, _Atomic int64_t *reason_at, int64_t now)
{
    int64_t before = atomic_load(reason_at);
    int64_t latest = atomic_load(&pool->renewed_at);
    int64_t pause_ms = pool->options->backoff_ms < RENEW_MS ? pool->options->backoff_ms : RENEW_MS;

    if (before != 0 && now < before + pause_ms * NS_PER_MS) return false;
    if (!atomic_compare_exchange_strong(reason_at, &before, now)) return false;
    while (latest < now && !atomic_compare_exchange_weak(&pool->renewed_at, &latest, now)) {}
    drop_idle(pool, INT64_MAX);
    pool->hooks.on_renewed(pool->hooks.arg);
    return true;
}

void lki_pool_renew(struct lki_pool *pool)
{
    if (pool) (void)renew(pool, &pool->refused_at, lki_clock_now());
}

/* The name has another address. If that comes too soon it is due later, as connections to the old address must not
   be lent for ever. */
static void renew_moved(struct lki_pool *pool, int64_t now)
{
    atomic_store(&pool->is_move_due, false);
    if (!renew(pool, &pool->moved_at, now)) atomic_store(&pool->is_move_due, true);
}

/* The pause doubles each time, as a name may alternate between several addresses. */
static void renew_due(struct lki_pool *pool)
{
    int64_t now = lki_clock_now();
    int64_t pause = atomic_load(&pool->due_pause);

    if (now < atomic_load(&pool->moved_at) + pause) return;
    if (pause < (int64_t)DUE_PAUSE_MAX_MS * NS_PER_MS) atomic_store(&pool->due_pause, 2 * pause);
    renew_moved(pool, now);
}

bool lki_pool_is_outdated(const struct lki_pool *pool, int64_t begun_at)
{
    return pool && begun_at < atomic_load(&pool->renewed_at);
}

void lki_pool_return(struct lki_pool *pool, struct lki_redis *redis)
{
    if (atomic_load(&pool->is_move_due)) renew_due(pool);
    int64_t lent_at = take_back(pool, redis);

    if (lent_at > 0) drop_idle(pool, lent_at);
}

/* Any answer will do. */
static void ping(const struct lki_pool *pool, struct lki_redis *redis, int64_t deadline)
{
    const struct lk_bytes word = LK_BYTES("PING");
    int64_t limit = lki_clock_after_ms(pool->options->connect_ms / PING_PART);
    int64_t now = lki_clock_now();
    lk_reply *reply = NULL;

    deadline = now + (deadline - now) / PING_PART;
    if (lki_redis_exchange(redis, &(struct lk_command){&word, 1}, 1,
                           deadline < limit ? deadline : limit, &reply, NULL) == LK_OK)
        lk_reply_free(reply);
}

static bool is_idle_for(const struct lki_pool *pool, int64_t since, int64_t pings)
{
    return lki_clock_now() - since > pool->options->idle_ms * pings * NS_PER_MS;
}

/* Check a connection that was idle since then. False: it is unusable, and was taken back. */
static bool check_usable(struct lki_pool *pool, struct lki_redis *redis, int64_t since,
                         int64_t deadline)
{
    bool is_usable = lki_redis_is_usable(redis);

    if (!is_usable) {
        (void)take_back(pool,
                        redis); /* the server has closed it, which says nothing about others */
        return false;
    }
    if (is_idle_for(pool, since, 1)) ping(pool, redis, deadline);
    if (!lki_redis_is_broken(redis)) return true;
    lki_pool_return(pool, redis);
    return false;
}

/* ---- connecting ---------------------------------------------------------------------------------- */

/* A connection was made. */
static void note_connect(struct lki_pool *pool, const struct lki_redis *redis, int64_t begun_at)
{
    const char *address = lki_redis_address(redis);

    (void)pthread_mutex_lock(&pool->mutex);
    bool has_moved = pool->address[0] != '\0' && strcmp(pool->address, address) != 0;
    (void)snprintf(pool->address, sizeof pool->address, "%s", address);
    if (pool->lost_count > 0) {
        pool->lost_count--;
        pool->reconnects++;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    if (!has_moved) return;
    if (begun_at > atomic_load(&pool->moved_at) + 2 * atomic_load(&pool->due_pause))
        atomic_store(&pool->due_pause,
                     pool->options->backoff_ms * NS_PER_MS); /* it had kept still */
    renew_moved(pool, begun_at);
}

/* Try to make one connection, without the mutex; calls the event hook. */
static struct lki_redis *connect_once(struct lki_pool *pool, int64_t begin, int64_t deadline,
                                      struct lk_error *err)
{
    int64_t limit = lki_clock_after_ms(pool->options->connect_ms);
    struct lk_error why = {0};
    struct lki_redis *redis =
        lki_redis_open(pool->endpoint, deadline < limit ? deadline : limit, &why);
    int64_t end = lki_clock_now();

    pool->options->on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                               .status = redis ? LK_OK : why.code,
                                               .at_ns = end,
                                               .duration_ns = end - begin,
                                               .attempts = 1},
                            pool->options->on_event_arg);
    if (redis) note_connect(pool, redis, begin);
    if (!redis && err) *err = why;
    return redis;
}

/* Lend a connection that was made. NULL: the pool was retired meanwhile. */
static struct lki_redis *keep_slot(struct lki_pool *pool, struct lki_redis *redis, int64_t begun_at)
{
    (void)pthread_mutex_lock(&pool->mutex);
    bool is_lent = lend_locked(pool, redis, begun_at);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (is_lent) return redis;
    lki_redis_close(redis);
    return NULL;
}

/* No connection could be made: lki_pool_main() tries again. *why: the reason, for the borrower. */
static void give_up_slot(struct lki_pool *pool, bool is_cut, struct lk_error *why)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->open_count--;
    if (pool->is_retired) {
        *why = pool->down_reason;
    } else if (is_cut) {
        pool->is_suspect = true;
    } else {
        pool->is_down = true;
        pool->down_reason = *why;
    }
    (void)pthread_cond_broadcast(&pool->returned);
    (void)pthread_cond_signal(&pool->failed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Make a connection for a slot that is counted already, or give the slot back. */
static lk_status fill_slot(struct lki_pool *pool, int64_t deadline, struct lki_redis **out_redis,
                           struct lk_error *err)
{
    struct lk_error why = {0};
    int64_t begin = lki_clock_now();
    struct lki_redis *redis = connect_once(pool, begin, deadline, &why);

    if (redis) redis = keep_slot(pool, redis, begin);
    if (redis) {
        *out_redis = redis;
        return LK_OK;
    }
    give_up_slot(pool, why.sys_errno == ETIMEDOUT && lki_clock_left_ms(deadline) == 0, &why);
    if (err) *err = why;
    return why.code;
}

/* Return parked connections that have answered. */
static void sweep(struct lki_pool *pool)
{
    struct lki_redis *redis = NULL;

    while ((redis = lki_parked_collect(pool->parked)))
        lki_pool_return(pool, redis);
}

/* Before a borrower waits or makes a connection. Releases the mutex meanwhile. */
static void sweep_for_one_locked(struct lki_pool *pool)
{
    if (pool->idle_count > 0 || !pool->is_sweeping) return;
    (void)pthread_mutex_unlock(&pool->mutex);
    sweep(pool);
    (void)pthread_mutex_lock(&pool->mutex);
}

lk_status lki_pool_borrow(struct lki_pool *pool, int64_t deadline, struct lki_redis **out_redis,
                          struct lk_error *err)
{
    for (;;) {
        struct lki_redis *redis = NULL;
        int64_t since = 0;

        (void)pthread_mutex_lock(&pool->mutex);
        sweep_for_one_locked(pool);
        while (pool->idle_count == 0 && pool->open_count == pool->options->pool_size &&
               !pool->is_down) {
            if (lki_clock_wait(&pool->returned, &pool->mutex, deadline)) continue;
            (void)pthread_mutex_unlock(&pool->mutex);
            return LKI_FAIL(err, LK_EXHAUSTED, "%s: all %u connections are in use",
                            pool->endpoint->label, pool->options->pool_size);
        }
        if (pool->idle_count > 0) {
            since = lend_idle_locked(pool, &redis);
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
        if (check_usable(pool, redis, since, deadline)) {
            *out_redis = redis;
            return LK_OK;
        } /* else the next */
    }
}

/* A borrower that does not wait cannot ping: connections that were idle for too long are closed. Releases the mutex
   meanwhile. */
static void drop_long_idle_locked(struct lki_pool *pool)
{
    if (pool->idle_count == 0) return;
    if (!is_idle_for(pool, pool->idle[pool->idle_count - 1].since, LKI_IDLE_PINGS)) return;
    (void)pthread_mutex_unlock(&pool->mutex);
    drop_idle(pool, lki_clock_now() - pool->options->idle_ms * LKI_IDLE_PINGS * NS_PER_MS);
    (void)pthread_mutex_lock(&pool->mutex);
}

lk_status lki_pool_try_borrow(struct lki_pool *pool, struct lki_redis **out_redis,
                              struct lk_error *err)
{
    for (;;) {
        struct lki_redis *redis = NULL;
        lk_status status = LK_OK;

        (void)pthread_mutex_lock(&pool->mutex);
        sweep_for_one_locked(pool);
        drop_long_idle_locked(pool);
        if (pool->idle_count > 0) {
            (void)lend_idle_locked(pool, &redis);
        } else if (pool->is_down) {
            status = pool->down_reason.code;
            if (err) *err = pool->down_reason;
        } else if (pool->open_count == pool->options->pool_size) {
            status = LKI_FAIL(err, LK_EXHAUSTED, "%s: all %u connections are in use",
                              pool->endpoint->label, pool->options->pool_size);
        } else {
            pool->open_count++;
        }
        (void)pthread_mutex_unlock(&pool->mutex);
        if (!redis || lki_redis_is_usable(redis)) {
            if (status == LK_OK) *out_redis = redis;
            return status;
        }
        (void)take_back(pool, redis);
    }
}

struct lki_redis *lki_pool_fill(struct lki_pool *pool, struct lki_redis *redis, int64_t begin,
                                const struct lk_error *why)
{
    struct lk_error reason = why ? *why : (struct lk_error){0};
    int64_t now = lki_clock_now();

    pool->options->on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                               .status = reason.code,
                                               .at_ns = now,
                                               .duration_ns = now - begin,
                                               .attempts = 1},
                            pool->options->on_event_arg);
    if (!why) {
        note_connect(pool, redis, begin);
        return keep_slot(pool, redis, begin);
    }
    lki_redis_close(redis);
    give_up_slot(pool, reason.sys_errno == ETIMEDOUT, &reason);
    return NULL;
}

/* ---- the reserve ------------------------------------------------------------------------------------ */

lk_status lki_pool_reserve(struct lki_pool *pool, int64_t deadline, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    struct lk_error why = {0};

    if (atomic_load(&pool->has_reserve)) return LK_OK;
    struct lki_redis *redis = connect_once(pool, begin, deadline, &why);
    if (!redis) {
        if (err) *err = why;
        return why.code;
    }
    (void)pthread_mutex_lock(&pool->mutex);
    if (!pool->is_retired && !atomic_exchange(&pool->has_reserve, true)) {
        pool->reserve = (struct entry){redis, begin, 0};
        redis = NULL;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    lki_redis_close(redis); /* another thread was faster */
    return LK_OK;
}

struct lki_redis *lki_pool_take_reserve(struct lki_pool *pool, int64_t *out_begun_at)
{
    if (!pool) return NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    struct entry entry = pool->reserve;
    pool->reserve = (struct entry){0};
    (void)pthread_mutex_unlock(&pool->mutex);
    if (entry.redis && !lki_pool_is_outdated(pool, entry.begun_at) &&
        lki_redis_is_usable(entry.redis)) {
        *out_begun_at = entry.begun_at;
        return entry.redis;
    }
    lki_redis_close(entry.redis);
    return NULL;
}

void lki_pool_end_reserve(struct lki_pool *pool)
{
    if (pool) atomic_store(&pool->has_reserve, false);
}

struct lki_redis *lki_pool_borrow_idle(struct lki_pool *pool)
{
    struct lki_redis *redis = NULL;

    while (pool) {
        (void)pthread_mutex_lock(&pool->mutex);
        sweep_for_one_locked(pool);
        if (pool->idle_count > 0) (void)lend_idle_locked(pool, &redis);
        (void)pthread_mutex_unlock(&pool->mutex);
        if (!redis || lki_redis_is_usable(redis)) return redis;
        (void)take_back(pool, redis);
        redis = NULL;
    }
    return NULL;
}

/* ---- parked connections and undos ---------------------------------------------------------------- */

/* Have the thread sweep: there is a parked connection, or an undo. */
static void begin_sweeping(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    if (!pool->is_sweeping) (void)pthread_cond_signal(&pool->failed);
    pool->is_sweeping = true;
    (void)pthread_mutex_unlock(&pool->mutex);
}

uint64_t lki_pool_park(struct lki_pool *pool, struct lki_redis *redis, unsigned unanswered,
                       struct lki_pending_undo *undo, int64_t until)
{
    uint64_t ticket = lki_parked_add(pool->parked, redis, unanswered, undo, until);

    begin_sweeping(pool);
    return ticket;
}

struct lki_redis *lki_pool_unpark(struct lki_pool *pool, uint64_t ticket, unsigned unanswered_max,
                                  unsigned *out_unanswered, struct lki_pending_undo **out_undo)
{
    return lki_parked_take(pool->parked, ticket, unanswered_max, out_unanswered, out_undo);
}

void lki_pool_undo_later(struct lki_pool *pool, struct lki_pending_undo *undo)
{
    lki_parked_undo_later(pool->parked, undo);
    begin_sweeping(pool);
}

bool lki_pool_has_pending_undo(struct lki_pool *pool)
{
    return lki_parked_has_undo(pool->parked);
}

/* The server said that it is not the one for this undo: its name may lead to another by now, or another has the
   key. */
static void undo_elsewhere(struct lki_pool *pool, struct lki_pending_undo *undo)
{
    undo->is_moved = false;
    lki_pool_renew(pool);
    pool->hooks.on_undo_moved(pool->hooks.arg, undo);
}

/* Send the undos, each on a connection of its own, which is parked until the answer comes. */
static void run_undos(struct lki_pool *pool)
{
    struct lki_pending_undo *undo = NULL;
    struct lki_redis *redis = NULL;

    while (!lki_pool_is_down(pool) && (undo = lki_parked_take_undo(pool->parked))) {
        int64_t until = lki_clock_after_ms(UNDO_MS);

        if (until > undo->until) until = undo->until;
        if (undo->is_moved && pool->hooks.on_undo_moved) {
            undo_elsewhere(pool, undo);
            continue;
        }
        lk_status status = lki_pool_try_borrow(pool, &redis, NULL);

        if (status == LK_OK && !redis) status = fill_slot(pool, INT64_MAX, &redis, NULL);
        if (status == LK_OK && lki_pending_undo_send(undo, redis, pool->endpoint, NULL) == LK_OK) {
            (void)lki_parked_add(pool->parked, redis, 1, undo, until);
            continue;
        }
        lki_parked_undo_later(pool->parked, undo);
        if (status == LK_OK) lki_pool_return(pool, redis);
        return;
    }
}

/* If the pool is retired: pass all undos on to the topology. Parked connections are shut down already. */
static void hand_over_undos(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    bool is_retired = pool->is_retired;
    (void)pthread_mutex_unlock(&pool->mutex);
    if (!is_retired || !pool->hooks.on_undo_moved) return;
    sweep(pool);
    lki_parked_hand_over(pool->parked, pool->hooks.on_undo_moved, pool->hooks.arg);
}

/* One sweep by the thread. Releases the mutex meanwhile. idle_sweeps: sweeps in a row without anything to do. */
static void sweep_parked_locked(struct lki_pool *pool, unsigned *idle_sweeps)
{
    bool has_undo = lki_parked_has_undo(pool->parked); /* others may wait for the connection */
    int64_t until = lki_clock_after_ms(has_undo ? SWEEP_UNDO_MS : SWEEP_MS);

    (void)lki_clock_wait(&pool->failed, &pool->mutex, until);
    (void)pthread_mutex_unlock(&pool->mutex);
    sweep(pool);
    run_undos(pool);
    bool is_empty = lki_parked_is_empty(pool->parked);
    (void)pthread_mutex_lock(&pool->mutex);
    *idle_sweeps = is_empty ? *idle_sweeps + 1 : 0;
    if (*idle_sweeps < IDLE_SWEEPS_MAX) return;
    *idle_sweeps = 0;
    pool->is_sweeping = false;
}

void lki_pool_usage(struct lki_pool *pool, struct lk_pool_usage *out)
{
    (void)pthread_mutex_lock(&pool->mutex);
    *out = (struct lk_pool_usage){.open = (unsigned)pool->open_count,
                                  .busy = (unsigned)(pool->open_count - pool->idle_count),
                                  .max = pool->options->pool_size,
                                  .reconnects = pool->reconnects};
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* One attempt to reconnect; sets is_down. Releases the mutex meanwhile. */
static void reconnect_locked(struct lki_pool *pool)
{
    struct lk_error why = {0};
    int64_t begin = lki_clock_now();

    pool->is_suspect = false;
    if (pool->open_count == pool->options->pool_size) return; /* all are lent */
    pool->open_count++;
    (void)pthread_mutex_unlock(&pool->mutex);
    struct lki_redis *redis = connect_once(pool, begin, INT64_MAX, &why);
    (void)pthread_mutex_lock(&pool->mutex);
    if (redis && pool->is_retired) {
        lki_redis_close(redis);
        pool->open_count--;
    } else if (redis) {
        keep_idle_locked(pool, redis, begin);
        pool->is_down = false;
    } else {
        pool->open_count--;
        pool->is_down = true;
        pool->down_reason = why;
    }
    (void)pthread_cond_broadcast(&pool->returned);
}

/* The pause before the next attempt. Undos go on: a connection that was made earlier may still work. */
static void pause_locked(struct lki_pool *pool, int64_t until, unsigned *idle_sweeps)
{
    while (!pool->is_stopping && lki_clock_left_ms(until) > 0) {
        if (pool->is_sweeping) {
            sweep_parked_locked(pool, idle_sweeps);
        } else {
            (void)lki_clock_wait(&pool->failed, &pool->mutex, until);
        }
    }
}

void *lki_pool_main(void *arg)
{
    struct lki_pool *pool = arg;
    struct lki_backoff backoff = {0};
    unsigned idle_sweeps = 0;

    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->is_stopping) {
        if (pool->is_down) {
            int64_t pause_ms = lki_backoff_next(&backoff, pool->options->backoff_ms);
            int64_t until = lki_clock_after_ms(pause_ms);

            pause_locked(pool, until, &idle_sweeps);
            if (!pool->is_stopping) reconnect_locked(pool);
        } else if (pool->is_suspect) {
            reconnect_locked(pool);
        } else {
            backoff = (struct lki_backoff){0};
            if (pool->is_sweeping) {
                sweep_parked_locked(pool, &idle_sweeps);
            } else {
                (void)pthread_cond_wait(&pool->failed, &pool->mutex);
            }
        }
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    hand_over_undos(pool);
    return NULL;
}

void lki_pool_stop(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->is_stopping = true;
    (void)pthread_cond_signal(&pool->failed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

void lki_pool_retire(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->is_retired = pool->is_stopping = pool->is_down = true;
    pool->down_reason = (struct lk_error){.code = LK_UNREACHABLE, .where = __func__};
    (void)snprintf(pool->down_reason.text, sizeof pool->down_reason.text,
                   "%s: not the server to ask any more", pool->endpoint->label);
    for (size_t i = 0; i < pool->lent_count; i++)
        lki_redis_cut(pool->lent[i].redis);
    while (pool->idle_count > 0) {
        lki_redis_close(pool->idle[--pool->idle_count].redis);
        pool->open_count--;
    }
    lki_redis_close(pool->reserve.redis);
    pool->reserve = (struct entry){0};
    (void)pthread_cond_broadcast(&pool->returned);
    (void)pthread_cond_signal(&pool->failed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

bool lki_pool_is_down(struct lki_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    bool is_down = pool->is_down && pool->idle_count == 0;
    (void)pthread_mutex_unlock(&pool->mutex);
    return is_down;
}
