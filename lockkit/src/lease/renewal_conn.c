/*
 * A renewal connection to a Redis server: connected without blocking, written in slices that fit into the
 * socket's buffer, read as answers come. So one thread serves many servers, and a slow one delays no other.
 *
 * A renewal is the EVALSHA of the kind's script. After NOSCRIPT it is sent once more as EVAL (with a loader:
 * after SCRIPT LOAD). A check is the kind's owner check, which writes nothing.
 */
#include "renewal_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "call/eval.h"
#include "wire/reply.h"

/* A socket that poll() calls writable takes this much at once: a third of the smallest buffer in use. */
enum { SLICE_BYTES = 8192, ANSWERS_MAX = 2 * LKI_ROUND_MAX };

static const size_t no_query = SIZE_MAX;

struct lki_exchange {
    struct lki_request *requests[LKI_ROUND_MAX]; /* owned; of the queries that are sent */
    struct lk_command commands[ANSWERS_MAX];
    size_t askers[ANSWERS_MAX]; /* the index of each command's query; no_query: ASKING */
    size_t count, sent, answered;
    const struct lki_variant *loads[LKI_ROUND_MAX]; /* scripts to be loaded first, each once */
    size_t load_count, loaded;
    size_t queries;
    bool by_text;
};

/* ---- answers --------------------------------------------------------------------------------- */

static enum lki_verdict conn_verdict(const struct lki_query *query)
{
    const lk_reply *reply = query->reply;

    if (!reply) return LKI_SILENT;
    if (lki_reply_is_error(reply, "NOTOWNER")) return LKI_GONE;
    if (lki_reply_is_error(reply, "WRONGTYPE")) return LKI_GONE; /* or something else by now */
    if (lki_reply_is_redirection(reply)) return LKI_ELSEWHERE;
    if (lki_reply_is_passing(reply)) return LKI_NOT_NOW;
    if (lk_reply_type_of(reply) != LK_REPLY_INTEGER) return LKI_REFUSED;
    return lk_reply_integer(reply, 0) == 1 ? LKI_OURS : LKI_GONE;
}

lk_status lki_renewal_conn_status(enum lki_verdict verdict)
{
    switch (verdict) {
    case LKI_OURS:
        return LK_OK;
    case LKI_GONE:
        return LK_LOST;
    case LKI_SILENT:
        return LK_UNKNOWN;
    case LKI_REFUSED:
    case LKI_NOT_NOW:
    case LKI_ELSEWHERE:
        break;
    }
    return LK_SERVER;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A check is sent as EVAL: the new server does not know the script yet. */
static struct lki_request *request_of(lk_client *client, const struct lki_query *query,
                                      bool by_text)
{
    const lk_lock *lock = query->lock;
    char lease[LKI_NUMBER_MAX];
    struct lki_call call = {.script = query->is_check ? "check" : lock->ops->renew_script,
                            .preamble = query->is_check ? lock->ops->guard_script : NULL,
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(lock->token), lki_number(lease, lock->lease_ms)},
                            .arg_count = query->is_check ? 1 : 2};

    if (!query->is_check && lock->renew_key)
        call.keys[call.key_count++] = lk_bytes_of(lock->renew_key);
    struct lki_request *request = lki_call_request(client, &call);
    if (request && (by_text || (query->is_check && !client->has_loader)))
        (void)lki_script_spell_out(request, client->has_loader);
    return request;
}

static void add_load(struct lki_exchange *exchange, const struct lki_variant *variant)
{
    size_t i = 0;

    while (i < exchange->load_count && exchange->loads[i] != variant)
        i++;
    if (i == exchange->load_count) exchange->loads[exchange->load_count++] = variant;
}

static void add_command(struct lki_exchange *exchange, struct lk_command command, size_t asker)
{
    exchange->commands[exchange->count] = command;
    exchange->askers[exchange->count++] = asker;
}

static bool add_query(struct lki_renewal_conn *conn, size_t i)
{
    static const struct lk_bytes asking = {.data = "ASKING", .len = 6};
    const struct lki_query *query = &conn->round.queries[i];
    struct lki_exchange *exchange = conn->exchange;
    struct lki_request *request = request_of(conn->client, query, exchange->by_text);

    if (!request) return false;
    exchange->requests[i] = request;
    if (request->load_first) add_load(exchange, request->load_first);
    if (query->is_asking) add_command(exchange, (struct lk_command){&asking, 1}, no_query);
    add_command(exchange, request->command, i);
    exchange->queries++;
    return true;
}

static void drop_exchange(struct lki_renewal_conn *conn)
{
    for (size_t i = 0; conn->exchange && i < conn->round.count; i++)
        free(conn->exchange->requests[i]);
    free(conn->exchange);
    conn->exchange = NULL;
}

/* Whether a query still waits for a definite answer. */
static bool is_unanswered(const struct lki_query *query, bool by_text)
{
    return by_text ? lki_reply_is_error(query->reply, "NOSCRIPT") : !query->reply;
}

static bool write_exchange(struct lki_renewal_conn *conn, bool by_text)
{
    bool is_written = true;

    conn->exchange = calloc(1, sizeof *conn->exchange);
    if (!conn->exchange) return false;
    conn->exchange->by_text = by_text;
    for (size_t i = 0; i < conn->round.count && is_written; i++) {
        if (is_unanswered(&conn->round.queries[i], by_text)) is_written = add_query(conn, i);
    }
    conn->began_at = lki_clock_now();
    if (!by_text) conn->round.sent_at = conn->began_at;
    return is_written;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* Return a borrowed connection to the pool; close an own one. */
static void disconnect(struct lki_renewal_conn *conn)
{
    if (conn->is_borrowed) {
        lki_pool_return(conn->node->pool, conn->redis);
    } else {
        conn->has_ended |= conn->is_open;
        lki_redis_close(conn->redis);
        if (conn->redis) lki_pool_end_reserve(conn->node->pool);
    }
    conn->redis = NULL;
    conn->is_open = conn->is_borrowed = false;
}

static void emit(const struct lki_renewal_conn *conn, lk_event_type type, lk_status status,
                 size_t attempts)
{
    int64_t now = lki_clock_now();

    lki_context_emit(conn->client, (struct lk_event){.type = type,
                                                     .status = status,
                                                     .at_ns = now,
                                                     .duration_ns = now - conn->began_at,
                                                     .attempts = (unsigned)attempts});
}

/* Borrow an idle connection of the pool: no further one could be made (maxclients, open files). */
static bool borrow(struct lki_renewal_conn *conn)
{
    conn->redis = lki_pool_borrow_idle(conn->node->pool);
    conn->is_borrowed = conn->is_open = conn->redis != NULL;
    return conn->is_open;
}

/* Take the pool's reserve connection. False: there is none. */
static bool take_reserve(struct lki_renewal_conn *conn)
{
    conn->redis = lki_pool_take_reserve(conn->node->pool, &conn->connected_at);
    conn->is_open = conn->redis != NULL;
    conn->began_at = lki_clock_now();
    return conn->is_open;
}

/* OK; BUSY: not connected yet; else the reason of the failure. */
static lk_status connect_on(struct lki_renewal_conn *conn)
{
    struct lk_error why = {0};
    lk_status status = LK_BUSY;

    if (!conn->redis) {
        if (take_reserve(conn)) return LK_OK;
        conn->began_at = conn->connected_at = lki_clock_now();
        conn->redis =
            lki_redis_open_begin(&conn->node->endpoint, lki_renewal_conn_until(conn), &why);
        if (!conn->redis) status = why.code;
    }
    if (conn->redis)
        status = lki_redis_open_go_on(conn->redis, &conn->node->endpoint, &conn->events, &why);
    if (status != LK_BUSY) emit(conn, LK_EVENT_CONNECT, status, 1);
    conn->is_open = status == LK_OK;
    if (status == LK_OK || status == LK_BUSY) return status;
    disconnect(conn);
    return borrow(conn) ? LK_OK : status;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

/* The number of unsent commands that fit into a slice. */
static size_t slice_of(const struct lki_exchange *exchange)
{
    size_t bytes = 0;
    size_t end = exchange->sent;

    while (end < exchange->count && bytes < SLICE_BYTES) {
        for (size_t i = 0; i < exchange->commands[end].count; i++)
            bytes += exchange->commands[end].args[i].len;
        end++;
    }
    return end - exchange->sent;
}

static bool is_writable(const struct lki_renewal_conn *conn)
{
    struct pollfd poll_fd = {.fd = lki_redis_fd(conn->redis), .events = POLLOUT};

    return poll(&poll_fd, 1, 0) > 0;
}

/* Load the scripts that the server may not know, one per slice. */
static bool send_loads(struct lki_renewal_conn *conn)
{
    struct lki_exchange *exchange = conn->exchange;

    while (exchange->loaded < exchange->load_count && is_writable(conn)) {
        const struct lki_variant *variant = exchange->loads[exchange->loaded++];

        if (lki_redis_load_script(conn->redis, &conn->node->endpoint, variant->text,
                                  conn->round.deadline, NULL) != LK_OK)
            return false;
    }
    return true;
}

static bool send_on(struct lki_renewal_conn *conn)
{
    struct lki_exchange *exchange = conn->exchange;

    if (!send_loads(conn)) return false;
    conn->events = POLLOUT;
    if (exchange->loaded < exchange->load_count) return true;
    while (exchange->sent < exchange->count && is_writable(conn)) {
        size_t count = slice_of(exchange);

        if (lki_redis_send(conn->redis, &exchange->commands[exchange->sent], count,
                           conn->round.deadline, NULL) != LK_OK)
            return false;
        exchange->sent += count;
    }
    conn->events = exchange->sent < exchange->count ? POLLIN | POLLOUT : POLLIN;
    return true;
}

static bool receive_on(struct lki_renewal_conn *conn)
{
    struct lki_exchange *exchange = conn->exchange;
    lk_reply *reply = NULL;

    while (exchange->answered < exchange->sent) {
        if (lki_redis_receive(conn->redis, &reply, NULL) != LK_OK) return false;
        if (!reply) return true;
        size_t asker = exchange->askers[exchange->answered++];
        if (asker == no_query) {
            lk_reply_free(reply);
        } else {
            lk_reply_free(conn->round.queries[asker].reply);
            conn->round.queries[asker].reply = reply;
        }
    }
    return true;
}

static bool needs_text(const struct lki_renewal_conn *conn)
{
    for (size_t i = 0; i < conn->round.count; i++) {
        if (lki_reply_is_error(conn->round.queries[i].reply, "NOSCRIPT")) return true;
    }
    return false;
}

/* OK: all queries are answered; BUSY: not yet; UNKNOWN: no more answers will come. */
static lk_status exchange_on(struct lki_renewal_conn *conn, bool by_text)
{
    if (!conn->exchange && !write_exchange(conn, by_text)) return LK_UNKNOWN;
    if (!send_on(conn) || !receive_on(conn)) return LK_UNKNOWN;
    if (conn->exchange->answered < conn->exchange->count) return LK_BUSY;
    emit(conn, LK_EVENT_ROUND_TRIP, LK_OK, conn->exchange->queries);
    by_text = conn->exchange->by_text;
    drop_exchange(conn);
    if (by_text || !needs_text(conn)) return LK_OK;
    return exchange_on(conn, true); /* once */
}

static void conn_give_up(struct lki_renewal_conn *conn)
{
    if (conn->is_borrowed)
        lki_redis_traces(conn->redis)->is_changed = true; /* answers may come late */
    if (conn->exchange) {
        emit(conn, LK_EVENT_ROUND_TRIP, LK_UNKNOWN, conn->exchange->queries);
        drop_exchange(conn);
    } else if (conn->redis && !conn->is_open) {
        emit(conn, LK_EVENT_CONNECT, LK_UNREACHABLE, 1);
    }
    disconnect(conn);
    conn->events = 0;
}

/* The server refused the connection (maxclients) and has run nothing: send the round on a borrowed one. */
static bool replace(struct lki_renewal_conn *conn)
{
    drop_exchange(conn);
    disconnect(conn);
    return borrow(conn);
}

static void conn_go_on(struct lki_renewal_conn *conn)
{
    lk_status status = conn->is_open ? LK_OK : connect_on(conn);
    bool is_failed_connect = status != LK_OK && status != LK_BUSY; /* it was reported */

    if (status == LK_OK) status = exchange_on(conn, false);
    if (status == LK_UNKNOWN && lki_redis_is_unadmitted(conn->redis) && replace(conn))
        status = exchange_on(conn, false);
    if (status == LK_OK || is_failed_connect) {
        conn->events = 0;
        if (conn->is_borrowed) disconnect(conn);
    } else if (status != LK_BUSY || lki_clock_now() >= lki_renewal_conn_until(conn)) {
        conn_give_up(conn);
    }
}

/* A firewall may have dropped a connection that was idle for long, without a word: it is not used. */
static bool is_of_use(const struct lki_renewal_conn *conn)
{
    int64_t idle_ms = conn->client->options.idle_ms * LKI_IDLE_PINGS;

    return lki_clock_now() - conn->began_at <= idle_ms * NS_PER_MS &&
           !lki_pool_is_outdated(conn->node->pool, conn->connected_at) &&
           lki_redis_is_usable(conn->redis);
}

static void conn_start(struct lki_renewal_conn *conn)
{
    assert(!lki_renewal_conn_is_under_way(conn) && conn->round.count > 0);
    if (conn->redis && !is_of_use(conn)) disconnect(conn);
    conn_go_on(conn);
}

static void conn_check_idle(struct lki_renewal_conn *conn)
{
    if (!lki_redis_is_usable(conn->redis)) disconnect(conn);
}

static bool conn_is_open_since(struct lki_renewal_conn *conn, int64_t moment)
{
    if (!conn->redis && !take_reserve(conn)) return false;
    return conn->is_open && !conn->is_borrowed && conn->connected_at < moment &&
           !lki_pool_is_outdated(conn->node->pool, conn->connected_at) &&
           !lki_redis_is_broken(conn->redis);
}

int64_t lki_renewal_conn_until(const struct lki_renewal_conn *conn)
{
    int64_t connected = conn->began_at + conn->client->options.connect_ms * NS_PER_MS;

    return !conn->is_open && connected < conn->round.deadline ? connected : conn->round.deadline;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void conn_clear(struct lki_renewal_conn *conn)
{
    drop_exchange(conn);
    for (size_t i = 0; i < conn->round.count; i++)
        lk_reply_free(conn->round.queries[i].reply);
    conn->round.count = 0;
}

static void conn_free(struct lki_renewal_conn *conn)
{
    conn_clear(conn);
    disconnect(conn);
    lki_node_unref(conn->node);
    free(conn);
}

static int conn_fd(const struct lki_renewal_conn *conn)
{
    return conn->redis ? lki_redis_fd(conn->redis) : -1;
}

static const struct lki_renewal_conn_ops redis_ops = {.start = conn_start,
                                                      .go_on = conn_go_on,
                                                      .give_up = conn_give_up,
                                                      .check_idle = conn_check_idle,
                                                      .is_open_since = conn_is_open_since,
                                                      .fd = conn_fd,
                                                      .verdict = conn_verdict,
                                                      .clear = conn_clear,
                                                      .free = conn_free};

struct lki_renewal_conn *lki_renewal_conn_new(lk_client *client, struct lki_node *node)
{
    struct lki_renewal_conn *conn = calloc(1, sizeof *conn);

    if (!conn) {
        lki_node_unref(node);
        return NULL;
    }
    conn->ops = &redis_ops;
    conn->client = client;
    conn->node = node;
    return conn;
}
