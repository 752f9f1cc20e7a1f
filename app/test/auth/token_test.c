/*
 * Tokens: good ones of either key, and every trap that a signature library leaves open.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/token.h"
#include "test/support/app_forge.h"
#include "test/support/app_stack.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

#define KEY   "0123456789abcdef0123456789abcdef"
#define OTHER "the next key, also 32 bytes long"

enum { NOW_S = 1800000000, PATH_SIZE = 64, NEAR = 1024 };

#define SOON "\"exp\":1800000060"

static struct token_rules rules_of(const char *first, const char *second)
{
    struct token_rules rules = {.keys.count = second ? 2 : 1};

    rules.keys.key[0].len = strlen(first);
    memcpy(rules.keys.key[0].bytes, first, strlen(first));
    if (second) {
        rules.keys.key[1].len = strlen(second);
        memcpy(rules.keys.key[1].bytes, second, strlen(second));
    }
    return rules;
}

static token_status check(const char *text)
{
    struct token_rules rules = rules_of(KEY, NULL);
    struct token token;

    return token_check(&rules, NULL, text, NOW_S, &token);
}

static token_status check_forgery(const struct forgery *forgery)
{
    char *text = app_forge(forgery);
    token_status status = check(text);

    free(text);
    return status;
}

TEST(what_is_made_is_good_until_it_expires)
{
    struct token_rules rules = rules_of(KEY, NULL);
    struct token claims = {"", NOW_S - 5, NOW_S, NOW_S + 60};
    struct token token;
    char *text = token_make(&rules.keys.key[0], "al-ice_9", &claims);
    char *again = token_make(&rules.keys.key[0], "al-ice_9", &claims);

    assert_non_null(text);
    assert_string_equal(text, again);
    assert_int_equal(token_check(&rules, NULL, text, NOW_S - 1, &token), TOKEN_EARLY);
    assert_int_equal(token_check(&rules, NULL, text, NOW_S, &token), TOKEN_GOOD);
    assert_string_equal(token.buyer, "al-ice_9");
    assert_int_equal(token.issued_at_s, NOW_S - 5);
    assert_int_equal(token.not_before_at_s, NOW_S);
    assert_int_equal(token.expires_at_s, NOW_S + 60);
    assert_int_equal(token_check(&rules, NULL, text, NOW_S + 59, &token), TOKEN_GOOD);
    assert_int_equal(token_check(&rules, NULL, text, NOW_S + 60, &token), TOKEN_EXPIRED);
    free(again);
    free(text);
}

TEST(keys_rotate)
{
    static const struct token claims = {.expires_at_s = NOW_S + 60};
    struct token_rules old = rules_of(OTHER, NULL);
    struct token_rules both = rules_of(KEY, OTHER);
    struct token_rules new = rules_of(KEY, NULL);
    struct token token;
    char *text = token_make(&old.keys.key[0], "alice", &claims);

    assert_int_equal(token_check(&old, NULL, text, NOW_S, &token), TOKEN_GOOD);
    assert_int_equal(token_check(&both, NULL, text, NOW_S, &token), TOKEN_GOOD);
    assert_int_equal(token_check(&new, NULL, text, NOW_S, &token), TOKEN_FOREIGN);
    free(text);
}

TEST(no_key_means_no_token_is_good)
{
    struct token_rules none = {.issuer = NULL};
    struct token token;
    char *signed_text = app_forge(&(struct forgery){KEY, .claims = "{\"sub\":\"a\"," SOON "}"});
    char *bare = app_forge(&(struct forgery){.claims = "{\"sub\":\"a\"," SOON "}"});

    assert_int_equal(token_check(&none, NULL, signed_text, NOW_S, &token), TOKEN_FOREIGN);
    assert_int_equal(token_check(&none, NULL, bare, NOW_S, &token), TOKEN_NO_JWT);
    free(bare);
    free(signed_text);
}

TEST(claims_are_looked_at_one_by_one)
{
    static const struct {
        token_status status;
        const char *claims;
    } cases[] = {
        {TOKEN_GOOD,
         "{`sub`:`alice`,`exp`:1800000060}|"
         "{`sub`:`alice`,`exp`:1800000060,`name`:`x`,`admin`:true}|"
         "{`sub`:`alice`,`exp`:1800000060,`nbf`:1800000000}|"
         "{`sub`:`alice`,`exp`:1800000060.5,`nbf`:1.8e9,`iat`:1799999999.25}|"
         "{`sub`:`alice`,`exp`:2e9,`iat`:1800000001}|"
         "{`sub`:`alice`,`exp`:1800000060,`iss`:`https://issuer.example/`}|"
         "{`sub`:`alice`,`exp`:1800000060,`aud`:`seckill`}|"
         "{`sub`:`alice`,`exp`:1800000060,`aud`:[`elsewhere`,`seckill`]}|"
         "{`sub`:`auth0 5f7c8ec7c33c6c004bbafe82`,`exp`:1800000060}|"
         "{`sub`:`al\xc3\xafs`,`exp`:1800000060}|{`sub`:`{alice}:al.ice@example.com`,`exp`:"
         "1800000060}|"
         "{`sub`:`01234567890123456789012345678901234567890123456789012345678901234`,`exp`:"
         "1800000060}"},
        {TOKEN_BAD_EXP,
         "{`sub`:`alice`}|{`sub`:`alice`,`exp`:-1}|{`sub`:`alice`,`exp`:`1800000060`}|"
         "{`sub`:`alice`,`exp`:true}|{`sub`:`alice`,`exp`:null}|"
         "{`sub`:`alice`,`exp`:[1800000060]}|{`sub`:`alice`,`exp`:{`at`:1800000060}}|"
         "{`sub`:`alice`,`exp`:9223372036854775807}|{`sub`:`alice`,`exp`:1e300}"},
        {TOKEN_BAD_NBF, "{`sub`:`alice`,`exp`:1800000060,`nbf`:`1800000001`}|"
                        "{`sub`:`alice`,`exp`:1800000060,`nbf`:false}"},
        {TOKEN_BAD_IAT, "{`sub`:`alice`,`exp`:1800000060,`iat`:`today`}"},
        {TOKEN_FOR_OTHERS, "{`sub`:`alice`,`exp`:1800000060,`aud`:`elsewhere`}|"
                           "{`sub`:`alice`,`exp`:1800000060,`aud`:[`elsewhere`,17]}|"
                           "{`sub`:`alice`,`exp`:1800000060,`aud`:[]}|"
                           "{`sub`:`alice`,`exp`:1800000060,`aud`:null}"},
        {TOKEN_BAD_SUB,
         "{`exp`:1800000060}|{`sub`:``,`exp`:1800000060}|{`sub`:17,`exp`:1800000060}|"
         "{`sub`:null,`exp`:1800000060}|{`sub`:[`alice`],`exp`:1800000060}|"
         "{`sub`:`al\\r\\nice`,`exp`:1800000060}|{`sub`:`al\\u202eice`,`exp`:1800000060}"},
        {TOKEN_UNREADABLE, "[17]|{`sub`:`alice`,`exp`:1800000060,`x`:1e999}"},
        {TOKEN_EXPIRED, "{`sub`:`alice`,`exp`:1800000000}|{`sub`:`alice`,`exp`:1799999999}|"
                        "{`sub`:`alice`,`exp`:0}|{`sub`:`alice`,`exp`:1800000000.9}"},
        {TOKEN_EARLY, "{`sub`:`alice`,`exp`:1800000060,`nbf`:1800000001}"},
    };
    const char *claims = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; (claims = texts_at(cases[i].claims, k)); k++) {
            char *text = app_forge_signed("{\"alg\":\"HS256\"}", claims, KEY);
            token_status status = check(text);

            free(text);
            if (status != cases[i].status) fail_msg("%s: %d", claims, status);
        }
    }
}

#define ALICE "{\"sub\":\"alice\"," SOON "}"

TEST(other_algorithms_and_keys_are_foreign)
{
    static const struct {
        token_status status;
        struct forgery forgery;
    } cases[] = {
        {TOKEN_NO_JWT, {.claims = ALICE}}, /* alg none */
        {TOKEN_OF_OTHER_ALGORITHM, {KEY, "HS384", NULL, ALICE}},
        {TOKEN_OF_OTHER_ALGORITHM, {KEY, "HS512", NULL, ALICE}},
        {TOKEN_FOREIGN, {OTHER, "HS256", NULL, ALICE}},
        {TOKEN_FOREIGN, {"0123456789abcdef0123456789abcde", "HS256", NULL, ALICE}},
        {TOKEN_FOREIGN, {KEY "\n", "HS256", NULL, ALICE}},
        {TOKEN_CRITICAL, {KEY, "HS256", "{\"crit\":[\"exp\"]}", ALICE}},
    };

    assert_int_equal(check_forgery(&(struct forgery){KEY, "HS256", NULL, ALICE}), TOKEN_GOOD);
    assert_int_equal(check_forgery(&(struct forgery){KEY, NULL, "{\"kid\":\"../k\"}", ALICE}),
                     TOKEN_GOOD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(check_forgery(&cases[i].forgery), cases[i].status);
}

enum signature { OF_ANOTHER, OF_ITS_OWN };

/* Each head with each claims, under the right signature of another token or of this one. */
static void are(token_status expected, enum signature signature, const char *heads,
                const char *claims)
{
    char *good =
        app_forge(&(struct forgery){KEY, .claims = "{\"exp\":1800000060,\"sub\":\"alice\"}"});
    size_t count = texts_count(heads) * texts_count(claims);

    for (size_t i = 0; i < count; i++) {
        const char *head = texts_at(heads, i % texts_count(heads));
        const char *claim = texts_at(claims, i / texts_count(heads));
        char *text = signature == OF_ITS_OWN ? app_forge_signed(head, claim, KEY)
                                             : app_forge_parts(head, claim, good);
        token_status status = check(text);

        if (status != expected) fail_msg("%s %s: %d", head, claim, status);
        free(text);
    }
    free(good);
}

TEST(a_signature_covers_head_and_claims)
{
    static const char head[] = "{`alg`:`HS256`,`typ`:`JWT`}";
    static const char claims[] = "{`exp`:1800000060,`sub`:`alice`}";

    are(TOKEN_GOOD, OF_ANOTHER, head, claims);
    are(TOKEN_FOREIGN, OF_ANOTHER, head,
        "{`exp`:1800000060,`sub`:`bobby`}|{`exp`:1900000060,`sub`:`alice`}|{");
    are(TOKEN_OF_OTHER_ALGORITHM, OF_ANOTHER,
        "{`alg`:`none`,`typ`:`JWT`}|{`alg`:`None`,`typ`:`JWT`}|{`alg`:`HS384`,`typ`:`JWT`}|"
        "{`alg`:`HS512`,`typ`:`JWT`}|{`alg`:`XX256`,`typ`:`JWT`}|{`alg`:256,`typ`:`JWT`}|"
        "{`typ`:`JWT`}|[]|{",
        claims);
    are(TOKEN_NO_JWT, OF_ANOTHER, head, "|");
    are(TOKEN_OF_UNKNOWN_KEY, OF_ANOTHER,
        "{`alg`:`RS256`,`typ`:`JWT`}|{`alg`:`ES256`,`kid`:`1`}|{`alg`:`EdDSA`,`kid`:7}", claims);
}

/* Signed with KEY, as issuers other than libjwt write, and as they must not. */
TEST(heads_and_claims_are_read_strictly)
{
    static const char head[] = "{`alg`:`HS256`}";
    static const char claims[] = "{`sub`:`alice`,`exp`:1800000060}";

    are(TOKEN_GOOD, OF_ITS_OWN,
        "{`alg`:`HS256`}|{`alg`:`HS256`,`typ`:`JWT`}|{`typ`:`jwt`,`alg`:`HS256`}|"
        "{`alg`:`HS256`,`typ`:`at+jwt`}|{`alg`:`HS256`,`typ`:`AT+JWT`}|"
        "{`alg`:`HS256`,`typ`:`application/at+jwt`}",
        claims);
    are(TOKEN_OF_OTHER_TYPE, OF_ITS_OWN,
        "{`alg`:`HS256`,`typ`:`id+jwt`}|{`alg`:`HS256`,`typ`:`at+jwt2`}|{`alg`:`HS256`,`typ`:``}|"
        "{`alg`:`HS256`,`typ`:null}|{`alg`:`HS256`,`typ`:[`JWT`]}",
        claims);
    are(TOKEN_OF_OTHER_ALGORITHM, OF_ITS_OWN,
        "{`alg`:`none`}|{`alg`:`hs256`}|{`alg`:`none`,`alg`:`HS256`}|"
        "{`alg`:`HS256`,`typ`:`JWT`,`typ`:`JWT`}|{`alg`:`HS256`}x|[`HS256`]",
        claims);
    are(TOKEN_CRITICAL, OF_ITS_OWN, "{`alg`:`HS256`,`crit`:null}", claims);
    are(TOKEN_GOOD, OF_ITS_OWN, head,
        "{`sub`:`alice`,`x`:[[[[[[[[[[[[[[[]]]]]]]]]]]]]]],`exp`:1800000060}");
    are(TOKEN_UNREADABLE, OF_ITS_OWN, head,
        "{`sub`:`alice`,`sub`:`bobby`,`exp`:1800000060}|"
        "{`sub`:`alice`,`sub`:`alice`,`exp`:1800000060}|"
        "{`sub`:`alice`,`exp`:1,`s\\u0075b`:`x`,`exp`:1800000060}|"
        "{`sub`:`alice`,`exp`:1,`exp`:1800000060}|"
        "{`sub`:`alice`,`x`:{`a`:1,`a`:2},`exp`:1800000060}|"
        "{`sub`:`alice`,`x`:[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]],`exp`:1800000060}");
}

static void check_text(void *arg)
{
    (void)check(arg);
}

TEST(nesting_takes_no_stack)
{
    enum { DEPTH = 700 };
    char nested[DEPTH + 1];
    char *good = app_forge_signed("{\"alg\":\"HS256\"}", ALICE, KEY);
    size_t usual = app_stack_use(check_text, good);

    memset(nested, '[', DEPTH);
    nested[DEPTH] = '\0';
    char *texts[] = {
        app_forge_parts(nested, "{}", good),
        app_forge_parts("{\"alg\":\"HS256\"}", nested, good),
        app_forge_signed(nested, "{}", KEY),
        app_forge_signed("{\"alg\":\"HS256\"}", nested, KEY),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_not_equal(check(texts[i]), TOKEN_GOOD);
        assert_true(app_stack_use(check_text, texts[i]) <= usual + NEAR);
        free(texts[i]);
    }
    free(good);
}

/* What a generous parser of base64 would read as the good token. */
TEST(bytes_around_a_good_token_spoil_it)
{
    const char *more = NULL;
    char *good = app_forge(&(struct forgery){KEY, .claims = ALICE});
    char text[512];

    for (size_t i = 0; (more = texts_at("=|==|A| |\n|.|.x|%00|\xc3\xa4", i)); i++) {
        (void)snprintf(text, sizeof text, "%s%s", good, more);
        assert_int_not_equal(check(text), TOKEN_GOOD);
    }
    for (size_t i = 0; (more = texts_at(" |=|A|.|\t", i)); i++) {
        (void)snprintf(text, sizeof text, "%s%s", more, good);
        assert_int_not_equal(check(text), TOKEN_GOOD);
    }
    for (size_t i = 0; i < strlen(good); i++) {
        (void)snprintf(text, sizeof text, "%s", good);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        assert_int_not_equal(check(text), TOKEN_GOOD);
        text[i] = '\0';
        assert_int_not_equal(check(text), TOKEN_GOOD);
    }
    free(good);
}

/* Signed with KEY elsewhere: what libjwt would not sign. */
TEST(signed_nonsense_is_refused)
{
    static const char *const cases[] = {
        /* "sub":"ali\u0000ce" */
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
        ".eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6ImFsaVx1MDAwMGNlIn0"
        ".W5agoDfBoK6RrOAOfFuhOi7V5_DoYLK3Y6V9QHYtDlk",
        /* "sub":"ali<NUL>ce" */
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6ImFsaQBjZSJ9"
        ".BbKGWFLstN6QxQ1aR890Vmf5N0UEixxwlnSYZ4mAmv0",
        /* "sub":"\xff\xfe" */
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6Iv_-In0"
        ".qRBucFuHM5pDqD4JX40QE4gFgjGMA9bSxEDemewQI58",
        /* ["exp",2000000000] */
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.WyJleHAiLDIwMDAwMDAwMDBd"
        ".kHNK8iQAIVhnVE2x52huHNyFiXBxCBQOuKepuRvUQOE",
        /* "alice", null, nothing */
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ImFsaWNlIg"
        ".Ux7qp-tllLcGnsl_t0lmzA5LCrOrfa6IcBtMTqqpOxo",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.bnVsbA.DxF7qvi-DskBRYUp9PWe8PnvdmuzcqtaZX_z6ykpChU",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9..Nwe3c2mClQJU__iN55LYQfpGJbkJ_6VRo3qj9PigzNE",
        /* a head without alg, and none at all, over good claims */
        "eyJ0eXAiOiJKV1QifQ.eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6ImFsaWNlIn0"
        ".rGwDSit7cpQa9yBSmBDT-PHn4c4uoyEJZdfWV9of1cE",
        "bnVsbA.eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6ImFsaWNlIn0"
        ".s42ItpdD3T2YxKmhH1Qx3IGxyxfmO2sqIrtd5l4gn08",
        "",
        ".",
        "..",
        "a.b.c",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
    };

    assert_int_equal(check("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
                           ".eyJleHAiOjIwMDAwMDAwMDAsInN1YiI6ImFsaWNlIn0"
                           ".XwJjhAlZda2ERjhOmNNvNI71T5KcEuKa9TRNFLTERW4"),
                     TOKEN_GOOD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        token_status status = check(cases[i]);

        if (status == TOKEN_GOOD) print_message("%s\n", cases[i]);
        assert_int_not_equal(status, TOKEN_GOOD);
    }
}

static char *forge_long(size_t filler_len)
{
    char claims[12000];

    assert_true(filler_len < 11000);
    (void)snprintf(claims, sizeof claims, "{\"sub\":\"alice\"," SOON ",\"x\":\"%0*d\"}",
                   (int)filler_len, 0);
    return app_forge(&(struct forgery){KEY, .claims = claims});
}

TEST(a_token_is_8_kib_at_most)
{
    size_t filler_len = 6000;
    char *text = forge_long(filler_len);

    while (strlen(text) <= TOKEN_TEXT_MAX) {
        assert_int_equal(check(text), TOKEN_GOOD);
        free(text);
        text = forge_long(++filler_len);
    }
    assert_int_equal(check(text), TOKEN_TOO_LONG);
    free(text);
    text = forge_long(10000);
    assert_int_equal(check(text), TOKEN_TOO_LONG);
    free(text);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool write_file(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write(fd, bytes, len) == (ssize_t)len;

    if (fd >= 0) (void)close(fd);
    return is_written;
}

TEST(keys_are_long_enough_or_refused)
{
    static const struct {
        const char *bytes;
        size_t len, key_len; /* key_len 0: refused */
    } cases[] = {
        {KEY, 32, 32},       {KEY "\n", 33, 32},   {KEY "\n\n", 34, 33},
        {KEY OTHER, 64, 64}, {KEY "\0\0", 34, 34}, {KEY, 31, 0},
        {"", 0, 0},          {"\n", 1, 0},         {KEY "\n", 0, 0},
    };
    static const char marked[] = "\xef\xbb\xbf" KEY;
    static const char *const edited[] = {KEY "\r\n", KEY "\r", marked};
    char path[PATH_SIZE] = "/tmp/seckill-key-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct token_key key = {0};
        struct start_error why = {0};

        assert_true(write_file(path, cases[i].bytes, cases[i].len));
        assert_int_equal(token_key_read(path, &key, &why), cases[i].key_len > 0);
        assert_int_equal(key.len, cases[i].key_len);
        assert_memory_equal(key.bytes, cases[i].bytes, key.len);
        if (!key.len) assert_non_null(strstr(why.text, "at least 32 bytes"));
    }
    for (size_t i = 0; i < sizeof edited / sizeof edited[0]; i++) {
        struct token_key key = {0};
        struct start_error why = {0};

        assert_true(write_file(path, edited[i], strlen(edited[i])));
        assert_false(token_key_read(path, &key, &why));
        assert_non_null(strstr(why.text, "would be part of the key"));
    }
    (void)unlink(path);
}

TEST(a_key_that_is_too_large_or_missing_is_refused)
{
    char path[PATH_SIZE] = "/tmp/seckill-key-XXXXXX";
    char bytes[TOKEN_KEY_MAX + 2];
    struct token_key key = {0};
    struct start_error why = {0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    memset(bytes, 'k', sizeof bytes);
    assert_true(write_file(path, bytes, TOKEN_KEY_MAX));
    assert_true(token_key_read(path, &key, &why));
    assert_int_equal(key.len, TOKEN_KEY_MAX);
    assert_true(write_file(path, bytes, TOKEN_KEY_MAX + 1));
    assert_false(token_key_read(path, &key, &why));
    assert_non_null(strstr(why.text, "at most"));
    assert_null(strstr(why.text, "kkk"));
    (void)unlink(path);
    assert_false(token_key_read(path, &key, &why));
    assert_non_null(strstr(why.text, path));
    assert_false(token_key_read("/tmp", &key, &why));
}
