/*
 * Buyers' tokens. They are parsed here, because libjwt parses a header before it checks the signature, at any
 * nesting depth, takes the last of two equal claims, and refuses at+jwt. Here claims are parsed only after the
 * signature was checked; a header is parsed before, to find the issuer's key. Any thread; no state.
 */
#include "token.h"

#include <assert.h>
#include <jwt.h>
#include <math.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/base64url.h"
#include "http/strict_json.h"
#include "secret_file.h"
#include "subject.h"

enum signer { WE, ISSUER };
enum part { HEADER, PAYLOAD, SIGNATURE, PARTS };

/* A token's parts, decoded. */
struct parts {
    const char *text;               /* the three as they were sent */
    const unsigned char *at[PARTS]; /* in bytes */
    size_t len[PARTS];
    unsigned char bytes[TOKEN_TEXT_MAX];
};

static const double moment_max_s = 999999999999999; /* far beyond any, far from overflow */

const char *token_status_text(token_status status)
{
    static const char *const texts[] = {TOKEN_STATUS_LIST(LIST_NAME)};

    assert(status < TOKEN_STATUS_COUNT);
    return texts[status];
}

/* A byte-order mark at the start, or a CR at the end: an editor has left it, and it is no part of the key. */
static bool has_marks_of_an_editor(const char *bytes, size_t len)
{
    return (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) ||
           (len >= 1 && bytes[len - 1] == '\r');
}

bool token_key_read(const char *path, struct token_key *out, struct start_error *why)
{
    char bytes[TOKEN_KEY_MAX + 1];
    size_t len = 0;
    bool is_good = secret_file_read(path, bytes, sizeof bytes, &len, why);

    if (is_good && has_marks_of_an_editor(bytes, len))
        is_good = start_error_say(why,
                                  "%s: a byte order mark or CR LF would be part of the key: "
                                  "write it without",
                                  path);
    if (is_good && len < TOKEN_KEY_MIN)
        is_good = start_error_say(why, "%s: a key has at least %d bytes", path, TOKEN_KEY_MIN);
    if (is_good) {
        memcpy(out->bytes, bytes, len);
        out->len = len;
    }
    explicit_bzero(bytes, sizeof bytes);
    return is_good;
}

/* ---- HMAC ------------------------------------------------------------------------------------ */

/* HMAC() fetches the algorithm at each call, which costs more than the MAC: so each thread keeps a context. */
static pthread_key_t mac_contexts;

static void free_context(void *context)
{
    EVP_MAC_CTX_free(context);
}

static void make_contexts(void)
{
    if (pthread_key_create(&mac_contexts, free_context) != 0) abort();
}

static EVP_MAC_CTX *new_context(void)
{
    const OSSL_PARAM digest[] = {OSSL_PARAM_construct_utf8_string("digest", (char[]){"SHA256"}, 0),
                                 OSSL_PARAM_construct_end()};
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = algorithm ? EVP_MAC_CTX_new(algorithm) : NULL;

    EVP_MAC_free(algorithm);
    if (context && EVP_MAC_CTX_set_params(context, digest) &&
        pthread_setspecific(mac_contexts, context) == 0)
        return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

/* This thread's. NULL: out of memory. */
static EVP_MAC_CTX *mac_context(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_contexts);
    EVP_MAC_CTX *context = pthread_getspecific(mac_contexts);
    return context ? context : new_context();
}

bool token_mac(const struct token_key *key, const char *bytes, size_t len,
               unsigned char out[TOKEN_MAC_SIZE])
{
    EVP_MAC_CTX *context = mac_context();
    size_t mac_len = 0;

    assert(key->len >= TOKEN_KEY_MIN);
    return context && EVP_MAC_init(context, key->bytes, key->len, NULL) &&
           EVP_MAC_update(context, (const unsigned char *)bytes, len) &&
           EVP_MAC_final(context, out, &mac_len, TOKEN_MAC_SIZE) && mac_len == TOKEN_MAC_SIZE;
}

bool token_mac_is(const unsigned char a[TOKEN_MAC_SIZE], const unsigned char b[TOKEN_MAC_SIZE])
{
    return CRYPTO_memcmp(a, b, TOKEN_MAC_SIZE) == 0;
}

/* ---- check ----------------------------------------------------------------------------------- */

/* header.payload.signature, none of them empty. */
static token_status split(const char *text, struct parts *out)
{
    unsigned char *to = out->bytes;

    if (strnlen(text, TOKEN_TEXT_MAX + 1) > TOKEN_TEXT_MAX) return TOKEN_TOO_LONG;
    out->text = text;
    for (int i = 0; i < PARTS; i++) {
        size_t len = strcspn(text, ".");
        ssize_t count = base64url_decode(text, len, to);

        if (count <= 0 || text[len] != (i < SIGNATURE ? '.' : '\0')) return TOKEN_NO_JWT;
        out->at[i] = to;
        out->len[i] = (size_t)count;
        to += count;
        text += len + 1;
    }
    return TOKEN_GOOD;
}

static size_t signed_len(const struct parts *parts)
{
    return (size_t)(strrchr(parts->text, '.') - parts->text);
}

/* Whether the signature is an HMAC-SHA-256 by one of our keys, whatever algorithm the header names. */
static bool is_ours(const struct token_keys *keys, const struct parts *parts)
{
    size_t len = signed_len(parts);
    unsigned char mac[TOKEN_MAC_SIZE];

    for (size_t i = 0; i < keys->count; i++) {
        if (parts->len[SIGNATURE] == TOKEN_MAC_SIZE &&
            token_mac(&keys->key[i], parts->text, len, mac) &&
            token_mac_is(mac, parts->at[SIGNATURE]))
            return true;
    }
    return false;
}

/* No object, nested too deeply, one member twice: NULL. */
static json_t *read_part(const struct parts *parts, enum part which)
{
    return strict_json_load((const char *)parts->at[which], parts->len[which], NULL);
}

static bool claim_is(const json_t *claim, const char *text)
{
    return json_is_string(claim) && strcmp(json_string_value(claim), text) == 0;
}

/* Whether typ is a plain JWT or an access token (RFC 9068); tokens of other types are refused. */
static bool type_is_ours(const json_t *type)
{
    static const char *const ours[] = {"JWT", "at+jwt", "application/at+jwt"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (json_is_string(type) && strcasecmp(json_string_value(type), ours[i]) == 0) return true;
    return !type;
}

static token_status check_signature_of_issuer(const struct jwks *issuer, const json_t *header,
                                              const struct parts *parts)
{
    static const token_status statuses[] = {
        [JWKS_GOOD] = TOKEN_GOOD,
        [JWKS_NO_KEY] = TOKEN_OF_UNKNOWN_KEY,
        [JWKS_OTHER_ALGORITHM] = TOKEN_OF_OTHER_ALGORITHM,
        [JWKS_BAD_SIGNATURE] = TOKEN_FOREIGN,
    };
    const json_t *kid = json_object_get(header, "kid");

    if (kid && !json_is_string(kid)) return TOKEN_OF_UNKNOWN_KEY;
    return statuses[jwks_verify(
        issuer, &(struct jwks_signed){.kid = json_string_value(kid),
                                      .alg = json_string_value(json_object_get(header, "alg")),
                                      .text = parts->text,
                                      .text_len = signed_len(parts),
                                      .signature = parts->at[SIGNATURE],
                                      .signature_len = parts->len[SIGNATURE]})];
}

/* A key signs by one algorithm: ours by HS256, an issuer's never. */
static enum signer signer_of(const json_t *header)
{
    return claim_is(json_object_get(header, "alg"), "HS256") ? WE : ISSUER;
}

static token_status check_signature(const struct token_rules *rules, const struct jwks *issuer,
                                    const struct parts *parts, const json_t *header)
{
    if (!json_is_string(json_object_get(header, "alg"))) return TOKEN_OF_OTHER_ALGORITHM;
    if (signer_of(header) == WE) return is_ours(&rules->keys, parts) ? TOKEN_GOOD : TOKEN_FOREIGN;
    return check_signature_of_issuer(issuer, header, parts);
}

/* A moment into *out, which keeps its value when the claim is not there; "15" is none. */
static bool read_moment(const json_t *claims, const char *name, int64_t *out)
{
    const json_t *claim = json_object_get(claims, name);
    double at_s = json_number_value(claim);

    if (!claim) return true;
    if (!json_is_number(claim) || at_s < 0 || at_s > moment_max_s) return false;
    *out = (int64_t)floor(at_s);
    return true;
}

/* A token with an audience that does not include ours is refused (RFC 7519, 4.1.3). */
static bool audience_is_ours(const json_t *claim, const char *ours)
{
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(claim, i, entry)
    {
        if (claim_is(entry, ours)) return true;
    }
    return claim_is(claim, ours);
}

/* An issuer's keys sign tokens for others, too, and of others where many share it; ours sign for us alone. */
static token_status check_parties(const struct token_rules *rules, const json_t *claims,
                                  enum signer signer)
{
    const json_t *audience = json_object_get(claims, "aud");
    const char *ours = rules->audience ? rules->audience : "seckill";

    if (signer == ISSUER && rules->issuer &&
        !claim_is(json_object_get(claims, "iss"), rules->issuer))
        return TOKEN_OF_OTHER_ISSUER;
    if (!audience) return signer == ISSUER && rules->audience ? TOKEN_FOR_OTHERS : TOKEN_GOOD;
    return audience_is_ours(audience, ours) ? TOKEN_GOOD : TOKEN_FOR_OTHERS;
}

bool token_is_in_time(const struct token *token, int64_t leeway_s, int64_t now_s)
{
    return now_s < token->expires_at_s + leeway_s && now_s >= token->not_before_at_s - leeway_s;
}

static token_status read_claims(const struct token_rules *rules, const json_t *claims,
                                int64_t now_s, struct token *out)
{
    struct token token = {.expires_at_s = -1};
    const char *subject = json_string_value(json_object_get(claims, "sub"));

    if (!json_is_object(claims)) return TOKEN_UNREADABLE;
    if (!subject || !subject_read(subject, token.buyer)) return TOKEN_BAD_SUB;
    if (!read_moment(claims, "exp", &token.expires_at_s) || token.expires_at_s < 0)
        return TOKEN_BAD_EXP;
    if (!read_moment(claims, "nbf", &token.not_before_at_s)) return TOKEN_BAD_NBF;
    if (!read_moment(claims, "iat", &token.issued_at_s)) return TOKEN_BAD_IAT;
    if (!token_is_in_time(&token, rules->leeway_s, now_s))
        return now_s < token.not_before_at_s ? TOKEN_EARLY : TOKEN_EXPIRED;
    *out = token;
    return TOKEN_GOOD;
}

static token_status check_parts(const struct token_rules *rules, const struct jwks *issuer,
                                const struct parts *parts, int64_t now_s, struct token *out)
{
    json_t *header = read_part(parts, HEADER);
    json_t *claims = NULL;
    token_status status = check_signature(rules, issuer, parts, header);

    if (status == TOKEN_GOOD && json_object_get(header, "crit")) status = TOKEN_CRITICAL;
    if (status == TOKEN_GOOD && !type_is_ours(json_object_get(header, "typ")))
        status = TOKEN_OF_OTHER_TYPE;
    if (status == TOKEN_GOOD) {
        claims = read_part(parts, PAYLOAD);
        status = check_parties(rules, claims, signer_of(header));
    }
    if (status == TOKEN_GOOD) status = read_claims(rules, claims, now_s, out);
    json_decref(claims);
    json_decref(header);
    return status;
}

token_status token_check(const struct token_rules *rules, const struct jwks *issuer,
                         const char *text, int64_t now_s, struct token *out)
{
    struct parts parts;
    token_status status = split(text, &parts);

    return status == TOKEN_GOOD ? check_parts(rules, issuer, &parts, now_s, out) : status;
}

/* ---- make ------------------------------------------------------------------------------------ */

static bool add_moment(jwt_t *jwt, const char *name, int64_t at_s)
{
    return at_s == 0 || jwt_add_grant_int(jwt, name, (long)at_s) == 0;
}

char *token_make(const struct token_key *key, const char *subject, const struct token *claims)
{
    jwt_t *jwt = NULL;
    char *text = NULL;

    if (jwt_new(&jwt) != 0) return NULL;
    if (jwt_set_alg(jwt, JWT_ALG_HS256, key->bytes, (int)key->len) == 0 &&
        jwt_add_grant(jwt, "sub", subject) == 0 && add_moment(jwt, "exp", claims->expires_at_s) &&
        add_moment(jwt, "nbf", claims->not_before_at_s) &&
        add_moment(jwt, "iat", claims->issued_at_s))
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    return text;
}
