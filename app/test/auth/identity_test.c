/*
 * Who is asking: which header counts, what a thread remembers, what is said to those it does not
 * know. The clock stands still; answers are caught on their way to the edge; real signatures are
 * counted.
 * link: -Wl,--wrap=http_send_problem,--wrap=clock_unix_ms,--wrap=token_check
 */
#include <unistd.h>

#include "auth/identity.h"
#include "base/clock.h"
#include "test/support/testing.h"

#define KEY "0123456789abcdef0123456789abcdef"

enum { NOW_S = 1800000000, PATH_SIZE = 64, LINE_SIZE = 1200 };

static struct {
    int64_t now_s;
    int checks;  /* of signatures */
    int answers; /* problems sent */
    http_problem problem;
    char headers[128];
    char detail[128];
} seen;

FAKE_RETURNS(int64_t, clock_unix_ms, (void), seen.now_s * 1000);

FAKE(token_status, token_check, const struct token_rules *rules, const struct jwks *issuer,
     const char *text, int64_t now_s, struct token *out)
{
    seen.checks++;
    return __real_token_check(rules, issuer, text, now_s, out);
}

FAKE(void, http_send_problem, struct http_request *request, http_problem problem,
     const struct http_detail *detail)
{
    request->status = 1;
    seen.answers++;
    seen.problem = problem;
    (void)snprintf(seen.headers, sizeof seen.headers, "%s", detail->headers ? detail->headers : "");
    (void)snprintf(seen.detail, sizeof seen.detail, "%s", detail->detail);
}

struct fixture {
    char file[PATH_SIZE];
    struct token_rules rules;
    struct identity *plain; /* tokens alone */
    struct identity *lab;   /* X-User-Id too */
    char alice[LINE_SIZE];  /* "Bearer ..." */
    char bobby[LINE_SIZE];
};

static void make_bearer(const struct fixture *self, const struct token *claims, char out[LINE_SIZE])
{
    char *text = token_make(&self->rules.keys.key[0], claims->buyer, claims);

    if (!text) abort();
    (void)snprintf(out, LINE_SIZE, "Bearer %s", text);
    free(text);
}

SET_UP(struct fixture, self)
{
    struct start_error why = {0};
    struct identity_options options = {.trusts_user_id = false};

    options.operator_file = self->file;
    options.rules = &self->rules;
    memset(&seen, 0, sizeof seen);
    seen.now_s = NOW_S;
    (void)snprintf(self->file, sizeof self->file, "/tmp/seckill-operator-%ld", (long)getpid());
    (void)unlink(self->file);
    self->rules.keys.count = 1;
    self->rules.keys.key[0].len = sizeof KEY - 1;
    memcpy(self->rules.keys.key[0].bytes, KEY, sizeof KEY - 1);
    self->plain = identity_new(&options, &why);
    options.trusts_user_id = true;
    self->lab = identity_new(&options, &why);
    make_bearer(self, &(struct token){"alice", 0, 0, NOW_S + 60}, self->alice);
    make_bearer(self, &(struct token){"bobby", 0, 0, NOW_S + 60}, self->bobby);
    assert_true(self->plain && self->lab);
}

TEAR_DOWN(struct fixture, self)
{
    identity_free(self->plain);
    identity_free(self->lab);
    (void)unlink(self->file);
}

/* The buyer of a request with these headers, or "" when it was answered. */
static const char *ask(const struct identity *identity, const char *authorization,
                       const char *user_id)
{
    static char buyer[BUYER_ID_MAX + 1];
    struct http_request request = {.authorization = authorization, .user_id = user_id};

    buyer[0] = '\0';
    if (!identity_read_buyer(identity, &request, buyer)) return "";
    return buyer;
}

TEST(a_token_names_the_buyer, struct fixture *self)
{
    assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
    assert_string_equal(ask(self->plain, self->bobby, "alice"), "bobby");
    assert_int_equal(seen.answers, 0);
}

TEST(only_lab_believes_a_bare_name, struct fixture *self)
{
    assert_string_equal(ask(self->lab, NULL, "carol"), "carol");
    assert_int_equal(seen.answers, 0);
    assert_string_equal(ask(self->plain, NULL, "carol"), "");
    assert_string_equal(ask(self->lab, NULL, "car\nol"), "");
    assert_string_equal(ask(self->lab, NULL, NULL), "");
    assert_int_equal(seen.answers, 3);
}

TEST(authorization_wins_also_when_it_is_bad, struct fixture *self)
{
    static const char *const bad[] = {"",      "Bearer ",      "Bearer x", "Basic YWxpY2U6",
                                      "alice", "Bearer\talice"};

    assert_string_equal(ask(self->lab, self->alice, "carol"), "alice");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_string_equal(ask(self->lab, bad[i], "carol"), "");
    assert_int_equal(seen.answers, sizeof bad / sizeof bad[0]);
}

TEST(who_is_not_known_is_told_401_and_how, struct fixture *self)
{
    assert_string_equal(ask(self->plain, NULL, NULL), "");
    assert_int_equal(seen.problem, PROBLEM_UNAUTHENTICATED);
    assert_string_equal(seen.headers, "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
    seen.now_s = NOW_S + 60;
    assert_string_equal(ask(self->plain, self->alice, NULL), "");
    assert_string_equal(seen.headers, "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
    assert_string_equal(seen.detail, token_status_text(TOKEN_EXPIRED));
}

TEST(the_scheme_is_read_as_http_has_it, struct fixture *self)
{
    char line[LINE_SIZE + 8];

    (void)snprintf(line, sizeof line, "bEARER   %s", self->alice + strlen("Bearer "));
    assert_string_equal(ask(self->plain, line, NULL), "alice");
}

TEST(a_token_seen_last_costs_no_signature, struct fixture *self)
{
    for (int i = 0; i < 5; i++)
        assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
    assert_int_equal(seen.checks, 1);
    assert_string_equal(ask(self->plain, self->bobby, NULL), "bobby");
    assert_string_equal(ask(self->plain, self->bobby, NULL), "bobby");
    assert_int_equal(seen.checks, 2);
    assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
    assert_int_equal(seen.checks, 3);
}

TEST(what_is_remembered_still_expires, struct fixture *self)
{
    char line[LINE_SIZE];

    make_bearer(self, &(struct token){"alice", 0, NOW_S, NOW_S + 2}, line);
    assert_string_equal(ask(self->plain, line, NULL), "alice");
    seen.now_s = NOW_S + 1;
    assert_string_equal(ask(self->plain, line, NULL), "alice");
    seen.now_s = NOW_S + 2;
    assert_string_equal(ask(self->plain, line, NULL), "");
    seen.now_s = NOW_S - 1; /* the clock was set back */
    assert_string_equal(ask(self->plain, line, NULL), "");
}

TEST(what_is_remembered_is_that_token_alone, struct fixture *self)
{
    char line[LINE_SIZE];

    assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
    for (size_t i = strlen("Bearer "); i < strlen(self->alice); i++) {
        memcpy(line, self->alice, sizeof line);
        line[i] = line[i] == 'A' ? 'B' : 'A';
        assert_string_equal(ask(self->plain, line, NULL), "");
        line[i] = '\0';
        assert_string_equal(ask(self->plain, line, NULL), "");
    }
    assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
}

TEST(what_one_identity_found_good_another_checks_itself, struct fixture *self)
{
    struct start_error why = {0};
    struct identity *keyless =
        identity_new(&(struct identity_options){.operator_file = self->file}, &why);

    assert_non_null(keyless);
    assert_string_equal(ask(self->plain, self->alice, NULL), "alice");
    assert_string_equal(ask(keyless, self->alice, NULL), "");
    identity_free(keyless);
}

TEST(a_long_good_token_is_good_each_time, struct fixture *self)
{
    struct token claims = {
        .issued_at_s = 100000000000000, .not_before_at_s = 1, .expires_at_s = 100000000000000};
    char line[LINE_SIZE];

    memset(claims.buyer, 'b', BUYER_ID_MAX);
    make_bearer(self, &claims, line);
    for (int i = 0; i < 3; i++)
        assert_string_equal(ask(self->plain, line, NULL), claims.buyer);
    assert_int_equal(seen.checks, 1);
}

static bool operator_is(const struct identity *identity, const char *authorization)
{
    struct http_request request = {.authorization = authorization};

    return identity_check_operator(identity, &request, OPERATOR_IS_ADMIN);
}

TEST(the_operator_has_the_token_of_the_file, struct fixture *self)
{
    char line[LINE_SIZE] = "Bearer ";
    FILE *file = fopen(self->file, "re");

    assert_non_null(file);
    assert_non_null(fgets(line + strlen(line), 100, file));
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    assert_true(operator_is(self->plain, line));
    assert_int_equal(seen.answers, 0);
    assert_false(operator_is(self->plain, NULL));
    assert_int_equal(seen.problem, PROBLEM_UNAUTHENTICATED);
    assert_false(operator_is(self->plain, self->alice));
    assert_int_equal(seen.problem, PROBLEM_FORBIDDEN);
    assert_false(operator_is(self->plain, "Bearer "));
    assert_string_equal(ask(self->plain, line, NULL), "");
    line[strlen(line) - 1] ^= 1;
    assert_false(operator_is(self->plain, line));
    line[strlen(line) - 1] = '\0';
    assert_false(operator_is(self->plain, line));
}

TEST(an_operator_may_what_the_role_may, struct fixture *self)
{
    static const char token[] = "reader-0123456789abcdef0123456789";
    struct http_request request = {.authorization = "Bearer reader-0123456789abcdef0123456789"};
    FILE *file = fopen(self->file, "ae"); /* read again, without a restart */

    assert_non_null(file);
    assert_true(fprintf(file, "maja@shop read %s\n", token) > 0);
    assert_int_equal(fclose(file), 0);
    assert_true(identity_check_operator(self->plain, &request, OPERATOR_READS));
    assert_string_equal(request.operator_name, "maja@shop");
    assert_string_equal(request.operator_role, "read");
    assert_false(identity_check_operator(self->plain, &request, OPERATOR_OPERATES));
    assert_int_equal(seen.problem, PROBLEM_FORBIDDEN);
    assert_string_equal(seen.detail, "This needs a token of the role operate; yours has read.");
}
