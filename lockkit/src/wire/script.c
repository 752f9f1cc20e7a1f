/*
 * A script is sent by its digest (EVALSHA), and as text (EVAL) where the server does not know it. The build
 * computes the digest of an embedded script; that of a script with an owner check in front, or of a user's,
 * is the answer to SCRIPT LOAD at first use (call/eval.c), or is computed here if the user may not load
 * scripts. Threads: any.
 */
#include "script.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha1.h"
#include "reply.h"

extern const struct lk_script_source lockkit_scripts[]; /* made by embed.awk */

struct lk_script {
    char *source;                 /* owned */
    pthread_mutex_t mutex;        /* guards the list and the digests in it */
    struct lki_variant *variants; /* owned; grows only */
};

const struct lk_script_source *lki_script_all(void)
{
    return lockkit_scripts;
}

const struct lk_script_source *lki_script_named(const char *name)
{
    const struct lk_script_source *source = lockkit_scripts;

    while (source->name && strcmp(source->name, name) != 0)
        source++;
    assert(source->name);
    return source;
}

/* ---- variants ------------------------------------------------------------------------------- */

static struct lki_variant *variant_new(const char *preamble, const char *source)
{
    struct lki_variant *variant = calloc(1, sizeof *variant);

    if (!variant) return NULL;
    /* "#!lua flags=no-writes" must stay the first line. */
    const char *end = strncmp(source, "#!", 2) == 0 ? strchr(source, '\n') : NULL;
    int first = end ? (int)(end + 1 - source) : 0;
    variant->preamble = preamble;
    if (asprintf(&variant->text, "%.*s%s%s", first, source, preamble, source + first) >= 0)
        return variant;
    free(variant);
    return NULL;
}

lk_script *lk_script_new(const struct lk_script_source *source)
{
    struct lk_script *script = calloc(1, sizeof *script);

    if (!script || !source->source || source->source[0] == '\0') goto fail;
    (void)pthread_mutex_init(&script->mutex, NULL);
    script->source = strdup(source->source);
    script->variants = variant_new("", source->source);
    if (!script->source || !script->variants) goto fail;
    if (source->sha1) {
        (void)snprintf(script->variants->sha1, sizeof script->variants->sha1, "%s", source->sha1);
    }
    return script;

fail:
    lk_script_free(script);
    return NULL;
}

void lk_script_free(lk_script *script)
{
    if (!script) return;
    while (script->variants) {
        struct lki_variant *next = script->variants->next;

        free(script->variants->text);
        free(script->variants);
        script->variants = next;
    }
    (void)pthread_mutex_destroy(&script->mutex);
    free(script->source);
    free(script);
}

const struct lki_variant *lki_script_variant(struct lk_script *script, const char *preamble)
{
    struct lki_variant *variant = NULL;

    (void)pthread_mutex_lock(&script->mutex);
    for (variant = script->variants; variant; variant = variant->next) {
        if (strcmp(variant->preamble, preamble) == 0) break;
    }
    if (!variant) {
        variant = variant_new(preamble, script->source);
        if (variant) {
            variant->next = script->variants;
            script->variants = variant;
        }
    }
    (void)pthread_mutex_unlock(&script->mutex);
    return variant;
}

/* ---- digests ---------------------------------------------------------------------------------- */

bool lki_script_is_known(struct lk_script *script, const struct lki_variant *variant)
{
    (void)pthread_mutex_lock(&script->mutex);
    bool is_known = variant->sha1[0] != '\0';
    (void)pthread_mutex_unlock(&script->mutex);
    return is_known;
}

void lki_script_set_digest(struct lk_script *script, const struct lki_variant *variant,
                           struct lk_bytes sha1)
{
    struct lki_variant *own = NULL;

    (void)pthread_mutex_lock(&script->mutex);
    for (own = script->variants; own != variant; own = own->next) {}
    if (own->sha1[0] == '\0') memcpy(own->sha1, sha1.data, sizeof own->sha1 - 1);
    (void)pthread_mutex_unlock(&script->mutex);
}

void lki_script_digest(struct lk_script *script, const struct lki_variant *variant)
{
    char sha1[LKI_SHA1_LEN + 1];

    if (lki_script_is_known(script, variant)) return;
    lki_sha1(variant->text, strlen(variant->text), sha1);
    lki_script_set_digest(script, variant, lk_bytes_of(sha1));
}

/* ---- commands --------------------------------------------------------------------------------- */

/* A part of a command. */
struct part {
    const struct lk_bytes *words;
    size_t count;
};

static struct lki_request *join(const struct part *parts, size_t count)
{
    size_t words = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < count; words += parts[i++].count) {
        for (size_t k = 0; k < parts[i].count; k++)
            bytes += parts[i].words[k].len;
    }
    struct lki_request *request = malloc(sizeof *request + words * sizeof *request->words + bytes);
    if (!request) return NULL;
    *request = (struct lki_request){.command = {request->words, words}};
    struct lk_bytes *word = request->words;
    char *end = (char *)(word + words);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < parts[i].count; k++, word++) {
            *word = (struct lk_bytes){.data = end, .len = parts[i].words[k].len};
            if (word->len > 0) end = mempcpy(end, parts[i].words[k].data, word->len);
        }
    }
    return request;
}

struct lki_request *lki_wire_request(const struct lk_bytes *words, size_t count)
{
    return join(&(struct part){words, count}, 1);
}

struct lki_request *lki_script_request(const struct lki_variant *variant,
                                       const struct lki_call *call)
{
    static const struct lk_eval none;
    const struct lk_eval *eval = call->eval ? call->eval : &none;
    const size_t key_count = eval->key_count + call->key_count;
    char keys[LKI_NUMBER_MAX];
    const struct lk_bytes head[] = {LK_BYTES("EVALSHA"), lk_bytes_of(variant->sha1),
                                    lki_number(keys, (long long)key_count)};
    const struct part parts[] = {{head, 3},
                                 {eval->keys, eval->key_count},
                                 {call->keys, call->key_count},
                                 {eval->args, eval->arg_count},
                                 {call->args, call->arg_count}};
    struct lki_request *request = join(parts, sizeof parts / sizeof parts[0]);

    if (request) request->by_digest = variant;
    return request;
}

bool lki_script_spell_out(struct lki_request *request, bool has_loader)
{
    const struct lki_variant *variant = request->by_digest;

    if (!variant) return false;
    request->by_digest = NULL;
    if (has_loader) {
        request->load_first = variant;
    } else {
        request->words[0] = LK_BYTES("EVAL");
        request->words[1] = lk_bytes_of(variant->text);
    }
    return true;
}

lk_status lki_script_fail(struct lk_error *err, const lk_reply *reply,
                          const struct lk_error *refusal)
{
    if (refusal->code == LK_OK || !lki_reply_is_error(reply, "NOSCRIPT"))
        return lki_reply_fail(err, reply);
    if (err) *err = *refusal;
    return refusal->code;
}
