/*
 * Leases are in two heaps: by their next renewal, which is due a third of the lease after the last one was
 * SENT (so delays do not add up), and by their end. Renewals that are due go to the connection of their
 * server, up to 256 in one pipeline; while a round is under way there, the next ones wait for it, but for
 * no other server. A failed renewal is repeated on its own. A lease that could not be renewed ends by the
 * local clock, and its loss is reported. A renewal never creates a key again: a lost lock stays lost.
 *
 * After a failover, or when a connection was closed, all holds on that server are suspect and are queried
 * at once: by a renewal, or where none is wanted by a check that changes nothing. So the loss of a hold is
 * reported as soon as a server that restarted empty can be reached. That is why a connection is kept to each
 * server with holds that last longer than UNCHECKED_MS.
 *
 * Threads: one waits for everything, in one poll(); any thread adds and removes leases.
 */
#include "watchdog.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "call/context.h"
#include "leases.h"
#include "renewal_conns.h"

enum {
    UNCHECKED_MS = 200,    /* a hold that is not renewed before is first checked after this */
    NOT_NOW_MAX_MS = 200,  /* longest pause after a temporary error */
    ELSEWHERE_MAX_MS = 10, /* ...after a redirection */
    SORT_MAX = 1024, /* leases that are sorted before the thread sends, and yields the mutex */
};

struct lki_watchdog {
    lk_client *client;              /* borrowed */
    struct lki_renewal_conns conns; /* used by the watchdog's thread alone, except the queues */
    int wake_fd;                    /* eventfd: the heaps have changed */
    pthread_mutex_t mutex;          /* guards all below, and every lease */
    struct lki_leases leases;
    pthread_cond_t idle; /* some lease is no longer taken */
    int64_t wakes_at;    /* the watchdog's thread sleeps until then; 0: it is awake */
    bool has_grown;      /* a lease was added since it last slept: more are likely to follow */
    unsigned long epoch; /* of the topology, when all leases were last rechecked */
    bool must_recheck;
    bool is_stopping;
};

/* ---- add and remove -------------------------------------------------------------------------- */

static void wake(const struct lki_watchdog *watchdog)
{
    uint64_t one = 1;
    ssize_t done = write(watchdog->wake_fd, &one, sizeof one);

    (void)done; /* a full counter wakes, too */
}

static unsigned long epoch_now(const struct lki_watchdog *watchdog)
{
    return watchdog->client->topology ? lki_topology_epoch(watchdog->client->topology) : 0;
}

void lki_watchdog_expect(struct lki_watchdog *watchdog, lk_lock *lock)
{
    lock->lease.epoch = epoch_now(watchdog);
    lock->lease.is_suspect = false;
    lock->lease.asked_at = lki_clock_now();
}

lk_status lki_watchdog_make_ready(struct lki_watchdog *watchdog, const lk_lock *lock,
                                  int64_t deadline, struct lk_error *err)
{
    if (!watchdog->client->topology)
        return LK_OK; /* its only connection exists from the beginning */
    struct lki_node *node = lki_renewal_conns_node_of(&watchdog->conns, lock->key, err);
    lk_status status = node ? lki_pool_reserve(node->pool, deadline, err) : LK_UNREACHABLE;

    lki_node_unref(node);
    return status;
}

/* Whether the kind knows that the hold has ended; true only once. */
static bool end_if_over(lk_lock *lock)
{
    if (!lock->ops->is_over || atomic_load(&lock->expires_at) == 0 || !lock->ops->is_over(lock))
        return false;
    atomic_store(&lock->expires_at, 0);
    return true;
}

static void prepare_locked(const struct lki_watchdog *watchdog, lk_lock *lock)
{
    struct lki_lease *lease = &lock->lease;
    int64_t now = lki_clock_now();

    (void)end_if_over(lock);
    lease->slot = lki_renewal_conns_slot_of(&watchdog->conns, lock->key);
    lease->is_asking = false;
    lease->is_suspect |= lease->epoch != watchdog->epoch;
    lease->end.key = atomic_load(&lock->expires_at);
    lease->renewal.key = lki_lease_renewal(lock, now + lock->lease_ms * NS_PER_MS / 3);
    int64_t check_at = now + UNCHECKED_MS * (int64_t)NS_PER_MS;
    lease->is_unchecked = check_at < lease->renewal.key && lki_hold_can_be_checked(lock);
    lease->is_exact = lease->is_unchecked;
    if (lease->is_unchecked) lease->renewal.key = check_at;
    if (lease->is_suspect) lease->renewal.key = now;
}

lk_status lki_watchdog_add(struct lki_watchdog *watchdog, lk_lock *lock, struct lk_error *err)
{
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&watchdog->mutex);
    lock->lease.is_leaving = false;
    if (lock->lease.is_taken) { /* it was not removed yet */
        lki_leases_end_at(&watchdog->leases, lock, atomic_load(&lock->expires_at));
        (void)pthread_mutex_unlock(&watchdog->mutex);
        return LK_OK;
    }
    prepare_locked(watchdog, lock);
    watchdog->has_grown = true;
    if (!lki_leases_push(&watchdog->leases, lock)) {
        status = LKI_FAIL(err, LK_NO_MEMORY, "watchdog");
    } else if (lki_leases_next(&watchdog->leases) < watchdog->wakes_at) {
        watchdog->wakes_at = 0;
        wake(watchdog);
    }
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return status;
}

/* A lease that is taken is removed at the end of its round. */
static void leave_locked(struct lki_watchdog *watchdog, lk_lock *lock)
{
    lock->lease.is_leaving = lock->lease.is_taken;
    if (lock->lease.is_taken || !lki_leases_have(lock)) return;
    lki_leases_drop(&watchdog->leases, lock);
    lock->lease.epoch = watchdog->epoch; /* it was rechecked with the others */
}

bool lki_watchdog_remove_by(struct lki_watchdog *watchdog, lk_lock *lock, int64_t deadline)
{
    bool is_in_time = true;

    (void)pthread_mutex_lock(&watchdog->mutex);
    leave_locked(watchdog, lock);
    while (lock->lease.is_taken && is_in_time)
        is_in_time = lki_clock_wait(&watchdog->idle, &watchdog->mutex, deadline);
    leave_locked(watchdog, lock);
    bool has_left = !lock->lease.is_leaving;
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return has_left;
}

void lki_watchdog_remove(struct lki_watchdog *watchdog, lk_lock *lock)
{
    (void)lki_watchdog_remove_by(watchdog, lock, INT64_MAX);
}

/* ---- the end of holds ------------------------------------------------------------------------ */

static struct lk_event event_of(const lk_lock *lock, lk_event_type type, lk_status status,
                                int64_t sent_at)
{
    int64_t now = lki_clock_now();

    return (struct lk_event){.type = type,
                             .status = status,
                             .at_ns = now,
                             .duration_ns = now - sent_at,
                             .attempts = 1,
                             .kind = lock->ops->kind,
                             .key = lock->key,
                             .token = lock->token,
                             .ends_ns = lki_hold_ends_at(sent_at, lock->lease_ms),
                             .fence = lock->fence};
}

/* Without the mutex, while the lease is_taken. */
static void report_lost(const struct lki_watchdog *watchdog, lk_lock *lock, int64_t since)
{
    if (!lki_hold_lose(lock)) return;
    if (!lock->ops->renewed)
        lki_context_emit(watchdog->client, event_of(lock, LK_EVENT_LOST, LK_LOST, since));
    if (lock->on_lost) lock->on_lost(lock, lock->on_lost_arg);
}

static void end_leases_locked(struct lki_watchdog *watchdog)
{
    lk_lock *ended[LKI_ROUND_MAX];
    size_t count = lki_leases_take_ended(&watchdog->leases, ended, LKI_ROUND_MAX);

    if (count == 0) return;
    (void)pthread_mutex_unlock(&watchdog->mutex);
    int64_t now = lki_clock_now();
    for (size_t i = 0; i < count; i++)
        report_lost(watchdog, ended[i], now);
    (void)pthread_mutex_lock(&watchdog->mutex);
    for (size_t i = 0; i < count; i++)
        lki_leases_drop(&watchdog->leases, ended[i]);
    (void)pthread_cond_broadcast(&watchdog->idle);
}

/* ---- due queries ----------------------------------------------------------------------------- */

/* The first check of a hold needs no query if the connection has been open since before the acquire: then the
   server has not restarted. True: this is so, and the next query is scheduled. */
static bool check_unchecked_locked(struct lki_watchdog *watchdog, struct lki_renewal_conn *conn,
                                   lk_lock *lock)
{
    struct lki_lease *lease = &lock->lease;

    if (!lease->is_unchecked) return false;
    lease->is_unchecked = false;
    if (lease->is_suspect) return false;
    lease->is_suspect = !conn->ops->is_open_since(conn, lease->asked_at);
    if (lease->is_suspect) return false;
    lease->is_exact = false;
    lki_leases_ask_at(&watchdog->leases, lock,
                      lki_lease_renewal(lock, lease->asked_at + lock->lease_ms * NS_PER_MS / 3));
    return true;
}

/* Queue due leases at the connections to their servers. Releases the mutex while it asks the topology. */
static void sort_due_locked(struct lki_watchdog *watchdog)
{
    int64_t now = lki_clock_now();
    int nowhere = -1; /* a slot without a known server */
    lk_lock *lock = lki_leases_first(&watchdog->leases);

    if (!lock || lock->lease.renewal.key > now) return;
    for (int i = 0; i < SORT_MAX && lock && lki_leases_is_due(lock, now); i++) {
        int slot = lock->lease.slot;
        struct lki_renewal_conn *conn = lki_renewal_conns_known(&watchdog->conns, slot);

        if (conn && check_unchecked_locked(watchdog, conn, lock)) {
            /* nothing is due */
        } else if (conn) {
            lki_leases_enqueue(&watchdog->leases, lock, conn);
        } else if (slot == nowhere) {
            lock->lease.is_exact = true;
            lki_leases_ask_at(&watchdog->leases, lock, lki_lease_retry(lock, NOT_NOW_MAX_MS));
        } else {
            (void)pthread_mutex_unlock(&watchdog->mutex);
            if (!lki_renewal_conns_find(&watchdog->conns, slot)) nowhere = slot;
            (void)pthread_mutex_lock(&watchdog->mutex);
        }
        lock = lki_leases_first(&watchdog->leases);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void fill_round_locked(struct lki_watchdog *watchdog, struct lki_renewal_conn *conn)
{
    struct lki_round *round = &conn->round;
    int64_t now = lki_clock_now();
    int64_t last_end = now;

    round->sent_at = now;
    round->deadline = lki_clock_after_ms(watchdog->client->options.command_ms);
    round->ends_at = lki_never;
    while (conn->first && round->count < LKI_ROUND_MAX) {
        lk_lock *lock = lki_leases_waiting(conn);
        int64_t ends = atomic_load(&lock->expires_at);
        bool is_check = lki_lease_renewal(lock, now) == lki_never;

        /* The end of a hold is reported elsewhere; a lock that consists of several cannot be checked. */
        if (ends <= now || (is_check && !lki_hold_can_be_checked(lock))) {
            lock->lease.is_suspect = false;
            lki_leases_ask_at(&watchdog->leases, lock, lki_never);
            continue;
        }
        lki_leases_take(&watchdog->leases, lock);
        round->queries[round->count++] = (struct lki_query){
            .lock = lock, .is_check = is_check, .is_asking = lock->lease.is_asking};
        lock->lease.is_suspect = lock->lease.is_asking = false;
        if (ends < round->ends_at) round->ends_at = ends;
        if (ends > last_end) last_end = ends;
    }
    if (last_end < round->deadline) round->deadline = last_end; /* no later answer is of use */
}

static void start_rounds_locked(struct lki_watchdog *watchdog)
{
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (!conn->first || conn->round.count > 0) continue;
        fill_round_locked(watchdog, conn);
        if (conn->round.count == 0) continue; /* all of them have ended */
        (void)pthread_mutex_unlock(&watchdog->mutex);
        conn->ops->start(conn);
        (void)pthread_mutex_lock(&watchdog->mutex);
    }
}

static void report_renewal(const struct lki_watchdog *watchdog, lk_lock *lock, lk_status status,
                           int64_t sent_at)
{
    struct lk_event event = event_of(lock, LK_EVENT_RENEW, status, sent_at);

    if (lock->ops->renewed) {
        lock->ops->renewed(lock, status, sent_at, event.ends_ns);
    } else {
        lki_context_emit(watchdog->client, event);
    }
}

/* Report the results of a round, and pass redirections on to the topology. Without the mutex, while the leases
   are taken. */
static void report_round(struct lki_watchdog *watchdog, struct lki_renewal_conn *conn)
{
    int64_t sent_at = conn->round.sent_at;
    bool needs_refresh = false;

    for (size_t i = 0; i < conn->round.count; i++) {
        struct lki_query *query = &conn->round.queries[i];
        lk_lock *lock = query->lock;
        enum lki_verdict verdict = query->verdict = conn->ops->verdict(query);

        needs_refresh |= verdict == LKI_SILENT || verdict == LKI_NOT_NOW;
        if (query->reply && (verdict == LKI_NOT_NOW || verdict == LKI_ELSEWHERE))
            query->next =
                lki_renewal_conns_learn(&watchdog->conns, lock->lease.slot, query->reply, conn);
        if (query->is_reported) continue;
        if (!query->is_check && verdict != LKI_ELSEWHERE)
            report_renewal(watchdog, lock, lki_renewal_conn_status(verdict), sent_at);
        if (query->is_check && verdict == LKI_OURS && lock->ops->renewed)
            lock->ops->renewed(lock, LK_OK, sent_at, 0);
        if (verdict == LKI_GONE) report_lost(watchdog, lock, sent_at);
    }
    if (needs_refresh && watchdog->client->topology)
        lki_topology_refresh_soon(watchdog->client->topology);
}

/* Report holds that have ended while their round is under way; it continues for the others. */
static void report_ended(const struct lki_watchdog *watchdog, struct lki_round *round)
{
    int64_t now = lki_clock_now();

    round->ends_at = lki_never;
    for (size_t i = 0; i < round->count; i++) {
        struct lki_query *query = &round->queries[i];
        int64_t ends = query->is_reported ? lki_never : atomic_load(&query->lock->expires_at);

        if (ends > now) {
            if (ends < round->ends_at) round->ends_at = ends;
            continue;
        }
        query->is_reported = true;
        if (!query->is_check) report_renewal(watchdog, query->lock, LK_UNKNOWN, round->sent_at);
        report_lost(watchdog, query->lock, round->sent_at);
    }
}

static void end_asked_locked(struct lki_watchdog *watchdog)
{
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (conn->round.count == 0 || conn->round.ends_at > lki_clock_now()) continue;
        (void)pthread_mutex_unlock(&watchdog->mutex);
        report_ended(watchdog, &conn->round);
        (void)pthread_mutex_lock(&watchdog->mutex);
    }
}

/* The moment of the next query, by the result of the last one; GONE: never. */
static int64_t next_after(const struct lki_query *query, enum lki_verdict verdict, int64_t sent_at)
{
    const lk_lock *lock = query->lock;

    switch (verdict) {
    case LKI_GONE:
        break;
    case LKI_OURS:
        if (!query->is_check) return sent_at + lock->lease_ms * NS_PER_MS / 3;
        break;
    case LKI_REFUSED:
        return lki_lease_retry(lock, lock->lease_ms);
    case LKI_SILENT:
    case LKI_NOT_NOW:
        return lki_lease_retry(lock, NOT_NOW_MAX_MS);
    case LKI_ELSEWHERE:
        return lki_lease_retry(lock, ELSEWHERE_MAX_MS);
    }
    return lki_never;
}

static void settle_query_locked(struct lki_watchdog *watchdog, const struct lki_query *query,
                                int64_t sent_at)
{
    lk_lock *lock = query->lock;
    struct lki_lease *lease = &lock->lease;
    enum lki_verdict verdict = query->is_reported ? LKI_GONE : query->verdict;
    int64_t ends = lki_hold_ends_at(sent_at, lock->lease_ms);
    int64_t next = next_after(query, verdict, sent_at);

    lease->is_taken = false;
    lease->is_exact = verdict != LKI_OURS;
    if (verdict == LKI_OURS && !query->is_check && ends > atomic_load(&lock->expires_at))
        atomic_store(&lock->expires_at, ends);
    if (verdict == LKI_OURS) lease->asked_at = sent_at;
    if (verdict == LKI_GONE || lease->is_leaving) {
        lki_leases_drop(&watchdog->leases, lock);
        lease->epoch = watchdog->epoch;
        return;
    }
    struct lki_renewal_conn *asked_next = lease->is_suspect ? NULL : query->next;
    if (lease->is_suspect) next = lki_clock_now(); /* it became suspect after the query was sent */
    lease->is_suspect |= query->is_check && verdict != LKI_OURS;
    if (!lease->is_suspect) next = lki_lease_renewal(lock, next);
    lease->is_asking = asked_next != NULL;
    if (asked_next) {
        lki_leases_enqueue(&watchdog->leases, lock, asked_next);
    } else {
        lki_leases_ask_at(&watchdog->leases, lock, next);
    }
}

static void finish_rounds_locked(struct lki_watchdog *watchdog)
{
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (!lki_renewal_conn_is_done(conn)) continue;
        (void)pthread_mutex_unlock(&watchdog->mutex);
        report_round(watchdog, conn);
        (void)pthread_mutex_lock(&watchdog->mutex);
        for (size_t i = 0; i < conn->round.count; i++)
            settle_query_locked(watchdog, &conn->round.queries[i], conn->round.sent_at);
        conn->ops->clear(conn);
        (void)pthread_cond_broadcast(&watchdog->idle);
    }
}

/* ---- changes of the topology ----------------------------------------------------------------- */

/* Leases that wait at a connection whose server is gone are queried elsewhere, at once. */
static void close_gone_locked(struct lki_watchdog *watchdog)
{
    struct lki_renewal_conn *gone = NULL;

    while ((gone = lki_renewal_conns_take_gone(&watchdog->conns))) {
        assert(gone->round.count == 0);
        while (gone->first)
            lki_leases_ask_at(&watchdog->leases, lki_leases_waiting(gone), lki_clock_now());
        gone->ops->free(gone);
    }
}

/* Make the holds of a connection suspect; NULL: those without a connection, as their server has changed. A hold
   whose query is under way on a newer connection is left out. */
static void suspect_leases_locked(struct lki_watchdog *watchdog,
                                  const struct lki_renewal_conn *conn)
{
    int64_t now = lki_clock_now();
    lk_lock *lock = NULL;

    for (size_t i = 0; (lock = lki_leases_at(&watchdog->leases, i)); i++) {
        if (lki_renewal_conns_known(&watchdog->conns, lock->lease.slot) != conn) continue;
        if (conn && conn->has_ended && lock->lease.is_taken) continue;
        lock->lease.is_suspect = true;
        if (lock->lease.is_taken) continue; /* it is queried again when it is put back */
        lki_leases_ask_at(&watchdog->leases, lock, now);
    }
}

/* End holds that their kind knows to be over, also if a query is under way. Each change reorders the heap, so the
   loop begins again. */
static void end_what_is_over_locked(struct lki_watchdog *watchdog)
{
    size_t i = 0;
    lk_lock *lock = NULL;

    while ((lock = lki_leases_at(&watchdog->leases, i++))) {
        if (!end_if_over(lock)) continue;
        lki_leases_end_at(&watchdog->leases, lock, 0);
        for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next)
            conn->round.ends_at = 0;
        i = 0;
    }
}

static void recheck_locked(struct lki_watchdog *watchdog)
{
    unsigned long epoch = epoch_now(watchdog);

    if (!watchdog->must_recheck && watchdog->epoch == epoch) return;
    watchdog->must_recheck = false;
    end_what_is_over_locked(watchdog);
    if (!watchdog->client->topology) {
        suspect_leases_locked(watchdog, watchdog->conns.first);
        return;
    }
    (void)pthread_mutex_unlock(&watchdog->mutex);
    lki_renewal_conns_recheck(&watchdog->conns);
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (conn->is_gone && lki_renewal_conn_is_under_way(conn)) conn->ops->give_up(conn);
    }
    (void)pthread_mutex_lock(&watchdog->mutex);
    watchdog->epoch = epoch;
    suspect_leases_locked(watchdog, NULL);
    finish_rounds_locked(watchdog);
    close_gone_locked(watchdog);
}

/* A connection was closed: its server may have restarted empty. */
static void suspect_disconnected_locked(struct lki_watchdog *watchdog)
{
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (conn->has_ended) suspect_leases_locked(watchdog, conn);
        conn->has_ended = false;
    }
}

void lki_watchdog_recheck(struct lki_watchdog *watchdog)
{
    (void)pthread_mutex_lock(&watchdog->mutex);
    watchdog->must_recheck = true;
    watchdog->wakes_at = 0;
    wake(watchdog);
    (void)pthread_mutex_unlock(&watchdog->mutex);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* The next moment at which there is something to do, whatever the servers answer. */
static int64_t next_moment_locked(const struct lki_watchdog *watchdog)
{
    int64_t next = lki_leases_next(&watchdog->leases);

    if (watchdog->must_recheck || watchdog->is_stopping) next = 0;
    for (const struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (lki_renewal_conn_is_done(conn)) next = 0;
        if (!lki_renewal_conn_is_under_way(conn)) continue;
        if (lki_renewal_conn_until(conn) < next) next = lki_renewal_conn_until(conn);
        if (conn->round.ends_at < next) next = conn->round.ends_at;
    }
    return next;
}

static void sleep_locked(struct lki_watchdog *watchdog)
{
    int64_t until = next_moment_locked(watchdog);
    int64_t unchecked_until = lki_clock_now() + UNCHECKED_MS * (int64_t)NS_PER_MS;

    /* This early, so that the next acquire need not wake this thread. */
    if (watchdog->has_grown && unchecked_until < until) until = unchecked_until;
    watchdog->has_grown = false;
    watchdog->wakes_at = until;
    (void)pthread_mutex_unlock(&watchdog->mutex);
    if (until > 0) lki_renewal_conns_wait(&watchdog->conns, watchdog->wake_fd, until);
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (lki_renewal_conn_is_under_way(conn)) conn->ops->go_on(conn);
    }
    (void)pthread_mutex_lock(&watchdog->mutex);
    watchdog->wakes_at = 0;
}

void *lki_watchdog_main(void *arg)
{
    struct lki_watchdog *watchdog = arg;

    (void)pthread_mutex_lock(&watchdog->mutex);
    while (!watchdog->is_stopping) {
        recheck_locked(watchdog);
        finish_rounds_locked(watchdog);
        suspect_disconnected_locked(watchdog);
        end_asked_locked(watchdog);
        end_leases_locked(watchdog);
        sort_due_locked(watchdog);
        start_rounds_locked(watchdog);
        sleep_locked(watchdog);
    }
    for (struct lki_renewal_conn *conn = watchdog->conns.first; conn; conn = conn->next) {
        if (lki_renewal_conn_is_under_way(conn)) conn->ops->give_up(conn);
    }
    finish_rounds_locked(watchdog); /* so that no thread waits for a lease that is taken */
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return NULL;
}

void lki_watchdog_stop(struct lki_watchdog *watchdog)
{
    (void)pthread_mutex_lock(&watchdog->mutex);
    watchdog->is_stopping = true;
    wake(watchdog);
    (void)pthread_mutex_unlock(&watchdog->mutex);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct lki_watchdog *lki_watchdog_new(lk_client *client, struct lki_renewal_conn *conn,
                                      struct lk_error *err)
{
    struct lki_watchdog *watchdog = calloc(1, sizeof *watchdog);

    if (!watchdog) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the watchdog");
        return NULL;
    }
    watchdog->client = client;
    watchdog->conns = (struct lki_renewal_conns){.client = client, .first = conn};
    (void)pthread_mutex_init(&watchdog->mutex, NULL);
    (void)pthread_cond_init(&watchdog->idle, NULL);
    watchdog->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watchdog->wake_fd < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
    } else if (lki_renewal_conns_init(&watchdog->conns, err) == LK_OK) {
        return watchdog;
    }
    lki_watchdog_free(watchdog);
    return NULL;
}

void lki_watchdog_free(struct lki_watchdog *watchdog)
{
    if (!watchdog) return;
    lki_leases_done(&watchdog->leases);
    lki_renewal_conns_done(&watchdog->conns);
    if (watchdog->wake_fd >= 0) (void)close(watchdog->wake_fd);
    (void)pthread_cond_destroy(&watchdog->idle);
    (void)pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
}
