/*
 * A connection that is lent for several round trips. Watched keys and an open transaction are discarded before
 * it is lent again. Threads: the caller's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "exchange.h"
#include "servers/topology.h"

struct lk_session {
    lk_client *client;       /* borrowed */
    struct lki_node *node;   /* a reference */
    struct lki_redis *redis; /* borrowed from its pool */
};

/* Takes the reference; NULL: err is filled. */
static lk_session *open_to(lk_client *client, struct lki_node *node, int64_t limit_ms,
                           struct lk_error *err)
{
    lk_session *session = node ? calloc(1, sizeof *session) : NULL;

    if (node && !session) (void)LKI_FAIL(err, LK_NO_MEMORY, "a session");
    if (!session) goto fail;
    *session = (lk_session){.client = client, .node = node};
    if (lki_pool_borrow(node->pool, lki_context_deadline(client, limit_ms), &session->redis, err) ==
        LK_OK)
        return session;
    lki_topology_refresh_soon(client->topology);

fail:
    free(session);
    lki_node_unref(node);
    return NULL;
}

lk_session *lk_session_open(lk_client *client, const char *key, int64_t limit_ms,
                            struct lk_error *err)
{
    if (lki_context_check(client, err) != LK_OK) return NULL;
    if (lki_context_check_redis(client, "sessions", err) != LK_OK) return NULL;
    struct lki_topology *topology = client->topology;
    int slot =
        key && lki_topology_is_cluster(topology) ? lki_slot_of(key, strlen(key)) : LKI_NO_SLOT;
    return open_to(client, lki_topology_node(topology, slot, err), limit_ms, err);
}

lk_session *lk_session_open_at(lk_client *client, size_t primary, int64_t limit_ms,
                               struct lk_error *err)
{
    if (lki_context_check(client, err) != LK_OK) return NULL;
    if (lki_context_check_redis(client, "sessions", err) != LK_OK) return NULL;
    struct lki_node *node = lki_topology_primary(client->topology, primary);
    if (node) return open_to(client, node, limit_ms, err);
    (void)LKI_FAIL(err, LK_INVALID, "there is no primary number %zu", primary);
    return NULL;
}

const char *lk_session_server(const lk_session *session)
{
    return session ? session->node->endpoint.label : "";
}

lk_status lk_session_call(lk_session *session, const struct lk_command *commands, size_t count,
                          int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    int64_t begin = lki_clock_now();

    if (!session) return LKI_FAIL(err, LK_INVALID, "no session (NULL)");
    lk_status status = lki_context_check(session->client, err);
    if (status != LK_OK) return status;
    if (lki_redis_is_broken(session->redis))
        return LKI_FAIL(err, LK_UNREACHABLE, "the session's connection is broken");
    status = lki_redis_exchange(session->redis, commands, count,
                                lki_context_deadline(session->client, limit_ms), replies, err);
    lki_context_emit(session->client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                                        .status = status,
                                                        .duration_ns = lki_clock_now() - begin,
                                                        .attempts = (unsigned)count});
    if (status != LK_OK) lki_topology_refresh_soon(session->client->topology);
    for (size_t i = 0; i < count && status == LK_OK; i++) {
        lki_traces_note(lki_redis_traces(session->redis), &commands[i], replies[i]);
        (void)lki_exchange_learn(session->client->topology, replies[i], session->node);
    }
    return status;
}

/* When this fails, the connection is broken, and the pool drops it. */
static void clean(lk_session *session)
{
    const struct lk_bytes discard = LK_BYTES("DISCARD");
    const struct lk_bytes unwatch = LK_BYTES("UNWATCH");
    const struct lk_command commands[] = {{&discard, 1}, {&unwatch, 1}};
    lk_reply *replies[2] = {0};

    if (lk_session_call(session, commands, 2, 0, replies, NULL) != LK_OK) return;
    lk_reply_free(replies[0]); /* an error without a transaction */
    lk_reply_free(replies[1]);
}

void lk_session_close(lk_session *session)
{
    if (!session) return;
    if (!lki_context_is_foreign(session->client)) {
        if (lki_redis_traces(session->redis)->is_watching) clean(session);
        lki_pool_return(session->node->pool, session->redis);
        lki_node_unref(session->node);
    }
    free(session);
}
