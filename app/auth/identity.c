/*
 * See identity.h. Created before threads exist; used by civetweb's threads.
 */
#include "identity.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "secret_file.h"
#include "subject.h"

struct identity {
    bool trusts_user_id;
    unsigned number; /* from 1; no two have the same */
    struct token_rules rules;
    struct jwks_source *issuer;  /* borrowed; NULL: there is none */
    struct operators *operators; /* owned */
};

/* This thread's cache: the last token that was accepted, and the identity that accepted it. */
static _Thread_local struct {
    unsigned identity; /* its number; 0: none yet */
    uint64_t rounds;   /* of the issuer's keys */
    size_t len;
    struct token token;
    char text[TOKEN_TEXT_MAX];
} last;

/* There, or made by us, or by another instance at the same moment. */
static bool operator_file_is_there(const char *path, struct start_error *why)
{
    struct failure failure;

    return access(path, F_OK) == 0 || secret_make(path, &failure) || access(path, F_OK) == 0 ||
           start_error_say(why, "%s", failure.text);
}

struct identity *identity_new(const struct identity_options *options, struct start_error *why)
{
    static atomic_uint count;
    struct identity *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->trusts_user_id = options->trusts_user_id;
    self->number = atomic_fetch_add(&count, 1) + 1;
    if (options->rules) self->rules = *options->rules;
    self->issuer = options->issuer;
    if (operator_file_is_there(options->operator_file, why))
        self->operators = operators_new(options->operator_file, why);
    if (self->operators) return self;
    identity_free(self);
    return NULL;
}

void identity_free(struct identity *self)
{
    if (!self) return;
    operators_free(self->operators);
    explicit_bzero(self, sizeof *self);
    free(self);
}

/* What follows "Bearer " in Authorization, or NULL. */
static const char *bearer_of(const struct http_request *request)
{
    static const char scheme[] = "Bearer ";
    const char *given = request->authorization;

    if (!given || strncasecmp(given, scheme, sizeof scheme - 1) != 0) return NULL;
    given += sizeof scheme - 1;
    return given + strspn(given, " ");
}

/* A comparison in constant time. */
static bool is_same(const char *left, const char *right, size_t len)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < len; i++)
        difference |= (unsigned char)(left[i] ^ right[i]);
    return difference == 0;
}

/* ---- buyers ---------------------------------------------------------------------------------- */

static bool is_remembered(const struct identity *self, const char *text, size_t len, int64_t now_s)
{
    return last.identity == self->number && last.rounds == jwks_source_rounds(self->issuer) &&
           last.len == len && is_same(last.text, text, len) &&
           token_is_in_time(&last.token, self->rules.leeway_s, now_s);
}

static void remember(const struct identity *self, uint64_t rounds, const char *text, size_t len,
                     const struct token *token)
{
    last.identity = self->number;
    last.rounds = rounds;
    last.len = len;
    last.token = *token;
    memcpy(last.text, text, len);
}

/* Check the token with the cached keys of the issuer; with newer ones when it names an unknown key. */
static token_status check_with_keys(const struct identity *self, const char *text, int64_t now_s,
                                    struct token *out)
{
    struct jwks *keys = jwks_source_get(self->issuer);
    token_status status = token_check(&self->rules, keys, text, now_s, out);

    if (status == TOKEN_OF_UNKNOWN_KEY) {
        struct jwks *newer = jwks_source_get_newer(self->issuer, keys);

        if (newer) status = token_check(&self->rules, newer, text, now_s, out);
        jwks_unref(newer);
    }
    jwks_unref(keys);
    return status;
}

static token_status check_token(const struct identity *self, const char *text,
                                char out[BUYER_ID_MAX + 1])
{
    int64_t now_s = clock_unix_ms() / 1000;
    size_t len = strlen(text);
    struct token token;
    uint64_t rounds = jwks_source_rounds(self->issuer); /* before it is looked at */
    token_status status = TOKEN_GOOD;

    if (is_remembered(self, text, len, now_s)) {
        memcpy(out, last.token.buyer, sizeof last.token.buyer);
        return TOKEN_GOOD;
    }
    status = check_with_keys(self, text, now_s, &token);
    if (status != TOKEN_GOOD) return status;
    remember(self, rounds, text, len, &token);
    memcpy(out, token.buyer, sizeof token.buyer);
    return TOKEN_GOOD;
}

static bool refuse_buyer(struct http_request *request, const char *detail)
{
    http_send_problem(
        request, PROBLEM_UNAUTHENTICATED,
        &(struct http_detail){.detail = detail,
                              .headers = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"});
    return false;
}

static bool read_token_of_buyer(const struct identity *self, struct http_request *request,
                                char out[BUYER_ID_MAX + 1])
{
    const char *text = bearer_of(request);
    token_status status = TOKEN_GOOD;

    if (!text) return refuse_buyer(request, "Authorization has to be: Bearer TOKEN.");
    status = check_token(self, text, out);
    if (status != TOKEN_GOOD) return refuse_buyer(request, token_status_text(status));
    return true;
}

bool identity_read_buyer(const struct identity *self, struct http_request *request,
                         char out[BUYER_ID_MAX + 1])
{
    if (request->authorization) return read_token_of_buyer(self, request, out);
    if (!self->trusts_user_id) {
        return refuse_buyer(request, request->user_id ? "This server does not trust X-User-Id."
                                                      : "A bearer token is needed.");
    }
    if (request->user_id && subject_read(request->user_id, out)) return true;
    return refuse_buyer(request, request->user_id
                                     ? "X-User-Id has to be 1 to 255 bytes of printable UTF-8."
                                     : "X-User-Id is missing.");
}

/* ---- operators ----------------------------------------------------------------------------- */

bool identity_check_operator(const struct identity *self, struct http_request *request,
                             operator_role needed)
{
    const char *given = bearer_of(request);
    struct operator_known operator;
    char detail[96];

    if (!given) {
        http_send_problem(request, PROBLEM_UNAUTHENTICATED,
                          &(struct http_detail){.detail = "A bearer token is needed.",
                                                .headers = "WWW-Authenticate: Bearer\r\n"});
        return false;
    }
    if (!operators_find(self->operators, given, &operator)) {
        http_send_problem(request, PROBLEM_FORBIDDEN,
                          &(struct http_detail){.detail = "This is not the operator's token."});
        return false;
    }
    memcpy(request->operator_name, operator.name, sizeof operator.name);
    request->operator_role = operators_role_name(operator.role);
    if (operator.role >= needed) return true;
    (void)snprintf(detail, sizeof detail, "This needs a token of the role %s; yours has %s.",
                   operators_role_name(needed), request->operator_role);
    http_send_problem(request, PROBLEM_FORBIDDEN,
                      &(struct http_detail){.detail = detail, .field = "role"});
    return false;
}
