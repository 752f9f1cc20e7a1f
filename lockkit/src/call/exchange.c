/*
 * One exchange with one server: loads of scripts that it may not know ahead of the commands, and WAIT behind
 * commands that replicas must confirm. Threads: any; there is no state here.
 */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "servers/topology.h"
#include "wire/pool.h"
#include "wire/reply.h"

enum { LAST_MOMENT_MS = 10 };

/* ---- error answers ------------------------------------------------------------------------------- */

bool lki_exchange_redirection(const lk_reply *reply, const char *code, int *out_slot,
                              struct lk_bytes *out_address)
{
    struct lk_bytes text = lk_reply_bytes(reply);
    size_t code_len = strlen(code);
    char *rest = NULL;

    if (!lki_reply_is_error(reply, code) || text.len < code_len + 2) return false;
    long slot = strtol(text.data + code_len, &rest, 10);
    if (slot < 0 || slot >= LKI_SLOTS || *rest != ' ') return false;
    *out_slot = (int)slot;
    *out_address = lk_bytes_of(rest + 1);
    return true;
}

bool lki_exchange_learn(struct lki_topology *topology, const lk_reply *reply,
                        const struct lki_node *node)
{
    struct lk_bytes address = {0};
    int slot = 0;

    if (lki_exchange_redirection(reply, "MOVED ", &slot, &address)) {
        lki_topology_moved(topology, slot, address, node);
        return true;
    }
    bool is_demoted = lki_reply_error_class(reply) == LKI_ERROR_OF_REPLICA;

    if (is_demoted) lki_pool_renew(node->pool); /* its name may lead to another server */
    if (is_demoted || lki_reply_is_error(reply, "CLUSTERDOWN "))
        lki_topology_refresh_soon(topology);
    return is_demoted;
}

lk_status lki_exchange_fail(const lk_client *client, const lk_reply *reply, struct lk_error *err)
{
    lk_status status = lki_reply_fail(err, reply);

    /* A server of a cluster with the URL of a single server: no other is asked. */
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

/* ---- the exchange -------------------------------------------------------------------------------- */

/* The time-out of WAIT, which ends before the deadline. */
static int64_t sync_ms_before(const lk_client *client, int64_t deadline)
{
    int64_t left_ms = lki_clock_left_ms(deadline) - LAST_MOMENT_MS;

    if (left_ms < 1) left_ms = 1;
    return client->options.sync_ms < left_ms ? client->options.sync_ms : left_ms;
}

/* The commands with WAIT behind them, which covers the writes of its own connection. */
static lk_status exchange_synced(const lk_client *client, struct lki_redis *redis,
                                 const struct lki_pipeline *pipeline, lk_reply **replies,
                                 struct lk_error *err)
{
    char replicas[LKI_NUMBER_MAX];
    char limit[LKI_NUMBER_MAX];
    struct lk_bytes wait[3] = {LK_BYTES("WAIT")};
    struct lk_command *commands = calloc(pipeline->count + 1, sizeof *commands);
    lk_reply **answers = calloc(pipeline->count + 1, sizeof(lk_reply *));
    lk_status status = LK_NO_MEMORY;

    if (commands && answers) {
        memcpy(commands, pipeline->commands, pipeline->count * sizeof *commands);
        wait[1] = lki_number(replicas, (long long)client->options.sync_replicas);
        wait[2] = lki_number(limit, sync_ms_before(client, pipeline->deadline));
        commands[pipeline->count] = (struct lk_command){wait, 3};
        status = lki_redis_exchange(redis, commands, pipeline->count + 1, pipeline->deadline,
                                    answers, err);
    } else {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a pipeline");
    }
    if (status == LK_OK) {
        memcpy(replies, answers, pipeline->count * sizeof(lk_reply *));
        *pipeline->out_is_synced = lk_reply_integer(answers[pipeline->count], 0) >=
                                   (long long)client->options.sync_replicas;
        lk_reply_free(answers[pipeline->count]);
    }
    free(commands);
    free(answers);
    return status;
}

/* Load scripts that the server may not know. After a failure nothing was done: UNREACHABLE in place of UNKNOWN. */
static lk_status load_first(struct lki_redis *redis, const struct lki_node *node,
                            const struct lki_pipeline *pipeline, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (size_t i = 0; i < 2 && pipeline->load_first[i] && status == LK_OK; i++)
        status = lki_redis_load_script(redis, &node->endpoint, pipeline->load_first[i]->text,
                                       pipeline->deadline, err);
    if (status != LK_UNKNOWN) return status;
    if (err) err->code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}

lk_status lki_exchange_at(lk_client *client, struct lki_node *node,
                          const struct lki_pipeline *pipeline, lk_reply **replies,
                          struct lk_error *err)
{
    bool is_to_sync = pipeline->out_is_synced && client->options.sync_replicas > 0;
    struct lki_redis *redis = NULL;
    int64_t begin = lki_clock_now();

    if (!node) return LK_UNREACHABLE;
    /* Half the time for a connection: a request that is sent just before the deadline would end as UNKNOWN. */
    lk_status status =
        lki_pool_borrow(node->pool, begin + (pipeline->deadline - begin) / 2, &redis, err);
    if (status == LK_OK) {
        begin = lki_clock_now();
        status = load_first(redis, node, pipeline, err);
        if (status == LK_OK)
            status = is_to_sync ? exchange_synced(client, redis, pipeline, replies, err)
                                : lki_redis_exchange(redis, pipeline->commands, pipeline->count,
                                                     pipeline->deadline, replies, err);
        for (size_t i = 0; pipeline->is_callers && status == LK_OK && i < pipeline->count; i++)
            lki_traces_note(lki_redis_traces(redis), &pipeline->commands[i], replies[i]);
        if (pipeline->out_refusal && lki_redis_refusal(redis)->code != LK_OK)
            *pipeline->out_refusal = *lki_redis_refusal(redis);
        lki_pool_return(node->pool, redis);
        lki_context_emit(client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                                   .status = status,
                                                   .duration_ns = lki_clock_now() - begin,
                                                   .attempts = (unsigned)pipeline->count});
    }
    if (status == LK_UNREACHABLE || status == LK_UNKNOWN)
        lki_topology_refresh_soon(client->topology);
    for (size_t i = 0; i < pipeline->count && status == LK_OK; i++)
        (void)lki_exchange_learn(client->topology, replies[i], node);
    lki_node_unref(node);
    return status;
}
