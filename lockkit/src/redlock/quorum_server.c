/*
 * The states of one server in a quorum call: get a connection (an idle one, a new one that is connected
 * without blocking, or the parked one with answers outstanding), check the identity of the server, send
 * the request, read the answer. On one connection the server answers in order, so an undo that is sent
 * behind a request cannot overtake it.
 *
 * Threads: the caller's. Locks: none of its own.
 */
#include "quorum_server.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/endpoint.h"
#include "wire/pool.h"
#include "wire/reply.h"

enum { CHECK_ANSWERS = 2 };

/* ---- identity of a server ------------------------------------------------------------------------ */

/* The line "name:value\r\n" of an INFO; empty when it is not there. */
static struct lk_bytes info_value(struct lk_bytes info, const char *name)
{
    size_t name_len = strlen(name);

    if (!info.data) return info;
    const char *end = info.data + info.len;
    for (const char *line = info.data; line && line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        size_t len = (size_t)((stop ? stop : end) - line);

        if (len > name_len && memcmp(line, name, name_len) == 0 && line[name_len] == ':') {
            return (struct lk_bytes){line + name_len + 1, len - name_len - 1};
        }
        line = stop ? stop + 1 : end;
        if (line < end && *line == '\n') line++;
    }
    return (struct lk_bytes){0};
}

static struct lk_bytes text_of(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_STRING ? lk_reply_bytes(reply)
                                                      : (struct lk_bytes){0};
}

void lki_quorum_server_read_identity(struct lki_identity *out, struct lk_bytes server,
                                     struct lk_bytes replication)
{
    struct lk_bytes run_id = info_value(server, "run_id");
    struct lk_bytes role = info_value(replication, "role");

    *out = (struct lki_identity){.is_asked = true,
                                 .is_replica = role.len == 5 && memcmp(role.data, "slave", 5) == 0};
    if (run_id.len < sizeof out->run_id)
        (void)snprintf(out->run_id, sizeof out->run_id, "%.*s", (int)run_id.len,
                       run_id.data ? run_id.data : "");
}

/* ---- steps --------------------------------------------------------------------------------------- */

static enum lki_quorum_state settle(struct lki_quorum *quorum, size_t i)
{
    return quorum->settle ? quorum->settle(quorum->arg, i) : LKI_QUORUM_UNDECIDED;
}

bool lki_quorum_server_is_unanswered(const struct lki_quorum_server *server)
{
    return server->sent_at != 0 && !server->reply;
}

const lk_reply *lki_quorum_server_answer(const struct lki_quorum_server *server)
{
    return server->sent_at != 0 ? server->reply : NULL;
}

lk_status lki_quorum_server_fail(const struct lki_quorum_server *server, struct lk_error *err)
{
    struct lki_topology *topology = server->client->topology;
    struct lki_node *node = lki_topology_node(topology, LKI_NO_SLOT, NULL);

    (void)lki_exchange_learn(topology, server->reply, node);
    lki_node_unref(node);
    if (server->redis && lki_reply_is_error(server->reply, "NOSCRIPT"))
        return lki_script_fail(err, server->reply, lki_redis_refusal(server->redis));
    return lki_exchange_fail(server->client, server->reply, err);
}

static void report_round_trip(const struct lki_quorum_server *server, lk_status status)
{
    int64_t now = lki_clock_now();

    lki_context_emit(server->client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                                       .status = status,
                                                       .at_ns = now,
                                                       .duration_ns = now - server->sent_at,
                                                       .attempts = 1});
}

/* The connection is broken, or there is none. A request that was sent on it stays unanswered. */
static enum lki_quorum_state fail_server(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    if (server->phase == LKI_QUORUM_CONNECTING) {
        (void)lki_pool_fill(server->pool, server->redis, server->begun_at, &server->why);
    } else if (server->redis) {
        lki_pool_return(server->pool, server->redis);
    }
    if (server->phase == LKI_QUORUM_ASKED) {
        server->why.code = LK_UNKNOWN;
        report_round_trip(server, LK_UNKNOWN);
    }
    if (server->undo) lki_pool_undo_later(server->pool, server->undo);
    server->undo = NULL;
    server->redis = NULL;
    server->unanswered = 0;
    server->phase = LKI_QUORUM_IDLE;
    return settle(quorum, i);
}

/* Load the script of the request, if it has one to load. UNREACHABLE in place of UNKNOWN: the request itself
   was not sent. */
static lk_status load_first(struct lki_quorum_server *server, int64_t now)
{
    if (!server->request)
        return LKI_FAIL(&server->why, LK_NO_MEMORY, "%s", server->client->url.seeds[0].label);
    if (!server->request->load_first) return LK_OK;
    lk_status status = lki_redis_load_script(server->redis, &server->client->url.seeds[0],
                                             server->request->load_first->text, now, &server->why);
    if (status != LK_UNKNOWN) return status;
    server->why.code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}

static enum lki_quorum_state ask_server(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    server->phase = LKI_QUORUM_IDLE;
    if (!quorum->ask) return settle(quorum, i);
    int64_t now = lki_clock_now();
    lk_status status = load_first(server, now);
    if (status == LK_OK)
        status = lki_redis_send(server->redis, &server->request->command, 1, now, &server->why);
    if (status == LK_OK || status == LK_UNKNOWN) {
        server->sent_at = now;
        server->phase = LKI_QUORUM_ASKED;
        server->unanswered++;
        server->events = POLLIN;
    }
    return status == LK_OK ? LKI_QUORUM_UNDECIDED : fail_server(quorum, i);
}

/* The identity is known: send the request, unless check() refuses the server. */
static enum lki_quorum_state admit_server(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];
    const struct lki_identity *identity = lki_redis_identity(server->redis);

    if (quorum->check && quorum->check(quorum->arg, i, identity, &server->why) != LK_OK) {
        lki_pool_renew(server->pool); /* it may be another one, and its name lead elsewhere */
        server->phase = LKI_QUORUM_IDLE;
        return settle(quorum, i);
    }
    return ask_server(quorum, i);
}

static enum lki_quorum_state begin_check(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];
    struct lk_bytes ask_server_info[] = {LK_BYTES("INFO"), LK_BYTES("server")};
    struct lk_bytes ask_replication[] = {LK_BYTES("INFO"), LK_BYTES("replication")};
    struct lk_command commands[CHECK_ANSWERS] = {{ask_server_info, 2}, {ask_replication, 2}};

    server->phase = LKI_QUORUM_CHECKING;
    server->events = POLLIN;
    server->unanswered = CHECK_ANSWERS;
    if (lki_redis_send(server->redis, commands, CHECK_ANSWERS, lki_clock_now(), &server->why) ==
        LK_OK)
        return LKI_QUORUM_UNDECIDED;
    server->why.code = LK_UNREACHABLE; /* the request was not sent */
    return fail_server(quorum, i);
}

static enum lki_quorum_state use_connection(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];
    bool must_check = quorum->check && !lki_redis_identity(server->redis)->is_asked;

    return must_check ? begin_check(quorum, i) : admit_server(quorum, i);
}

static enum lki_quorum_state connect_on(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];
    lk_status status = lki_redis_open_go_on(server->redis, &server->client->url.seeds[0],
                                            &server->events, &server->why);

    if (status == LK_BUSY) return LKI_QUORUM_UNDECIDED;
    if (status != LK_OK) return fail_server(quorum, i);
    server->redis = lki_pool_fill(server->pool, server->redis, server->begun_at, NULL);
    server->phase = LKI_QUORUM_IDLE;
    if (server->redis) return use_connection(quorum, i);
    (void)LKI_FAIL(&server->why, LK_UNREACHABLE, "the client is being closed");
    return fail_server(quorum, i);
}

static enum lki_quorum_state begin_connect(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    server->phase = LKI_QUORUM_CONNECTING;
    server->redis =
        lki_redis_open_begin(&server->client->url.seeds[0], quorum->deadline, &server->why);
    return server->redis ? connect_on(quorum, i) : fail_server(quorum, i);
}

/* Take the parked connection back, with its outstanding answers; not if the identity of its server would
   have to be checked first. */
static void unpark(const struct lki_quorum *quorum, struct lki_quorum_server *server)
{
    unsigned most = quorum->parked_answers_max > 0 ? quorum->parked_answers_max : UINT_MAX;

    server->redis =
        lki_pool_unpark(server->pool, server->ticket, most, &server->unanswered, &server->undo);
    if (!server->redis || !quorum->check || lki_redis_identity(server->redis)->is_asked) return;
    (void)lki_pool_park(server->pool, server->redis, server->unanswered, server->undo,
                        lki_context_deadline(server->client, 0));
    server->redis = NULL;
    server->undo = NULL;
    server->unanswered = 0;
}

enum lki_quorum_state lki_quorum_server_begin(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    if (!server->redis && server->ticket) unpark(quorum, server);
    server->ticket = 0;
    server->phase = LKI_QUORUM_IDLE;
    server->begun_at = lki_clock_now();
    if (server->redis) return use_connection(quorum, i);
    lk_status status = lki_pool_try_borrow(server->pool, &server->redis, &server->why);
    if (status == LK_EXHAUSTED) {
        server->why.code = LK_UNREACHABLE;
        server->phase = LKI_QUORUM_WAITING;
        return LKI_QUORUM_UNDECIDED;
    }
    if (status != LK_OK) return fail_server(quorum, i);
    server->why = (struct lk_error){0};
    return server->redis ? use_connection(quorum, i) : begin_connect(quorum, i);
}

/* The first of the two INFO answers is kept until the second has come. */
static enum lki_quorum_state handle_check_reply(struct lki_quorum *quorum, size_t i,
                                                lk_reply *reply)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    if (server->unanswered == 1) {
        server->reply = reply;
        return LKI_QUORUM_UNDECIDED;
    }
    lki_quorum_server_read_identity(lki_redis_identity(server->redis), text_of(server->reply),
                                    text_of(reply));
    lk_reply_free(server->reply);
    lk_reply_free(reply);
    server->reply = NULL;
    return admit_server(quorum, i);
}

/* The answer to an undo that was sent earlier: it is done, or must be repeated. */
static void settle_undo(struct lki_quorum_server *server, const lk_reply *reply)
{
    if (lki_pending_undo_is_done(reply)) {
        lki_pending_undo_free(server->undo);
    } else {
        lki_pool_undo_later(server->pool, server->undo);
    }
    server->undo = NULL;
}

static enum lki_quorum_state handle_reply(struct lki_quorum *quorum, size_t i, lk_reply *reply)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    server->unanswered--;
    if (server->undo && (server->phase != LKI_QUORUM_ASKED || server->unanswered == 1))
        settle_undo(server, reply);
    if (server->phase == LKI_QUORUM_CHECKING) return handle_check_reply(quorum, i, reply);
    if (server->unanswered > 0) { /* the answer to an earlier command */
        lk_reply_free(reply);
        return LKI_QUORUM_UNDECIDED;
    }
    server->reply = reply;
    server->round_trip_ns = lki_clock_now() - server->sent_at;
    server->phase = LKI_QUORUM_IDLE;
    report_round_trip(server, LK_OK);
    if (!lki_reply_is_error(reply, "NOSCRIPT") ||
        !lki_script_spell_out(server->request, server->client->has_loader))
        return settle(quorum, i);
    lk_reply_free(server->reply);
    server->reply = NULL;
    return ask_server(quorum, i);
}

enum lki_quorum_state lki_quorum_server_go_on(struct lki_quorum *quorum, size_t i)
{
    struct lki_quorum_server *server = &quorum->servers[i];

    if (server->phase == LKI_QUORUM_WAITING) return lki_quorum_server_begin(quorum, i);
    if (server->phase == LKI_QUORUM_CONNECTING) return connect_on(quorum, i);
    for (;;) {
        lk_reply *reply = NULL;
        lk_status status = lki_redis_receive(server->redis, &reply, &server->why);

        if (status != LK_OK) return fail_server(quorum, i);
        if (!reply) return LKI_QUORUM_UNDECIDED;
        enum lki_quorum_state turn = handle_reply(quorum, i, reply);
        if (turn == LKI_QUORUM_DECIDED || server->phase == LKI_QUORUM_IDLE) return turn;
    }
}

void lki_quorum_server_detach(struct lki_quorum_server *server, struct lki_pending_undo *undo,
                              int64_t until)
{
    bool is_connecting = server->phase == LKI_QUORUM_CONNECTING;

    free(server->request);
    server->request = NULL;
    if (server->undo) lki_pool_undo_later(server->pool, server->undo);
    server->undo = NULL;
    server->phase = LKI_QUORUM_IDLE;
    if (is_connecting) {
        (void)lki_pool_fill(server->pool, server->redis, server->begun_at, &server->why);
        server->redis = NULL;
    }
    if (server->redis && server->unanswered > 0) {
        server->ticket =
            lki_pool_park(server->pool, server->redis, server->unanswered, undo, until);
        undo = NULL;
    } else if (server->redis) {
        lki_pool_return(server->pool, server->redis);
    }
    server->redis = NULL;
    server->unanswered = 0;
    if (undo) lki_pool_undo_later(server->pool, undo);
}
