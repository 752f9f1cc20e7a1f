/*
 * Scripts as they are sent: plain, or with a lock's owner check in front.
 */
#ifndef LKI_SCRIPT_H
#define LKI_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/script.h"

#include "base/number.h"

/* The scripts of lockkit/scripts; the last one has no name. */
const struct lk_script_source *lki_script_all(void);
/* The script with this file name; aborts if there is none. */
const struct lk_script_source *lki_script_named(const char *name);

/* One text with its digest. */
struct lki_variant {
    const char *preamble; /* borrowed, static: the owner check; "" for the plain script */
    char *text;           /* owned */
    char sha1[41];        /* "" until learned */
    struct lki_variant *next;
};

/* The script with a preamble; made at first use; lives as long as the script. NULL: no memory. */
const struct lki_variant *lki_script_variant(struct lk_script *script, const char *preamble);

/* Make sure that the digest of a variant is known without asking a server. */
void lki_script_digest(struct lk_script *script, const struct lki_variant *variant);
/* Whether the digest is known; and set it, as a server has answered it. */
bool lki_script_is_known(struct lk_script *script, const struct lki_variant *variant);
void lki_script_set_digest(struct lk_script *script, const struct lki_variant *variant,
                           struct lk_bytes sha1);

/* A call of a script; borrows everything. */
struct lki_call {
    const char *script;         /* the name of one of lockkit's own; NULL: the eval's */
    const char *preamble;       /* the name of one that runs in front of it; NULL: none */
    const struct lk_eval *eval; /* its keys and arguments precede these; NULL: none */
    struct lk_bytes keys[6];
    size_t key_count;
    struct lk_bytes args[8];
    size_t arg_count;
    /* Not 0: the script undoes something; if it is refused temporarily or not confirmed, it becomes a pending undo,
       until this moment. For lockkit's own scripts only. */
    int64_t undo_until;
    bool *out_is_synced; /* as in a pipeline */
};

enum { LKI_FIRST_KEY = 3 }; /* index among the words of a request that runs a script with keys */

/* A command that is ready to be sent, in one block of memory: free() it. */
struct lki_request {
    const struct lki_variant *by_digest; /* borrowed; the script of an EVALSHA; else NULL */
    const struct lki_variant
        *load_first; /* borrowed; a script to be loaded ahead of it; NULL: none */
    struct lk_command command;
    struct lk_bytes words[]; /* the command's */
};

/* A request of these words; and one that calls this variant by its digest. NULL: no memory. */
struct lki_request *lki_wire_request(const struct lk_bytes *words, size_t count);
struct lki_request *lki_script_request(const struct lki_variant *variant,
                                       const struct lki_call *call);
/* After NOSCRIPT: send the text (EVAL), or with a loader load the script first. False: it was so before. */
bool lki_script_spell_out(struct lki_request *request, bool has_loader);

/* The error of a NOSCRIPT answer: refusal (lki_redis_refusal()), if the loader was refused; else lki_reply_fail(). */
lk_status lki_script_fail(struct lk_error *err, const lk_reply *reply,
                          const struct lk_error *refusal);

#endif
