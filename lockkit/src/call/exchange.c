/*
 * Round trips: a pipeline to the server, or the servers, that are to have it. Any thread.
 */
#include "exchange.h"

#include "base/error.h"
#include "route.h"
#include "wire/reply.h"

lk_status lki_exchange_send(lk_client *client, const struct lki_pipeline *pipeline,
                            lk_reply **replies, struct lk_error *err)
{
    lk_status status = lki_context_check(client, err);

    if (status == LK_OK) status = lki_context_check_redis(client, "commands and scripts", err);
    if (status != LK_OK) return status;
    if (lki_topology_is_cluster(client->topology))
        return lki_route(client, client->topology, pipeline, replies, err);
    struct lki_node *node = lki_topology_node(client->topology, LKI_NO_SLOT, err);
    if (!node) return LK_UNREACHABLE;
    status = lki_one_server_exchange(client, node, pipeline, replies, err);
    for (size_t i = 0; i < pipeline->count && status == LK_OK; i++)
        (void)lki_route_learn(client->topology, replies[i], node);
    lki_node_unref(node);
    return status;
}

lk_status lki_exchange_fail(const lk_client *client, const lk_reply *reply, struct lk_error *err)
{
    lk_status status = lki_reply_fail(err, reply);

    /* Of a cluster, asked as if it were one server, no other will do it. */
    if (!lki_topology_is_cluster(client->topology) && lki_reply_is_redirection(reply))
        return status;
    if (lki_reply_is_passing(reply)) status = LK_UNREACHABLE;
    if (err) err->code = status;
    return status;
}

lk_status lki_exchange_check_synced(const lk_client *client, bool is_synced, struct lk_error *err)
{
    if (is_synced) return LK_OK;
    return LKI_FAIL(err, LK_UNSYNCED, "fewer than %u replicas confirmed it within %lld ms",
                    client->options.sync_replicas, (long long)client->options.sync_ms);
}

lk_status lk_client_call(lk_client *client, const struct lk_command *commands, size_t count,
                         int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    lk_status status = lki_context_check(client, err);

    if (status != LK_OK) return status;
    struct lki_pipeline pipeline = {.commands = commands,
                                    .count = count,
                                    .deadline = lki_context_deadline(client, limit_ms),
                                    .is_callers = true};
    return lki_exchange_send(client, &pipeline, replies, err);
}
