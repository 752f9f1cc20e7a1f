/*
 * Round trips: a pipeline, or a script, to the server that is to have it, with WAIT behind what is to
 * be on replicas as well. Any thread; none of the functions here keeps anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client.h"
#include "route.h"
#include "servers/topology.h"
#include "wire/native.h"
#include "wire/pool.h"

enum { LAST_MOMENT_MS = 10 };

/* A word of WAIT that does not outlast the deadline. */
static int64_t sync_ms_before(const lk_client *client, int64_t deadline)
{
    int64_t left_ms = lki_clock_left_ms(deadline) - LAST_MOMENT_MS;

    if (left_ms < 1) left_ms = 1;
    return lki_client_options(client)->sync_ms < left_ms ? lki_client_options(client)->sync_ms
                                                         : left_ms;
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
        wait[1] = lki_number(replicas, (long long)lki_client_options(client)->sync_replicas);
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
                                   (long long)lki_client_options(client)->sync_replicas;
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
    if (pipeline->native)
        return lki_native_exchange(redis, pipeline->native, pipeline->commands, pipeline->deadline,
                                   replies, err);
    if (pipeline->out_is_synced && lki_client_options(client)->sync_replicas > 0)
        return exchange_synced(client, redis, pipeline, replies, err);
    return lki_redis_exchange(redis, pipeline->commands, pipeline->count, pipeline->deadline,
                              replies, err);
}

lk_status lki_client_exchange_at(lk_client *client, struct lki_node *node,
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
        if (pipeline->out_refusal && lki_redis_refusal(redis)->code != LK_OK)
            *pipeline->out_refusal = *lki_redis_refusal(redis);
        lki_pool_return(node->pool, redis);
        lki_client_emit(client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                                  .status = status,
                                                  .duration_ns = lki_clock_now() - begin,
                                                  .attempts = (unsigned)pipeline->count});
    }
    if (status == LK_UNREACHABLE || status == LK_UNKNOWN)
        lki_topology_doubt(lki_client_topology(client));
    return status;
}

lk_status lki_client_send(lk_client *client, const struct lki_pipeline *pipeline,
                          lk_reply **replies, struct lk_error *err)
{
    lk_status status = lki_client_check(client, err);

    if (status != LK_OK) return status;
    if (lki_topology_is_cluster(lki_client_topology(client)))
        return lki_route(client, lki_client_topology(client), pipeline, replies, err);
    struct lki_node *node = lki_topology_node(lki_client_topology(client), LKI_NO_SLOT, err);
    if (!node) return LK_UNREACHABLE;
    status = lki_client_exchange_at(client, node, pipeline, replies, err);
    for (size_t i = 0; i < pipeline->count && status == LK_OK; i++)
        (void)lki_route_learn(lki_client_topology(client), replies[i], node);
    lki_node_unref(node);
    return status;
}

lk_status lki_client_exchange(lk_client *client, const struct lk_command *commands, size_t count,
                              int64_t deadline, lk_reply **replies, struct lk_error *err)
{
    return lki_client_send(
        client, &(struct lki_pipeline){.commands = commands, .count = count, .deadline = deadline},
        replies, err);
}

lk_status lki_client_fail_reply(const lk_client *client, const lk_reply *reply,
                                struct lk_error *err)
{
    static const char *const elsewhere[] = {"MOVED ", "ASK ", "TRYAGAIN ", "CLUSTERDOWN ", NULL};
    lk_status status = lki_fail_reply(err, reply);

    /* Of a cluster, asked as if it were one server, no other will do it. */
    if (!lki_client_may_move(client) && lki_reply_is_any(reply, elsewhere)) return status;
    if (lki_reply_is_passing(reply)) status = LK_UNREACHABLE;
    if (err) err->code = status;
    return status;
}

lk_status lki_client_check_synced(const lk_client *client, bool is_synced, struct lk_error *err)
{
    if (is_synced) return LK_OK;
    return LKI_FAIL(err, LK_UNSYNCED, "fewer than %u replicas confirmed it within %lld ms",
                    lki_client_options(client)->sync_replicas,
                    (long long)lki_client_options(client)->sync_ms);
}

lk_status lk_client_call(lk_client *client, const struct lk_command *commands, size_t count,
                         int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    lk_status status = lki_client_check(client, err);

    if (status != LK_OK) return status;
    return lki_client_exchange(client, commands, count, lki_client_deadline(client, limit_ms),
                               replies, err);
}

lk_status lki_client_eval_variant(lk_client *client, const struct lk_eval *eval,
                                  const struct lki_run *run, lk_reply **out_reply,
                                  struct lk_error *err)
{
    struct lki_eval_words words = {0};
    struct lk_error refusal = {0};
    bool has_loader = lki_client_has_loader(client);
    lk_reply *reply = NULL;
    lk_status status = lki_script_learn(eval->script, run->variant, client, run->deadline, err);

    for (int by_text = 0; by_text < 2 && status == LK_OK; by_text++) {
        status = lki_eval_words_make(run->variant, eval, run->lock_key, run->token,
                                     by_text && !has_loader, &words, err);
        if (status != LK_OK) break;
        struct lk_command command = {words.words, words.count};
        struct lki_pipeline pipeline = {.commands = &command,
                                        .count = 1,
                                        .deadline = run->deadline,
                                        .out_is_synced = run->out_is_synced,
                                        .native = run->native,
                                        .out_refusal = &refusal};

        if (by_text && has_loader) pipeline.introduce[0] = run->variant;
        refusal = (struct lk_error){0};
        status = lki_client_send(client, &pipeline, &reply, err);
        free(words.words);
        if (status != LK_OK || by_text || !lki_reply_is_error(reply, "NOSCRIPT")) break;
        lk_reply_free(reply); /* not known there: nothing ran */
        reply = NULL;
    }
    if (status != LK_OK) return status;
    if (lk_reply_type_of(reply) != LK_REPLY_ERROR) {
        *out_reply = reply;
        return LK_OK;
    }
    if (run->lock_key && lki_reply_is_error(reply, "NOTOWNER")) {
        status = LKI_FAIL(err, LK_NOT_OWNER, "%s: not held by this handle any more", run->lock_key);
    } else if (refusal.code != LK_OK && lki_reply_is_error(reply, "NOSCRIPT")) {
        if (err) *err = refusal;
        status = refusal.code;
    } else {
        status = lki_client_fail_reply(client, reply, err);
    }
    lk_reply_free(reply);
    return status;
}

lk_status lki_client_eval_synced(lk_client *client, const struct lk_eval *eval, struct lki_run run,
                                 lk_reply **out_reply, struct lk_error *err)
{
    bool is_synced = true;
    lk_reply *reply = NULL;

    run.out_is_synced = &is_synced;
    lk_status status = lki_client_eval_variant(client, eval, &run, &reply, err);
    if (status == LK_OK) status = lki_client_check_synced(client, is_synced, err);
    if (status == LK_OK) {
        *out_reply = reply;
    } else {
        lk_reply_free(reply);
    }
    return status;
}

struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call)
{
    return (struct lk_eval){.script = lki_client_script(client, call->script),
                            .keys = call->keys,
                            .key_count = call->key_count,
                            .args = call->args,
                            .arg_count = call->arg_count};
}

lk_status lki_call_reply(lk_client *client, const struct lki_call *call, int64_t deadline,
                         lk_reply **out_reply, struct lk_error *err)
{
    struct lk_eval eval = lki_eval_of(client, call);

    struct lki_run run = {.variant = lki_script_variant(eval.script, ""),
                          .deadline = deadline,
                          .out_is_synced = call->out_is_synced,
                          .native = call->native};

    return lki_client_eval_variant(client, &eval, &run, out_reply, err);
}

lk_status lki_call_integer(lk_client *client, const struct lki_call *call, int64_t deadline,
                           long long *out_answer, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lki_call_reply(client, call, deadline, &reply, err);

    if (status != LK_OK) return status;
    *out_answer = lk_reply_type_of(reply) == LK_REPLY_STRING ? 1 : lk_reply_integer(reply, 0);
    lk_reply_free(reply);
    return LK_OK;
}
