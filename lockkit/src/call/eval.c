/*
 * Scripts: learned at first use, sent by digest, and by text (or, with a loader, introduced) where a
 * server does not know them. Any thread; none of the functions here keeps anything.
 */
#include "eval.h"

#include <stdlib.h>

#include "base/error.h"
#include "servers/topology.h"
#include "wire/pool.h"
#include "wire/reply.h"

lk_status lki_eval_learn(lk_client *client, struct lk_script *script,
                         const struct lki_variant *variant, int64_t deadline, struct lk_error *err)
{
    struct lk_bytes words[] = {LK_BYTES("SCRIPT"), LK_BYTES("LOAD"), lk_bytes_of(variant->text)};
    lk_reply *reply = NULL;

    if (client->has_loader) lki_script_digest(script, variant);
    if (lki_script_is_known(script, variant)) return LK_OK;
    struct lki_pipeline pipeline = {
        .commands = &(struct lk_command){words, 3}, .count = 1, .deadline = deadline};
    lk_status status = lki_exchange_send(client, &pipeline, &reply, err);
    if (status == LK_UNKNOWN) { /* harmless if it happened, and nothing of the caller's ran */
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

/* What an error answer says. refusal: why the script was not taken there. */
static lk_status fail(lk_client *client, const struct lki_run *run, const lk_reply *reply,
                      const struct lk_error *refusal, struct lk_error *err)
{
    if (run->lock_key && lki_reply_is_error(reply, "NOTOWNER"))
        return LKI_FAIL(err, LK_NOT_OWNER, "%s: not held by this handle any more", run->lock_key);
    if (refusal->code != LK_OK && lki_reply_is_error(reply, "NOSCRIPT"))
        return lki_script_fail(err, reply, refusal);
    return lki_exchange_fail(client, reply, err);
}

/* whole: by digest, by text, and what came of it */
static lk_status eval_variant(lk_client *client, const struct lk_eval *eval,
                              const struct lki_run *run, lk_reply **out_reply, struct lk_error *err)
{
    struct lki_script_words words = {
        .variant = run->variant, .lock_key = run->lock_key, .token = run->token};
    struct lk_error refusal = {0};
    bool has_loader = client->has_loader;
    lk_reply *reply = NULL;
    lk_status status = lki_eval_learn(client, eval->script, run->variant, run->deadline, err);

    for (int by_text = 0; by_text < 2 && status == LK_OK; by_text++) {
        words.by_text = by_text && !has_loader;
        status = lki_script_words(&words, eval, err);
        if (status != LK_OK) break;
        struct lk_command command = {words.words, words.count};
        struct lki_pipeline pipeline = {.commands = &command,
                                        .count = 1,
                                        .deadline = run->deadline,
                                        .out_is_synced = run->out_is_synced,
                                        .out_refusal = &refusal};

        if (by_text && has_loader) pipeline.introduce[0] = run->variant;
        refusal = (struct lk_error){0};
        status = lki_exchange_send(client, &pipeline, &reply, err);
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
    status = fail(client, run, reply, &refusal, err);
    lk_reply_free(reply);
    return status;
}

lk_status lki_eval_variant(lk_client *client, const struct lk_eval *eval, const struct lki_run *run,
                           lk_reply **out_reply, struct lk_error *err)
{
    lk_status status = eval_variant(client, eval, run, out_reply, err);
    bool is_open = status == LK_UNKNOWN || status == LK_UNREACHABLE || status == LK_EXHAUSTED;
    struct lki_debt *debt =
        is_open && run->owe_until != 0 ? lki_debt_new(run->variant, eval, run->owe_until) : NULL;

    if (debt) lki_topology_owe(client->topology, debt);
    return status;
}

lk_status lki_eval_synced(lk_client *client, const struct lk_eval *eval, struct lki_run run,
                          lk_reply **out_reply, struct lk_error *err)
{
    bool is_synced = true;
    lk_reply *reply = NULL;

    run.out_is_synced = &is_synced;
    lk_status status = lki_eval_variant(client, eval, &run, &reply, err);
    if (status == LK_OK) status = lki_exchange_check_synced(client, is_synced, err);
    if (status == LK_OK) {
        *out_reply = reply;
    } else {
        lk_reply_free(reply);
    }
    return status;
}

struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call)
{
    return (struct lk_eval){.script = lki_context_script(client, call->script),
                            .keys = call->keys,
                            .key_count = call->key_count,
                            .args = call->args,
                            .arg_count = call->arg_count};
}

lk_status lki_call_reply(lk_client *client, const struct lki_call *call, int64_t deadline,
                         lk_reply **out_reply, struct lk_error *err)
{
    struct lk_eval eval = lki_eval_of(client, call);
    const char *preamble =
        call->preamble ? lki_context_own_script(client, call->preamble)->text : "";
    struct lki_run run = {.variant = lki_script_variant(eval.script, preamble),
                          .deadline = deadline,
                          .owe_until = call->owe_until,
                          .out_is_synced = call->out_is_synced};

    if (!run.variant) return LKI_FAIL(err, LK_NO_MEMORY, "a script");
    lki_script_digest(eval.script, run.variant); /* so that nobody is asked for it */
    return lki_eval_variant(client, &eval, &run, out_reply, err);
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
    const struct lki_variant *variant = lki_script_variant(eval->script, "");
    if (!variant) return LKI_FAIL(err, LK_NO_MEMORY, "a script");
    struct lki_run run = {.variant = variant, .deadline = lki_context_deadline(client, limit_ms)};
    return lki_eval_synced(client, eval, run, out_reply, err);
}
