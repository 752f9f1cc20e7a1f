/*
 * One exchange with one server: scripts that it may not know ahead of the commands, WAIT behind what is
 * to be on replicas as well. Any thread; none of the functions here keeps anything.
 */
#include "one_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "servers/topology.h"
#include "wire/pool.h"

enum { LAST_MOMENT_MS = 10 };

/* A word of WAIT that does not outlast the deadline. */
static int64_t sync_ms_before(const lk_client *client, int64_t deadline)
{
    int64_t left_ms = lki_clock_left_ms(deadline) - LAST_MOMENT_MS;

    if (left_ms < 1) left_ms = 1;
    return client->options.sync_ms < left_ms ? client->options.sync_ms : left_ms;
}

/* With WAIT behind the commands: on the same connection it counts what they have written. */
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

/* Scripts that the server may not know, ahead of the commands. What fails here has done nothing. */
static lk_status introduce(struct lki_redis *redis, const struct lki_node *node,
                           const struct lki_pipeline *pipeline, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (size_t i = 0; i < 2 && pipeline->introduce[i] && status == LK_OK; i++)
        status = lki_redis_introduce(redis, &node->endpoint, pipeline->introduce[i]->text,
                                     pipeline->deadline, err);
    if (status != LK_UNKNOWN) return status;
    if (err) err->code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}

static lk_status exchange_on(const lk_client *client, struct lki_redis *redis,
                             const struct lki_pipeline *pipeline, lk_reply **replies,
                             struct lk_error *err)
{
    if (pipeline->out_is_synced && client->options.sync_replicas > 0)
        return exchange_synced(client, redis, pipeline, replies, err);
    return lki_redis_exchange(redis, pipeline->commands, pipeline->count, pipeline->deadline,
                              replies, err);
}

lk_status lki_one_server_exchange(lk_client *client, struct lki_node *node,
                                  const struct lki_pipeline *pipeline, lk_reply **replies,
                                  struct lk_error *err)
{
    struct lki_redis *redis = NULL;
    int64_t begin = lki_clock_now();
    /* Half the time for a connection: a request sent at the last moment ends as UNKNOWN. */
    lk_status status =
        lki_pool_borrow(node->pool, begin + (pipeline->deadline - begin) / 2, &redis, err);

    if (status == LK_OK) {
        begin = lki_clock_now();
        status = introduce(redis, node, pipeline, err);
        if (status == LK_OK) status = exchange_on(client, redis, pipeline, replies, err);
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
    if (status == LK_UNREACHABLE || status == LK_UNKNOWN) lki_topology_doubt(client->topology);
    return status;
}
