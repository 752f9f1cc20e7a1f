/*
 * Calls of scripts: by digest (EVALSHA), and after NOSCRIPT by text (EVAL), or with a loader after SCRIPT LOAD.
 * Threads: any; there is no state here.
 */
#include "eval.h"

#include <stdlib.h>

#include "base/error.h"
#include "servers/topology.h"
#include "wire/pool.h"
#include "wire/reply.h"

static lk_status ask_digest(lk_client *client, lk_script *script, const struct lki_variant *variant,
                            int64_t deadline, struct lk_error *err)
{
    struct lk_bytes words[] = {LK_BYTES("SCRIPT"), LK_BYTES("LOAD"), lk_bytes_of(variant->text)};
    lk_reply *reply = NULL;

    if (lki_script_is_known(script, variant)) return LK_OK;
    struct lki_pipeline pipeline = {
        .commands = &(struct lk_command){words, 3}, .count = 1, .deadline = deadline};
    lk_status status = lki_route_send(client, &pipeline, &reply, err);
    if (status == LK_UNKNOWN) { /* SCRIPT LOAD does no harm, and the caller's script did not run */
        if (err) err->code = LK_UNREACHABLE;
        return LK_UNREACHABLE;
    }
    if (status != LK_OK) return status;
    struct lk_bytes sha1 = lk_reply_bytes(reply);
    if (lk_reply_type_of(reply) == LK_REPLY_STRING && sha1.len == sizeof variant->sha1 - 1) {
        lki_script_set_digest(script, variant, sha1);
    } else {
        status = lki_exchange_fail(client, reply, err);
    }
    lk_reply_free(reply);
    return status;
}

lk_status lki_call_learn(lk_client *client, const struct lki_call *call, int64_t deadline,
                         const struct lki_variant **out, struct lk_error *err)
{
    lk_script *script =
        call->script ? lki_context_script(client, call->script) : call->eval->script;
    const char *preamble = "";

    /* The script may outlive this client; so its preamble is not the client's own, and must not publish. */
    if (call->preamble)
        preamble = call->script ? lki_context_own_script(client, call->preamble)->text
                                : lki_script_named(call->preamble)->source;
    *out = lki_script_variant(script, preamble);
    if (!*out) return LKI_FAIL(err, LK_NO_MEMORY, "a script");
    if (!call->script && !client->has_loader)
        return ask_digest(client, script, *out, deadline, err);
    lki_script_digest(script, *out);
    return LK_OK;
}

struct lki_request *lki_call_request(lk_client *client, const struct lki_call *call)
{
    const struct lki_variant *variant = NULL;
    lk_status status = lki_call_learn(client, call, 0, &variant, NULL);

    return status == LK_OK ? lki_script_request(variant, call) : NULL;
}

/* The status of an error answer. refusal: why the loader was refused. */
static lk_status fail(const lk_client *client, const struct lki_call *call, const lk_reply *reply,
                      const struct lk_error *refusal, struct lk_error *err)
{
    if (call->preamble && lki_reply_is_error(reply, "NOTOWNER"))
        return LKI_FAIL(err, LK_NOT_OWNER, "%s: not held by this handle any more",
                        call->keys[0].data);
    if (refusal->code != LK_OK && lki_reply_is_error(reply, "NOSCRIPT"))
        return lki_script_fail(err, reply, refusal);
    return lki_exchange_fail(client, reply, err);
}

/* Make an unconfirmed undo pending. Takes the request. */
static void undo_later(lk_client *client, struct lki_request *request, int64_t until)
{
    struct lki_pending_undo *undo = lki_pending_undo_new(request, client->has_loader, until);

    if (undo) lki_topology_undo_later(client->topology, undo);
}

lk_status lki_call_reply(lk_client *client, const struct lki_call *call, int64_t deadline,
                         lk_reply **out_reply, struct lk_error *err)
{
    struct lk_error refusal = {0};
    const struct lki_variant *variant = NULL;
    lk_reply *reply = NULL;
    lk_status status = lki_call_learn(client, call, deadline, &variant, err);

    if (status != LK_OK) return status;
    struct lki_request *request = lki_script_request(variant, call);
    if (!request) return LKI_FAIL(err, LK_NO_MEMORY, "a script's arguments");
    struct lki_pipeline pipeline = {.commands = &request->command,
                                    .count = 1,
                                    .deadline = deadline,
                                    .out_is_synced = call->out_is_synced,
                                    .out_refusal = &refusal};
    do {
        lk_reply_free(reply); /* NOSCRIPT: nothing ran */
        reply = NULL;
        refusal = (struct lk_error){0};
        pipeline.load_first[0] = request->load_first;
        status = lki_route_send(client, &pipeline, &reply, err);
    } while (status == LK_OK && lki_reply_is_error(reply, "NOSCRIPT") &&
             lki_script_spell_out(request, client->has_loader));
    if (status == LK_OK && lk_reply_type_of(reply) == LK_REPLY_ERROR) {
        status = fail(client, call, reply, &refusal, err);
        lk_reply_free(reply);
    } else if (status == LK_OK) {
        *out_reply = reply;
    }
    bool is_open = status == LK_UNKNOWN || status == LK_UNREACHABLE || status == LK_EXHAUSTED;
    if (is_open && call->undo_until != 0) {
        undo_later(client, request, call->undo_until);
    } else {
        free(request);
    }
    return status;
}

lk_status lki_call_synced(lk_client *client, struct lki_call call, int64_t deadline,
                          lk_reply **out_reply, struct lk_error *err)
{
    bool is_synced = true;
    lk_reply *reply = NULL;

    call.out_is_synced = &is_synced;
    lk_status status = lki_call_reply(client, &call, deadline, &reply, err);
    if (status == LK_OK) status = lki_exchange_check_synced(client, is_synced, err);
    if (status == LK_OK) {
        *out_reply = reply;
    } else {
        lk_reply_free(reply);
    }
    return status;
}

lk_status lki_call_integer(lk_client *client, const struct lki_call *call, int64_t deadline,
                           long long *out_answer, struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lki_call_reply(client, call, deadline, &reply, err);

    return status == LK_OK ? lki_reply_integers(reply, out_answer, 1, err) : status;
}

lk_status lk_client_eval(lk_client *client, const struct lk_eval *eval, int64_t limit_ms,
                         lk_reply **out_reply, struct lk_error *err)
{
    lk_status status = lki_context_check(client, err);

    if (status != LK_OK) return status;
    if (!eval || !eval->script || !out_reply) {
        return LKI_FAIL(err, LK_INVALID, "an eval without script or answer (NULL)");
    }
    return lki_call_synced(client, (struct lki_call){.eval = eval},
                           lki_context_deadline(client, limit_ms), out_reply, err);
}
