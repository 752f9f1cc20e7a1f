/*
 * See pubsub_conn.h. Each connection has its own pauses and pings, so a dead server does not delay the
 * channels of others. The number of unanswered commands is bounded, so that they fit into the socket's
 * buffers even if the server does not read.
 */
#include "pubsub_conn.h"

#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    PING_MS = 5000, /* interval of PINGs on a silent connection */
    SEND_MS = 50,   /* limit of one send, during which a full socket delays the other connections */
};

struct lki_pubsub_conn *lki_pubsub_conn_new(const struct lk_client_options *options,
                                            struct lki_node *node, bool is_sharded)
{
    struct lki_pubsub_conn *conn = calloc(1, sizeof *conn);

    if (!conn) {
        lki_node_unref(node);
        return NULL;
    }
    conn->node = node;
    conn->options = options;
    conn->is_sharded = is_sharded;
    conn->idle_since = lki_clock_now();
    return conn;
}

void lki_pubsub_conn_free(struct lki_pubsub_conn *conn)
{
    if (!conn) return;
    lki_redis_close(conn->redis);
    lki_node_unref(conn->node);
    free(conn);
}

/* ---- commands ------------------------------------------------------------------------------------ */

size_t lki_pubsub_conn_room(const struct lki_pubsub_conn *conn)
{
    size_t used = conn->unanswered > conn->batch.count ? conn->unanswered : conn->batch.count;

    return conn->is_open && used < LKI_PUBSUB_BATCH_MAX ? LKI_PUBSUB_BATCH_MAX - used : 0;
}

static void ask(struct lki_pubsub_conn *conn, struct lk_bytes verb,
                const struct lki_channel *channel)
{
    struct lki_pubsub_batch *batch = &conn->batch;

    batch->words[batch->count][0] = verb;
    batch->words[batch->count][1] = lk_bytes_of(channel->name);
    batch->commands[batch->count] = (struct lk_command){batch->words[batch->count], 2};
    batch->count++;
    conn->unanswered++;
}

void lki_pubsub_conn_subscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel)
{
    ask(conn, conn->is_sharded ? LK_BYTES("SSUBSCRIBE") : LK_BYTES("SUBSCRIBE"), channel);
}

void lki_pubsub_conn_unsubscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel)
{
    ask(conn, conn->is_sharded ? LK_BYTES("SUNSUBSCRIBE") : LK_BYTES("UNSUBSCRIBE"), channel);
}

void lki_pubsub_conn_answered(struct lki_pubsub_conn *conn)
{
    if (conn->unanswered > 0)
        conn->unanswered--; /* a cluster's server ends some subscriptions by itself */
    conn->backoff = (struct lki_backoff){0};
    conn->connect_at = 0;
}

static bool send_now(struct lki_pubsub_conn *conn, const struct lk_command *commands, size_t count)
{
    int64_t limit_ms = conn->options->command_ms < SEND_MS ? conn->options->command_ms : SEND_MS;

    return lki_redis_send(conn->redis, commands, count, lki_clock_after_ms(limit_ms), NULL) ==
           LK_OK;
}

/* Ping a silent connection. False: it has not answered the last ping. */
static bool check_alive(struct lki_pubsub_conn *conn)
{
    struct lk_bytes ping = LK_BYTES("PING");

    if (lki_clock_left_ms(conn->ping_at) > 0) return true;
    if (conn->is_pinged) return false;
    conn->is_pinged = true;
    conn->ping_at = lki_clock_after_ms(PING_MS);
    return send_now(conn, &(struct lk_command){&ping, 1}, 1);
}

static bool send_batch(struct lki_pubsub_conn *conn)
{
    size_t count = conn->batch.count;

    conn->batch.count = 0;
    return count == 0 || send_now(conn, conn->batch.commands, count);
}

/* ---- connecting ------------------------------------------------------------------------------------ */

static enum lki_pubsub_event disconnect(struct lki_pubsub_conn *conn)
{
    lki_redis_close(conn->redis);
    conn->redis = NULL;
    conn->is_open = conn->has_reported = false;
    conn->unanswered = conn->batch.count = 0;
    return PUBSUB_LOST;
}

/*
 * An attempt to connect has ended. A server that accepts and closes at once (maxclients) is retried with
 * pauses as well: only its first answer resets the backoff.
 */
static enum lki_pubsub_event end_attempt(struct lki_pubsub_conn *conn, lk_status status)
{
    const struct lk_client_options *options = conn->options;
    int64_t now = lki_clock_now();

    options->on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                         .status = status,
                                         .at_ns = now,
                                         .duration_ns = now - conn->began_at,
                                         .attempts = 1},
                      options->on_event_arg);
    conn->connect_at = lki_clock_after_ms(lki_backoff_next(&conn->backoff, options->backoff_ms));
    if (status != LK_OK) return disconnect(conn);
    conn->is_open = true;
    conn->is_pinged = false;
    conn->ping_at = lki_clock_after_ms(PING_MS);
    conn->events = POLLIN;
    return PUBSUB_CONNECTED;
}

static enum lki_pubsub_event go_on(struct lki_pubsub_conn *conn)
{
    lk_status status =
        lki_redis_open_go_on(conn->redis, &conn->node->endpoint, &conn->events, NULL);

    return status == LK_BUSY ? PUBSUB_UNCHANGED : end_attempt(conn, status);
}

static enum lki_pubsub_event begin_attempt(struct lki_pubsub_conn *conn)
{
    struct lk_error why = {0};

    conn->began_at = lki_clock_now();
    conn->connect_by = lki_clock_after_ms(conn->options->connect_ms);
    conn->redis = lki_redis_open_begin(&conn->node->endpoint, conn->connect_by, &why);
    return conn->redis ? go_on(conn) : end_attempt(conn, why.code);
}

int64_t lki_pubsub_conn_due(const struct lki_pubsub_conn *conn)
{
    if (conn->is_open) return conn->ping_at;
    if (conn->redis) return conn->connect_by;
    return conn->channel_count > 0 ? conn->connect_at : INT64_MAX;
}

enum lki_pubsub_event lki_pubsub_conn_tick(struct lki_pubsub_conn *conn)
{
    if (conn->is_open) {
        bool is_outdated = lki_pool_is_outdated(conn->node->pool, conn->began_at);

        return !is_outdated && send_batch(conn) && check_alive(conn) ? PUBSUB_UNCHANGED
                                                                     : disconnect(conn);
    }
    if (lki_clock_left_ms(lki_pubsub_conn_due(conn)) > 0) return PUBSUB_UNCHANGED;
    return conn->redis ? end_attempt(conn, LK_UNREACHABLE) : begin_attempt(conn);
}

enum lki_pubsub_event lki_pubsub_conn_receive(struct lki_pubsub_conn *conn, lk_reply **out)
{
    *out = NULL;
    if (!conn->is_open) return conn->redis ? go_on(conn) : PUBSUB_UNCHANGED;
    if (lki_redis_receive(conn->redis, out, NULL) != LK_OK) return disconnect(conn);
    if (*out) conn->is_pinged = false; /* any message proves that it lives */
    return PUBSUB_UNCHANGED;
}
