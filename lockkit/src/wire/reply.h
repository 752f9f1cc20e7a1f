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
/* Nothing was done, and it may be done elsewhere, or soon: NOT_NOW, NOT_HERE. */
bool lki_reply_is_passing(const lk_reply *reply);

/* Who says such a thing: a server of a cluster, for want of the key's slot; a replica. */
enum lki_error_class { LKI_ERROR_ANY, LKI_ERROR_OF_CLUSTER, LKI_ERROR_OF_REPLICA };
enum lki_error_class lki_reply_error_class(const lk_reply *reply);
/* MOVED, ASK: it names the server to ask. */
bool lki_reply_is_redirection(const lk_reply *reply);

/* What SET says when it was done; not "QUEUED", for one. */
bool lki_reply_is_ok(const lk_reply *reply);
/*
 * Read an answer of so many integers: as an array; or one alone, also as "OK" (1) or nil (0).
 *
 * Owns     takes the reply.
 * Returns  OK, or SERVER: it is another answer
 */
LK_MUST_CHECK lk_status lki_reply_integers(lk_reply *reply, long long *out, size_t count,
                                           struct lk_error *err);

/* SERVER with the words of an error reply, or that it is none of those expected. */
lk_status lki_reply_fail(struct lk_error *err, const lk_reply *reply);

#endif
