/*
 * Running scripts.
 */
#ifndef LKI_EVAL_H
#define LKI_EVAL_H

#include "route.h"

/*
 * The text that a call runs, its digest known. That of a user's script is asked for at its first use, by
 * which the server has the script too. NO_MEMORY, and of the asking.
 */
LK_MUST_CHECK lk_status lki_call_learn(lk_client *client, const struct lki_call *call,
                                       int64_t deadline, const struct lki_variant **out,
                                       struct lk_error *err);

/* Of one of lockkit's own scripts. Yours; NULL: no memory. */
struct lki_request *lki_call_request(lk_client *client, const struct lki_call *call);

/*
 * Run it; by digest, then by text (or, with a loader, introduced) if the server does not know that. The
 * answer is yours to free, or the integer (lki_reply_integers()). An error of the preamble that begins
 * with NOTOWNER becomes NOT_OWNER, of the first key.
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
