/*
 * See jwks.h.
 */
#include "jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64url.h"
#include "http/strict_json.h"

enum {
    RSA_BYTES_MIN = 256,
    RSA_BYTES_MAX = 1024,
    COORDINATE = 32, /* bytes: of a point on P-256, and of half a signature */
    KID_MAX = 255,
};

struct key {
    EVP_PKEY *public; /* owned */
    const char *alg;
    char kid[KID_MAX + 1]; /* empty: has none */
};

struct jwks {
    atomic_uint refs;
    size_t count;
    struct key key[JWKS_KEYS_MAX];
};

/* ---- keys ------------------------------------------------------------------------------------ */

/* A member in base64url; the number of its bytes, 0: not there, another text, or too long. */
static size_t read_bytes(const json_t *jwk, const char *name, unsigned char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(jwk, name));
    size_t len = text ? strlen(text) : 0;
    ssize_t count = len <= size * 4 / 3 + 1 ? base64url_decode(text ? text : "", len, out) : 0;

    return count > 0 && (size_t)count <= size ? (size_t)count : 0;
}

/* OpenSSL takes numbers in this machine's order of bytes. */
static OSSL_PARAM number_of(const char *name, unsigned char *bytes, size_t len)
{
    for (size_t i = 0; __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && i < len / 2; i++) {
        unsigned char byte = bytes[i];

        bytes[i] = bytes[len - 1 - i];
        bytes[len - 1 - i] = byte;
    }
    return OSSL_PARAM_construct_BN(name, bytes, len);
}

static EVP_PKEY *make_key(const char *type, OSSL_PARAM *params)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *made = NULL;

    if (!context || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, params) != 1)
        made = NULL;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return made;
}

static EVP_PKEY *read_rsa(const json_t *jwk)
{
    unsigned char modulus[RSA_BYTES_MAX + 4];
    unsigned char exponent[16];
    size_t modulus_len = read_bytes(jwk, "n", modulus, RSA_BYTES_MAX + 1);
    size_t exponent_len = read_bytes(jwk, "e", exponent, 8);

    if (modulus_len < RSA_BYTES_MIN || exponent_len == 0) return NULL;
    OSSL_PARAM params[] = {number_of(OSSL_PKEY_PARAM_RSA_N, modulus, modulus_len),
                           number_of(OSSL_PKEY_PARAM_RSA_E, exponent, exponent_len),
                           OSSL_PARAM_construct_end()};
    EVP_PKEY *made = make_key("RSA", params);
    int bits = made ? EVP_PKEY_get_bits(made) : 0;

    if (bits >= RSA_BYTES_MIN * 8 && bits <= RSA_BYTES_MAX * 8) return made;
    EVP_PKEY_free(made);
    return NULL;
}

static EVP_PKEY *read_p256(const json_t *jwk)
{
    unsigned char point[1 + 2 * COORDINATE + 2] = {POINT_CONVERSION_UNCOMPRESSED};
    char group[] = "prime256v1";

    if (read_bytes(jwk, "x", point + 1, COORDINATE) != COORDINATE ||
        read_bytes(jwk, "y", point + 1 + COORDINATE, COORDINATE) != COORDINATE)
        return NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * COORDINATE),
        OSSL_PARAM_construct_end()};
    return make_key("EC", params); /* NULL: no point of the curve */
}

static EVP_PKEY *read_ed25519(const json_t *jwk)
{
    unsigned char bytes[COORDINATE + 2];

    if (read_bytes(jwk, "x", bytes, COORDINATE) != COORDINATE) return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, COORDINATE);
}

static const struct kind {
    const char *kty, *crv, *alg;
    EVP_PKEY *(*read)(const json_t *jwk);
} kinds[] = {
    {"RSA", NULL, "RS256", read_rsa},
    {"EC", "P-256", "ES256", read_p256},
    {"OKP", "Ed25519", "EdDSA", read_ed25519},
};

/* A member is this text; or, where that is allowed, it is not there. */
static bool member_is(const json_t *jwk, const char *name, const char *text)
{
    const json_t *member = json_object_get(jwk, name);

    return json_is_string(member) && strcmp(json_string_value(member), text) == 0;
}

static bool is_for_signatures(const json_t *jwk, const char *alg)
{
    const json_t *operations = json_object_get(jwk, "key_ops");
    const json_t *operation = NULL;
    size_t i = 0;
    bool verifies = !operations;

    json_array_foreach(operations, i, operation)
    {
        verifies = verifies || (json_is_string(operation) &&
                                strcmp(json_string_value(operation), "verify") == 0);
    }
    return verifies && (!json_object_get(jwk, "use") || member_is(jwk, "use", "sig")) &&
           (!json_object_get(jwk, "alg") || member_is(jwk, "alg", alg));
}

/* False: it is passed over. */
static bool read_key(const json_t *jwk, struct key *out)
{
    const json_t *kid = json_object_get(jwk, "kid");

    *out = (struct key){.public = NULL};
    if (kid && (!json_is_string(kid) || json_string_length(kid) > KID_MAX)) return false;
    (void)stpcpy(out->kid, kid ? json_string_value(kid) : "");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !out->public; i++) {
        const struct kind *kind = &kinds[i];

        if (!member_is(jwk, "kty", kind->kty) || !is_for_signatures(jwk, kind->alg)) continue;
        if (kind->crv && !member_is(jwk, "crv", kind->crv)) continue;
        out->public = kind->read(jwk);
        out->alg = kind->alg;
    }
    return out->public != NULL;
}

struct jwks *jwks_new(const char *text, size_t len, struct start_error *why)
{
    struct jwks *self = calloc(1, sizeof *self);
    json_t *set = len <= JWKS_TEXT_MAX ? strict_json_load(text, len, NULL) : NULL;
    const json_t *list = json_object_get(set, "keys");
    const json_t *jwk = NULL;
    size_t i = 0;

    json_array_foreach(list, i, jwk)
    {
        if (self && self->count < JWKS_KEYS_MAX && read_key(jwk, &self->key[self->count]))
            self->count++;
    }
    if (self) atomic_init(&self->refs, 1);
    if (!json_is_array(list)) {
        (void)start_error_say(why, "this is no JSON Web Key Set: {\"keys\":[...]}");
    } else if (!self || self->count == 0) {
        (void)start_error_say(why, "none of its %zu keys is for RS256, ES256 or EdDSA", i);
    }
    json_decref(set);
    if (self && self->count > 0) return self;
    jwks_unref(self);
    return NULL;
}

struct jwks *jwks_ref(struct jwks *self)
{
    if (self) (void)atomic_fetch_add(&self->refs, 1);
    return self;
}

void jwks_unref(struct jwks *self)
{
    if (!self || atomic_fetch_sub(&self->refs, 1) > 1) return;
    for (size_t i = 0; i < self->count; i++)
        EVP_PKEY_free(self->key[i].public);
    free(self);
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* The two halves of an ES256 signature as OpenSSL takes them; *out_len 0: out of memory, or another size. */
static unsigned char *read_halves(const struct jwks_signed *what, size_t *out_len)
{
    const unsigned char *bytes = what->signature;
    bool is_sized = what->signature_len == (size_t)2 * COORDINATE;
    ECDSA_SIG *pair = is_sized ? ECDSA_SIG_new() : NULL;
    BIGNUM *r = pair ? BN_bin2bn(bytes, COORDINATE, NULL) : NULL;
    BIGNUM *s = pair ? BN_bin2bn(bytes + COORDINATE, COORDINATE, NULL) : NULL;
    unsigned char *der = NULL;
    int len = 0;

    if (r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        len = i2d_ECDSA_SIG(pair, &der);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(pair);
    *out_len = len > 0 ? (size_t)len : 0;
    return der;
}

static bool is_signed_by(const struct key *key, const struct jwks_signed *what)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = strcmp(key->alg, "EdDSA") == 0 ? NULL : EVP_sha256();
    const unsigned char *signature = what->signature;
    size_t len = what->signature_len;
    unsigned char *der = NULL;
    bool is_good = false;

    if (strcmp(key->alg, "ES256") == 0) signature = der = read_halves(what, &len);
    is_good = context && signature &&
              EVP_DigestVerifyInit(context, NULL, digest, NULL, key->public) == 1 &&
              EVP_DigestVerify(context, signature, len, (const unsigned char *)what->text,
                               what->text_len) == 1;
    OPENSSL_free(der);
    EVP_MD_CTX_free(context);
    ERR_clear_error(); /* what failed here is not the next TLS call's */
    return is_good;
}

static bool is_algorithm(const char *alg)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(alg, kinds[i].alg) == 0) return true;
    }
    return false;
}

jwks_status jwks_verify(const struct jwks *self, const struct jwks_signed *what)
{
    jwks_status status = is_algorithm(what->alg) ? JWKS_NO_KEY : JWKS_OTHER_ALGORITHM;

    for (size_t i = 0; self && i < self->count; i++) {
        const struct key *key = &self->key[i];
        bool is_same = strcmp(key->alg, what->alg) == 0;

        if (what->kid ? strcmp(key->kid, what->kid) != 0 : !is_same) continue;
        if (is_same && is_signed_by(key, what)) return JWKS_GOOD;
        if (status != JWKS_BAD_SIGNATURE)
            status = is_same ? JWKS_BAD_SIGNATURE : JWKS_OTHER_ALGORITHM;
    }
    return status;
}
