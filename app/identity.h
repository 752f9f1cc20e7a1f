/*
 * Who is asking: the buyer behind a request, and whether it is the operator.
 */
#ifndef SECKILL_IDENTITY_H
#define SECKILL_IDENTITY_H

#include "http.h"
#include "refusal.h"

struct identity; /* opaque; never changes, so any thread may ask it */

struct identity_options {
    bool trusts_user_id;    /* --lab: X-User-Id is believed */
    const char *token_file; /* the operator's bearer token; made (0600) when missing */
};

/* NULL and one line in *why: the file cannot be read or made, or holds no good token. */
struct identity *identity_new(const struct identity_options *options, struct refusal *why);
void identity_free(struct identity *self);

/* Returns  false when the buyer is not known: answered (401). */
bool identity_read_buyer(const struct identity *self, struct http_request *request,
                         char out[BUYER_ID_MAX + 1]);

/* Returns  false when it is not the operator: answered (401, 403). */
bool identity_check_operator(const struct identity *self, struct http_request *request);

#endif
