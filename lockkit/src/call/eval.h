/*
 * Running scripts.
 */
#ifndef LKI_EVAL_H
#define LKI_EVAL_H

#include "exchange.h"

/* Make sure that the digest of a variant is known, asking the server if need be: so it has the script
   too. */
LK_MUST_CHECK lk_status lki_eval_learn(lk_client *client, struct lk_script *script,
                                       const struct lki_variant *variant, int64_t deadline,
                                       struct lk_error *err);

/*
 * Run one variant of a script; by digest, then by text (or, with a loader, introduced) if the server
 * does not know it. With lock_key, an error that begins with NOTOWNER becomes NOT_OWNER.
 */
struct lki_run {
    const struct lki_variant *variant;
    const char *lock_key; /* and token: the owner check's; NULL for none */
    const char *token;
    int64_t deadline;
    int64_t owe_until; /* not 0: it gives back; where that is refused for now or not confirmed it is
                          owed, so long. Of lockkit's own scripts only */
    bool *out_is_synced; /* as in a pipeline */
};
LK_MUST_CHECK lk_status lki_eval_variant(lk_client *client, const struct lk_eval *eval,
                                         const struct lki_run *run, lk_reply **out_reply,
                                         struct lk_error *err);

/* The same for a user's script: UNSYNCED when too few replicas have confirmed what it wrote. */
LK_MUST_CHECK lk_status lki_eval_synced(lk_client *client, const struct lk_eval *eval,
                                        struct lki_run run, lk_reply **out_reply,
                                        struct lk_error *err);

/* One of lockkit's own scripts with its keys and arguments, as its caller fills it in. */
struct lki_call {
    const char *script;
    const char *preamble; /* another one that goes in front of it; NULL: none */
    struct lk_bytes keys[6];
    size_t key_count;
    struct lk_bytes args[8];
    size_t arg_count;
    int64_t owe_until;   /* as in a run */
    bool *out_is_synced; /* as in a pipeline */
};

/* As the functions for evals want it; borrows the call. */
struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call);

/* Run it; the answer is the integer (lki_reply_integers()), or yours to free. */
LK_MUST_CHECK lk_status lki_call_integer(lk_client *client, const struct lki_call *call,
                                         int64_t deadline, long long *out_answer,
                                         struct lk_error *err);
LK_MUST_CHECK lk_status lki_call_reply(lk_client *client, const struct lki_call *call,
                                       int64_t deadline, lk_reply **out_reply,
                                       struct lk_error *err);

#endif
