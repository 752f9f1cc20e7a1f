/*
 * Buyers' tokens. They are read here: libjwt parses a head before it knows who signed it, however deep
 * it is nested, takes the last of two equal claims, and refuses at+jwt. So nothing is parsed before its
 * signature is found good; each check says against what. Runs on any thread; keeps nothing.
 */
#include "token.h"

#include <assert.h>
#include <jwt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "http/strict_json.h"
#include "secret_file.h"

enum part { HEADER, PAYLOAD, SIGNATURE, PARTS };

/* A token's parts, decoded. */
struct parts {
    size_t len[PARTS];
    unsigned char bytes[PARTS][TOKEN_TEXT_MAX];
};

static const int64_t moment_max_s = 999999999999999; /* far beyond any, far from overflow */

/* A token that names whom it is for and does not name us is not for us (RFC 7519, 4.1.3). */
static const char audience[] = "seckill";

const char *token_status_text(token_status status)
{
    static const char *const texts[] = {TOKEN_STATUS_LIST(LIST_NAME)};

    assert(status < TOKEN_STATUS_COUNT);
    return texts[status];
}

bool token_key_read(const char *path, struct token_key *out, struct start_error *why)
{
    char bytes[TOKEN_KEY_MAX];
    size_t len = 0;
    bool is_good = secret_file_read(path, bytes, sizeof bytes, &len, why);

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

/* HMAC() looks its algorithms up at each call, for more than the MAC takes: each thread has a context of its own. */
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

/* Bytes of base64url without padding, of which each has one text; -1: it is something else. */
static ssize_t decode(const char *text, size_t len, unsigned char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    unsigned held = 0; /* of these, by no byte yet */
    ssize_t count = 0;

    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);

        if (!digit) return -1;
        bits = bits << 6 | (uint32_t)(digit - digits);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out[count++] = (unsigned char)(bits >> held);
        bits &= (1U << held) - 1;
    }
    return held < 6 && bits == 0 ? count : -1;
}

/* header.payload.signature, none of them empty. */
static bool is_split(const char *text, struct parts *out)
{
    if (!memchr(text, '\0', TOKEN_TEXT_MAX + 1)) return false;
    for (int i = 0; i < PARTS; i++) {
        size_t len = strcspn(text, ".");
        ssize_t count = decode(text, len, out->bytes[i]);

        if (count <= 0 || text[len] != (i < SIGNATURE ? '.' : '\0')) return false;
        out->len[i] = (size_t)count;
        text += len + 1;
    }
    return true;
}

/* Signed with one of the keys, by HMAC-SHA-256, whatever the header says. */
static bool is_signed(const struct token_keys *keys, const char *text, const struct parts *parts)
{
    size_t len = (size_t)(strrchr(text, '.') - text);
    unsigned char mac[TOKEN_MAC_SIZE];

    for (size_t i = 0; i < keys->count; i++) {
        if (parts->len[SIGNATURE] == TOKEN_MAC_SIZE && token_mac(&keys->key[i], text, len, mac) &&
            token_mac_is(mac, parts->bytes[SIGNATURE]))
            return true;
    }
    return false;
}

/* No object, nested too deeply, one member twice: NULL. */
static json_t *read_part(const struct parts *parts, enum part which)
{
    return strict_json_load((const char *)parts->bytes[which], parts->len[which], NULL);
}

/* A plain token, or an access token (RFC 9068); one that means something else is not taken for it. */
static bool type_is_ours(const json_t *type)
{
    static const char *const ours[] = {"JWT", "at+jwt", "application/at+jwt"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (json_is_string(type) && strcasecmp(json_string_value(type), ours[i]) == 0) return true;
    return !type;
}

/* The algorithm is the one that was checked, and nothing is critical. */
static token_status read_header(const json_t *header)
{
    const char *algorithm = json_string_value(json_object_get(header, "alg"));

    if (!algorithm || strcmp(algorithm, "HS256") != 0) return TOKEN_FOREIGN;
    if (json_object_get(header, "crit")) return TOKEN_FOREIGN;
    return type_is_ours(json_object_get(header, "typ")) ? TOKEN_GOOD : TOKEN_OF_OTHER_TYPE;
}

/* A moment into *out, which keeps its value when the claim is not there; 1e9 and "15" are none. */
static bool read_moment(const json_t *claims, const char *name, int64_t *out)
{
    const json_t *claim = json_object_get(claims, name);
    int64_t at_s = json_integer_value(claim);

    if (!claim) return true;
    if (!json_is_integer(claim) || at_s < 0 || at_s > moment_max_s) return false;
    *out = at_s;
    return true;
}

static bool audience_is_ours(const json_t *claim)
{
    return !claim || (json_is_string(claim) && strcmp(json_string_value(claim), audience) == 0);
}

static token_status read_claims(const json_t *claims, int64_t now_s, struct token *out)
{
    struct token token = {.expires_at_s = -1};
    const char *buyer = json_string_value(json_object_get(claims, "sub"));

    if (!buyer || !sale_buyer_id_is_valid(buyer)) return TOKEN_UNFIT;
    if (!read_moment(claims, "exp", &token.expires_at_s) || token.expires_at_s < 0)
        return TOKEN_UNFIT;
    if (!read_moment(claims, "nbf", &token.not_before_at_s)) return TOKEN_UNFIT;
    if (!read_moment(claims, "iat", &token.issued_at_s)) return TOKEN_UNFIT;
    if (!audience_is_ours(json_object_get(claims, "aud"))) return TOKEN_UNFIT;
    if (token.expires_at_s <= now_s) return TOKEN_EXPIRED;
    if (token.not_before_at_s > now_s) return TOKEN_EARLY;
    (void)stpcpy(token.buyer, buyer); /* valid: it fits */
    *out = token;
    return TOKEN_GOOD;
}

token_status token_check(const struct token_keys *keys, const char *text, int64_t now_s,
                         struct token *out)
{
    struct parts parts = {0};
    json_t *header = NULL;
    json_t *claims = NULL;
    token_status status = TOKEN_FOREIGN;

    if (!is_split(text, &parts) || !is_signed(keys, text, &parts)) return TOKEN_FOREIGN;
    header = read_part(&parts, HEADER);
    claims = read_part(&parts, PAYLOAD);
    status = read_header(header);
    if (status == TOKEN_GOOD) status = read_claims(claims, now_s, out);
    json_decref(claims);
    json_decref(header);
    return status;
}

/* ---- make ------------------------------------------------------------------------------------ */

static bool add_moment(jwt_t *jwt, const char *name, int64_t at_s)
{
    return at_s == 0 || jwt_add_grant_int(jwt, name, (long)at_s) == 0;
}

char *token_make(const struct token_key *key, const struct token *claims)
{
    jwt_t *jwt = NULL;
    char *text = NULL;

    if (jwt_new(&jwt) != 0) return NULL;
    if (jwt_set_alg(jwt, JWT_ALG_HS256, key->bytes, (int)key->len) == 0 &&
        jwt_add_grant(jwt, "sub", claims->buyer) == 0 &&
        add_moment(jwt, "exp", claims->expires_at_s) &&
        add_moment(jwt, "nbf", claims->not_before_at_s) &&
        add_moment(jwt, "iat", claims->issued_at_s))
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    return text;
}
