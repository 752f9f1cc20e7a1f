/*
 * One connection to one server: made without waiting, written in slices that the socket takes
 * without waiting, read as answers come. So one thread serves many servers, and none of them can
 * hold up the others by being slow, mute or gone.
 *
 * A renewal is the kind's own script, by digest, and by text (with a loader: introduced) where a
 * server does not know it. A check is the kind's owner check, which writes nothing: none of the
 * renewals could be made to.
 */
#include "line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "call/eval.h"
#include "wire/reply.h"

/* What a socket that poll() calls writable takes at once: a third of the smallest buffer in use. */
enum { SLICE_BYTES = 8192, ANSWERS_MAX = 2 * LKI_ROUND_MAX };

static const size_t nobody = SIZE_MAX;

struct lki_exchange {
    struct lki_request *requests[LKI_ROUND_MAX]; /* owned; one for each query that is asked */
    struct lk_command commands[ANSWERS_MAX];
    size_t askers[ANSWERS_MAX]; /* the query of each command; nobody: ASKING */
    size_t count, sent, answered;
    const struct lki_variant *introductions[LKI_ROUND_MAX]; /* of what is asked, each once */
    size_t introduction_count, introduced;
    size_t queries;
    bool by_text;
};

/* ---- answers --------------------------------------------------------------------------------- */

static enum lki_verdict line_verdict(const struct lki_query *query)
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

lk_status lki_line_status(enum lki_verdict verdict)
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

/* ---- the words ------------------------------------------------------------------------------- */

/* A check goes by text: the new server has not seen it, and the old one does not see it again. */
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

static void add_introduction(struct lki_exchange *exchange, const struct lki_variant *variant)
{
    size_t i = 0;

    while (i < exchange->introduction_count && exchange->introductions[i] != variant)
        i++;
    if (i == exchange->introduction_count)
        exchange->introductions[exchange->introduction_count++] = variant;
}

static void add_command(struct lki_exchange *exchange, struct lk_command command, size_t asker)
{
    exchange->commands[exchange->count] = command;
    exchange->askers[exchange->count++] = asker;
}

static bool add_query(struct lki_line *line, size_t i)
{
    static const struct lk_bytes asking = {.data = "ASKING", .len = 6};
    const struct lki_query *query = &line->round.queries[i];
    struct lki_exchange *exchange = line->exchange;
    struct lki_request *request = request_of(line->client, query, exchange->by_text);

    if (!request) return false;
    exchange->requests[i] = request;
    if (request->introduce) add_introduction(exchange, request->introduce);
    if (query->is_asking) add_command(exchange, (struct lk_command){&asking, 1}, nobody);
    add_command(exchange, request->command, i);
    exchange->queries++;
    return true;
}

static void drop_exchange(struct lki_line *line)
{
    for (size_t i = 0; line->exchange && i < line->round.count; i++)
        free(line->exchange->requests[i]);
    free(line->exchange);
    line->exchange = NULL;
}

/* Whether a query still waits for a definite answer. */
static bool is_unanswered(const struct lki_query *query, bool by_text)
{
    return by_text ? lki_reply_is_error(query->reply, "NOSCRIPT") : !query->reply;
}

static bool write_exchange(struct lki_line *line, bool by_text)
{
    bool is_written = true;

    line->exchange = calloc(1, sizeof *line->exchange);
    if (!line->exchange) return false;
    line->exchange->by_text = by_text;
    for (size_t i = 0; i < line->round.count && is_written; i++) {
        if (is_unanswered(&line->round.queries[i], by_text)) is_written = add_query(line, i);
    }
    line->began_at = lki_clock_now();
    if (!by_text) line->round.sent_at = line->began_at;
    return is_written;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* To the pool, or for good. */
static void hang_up(struct lki_line *line)
{
    if (line->is_borrowed) {
        lki_pool_return(line->node->pool, line->redis);
    } else {
        line->has_ended |= line->is_open;
        lki_redis_close(line->redis);
        if (line->redis) lki_pool_end_reserve(line->node->pool);
    }
    line->redis = NULL;
    line->is_open = line->is_borrowed = false;
}

static void emit(const struct lki_line *line, lk_event_type type, lk_status status, size_t attempts)
{
    int64_t now = lki_clock_now();

    lki_context_emit(line->client, (struct lk_event){.type = type,
                                                     .status = status,
                                                     .at_ns = now,
                                                     .duration_ns = now - line->began_at,
                                                     .attempts = (unsigned)attempts});
}

/* The server, or this process, has no room for another connection. */
static bool borrow(struct lki_line *line)
{
    line->redis = lki_pool_borrow_idle(line->node->pool);
    line->is_borrowed = line->is_open = line->redis != NULL;
    return line->is_open;
}

/* Take the one that was made for us; whether there was one. */
static bool take_reserve(struct lki_line *line)
{
    line->redis = lki_pool_take_reserve(line->node->pool, &line->connected_at);
    line->is_open = line->redis != NULL;
    line->began_at = lki_clock_now();
    return line->is_open;
}

/* OK, BUSY: not yet, or why not. */
static lk_status connect_on(struct lki_line *line)
{
    struct lk_error why = {0};
    lk_status status = LK_BUSY;

    if (!line->redis) {
        if (take_reserve(line)) return LK_OK;
        line->began_at = line->connected_at = lki_clock_now();
        line->redis = lki_redis_open_begin(&line->node->endpoint, lki_line_until(line), &why);
        if (!line->redis) status = why.code;
    }
    if (line->redis)
        status = lki_redis_open_go_on(line->redis, &line->node->endpoint, &line->events, &why);
    if (status != LK_BUSY) emit(line, LK_EVENT_CONNECT, status, 1);
    line->is_open = status == LK_OK;
    if (status == LK_OK || status == LK_BUSY) return status;
    hang_up(line);
    return borrow(line) ? LK_OK : status;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

/* Of what is not sent yet, as many commands as fit into a slice. */
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

static bool is_writable(const struct lki_line *line)
{
    struct pollfd poll_fd = {.fd = lki_redis_fd(line->redis), .events = POLLOUT};

    return poll(&poll_fd, 1, 0) > 0;
}

/* One script fits into a slice. */
static bool introduce_on(struct lki_line *line)
{
    struct lki_exchange *exchange = line->exchange;

    while (exchange->introduced < exchange->introduction_count && is_writable(line)) {
        const struct lki_variant *variant = exchange->introductions[exchange->introduced++];

        if (lki_redis_introduce(line->redis, &line->node->endpoint, variant->text,
                                line->round.deadline, NULL) != LK_OK)
            return false;
    }
    return true;
}

static bool send_on(struct lki_line *line)
{
    struct lki_exchange *exchange = line->exchange;

    if (!introduce_on(line)) return false;
    line->events = POLLOUT;
    if (exchange->introduced < exchange->introduction_count) return true;
    while (exchange->sent < exchange->count && is_writable(line)) {
        size_t count = slice_of(exchange);

        if (lki_redis_send(line->redis, &exchange->commands[exchange->sent], count,
                           line->round.deadline, NULL) != LK_OK)
            return false;
        exchange->sent += count;
    }
    line->events = exchange->sent < exchange->count ? POLLIN | POLLOUT : POLLIN;
    return true;
}

static bool receive_on(struct lki_line *line)
{
    struct lki_exchange *exchange = line->exchange;
    lk_reply *reply = NULL;

    while (exchange->answered < exchange->sent) {
        if (lki_redis_receive(line->redis, &reply, NULL) != LK_OK) return false;
        if (!reply) return true;
        size_t asker = exchange->askers[exchange->answered++];
        if (asker == nobody) {
            lk_reply_free(reply);
        } else {
            lk_reply_free(line->round.queries[asker].reply);
            line->round.queries[asker].reply = reply;
        }
    }
    return true;
}

static bool needs_text(const struct lki_line *line)
{
    for (size_t i = 0; i < line->round.count; i++) {
        if (lki_reply_is_error(line->round.queries[i].reply, "NOSCRIPT")) return true;
    }
    return false;
}

/* OK: all is answered. BUSY: not yet. UNKNOWN: no more answers will come. */
static lk_status exchange_on(struct lki_line *line, bool by_text)
{
    if (!line->exchange && !write_exchange(line, by_text)) return LK_UNKNOWN;
    if (!send_on(line) || !receive_on(line)) return LK_UNKNOWN;
    if (line->exchange->answered < line->exchange->count) return LK_BUSY;
    emit(line, LK_EVENT_ROUND_TRIP, LK_OK, line->exchange->queries);
    by_text = line->exchange->by_text;
    drop_exchange(line);
    if (by_text || !needs_text(line)) return LK_OK;
    return exchange_on(line, true); /* once */
}

static void line_give_up(struct lki_line *line)
{
    if (line->is_borrowed)
        lki_redis_traces(line->redis)->is_changed = true; /* answers may come late */
    if (line->exchange) {
        emit(line, LK_EVENT_ROUND_TRIP, LK_UNKNOWN, line->exchange->queries);
        drop_exchange(line);
    } else if (line->redis && !line->is_open) {
        emit(line, LK_EVENT_CONNECT, LK_UNREACHABLE, 1);
    }
    hang_up(line);
    line->events = 0;
}

/* The server did nothing of what was sent on the connection that it had no room for. */
static bool replace(struct lki_line *line)
{
    drop_exchange(line);
    hang_up(line);
    return borrow(line);
}

static void line_go_on(struct lki_line *line)
{
    lk_status status = line->is_open ? LK_OK : connect_on(line);
    bool is_failed_connect = status != LK_OK && status != LK_BUSY; /* which was told of */

    if (status == LK_OK) status = exchange_on(line, false);
    if (status == LK_UNKNOWN && lki_redis_is_unadmitted(line->redis) && replace(line))
        status = exchange_on(line, false);
    if (status == LK_OK || is_failed_connect) {
        line->events = 0;
        if (line->is_borrowed) hang_up(line);
    } else if (status != LK_BUSY || lki_clock_now() >= lki_line_until(line)) {
        line_give_up(line);
    }
}

/* What was idle for long may be cut: a round must not wait for what nobody hears. */
static bool is_of_use(const struct lki_line *line)
{
    int64_t idle_ms = line->client->options.idle_ms * LKI_IDLE_PINGS;

    return lki_clock_now() - line->began_at <= idle_ms * NS_PER_MS &&
           !lki_pool_is_outdated(line->node->pool, line->connected_at) &&
           lki_redis_is_usable(line->redis);
}

static void line_start(struct lki_line *line)
{
    assert(!lki_line_is_under_way(line) && line->round.count > 0);
    if (line->redis && !is_of_use(line)) hang_up(line);
    line_go_on(line);
}

static void line_look(struct lki_line *line)
{
    if (!lki_redis_is_usable(line->redis)) hang_up(line);
}

static bool line_stands_since(struct lki_line *line, int64_t moment)
{
    if (!line->redis && !take_reserve(line)) return false;
    return line->is_open && !line->is_borrowed && line->connected_at < moment &&
           !lki_pool_is_outdated(line->node->pool, line->connected_at) &&
           !lki_redis_is_broken(line->redis);
}

int64_t lki_line_until(const struct lki_line *line)
{
    int64_t connected = line->began_at + line->client->options.connect_ms * NS_PER_MS;

    return !line->is_open && connected < line->round.deadline ? connected : line->round.deadline;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void line_clear(struct lki_line *line)
{
    drop_exchange(line);
    for (size_t i = 0; i < line->round.count; i++)
        lk_reply_free(line->round.queries[i].reply);
    line->round.count = 0;
}

static void line_free(struct lki_line *line)
{
    line_clear(line);
    hang_up(line);
    lki_node_unref(line->node);
    free(line);
}

static int line_fd(const struct lki_line *line)
{
    return line->redis ? lki_redis_fd(line->redis) : -1;
}

static const struct lki_line_ops redis_ops = {.start = line_start,
                                              .go_on = line_go_on,
                                              .give_up = line_give_up,
                                              .look = line_look,
                                              .stands_since = line_stands_since,
                                              .fd = line_fd,
                                              .verdict = line_verdict,
                                              .clear = line_clear,
                                              .free = line_free};

struct lki_line *lki_line_new(lk_client *client, struct lki_node *node)
{
    struct lki_line *line = calloc(1, sizeof *line);

    if (!line) {
        lki_node_unref(node);
        return NULL;
    }
    line->ops = &redis_ops;
    line->client = client;
    line->node = node;
    return line;
}
