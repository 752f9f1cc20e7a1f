/*
 * jwks.c: which keys are taken from a set, and what they verify. ES256 and EdDSA are the examples of RFC 7515 A.3 and
 * RFC 8037 A.4; the RSA key was made for this test by Python's cryptography.
 */
#include "auth/jwks.h"
#include "base/base64url.h"
#include "test/support/testing.h"

#define RSA_N                                                                                      \
    "uF4drH-VZn52qSxqdX__MJ_-VxD8LHhG7DDOcysRD7ofGvsRpJUDH0LpVDTlDC5q0DeT78HY"                     \
    "CBAKA1_UIUvpoJtpbA7JgJwuMK9TWf7dLumoM-HCXqNu6OE2qEqIn2B9mUhZL6j6sNrvBo4S"                     \
    "a5I2MbNiaepns-GjzcW2YmIzt0erclZPItCDEC5o--J9BlwrkAj-yL1JE8KIKYCBrk2MH7IB"                     \
    "ggZsGEEcQHA4gSP0MRBHQy2aUVf1fszKl0ldPf11OPVcTNojor6YwysO_Yp-WOYD2Mu9df_2"                     \
    "QkX97ElgfffEGBP7jBSGyU7B5ifLHHqR5eyyuvq24990BZ5LHok5iw"
#define RSA_WEAK_N                                                                                 \
    "v1cMMmqvAZBQgOs-6LEKglteIYTKwoulF_AvUp0YjjbEEKQWlAVa6dE2znR3iu0HCZjY3P8J"                     \
    "n3i6gCdgqjgyM7IsVc3PxE8gARJlAWgXiD5w_mXX5hbFWKwdO2WEcONHxOzGnIDC378-VVOz"                     \
    "DMsWSLqq82ifjc9J7ioMvc-o-o8"
#define RSA_TEXT "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9"
#define RSA_SIGNATURE                                                                              \
    "X3nhCcWbiOD-Q3qbhNcw1d7ais5DXZZ7JAs3jn5mhGKR37aK9EuvhInncA0sLbfNPWyA2NFF"                     \
    "vL1juyHxbRmVfab8Mf9Dn4VR_1Q5HjCVG6XBgz71ttnmgmCj13Xma7otVsbccuWzY9vh57nF"                     \
    "n9vXy4GFz2-YPyYmp787pBP7pPWGXL9M6ZMENCf_EPRO-zT8Y12Xen2rq7azwICb6nlQIIqt"                     \
    "pe80pzBD6Ce-FVVYFf79gum7QOo9LouAuVDyFM3-kpqNmlfiOaBOoa1_7axzXptHPEJBkN1Q"                     \
    "iZXApE_U60vV1cLbAbD6AgcvW0l9oNnLN7pW9PPVZo0r304TE5vdGg"

#define EC_X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define EC_TEXT                                                                                    \
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"        \
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
#define EC_SIGNATURE                                                                               \
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

#define ED_X    "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define ED_TEXT "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
#define ED_SIGNATURE                                                                               \
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

#define RSA_KEY(more) "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"" RSA_N "\"" more "}"
#define EC_KEY(more)                                                                               \
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"" more "}"
#define ED_KEY(more) "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" ED_X "\"" more "}"
#define KID(name)    ",\"kid\":\"" name "\""
#define SET(keys)    "{\"keys\":[" keys "]}"

static struct jwks *set_of(const char *text)
{
    struct start_error why = {0};

    return jwks_new(text, strlen(text), &why);
}

static jwks_status verify(const struct jwks *keys, const char *kid, const char *alg,
                          const char *text, const char *signature)
{
    unsigned char bytes[512];
    ssize_t len = base64url_decode(signature, strlen(signature), bytes);

    assert_true(len > 0);
    return jwks_verify(keys, &(struct jwks_signed){.kid = kid,
                                                   .alg = alg,
                                                   .text = text,
                                                   .text_len = strlen(text),
                                                   .signature = bytes,
                                                   .signature_len = (size_t)len});
}

TEST(each_kind_of_key_verifies_by_its_one_algorithm)
{
    static const char all[] = SET(RSA_KEY(KID("r")) "," EC_KEY(KID("e")) "," ED_KEY(KID("d")));
    static const struct {
        const char *kid, *alg, *text, *signature;
        jwks_status expected;
    } rows[] = {
        {"r", "RS256", RSA_TEXT, RSA_SIGNATURE, JWKS_GOOD},
        {"e", "ES256", EC_TEXT, EC_SIGNATURE, JWKS_GOOD},
        {"d", "EdDSA", ED_TEXT, ED_SIGNATURE, JWKS_GOOD},
        {NULL, "RS256", RSA_TEXT, RSA_SIGNATURE, JWKS_GOOD},
        {NULL, "ES256", EC_TEXT, EC_SIGNATURE, JWKS_GOOD},
        {"r", "RS256", RSA_TEXT "x", RSA_SIGNATURE, JWKS_BAD_SIGNATURE},
        {"e", "ES256", EC_TEXT "x", EC_SIGNATURE, JWKS_BAD_SIGNATURE},
        {"d", "EdDSA", ED_TEXT "x", ED_SIGNATURE, JWKS_BAD_SIGNATURE},
        {"e", "ES256", EC_TEXT, RSA_SIGNATURE, JWKS_BAD_SIGNATURE},
        {"r", "RS256", RSA_TEXT, EC_SIGNATURE, JWKS_BAD_SIGNATURE},
        {"d", "EdDSA", ED_TEXT, "AAAA", JWKS_BAD_SIGNATURE},
        {"r", "ES256", EC_TEXT, EC_SIGNATURE, JWKS_OTHER_ALGORITHM},
        {"e", "EdDSA", ED_TEXT, ED_SIGNATURE, JWKS_OTHER_ALGORITHM},
        {"r", "RS512", RSA_TEXT, RSA_SIGNATURE, JWKS_OTHER_ALGORITHM},
        {"r", "none", RSA_TEXT, RSA_SIGNATURE, JWKS_OTHER_ALGORITHM},
        {"s", "RS256", RSA_TEXT, RSA_SIGNATURE, JWKS_NO_KEY},
        {"", "RS256", RSA_TEXT, RSA_SIGNATURE, JWKS_NO_KEY},
    };
    struct jwks *keys = set_of(all);

    assert_non_null(keys);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        jwks_status status =
            verify(keys, rows[i].kid, rows[i].alg, rows[i].text, rows[i].signature);

        if (status != rows[i].expected) fail_msg("row %zu: %d", i, status);
    }
    jwks_unref(keys);
    assert_int_equal(verify(NULL, "r", "RS256", RSA_TEXT, RSA_SIGNATURE), JWKS_NO_KEY);
}

/* Two keys of one name while they are changed; keys without a name answer to a token without one. */
TEST(any_key_that_may_be_meant_is_tried)
{
    struct jwks *twins = set_of(SET(RSA_KEY(KID("a")) "," ED_KEY(KID("a"))));
    struct jwks *nameless = set_of(SET(RSA_KEY("")));

    assert_int_equal(verify(twins, "a", "EdDSA", ED_TEXT, ED_SIGNATURE), JWKS_GOOD);
    assert_int_equal(verify(twins, "a", "RS256", RSA_TEXT, RSA_SIGNATURE), JWKS_GOOD);
    assert_int_equal(verify(nameless, NULL, "RS256", RSA_TEXT, RSA_SIGNATURE), JWKS_GOOD);
    assert_int_equal(verify(nameless, NULL, "EdDSA", ED_TEXT, ED_SIGNATURE), JWKS_NO_KEY);
    assert_int_equal(verify(nameless, "a", "RS256", RSA_TEXT, RSA_SIGNATURE), JWKS_NO_KEY);
    jwks_unref(nameless);
    jwks_unref(twins);
}

/* Each would be the only key of its set. */
TEST(keys_that_are_not_for_it_are_passed_over)
{
    static const char *const good[] = {
        RSA_KEY(",\"alg\":\"RS256\",\"use\":\"sig\",\"x5c\":[\"MII\"]"),
        ED_KEY(",\"key_ops\":[\"sign\",\"verify\"]"),
        "{\"kty\":\"oct\",\"k\":\"AAAA\"},17," EC_KEY(""),
    };
    static const char *const bad[] = {
        "",
        "17",
        RSA_KEY(",\"use\":\"enc\""),
        RSA_KEY(",\"alg\":\"RSA-OAEP\""),
        RSA_KEY(",\"alg\":\"HS256\""),
        RSA_KEY(",\"key_ops\":[\"sign\"]"),
        RSA_KEY(",\"kid\":7"),
        "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"" RSA_WEAK_N "\"}",
        "{\"kty\":\"RSA\",\"n\":\"" RSA_N "\"}",
        "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"" RSA_N RSA_N RSA_N RSA_N RSA_N "\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_Y "\",\"y\":\"" EC_X "\"}", /* no point */
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" ED_X "\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}",
        "{\"kty\":\"oct\",\"k\":\"" ED_X "\"}",
    };
    char text[8192];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(text, sizeof text, SET("%s"), good[i]);
        struct jwks *keys = set_of(text);

        if (!keys) fail_msg("%s", text);
        jwks_unref(keys);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(text, sizeof text, SET("%s"), bad[i]);
        if (set_of(text)) fail_msg("%s", text);
    }
}

TEST(what_is_no_key_set_says_so)
{
    static const char *const rows[] = {"", "x", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[]}x"};
    struct start_error why = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_null(jwks_new(rows[i], strlen(rows[i]), &why));
        assert_non_null(strstr(why.text, "no JSON Web Key Set"));
    }
    assert_null(jwks_new(SET("17"), strlen(SET("17")), &why));
    assert_string_equal(why.text, "none of its 1 keys is for RS256, ES256 or EdDSA");
}
