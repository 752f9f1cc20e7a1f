/*
 * Buyers' tokens. What libjwt does not look at is looked at here, before or after it; each check
 * says against what. Runs on any thread; keeps nothing.
 */
#include "token.h"

#include <assert.h>
#include <jwt.h>
#include <stdlib.h>
#include <string.h>

#include "secret_file.h"

enum {
    SIGNATURE_LEN = 43, /* 32 bytes in base64url */
    DIGITS_MAX = 15,    /* of a moment: far beyond any, far from overflow */
};

/* As JSON. A token that names whom it is for and does not name us is not for us (RFC 7519, 4.1.3). */
static const char audience[] = "\"seckill\"";

const char *token_status_text(token_status status)
{
    static const char *const texts[] = {
#define TOKEN_STATUS_TEXT(value, text) [value] = (text),
        TOKEN_STATUS_LIST(TOKEN_STATUS_TEXT)
#undef TOKEN_STATUS_TEXT
    };

    assert(status < TOKEN_STATUS_COUNT);
    return texts[status];
}

bool token_key_read(const char *path, struct token_key *out, struct refusal *why)
{
    char bytes[TOKEN_KEY_MAX];
    size_t len = 0;
    bool is_good = secret_file_read(path, bytes, sizeof bytes, &len, why);

    if (is_good && len < TOKEN_KEY_MIN)
        is_good = refusal_say(why, "%s: a key has at least %d bytes", path, TOKEN_KEY_MIN);
    if (is_good) {
        memcpy(out->bytes, bytes, len);
        out->len = len;
    }
    explicit_bzero(bytes, sizeof bytes);
    return is_good;
}

/* ---- check ----------------------------------------------------------------------------------- */

static size_t count_base64url(const char *text)
{
    size_t len = 0;

    for (;; len++) {
        char byte = text[len];
        bool is_alnum = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= 'a' && byte <= 'z');

        if (!is_alnum && byte != '-' && byte != '_') return len;
    }
}

/*
 * header.payload.signature, each base64url and the last as long as HMAC-SHA-256 makes it: libjwt
 * skips bytes it does not know, and an unsigned token ends after its last dot.
 */
static bool is_shaped_well(const char *text)
{
    const char *end = memchr(text, '\0', TOKEN_TEXT_MAX + 1);
    size_t head = count_base64url(text);
    size_t payload = 0;
    const char *signature = NULL;

    if (!end || head == 0 || text[head] != '.') return false;
    payload = count_base64url(text + head + 1);
    if (payload == 0 || text[head + 1 + payload] != '.') return false;
    signature = text + head + 1 + payload + 1;
    return count_base64url(signature) == SIGNATURE_LEN && signature[SIGNATURE_LEN] == '\0';
}

/* A token signed with one of the keys, or NULL. */
static jwt_t *decode(const struct token_keys *keys, const char *text)
{
    for (size_t i = 0; i < keys->count; i++) {
        jwt_t *jwt = NULL;

        assert(keys->key[i].len >= TOKEN_KEY_MIN); /* with no key libjwt checks nothing at all */
        if (jwt_decode(&jwt, text, keys->key[i].bytes, (int)keys->key[i].len) == 0) return jwt;
    }
    return NULL;
}

/* The header says HS256 (libjwt takes HS384 and, given a PEM, RS256 too), and nothing critical. */
static bool header_is_ours(jwt_t *jwt)
{
    char *critical = jwt_get_headers_json(jwt, "crit");
    bool is_ours = !critical && jwt_get_alg(jwt) == JWT_ALG_HS256;

    free(critical);
    return is_ours;
}

/* Digits alone: "1e9", 1.5 and the string "15" are other types. */
static bool moment_is_read(const char *json, int64_t *out)
{
    size_t len = strspn(json, "0123456789");
    int64_t number = 0;

    if (len == 0 || len > DIGITS_MAX || json[len]) return false;
    for (size_t i = 0; i < len; i++)
        number = number * 10 + (json[i] - '0');
    *out = number;
    return true;
}

/*
 * A moment into *out; `out` keeps its value when the claim is not there. libjwt's own getter tells
 * neither a missing one nor one of another type from a number.
 */
static bool read_moment(jwt_t *jwt, const char *name, int64_t *out)
{
    char *json = jwt_get_grants_json(jwt, name);
    bool is_good = !json || moment_is_read(json, out);

    free(json);
    return is_good;
}

static bool audience_is_ours(jwt_t *jwt)
{
    char *json = jwt_get_grants_json(jwt, "aud");
    bool is_ours = !json || strcmp(json, audience) == 0;

    free(json);
    return is_ours;
}

static token_status read_claims(jwt_t *jwt, int64_t now_s, struct token *out)
{
    struct token token = {.expires_at_s = -1};
    const char *buyer = jwt_get_grant(jwt, "sub"); /* NULL unless it is a string */

    if (!buyer || !buyer_id_is_valid(buyer)) return TOKEN_UNFIT;
    if (!read_moment(jwt, "exp", &token.expires_at_s) || token.expires_at_s < 0) return TOKEN_UNFIT;
    if (!read_moment(jwt, "nbf", &token.not_before_at_s)) return TOKEN_UNFIT;
    if (!read_moment(jwt, "iat", &token.issued_at_s)) return TOKEN_UNFIT;
    if (!audience_is_ours(jwt)) return TOKEN_UNFIT;
    if (token.expires_at_s <= now_s) return TOKEN_EXPIRED;
    if (token.not_before_at_s > now_s) return TOKEN_EARLY;
    (void)stpcpy(token.buyer, buyer); /* valid: it fits */
    *out = token;
    return TOKEN_GOOD;
}

token_status token_check(const struct token_keys *keys, const char *text, int64_t now_s,
                         struct token *out)
{
    jwt_t *jwt = is_shaped_well(text) ? decode(keys, text) : NULL;
    token_status status = TOKEN_FOREIGN;

    if (jwt && header_is_ours(jwt)) status = read_claims(jwt, now_s, out);
    jwt_free(jwt);
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
