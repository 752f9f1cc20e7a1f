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
/* One of them by its file name; aborts on a name that is not there. */
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
/* Whether it is known, and what a server has answered that it is. */
bool lki_script_is_known(struct lk_script *script, const struct lki_variant *variant);
void lki_script_set_digest(struct lk_script *script, const struct lki_variant *variant,
                           struct lk_bytes sha1);

/* One EVALSHA (or EVAL when by_text) of a variant. */
struct lki_script_words {
    const struct lki_variant *variant;
    const char *lock_key; /* not NULL: that and the token are appended to keys and arguments */
    const char *token;
    bool by_text;
    struct lk_bytes *words; /* out, as the rest; owned */
    size_t count;
    char key_count[LKI_NUMBER_MAX];
};

/* Owns: the words are yours to free; they borrow everything they name. */
LK_MUST_CHECK lk_status lki_script_words(struct lki_script_words *script,
                                         const struct lk_eval *eval, struct lk_error *err);

/* lki_reply_fail(); or, if the script is not known there because it was not taken there, why:
   lki_redis_refusal(). */
lk_status lki_script_fail(struct lk_error *err, const lk_reply *reply,
                          const struct lk_error *refusal);

#endif
