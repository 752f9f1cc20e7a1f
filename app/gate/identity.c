/*
 * Who is asking. Made before threads exist; asked on civetweb's threads.
 */
#include "identity.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "secret_file.h"
#include "subject.h"

enum { OPERATOR_MIN = 32, OPERATOR_MAX = 256 };

struct identity {
    bool trusts_user_id;
    unsigned number; /* from 1; no two have the same */
    struct token_rules rules;
    struct jwks_source *issuer; /* borrowed; NULL: there is none */
    size_t operator_len;
    char operator_token[OPERATOR_MAX];
};

/* The good token that this thread has seen last, and who found it good. */
static _Thread_local struct {
    unsigned identity; /* its number; 0: none yet */
    uint64_t rounds;   /* of the issuer's keys */
    size_t len;
    struct token token;
    char text[TOKEN_TEXT_MAX];
} last;

static bool operator_token_is_good(const char *token, size_t len)
{
    if (len < OPERATOR_MIN || len > OPERATOR_MAX) return false;
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7f) return false;
    }
    return true;
}

static bool read_operator_token(struct identity *self, const char *path, struct start_error *why)
{
    char text[OPERATOR_MAX + 3];
    size_t len = 0;

    if (!secret_file_read(path, text, sizeof text, &len, why)) return false;
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    if (!operator_token_is_good(text, len))
        return start_error_say(why, "%s: a token has %d to %d visible ASCII characters", path,
                               OPERATOR_MIN, OPERATOR_MAX);
    memcpy(self->operator_token, text, len);
    self->operator_len = len;
    return true;
}

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
    if (operator_file_is_there(options->operator_file, why) &&
        read_operator_token(self, options->operator_file, why))
        return self;
    identity_free(self);
    return NULL;
}

void identity_free(struct identity *self)
{
    if (!self) return;
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

/* Takes the same time wherever the first difference is. */
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

/* By the issuer's keys of now; by newer ones when it names one that is not among them. */
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

/* ---- the operator ---------------------------------------------------------------------------- */

static bool is_operator(const struct identity *self, const char *given)
{
    /* Shorter ones are compared too, in a copy of the full size. */
    char padded[OPERATOR_MAX] = "";
    size_t len = strlen(given);

    memcpy(padded, given, len < sizeof padded ? len : sizeof padded);
    return is_same(padded, self->operator_token, sizeof padded) && len == self->operator_len;
}

bool identity_check_operator(const struct identity *self, struct http_request *request)
{
    const char *given = bearer_of(request);

    if (!given) {
        http_send_problem(request, PROBLEM_UNAUTHENTICATED,
                          &(struct http_detail){.detail = "A bearer token is needed.",
                                                .headers = "WWW-Authenticate: Bearer\r\n"});
        return false;
    }
    if (is_operator(self, given)) return true;
    http_send_problem(request, PROBLEM_FORBIDDEN,
                      &(struct http_detail){.detail = "This is not the operator's token."});
    return false;
}
