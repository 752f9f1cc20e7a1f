/*
 * A redirected command was not executed, so it is sent again. Commands are repeated one after the other, as
 * later ones of a pipeline may depend on earlier ones. A step is what is repeated together: a command, or a
 * whole transaction (it is not executed if a part of it was redirected), with the WAIT behind it, which covers
 * its own connection. Threads: any.
 */
#include "route.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/reply.h"

enum { PAUSE_MS = 5, PAUSE_MAX_MS = 50, ADDRESS_MAX = 300 };

/* ---- where a command goes ------------------------------------------------------------------------ */

static bool is_word(struct lk_bytes bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.data, word, bytes.len) == 0;
}

static bool is_any_of(struct lk_bytes name, const char *const *words)
{
    while (*words && !is_word(name, *words))
        words++;
    return *words != NULL;
}

/* The index of the first key among the words; 0: none. */
static size_t first_key(const struct lk_command *command)
{
    static const char *const none[] = {"MULTI",  "EXEC",    "DISCARD", "UNWATCH", "PING",    "TIME",
                                       "INFO",   "CONFIG",  "SCRIPT",  "CLIENT",  "COMMAND", "ROLE",
                                       "WAIT",   "CLUSTER", "ACL",     "PUBSUB",  "PUBLISH", "SCAN",
                                       "ASKING", "ECHO",    "DBSIZE",  "MEMORY",  "HELLO",   NULL};
    static const char *const evals[] = {"EVAL",  "EVALSHA",  "EVAL_RO", "EVALSHA_RO",
                                        "FCALL", "FCALL_RO", NULL};
    static const char *const streams[] = {"XREAD", "XREADGROUP", NULL};
    const struct lk_bytes *words = command->args;

    if (is_any_of(words[0], none)) return 0;
    if (is_any_of(words[0], evals)) return command->count > 3 && !is_word(words[2], "0") ? 3 : 0;
    if (is_any_of(words[0], streams)) {
        for (size_t i = 1; i + 1 < command->count; i++) {
            if (is_word(words[i], "STREAMS")) return i + 1;
        }
    }
    return command->count > 1 ? 1 : 0;
}

int lki_route_slot(const struct lk_command *command)
{
    size_t key = command->count > 0 ? first_key(command) : 0;

    return key > 0 ? lki_slot_of(command->args[key].data, command->args[key].len) : LKI_NO_SLOT;
}

/* The end of the step that begins with this command: behind it or its EXEC, and behind WAIT. */
static size_t step_end(const struct lki_pipeline *pipeline, size_t begin)
{
    static const char *const ends[] = {"EXEC", "DISCARD", NULL};
    const struct lk_command *commands = pipeline->commands;
    size_t end = begin + 1;

    if (is_word(commands[begin].args[0], "MULTI")) {
        while (end < pipeline->count && !is_any_of(commands[end - 1].args[0], ends))
            end++;
    }
    while (end < pipeline->count && is_word(commands[end].args[0], "WAIT"))
        end++;
    return end;
}

/* The slots of all commands. All of a step has the slot of its first key, as a transaction must end on its own
   connection. A step without a key goes along with another one. */
static void find_slots(const struct lki_pipeline *pipeline, int *slots)
{
    int first = LKI_NO_SLOT;
    int before = LKI_NO_SLOT;

    for (size_t begin = 0, end = 0; begin < pipeline->count; begin = end) {
        int slot = LKI_NO_SLOT;

        end = step_end(pipeline, begin);
        for (size_t i = begin; i < end && slot == LKI_NO_SLOT; i++)
            slot = lki_route_slot(&pipeline->commands[i]);
        if (first == LKI_NO_SLOT) first = slot;
        if (slot == LKI_NO_SLOT) slot = before;
        for (size_t i = begin; i < end; i++)
            slots[i] = slot;
        before = slot;
    }
    for (size_t i = 0; i < pipeline->count && slots[i] == LKI_NO_SLOT; i++)
        slots[i] = first;
}

/* ---- redirections --------------------------------------------------------------------------------- */

/* Whether it was not executed, and may be at another server or later. */
static bool is_to_repeat(const lk_reply *reply)
{
    return lki_reply_error_class(reply) == LKI_ERROR_OF_CLUSTER;
}

/* Of which kind. */
struct trip {
    lk_client *client;
    struct lk_error *err;
};

/* Send a step, behind ASKING, to the server that an ASK named. */
static lk_status ask_there(const struct trip *trip, int slot, struct lk_bytes address,
                           const struct lki_pipeline *step, lk_reply **replies)
{
    const struct lk_bytes asking = LK_BYTES("ASKING");
    struct lki_pipeline pipeline = *step;
    struct lk_command *commands = calloc(step->count + 1, sizeof *commands);
    lk_reply **answers = calloc(step->count + 1, sizeof(lk_reply *));
    struct lki_node *told_by = lki_topology_node(trip->client->topology, slot, trip->err);
    struct lki_node *node =
        told_by ? lki_topology_at(trip->client->topology, address, told_by, trip->err) : NULL;
    lk_status status = LK_UNREACHABLE;

    pipeline.commands = commands;
    pipeline.count++;
    if (commands && answers && node) {
        commands[0] = (struct lk_command){&asking, 1};
        memcpy(commands + 1, step->commands, step->count * sizeof *commands);
        status = lki_exchange_at(trip->client, node, &pipeline, answers, trip->err);
        if (status == LK_OK) {
            lk_reply_free(answers[0]);
            memcpy(replies, answers + 1, step->count * sizeof(lk_reply *));
        }
    } else if (node) {
        status = LKI_FAIL(trip->err, LK_NO_MEMORY, "a pipeline");
        lki_node_unref(node);
    } else if (trip->err) {
        trip->err->code = status;
    }
    lki_node_unref(told_by);
    free(answers);
    free(commands);
    return status;
}

/* Pause; false: the deadline is too near. */
static bool pause_before(int64_t deadline, unsigned tries)
{
    int pause_ms = (int)(PAUSE_MS * (tries + 1));

    if (pause_ms > PAUSE_MAX_MS) pause_ms = PAUSE_MAX_MS;
    if (lki_clock_left_ms(deadline) <= 2 * pause_ms) return false;
    lki_clock_sleep_ms(pause_ms);
    return true;
}

/* Send a pipeline of one slot to the server that has it now. */
static lk_status send_to_owner(const struct trip *trip, int slot,
                               const struct lki_pipeline *pipeline, lk_reply **replies)
{
    struct lki_node *node = lki_topology_node(trip->client->topology, slot, trip->err);

    return lki_exchange_at(trip->client, node, pipeline, replies, trip->err);
}

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
}

/* The first answer for which a step is to be repeated; NULL: none. */
static const lk_reply *refusal_of(const struct lki_pipeline *step, lk_reply *const *replies)
{
    for (size_t i = 0; i < step->count; i++) {
        if (is_to_repeat(replies[i])) return replies[i];
    }
    return NULL;
}

/* Repeat a step that was refused, until it is executed or the deadline; then the refusal is its answer. */
static lk_status follow(const struct trip *trip, int slot, const struct lki_pipeline *step,
                        lk_reply **replies)
{
    const lk_reply *refusal = NULL;
    lk_status status = LK_OK;

    for (unsigned tries = 0; status == LK_OK && (refusal = refusal_of(step, replies)); tries++) {
        struct lk_bytes target = {0};
        char address[ADDRESS_MAX] = "";
        int moved = slot;
        bool is_ask = lki_exchange_redirection(refusal, "ASK ", &moved, &target);
        bool is_redirected = is_ask || lki_exchange_redirection(refusal, "MOVED ", &moved, &target);

        /* A transaction over two slots is refused by all servers. For commands that first_key() does not know, the
           server finds the key. */
        if (moved != slot && step->count > 1) break;
        slot = moved;
        /* The first redirection is followed at once; further ones after a pause, as servers may disagree. */
        if ((tries > 0 || !is_redirected) && !pause_before(step->deadline, tries)) break;
        if (target.len < sizeof address)
            memcpy(address, target.data ? target.data : "", target.len);
        free_replies(replies, step->count);
        /* The importing server refuses (it has only some keys of a command): ask the one that migrates them again. */
        status = is_ask ? ask_there(trip, slot, lk_bytes_of(address), step, replies)
                        : send_to_owner(trip, slot, step, replies);
    }
    return status;
}

static struct lki_pipeline step_of(const struct lki_pipeline *pipeline, size_t begin,
                                   bool *out_is_synced)
{
    struct lki_pipeline step = *pipeline;

    step.commands += begin;
    step.count = step_end(pipeline, begin) - begin;
    if (step.out_is_synced) step.out_is_synced = out_is_synced;
    return step;
}

/* Repeat all steps that were refused. *out_is_partly_done: another step was executed. */
static lk_status follow_all(const struct trip *trip, const int *slots,
                            const struct lki_pipeline *pipeline, lk_reply **replies,
                            bool *out_is_partly_done)
{
    bool is_synced = true; /* of the steps that were not refused */
    bool is_all_synced = true;
    lk_status status = LK_OK;
    struct lki_pipeline step;

    if (pipeline->out_is_synced) is_synced = *pipeline->out_is_synced;
    *out_is_partly_done = false;
    for (size_t i = 0; i < pipeline->count; i += step.count) {
        bool is_step_synced = true;

        step = step_of(pipeline, i, &is_step_synced);
        if (!refusal_of(&step, replies + i)) {
            *out_is_partly_done = true;
            is_all_synced &= is_synced;
        } else if (status == LK_OK) {
            status = follow(trip, slots[i], &step, replies + i);
            *out_is_partly_done |= status == LK_OK;
            is_all_synced &= is_step_synced;
        }
    }
    if (pipeline->out_is_synced) *pipeline->out_is_synced = is_all_synced;
    return status;
}

/* All commands of one slot, or at least of one server. */
static lk_status send_all(const struct trip *trip, const int *slots,
                          const struct lki_pipeline *pipeline, lk_reply **replies)
{
    bool is_partly_done = false;
    lk_status status = send_to_owner(trip, slots[0], pipeline, replies);

    if (status != LK_OK || !refusal_of(pipeline, replies)) return status;
    status = follow_all(trip, slots, pipeline, replies, &is_partly_done);
    if (status == LK_OK) return LK_OK;
    free_replies(replies, pipeline->count);
    if (!is_partly_done) return status;
    if (trip->err) trip->err->code = LK_UNKNOWN;
    return LK_UNKNOWN;
}

/* ---- several servers ------------------------------------------------------------------------------ */

/* What goes to one server together. */
struct share {
    struct lk_command *commands;
    lk_reply **replies;
    size_t *places; /* in the pipeline */
    int *slots;
    size_t count;
};

static bool share_make(struct share *share, size_t room)
{
    share->commands = calloc(room, sizeof *share->commands);
    share->replies = calloc(room, sizeof(lk_reply *));
    share->places = calloc(room, sizeof *share->places);
    share->slots = calloc(room, sizeof *share->slots);
    return share->commands && share->replies && share->places && share->slots;
}

static void share_done(struct share *share)
{
    free(share->commands);
    free(share->replies);
    free(share->places);
    free(share->slots);
}

/* Take what goes to the server of the first command that is left. */
static void gather(struct lki_topology *topology, const struct lki_pipeline *pipeline,
                   const int *slots, bool *is_taken, struct share *out)
{
    const struct lki_node *whose = NULL;
    bool is_same = false;

    out->count = 0;
    for (size_t i = 0; i < pipeline->count; i++) {
        if (is_taken[i]) continue;
        if (i == 0 || slots[i] != slots[i - 1]) { /* a step stays together */
            struct lki_node *node = lki_topology_node(topology, slots[i], NULL);

            is_same = out->count == 0 || node == whose;
            if (out->count == 0) whose = node;
            lki_node_unref(node); /* only compared */
        }
        if (!is_same) continue;
        is_taken[i] = true;
        out->commands[out->count] = pipeline->commands[i];
        out->slots[out->count] = slots[i];
        out->places[out->count++] = i;
    }
}

static lk_status send_shares(const struct trip *trip, const int *slots,
                             const struct lki_pipeline *pipeline, lk_reply **replies)
{
    bool *is_taken = calloc(pipeline->count, sizeof *is_taken);
    struct share share = {0};
    size_t done = 0;
    lk_status status = LK_OK;

    bool is_made = is_taken && share_make(&share, pipeline->count);
    if (!is_made)
        status = LKI_FAIL(trip->err, LK_NO_MEMORY, "a pipeline of %zu commands", pipeline->count);
    while (is_made && status == LK_OK && done < pipeline->count) {
        struct lki_pipeline part = *pipeline;

        gather(trip->client->topology, pipeline, slots, is_taken, &share);
        part.commands = share.commands;
        part.count = share.count;
        status = send_all(trip, share.slots, &part, share.replies);
        for (size_t i = 0; i < share.count && status == LK_OK; i++)
            replies[share.places[i]] = share.replies[i];
        if (status == LK_OK) done += share.count;
        memset(share.replies, 0, pipeline->count * sizeof(lk_reply *));
    }
    if (status != LK_OK && done > 0) {
        free_replies(replies, pipeline->count);
        status = LK_UNKNOWN;
        if (trip->err) trip->err->code = status;
    }
    share_done(&share);
    free(is_taken);
    return status;
}

lk_status lki_route(lk_client *client, const struct lki_pipeline *pipeline, lk_reply **replies,
                    struct lk_error *err)
{
    enum { FEW = 16 };
    const struct trip trip = {.client = client, .err = err};
    int few[FEW];
    int *slots = pipeline->count <= FEW ? few : calloc(pipeline->count, sizeof *slots);
    lk_status status = LK_OK;
    bool is_one = true;

    if (!slots) return LKI_FAIL(err, LK_NO_MEMORY, "a pipeline");
    memset(replies, 0, pipeline->count * sizeof(lk_reply *));
    find_slots(pipeline, slots);
    for (size_t i = 1; i < pipeline->count; i++)
        is_one &= slots[i] == slots[0];
    status = is_one ? send_all(&trip, slots, pipeline, replies)
                    : send_shares(&trip, slots, pipeline, replies);
    if (slots != few) free(slots);
    return status;
}

lk_status lki_route_send(lk_client *client, const struct lki_pipeline *pipeline, lk_reply **replies,
                         struct lk_error *err)
{
    lk_status status = lki_context_check(client, err);

    if (status == LK_OK) status = lki_context_check_redis(client, "commands and scripts", err);
    if (status != LK_OK) return status;
    if (lki_topology_is_cluster(client->topology)) return lki_route(client, pipeline, replies, err);
    return lki_exchange_at(client, lki_topology_node(client->topology, LKI_NO_SLOT, err), pipeline,
                           replies, err);
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
    return lki_route_send(client, &pipeline, replies, err);
}
