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
/* ...with one of these codes; the list ends with NULL. */
bool lki_reply_is_any(const lk_reply *reply, const char *const *codes);
/* Nothing was done, and it may be done elsewhere, or soon: servers are changing places. */
bool lki_reply_is_passing(const lk_reply *reply);

/* SERVER with the words of an error reply. */
lk_status lki_reply_fail(struct lk_error *err, const lk_reply *reply);

#endif
