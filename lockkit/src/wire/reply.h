/*
 * Answers that are errors, by the code that they begin with.
 */
#ifndef LKI_REPLY_H
#define LKI_REPLY_H

#include <stdbool.h>

#include "lockkit/error.h"
#include "lockkit/reply.h"

/* Whether a reply is an error that begins with this code ("NOSCRIPT"). */
bool lki_reply_is_error(const lk_reply *reply, const char *code);
/* Whether it is a temporary error or one of the wrong server (NOT_NOW, NOT_HERE): nothing was done. */
bool lki_reply_is_passing(const lk_reply *reply);

/* The source of such an error: a cluster's server that does not serve the slot; a replica. */
enum lki_error_class { LKI_ERROR_ANY, LKI_ERROR_OF_CLUSTER, LKI_ERROR_OF_REPLICA };
enum lki_error_class lki_reply_error_class(const lk_reply *reply);
/* Whether it is MOVED or ASK, which name another server. */
bool lki_reply_is_redirection(const lk_reply *reply);

/* Whether it is the status "OK" (and not "QUEUED", for example). */
bool lki_reply_is_ok(const lk_reply *reply);
/*
 * Read an answer of `count` integers: an array; or one integer, which may also be "OK" (1) or nil (0).
 *
 * Owns     takes the reply.
 * Returns  OK, or SERVER: it is another answer
 */
LK_MUST_CHECK lk_status lki_reply_integers(lk_reply *reply, long long *out, size_t count,
                                           struct lk_error *err);

/* SERVER with the text of an error reply; or that the reply is unexpected. */
lk_status lki_reply_fail(struct lk_error *err, const lk_reply *reply);

#endif
