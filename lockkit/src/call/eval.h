/*
 * Running scripts.
 */
#ifndef LKI_EVAL_H
#define LKI_EVAL_H

#include "route.h"

/*
 * The variant of a script that a call runs, with its digest. At the first use of a user's script the digest is
 * the answer to SCRIPT LOAD. NO_MEMORY, or the status of that.
 */
LK_MUST_CHECK lk_status lki_call_learn(lk_client *client, const struct lki_call *call,
                                       int64_t deadline, const struct lki_variant **out,
                                       struct lk_error *err);

/* The request of a call of one of lockkit's own scripts. Yours; NULL: no memory. */
struct lki_request *lki_call_request(lk_client *client, const struct lki_call *call);

/*
 * Run it: by digest, and once more after NOSCRIPT. The answer is yours to free, or is one integer
 * (lki_reply_integers()). An error that begins with NOTOWNER becomes NOT_OWNER, with the first key.
 */
LK_MUST_CHECK lk_status lki_call_reply(lk_client *client, const struct lki_call *call,
                                       int64_t deadline, lk_reply **out_reply,
                                       struct lk_error *err);
LK_MUST_CHECK lk_status lki_call_integer(lk_client *client, const struct lki_call *call,
                                         int64_t deadline, long long *out_answer,
                                         struct lk_error *err);
/* For a user's script: UNSYNCED when too few replicas have confirmed what it wrote. */
LK_MUST_CHECK lk_status lki_call_synced(lk_client *client, struct lki_call call, int64_t deadline,
                                        lk_reply **out_reply, struct lk_error *err);

#endif
