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

/* What a script is run with; borrows all of it. */
struct lki_call {
    const char *script;         /* one of lockkit's own; NULL: the eval's */
    const char *preamble;       /* another of them that goes in front of it; NULL: none */
    const struct lk_eval *eval; /* keys and arguments that go in front of these; NULL: none */
    struct lk_bytes keys[6];
    size_t key_count;
    struct lk_bytes args[8];
    size_t arg_count;
    /* Not 0: it gives back, and where that is refused for now or not confirmed it is owed until then. Of
       lockkit's own scripts only. */
    int64_t undo_until;
    bool *out_is_synced; /* as in a pipeline */
};

enum { LKI_FIRST_KEY = 3 }; /* among the words of a request that runs a script with keys */

/* A command, ready to be sent, with all that it says in one block of memory: free() ends it. */
struct lki_request {
    const struct lki_variant *by_digest;  /* borrowed; NULL: no script, or spelled out */
    const struct lki_variant *load_first; /* borrowed; sent ahead of it; NULL: nothing */
    struct lk_command command;
    struct lk_bytes words[]; /* the command's */
};

/* Of these words; of a call of this text, by digest. NULL: no memory. */
struct lki_request *lki_wire_request(const struct lk_bytes *words, size_t count);
struct lki_request *lki_script_request(const struct lki_variant *variant,
                                       const struct lki_call *call);
/* For a server that does not know the digest: by text, or introduced by the loader. False: it was so before. */
bool lki_script_spell_out(struct lki_request *request, bool has_loader);

/* lki_reply_fail(); or, if the script is not known there because it was not taken there, why:
   lki_redis_refusal(). */
lk_status lki_script_fail(struct lk_error *err, const lk_reply *reply,
                          const struct lk_error *refusal);

#endif
