/*
 * Who is asking: the buyer behind a request, or the operator.
 */
#ifndef SECKILL_IDENTITY_H
#define SECKILL_IDENTITY_H

#include "base/start_error.h"
#include "http/http.h"
#include "jwks_source.h"
#include "operators.h"
#include "token.h"

struct identity; /* opaque; any thread may ask it */

struct identity_options {
    bool trusts_user_id; /* --lab: X-User-Id is believed where no token is sent */
    const char
        *operator_file; /* tokens of operators; copied; made (0600), with one, when missing */
    const struct token_rules *rules; /* for buyers' tokens; copied; NULL: no token is good */
    struct jwks_source *issuer; /* of tokens that are not ours; borrowed; NULL: there is none */
};

/* NULL and one line in *why: the file cannot be read or made, or holds no good token. */
struct identity *identity_new(const struct identity_options *options, struct start_error *why);
void identity_free(struct identity *self);

/*
 * The buyer of a request: `sub` of its bearer token (token.h), or X-User-Id, in its canonical form (subject.h).
 *
 * Each thread caches the last token that was accepted: on a connection that repeats its token, only the first
 * request costs a check of the signature.
 *
 * Returns  false when the buyer is not known: answered (401).
 */
bool identity_read_buyer(const struct identity *self, struct http_request *request,
                         char out[BUYER_ID_MAX + 1]);

/* Note in the request which operator it is.
   Returns  false when it is none, or may less than that: answered (401, 403). */
bool identity_check_operator(const struct identity *self, struct http_request *request,
                             operator_role needed);

#endif
