/*
 * What operators do to a sale, through the admin port of a real seckilld: each step, each refusal
 * with its name and field, one line in the log for each.
 */
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/app_fixture.h"
#include "test/support/app_texts.h"

#define ADMIN_SALES "/api/v1/admin/sales"

APP_SELLS(NULL, NULL);

/* method NULL: GET, or POST with a body. key NULL: none. path is behind the sales. */
static void call(struct app_fixture *self, const char *method, const char *path, const char *body,
                 const char *key)
{
    char whole[128];
    char header[128];
    struct app_call request = {.method = method,
                               .base = self->service.admin,
                               .path = whole,
                               .token = app_token(self->dir),
                               .body = body};

    (void)snprintf(whole, sizeof whole, ADMIN_SALES "%s", path);
    if (key) {
        (void)snprintf(header, sizeof header, "Idempotency-Key: %s", key);
        request.headers[0] = "Content-Type: application/json";
        request.headers[1] = header;
    }
    app_http(&request, &self->reply);
}

static void create(struct app_fixture *self, const char *body)
{
    assert_true(app_create_sale(&self->service, self->dir, body));
}

/* The last answer was this sale in this state. */
static void is_sale(struct app_fixture *self, const char *state)
{
    if (self->reply.status != 200) fail_msg("%ld %s", self->reply.status, self->reply.body);
    assert_string_equal(app_member(&self->reply, "state"), state);
    assert_string_equal(app_member(&self->reply, "guard"), "mutex"); /* the operators' view */
}

/* field NULL: says none. */
static void is_refused(struct app_fixture *self, long status, const char *problem,
                       const char *field)
{
    if (!app_is_problem(&self->reply, status, problem))
        fail_msg("%ld %s", self->reply.status, self->reply.body);
    assert_string_equal(app_member(&self->reply, "field"), field ? field : "");
    if (status == 409) assert_true(app_member(&self->reply, "detail")[0]);
}

static size_t log_lines(struct app_fixture *self, const char *words)
{
    size_t count = 0;

    for (const char *at = app_file(self->dir, "seckilld.log"); (at = strstr(at, words)); at++)
        count++;
    return count;
}

TEST(a_sale_is_paused_and_resumed, struct app_fixture *self)
{
    create(self, "{\"id\":\"cup\",\"stock\":5}");
    call(self, NULL, "/cup/pause", "", NULL);
    is_sale(self, "paused");
    app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    assert_true(app_is_problem(&self->reply, 503, "sale-paused"));
    call(self, NULL, "/cup/pause", "{}", NULL);
    is_sale(self, "paused");
    call(self, NULL, "/cup/resume", "", NULL);
    is_sale(self, "active");
    call(self, NULL, "/cup/resume", "", NULL);
    is_refused(self, 409, "conflict", NULL);
    assert_string_equal(app_member(&self->reply, "detail"), "The sale is not paused.");
    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply), 201);
    assert_int_equal(log_lines(self, "sale cup: pause: done"), 2);
    assert_int_equal(log_lines(self, "sale cup: resume: done"), 1);
    assert_int_equal(log_lines(self, "sale cup: resume: not-paused"), 1);
}

TEST(a_sale_is_patched, struct app_fixture *self)
{
    create(self, "{\"id\":\"cup\",\"stock\":5,\"startsAt\":\"2198-01-01T00:00:00Z\"}");
    call(self, "PATCH", "/cup",
         "{\"title\":\"Gr\xc3\xbcn\",\"endsAt\":\"2199-01-01T00:00:00Z\","
         "\"startsAt\":\"2197-01-01T00:00:00Z\"}",
         NULL);
    is_sale(self, "upcoming");
    assert_string_equal(app_member(&self->reply, "title"), "Gr\xc3\xbcn");
    app_assert_answer(
        &self->reply, 200,
        "{`startsAt`:`2197-01-01T00:00:00.000Z`,`endsAt`:`2199-01-01T00:00:00.000Z`}");
    call(self, "PATCH", "/cup", "{\"endsAt\":null,\"startsAt\":\"2020-01-01T00:00:00Z\"}", NULL);
    is_sale(self, "active");
    assert_non_null(strstr(self->reply.body, "\"endsAt\":null"));
    call(self, "PATCH", "/cup", "{\"startsAt\":\"2197-01-01T00:00:00Z\"}", NULL);
    is_refused(self, 409, "conflict", "startsAt");
    assert_int_equal(log_lines(self, "sale cup: patch: "), 3);
}

/* Each of these bodies is refused for that field. */
static void are_refused(struct app_fixture *self, const char *method, const char *path,
                        const char *field, const char *bodies)
{
    const char *body = NULL;

    for (size_t i = 0; (body = texts_at(bodies, i)); i++) {
        call(self, method, path, body, NULL);
        if (self->reply.status != 400) fail_msg("%s: %s", body, self->reply.body);
        is_refused(self, 400, "invalid-request", field);
    }
}

TEST(bad_patches_are_named_and_change_nothing, struct app_fixture *self)
{
    static const struct {
        const char *field, *bodies;
    } rows[] = {
        {"body", "|{}|[]|{`title`:`a`"},
        {"title", "{`title`:``}|{`title`:7}|{`title`:null}|{`title`:`a`,`title`:`b`}"},
        {"stock", "{`title`:`a`,`stock`:9}|{`stock`:9}"},
        {"remaining", "{`remaining`:9}"},
        {"state", "{`state`:`ended`}"},
        {"guard", "{`guard`:`none`}"},
        {"startsAt", "{`startsAt`:null}|{`startsAt`:`tomorrow`}|{`startsAt`:1}|"
                     "{`startsAt`:`2199-01-01T00:00:00Z`}"},
        {"endsAt", "{`endsAt`:`2026-02-30T00:00:00Z`}|{`endsAt`:`2020-01-01T00:00:00Z`}|"
                   "{`endsAt`:`1970-01-01T00:00:00Z`}|"
                   "{`startsAt`:`2019-01-01T00:00:00Z`,`endsAt`:`2020-01-01T00:00:00Z`}|"
                   "{`endsAt`:`2198-01-01T00:00:00Z`}|"
                   "{`startsAt`:`2199-01-01T00:00:00Z`,`endsAt`:`2198-06-01T00:00:00Z`}"},
    };

    create(self, "{\"id\":\"cup\",\"stock\":5,\"startsAt\":\"2198-01-01T00:00:00Z\","
                 "\"endsAt\":\"2199-01-01T00:00:00Z\"}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        are_refused(self, "PATCH", "/cup", rows[i].field, rows[i].bodies);
    assert_int_equal(app_ask_redis(self->service.redis, "XLEN", "seckill:{cup}:ledger"), 1);
    call(self, NULL, "/cup", NULL, NULL);
    assert_string_equal(app_member(&self->reply, "title"), "cup");
}

static bool has_cooled(void *arg)
{
    struct app_fixture *self = arg;

    call(self, NULL, "/cup", NULL, NULL);
    return app_number(&self->reply, "remaining") == 2;
}

TEST(a_restock_sells_on, struct app_fixture *self)
{
    char sellable_at[64];

    create(self, "{\"id\":\"cup\",\"stock\":1}");
    app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    app_buy(self->service.buyers, "cup", "bert", NULL, &self->reply);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    call(self, NULL, "/cup/restock", "{\"units\":2}", "\"again-1\"");
    (void)snprintf(sellable_at, sizeof sellable_at, "%s", app_member(&self->reply, "sellableAt"));
    assert_int_equal(strlen(sellable_at), sizeof "2026-11-20T10:00:00.000Z" - 1);
    /* For a moment more; unless the service was stopped before it looked. */
    bool is_cool = strcmp(app_member(&self->reply, "serverTime"), sellable_at) < 0;
    is_sale(self, is_cool ? "sold_out" : "active");
    assert_int_equal(app_number(&self->reply, "remaining"), is_cool ? 0 : 2);
    assert_int_equal(app_number(&self->reply, "cooling"), is_cool ? 2 : -1);
    app_assert_answer(&self->reply, 200, "{`restocked`:2,`initialStock`:1,`epoch`:2}");
    assert_null(strstr(self->reply.headers, "Idempotency-Replayed"));

    assert_true(app_eventually(has_cooled, self, 2000));
    assert_true(strcmp(app_member(&self->reply, "serverTime"), sellable_at) >= 0);
    assert_string_equal(app_member(&self->reply, "sellableAt"), "");
    call(self, NULL, "/cup/restock", "{\"units\":2}", "again-1");
    is_sale(self, "active");
    assert_non_null(strstr(self->reply.headers, "Idempotency-Replayed: true\r\n"));
    assert_int_equal(app_number(&self->reply, "remaining"), 2);
    call(self, NULL, "/cup/restock", "{\"units\":3}", "again-1");
    is_refused(self, 409, "conflict", "Idempotency-Key");
    call(self, NULL, "/cup/restock", "{\"units\":100000000}", "again-2");
    is_refused(self, 409, "conflict", "units");
    call(self, NULL, "/cup/restock", "{\"units\":1}", "a b");
    is_refused(self, 400, "invalid-request", "Idempotency-Key");
    call(self, NULL, "/cup/restock", "{\"units\":1}", NULL);
    is_refused(self, 400, "invalid-request", "Idempotency-Key");
    assert_non_null(strstr(app_member(&self->reply, "detail"), "Idempotency-Key"));
    assert_int_equal(app_ask_redis(self->service.redis, "GET", "seckill:{cup}:stock"), 2);
    assert_int_equal(log_lines(self, "sale cup: restock of 2 units, key \"again-1\": done"), 1);
    assert_int_equal(log_lines(self, "sale cup: restock of 2 units, key \"again-1\": repeated"), 1);
    assert_int_equal(log_lines(self, "sale cup: restock of 3 units, key \"again-1\": key-reused"),
                     1);
}

static bool bert_gets_one(void *arg)
{
    struct app_fixture *self = arg;

    app_buy(self->service.buyers, "cup", "bert", "b", &self->reply);
    return self->reply.status == 201;
}

/* However an instance remembers "sold out": the new epoch ends that. */
TEST(nobody_is_told_sold_out_long_after_a_restock, struct app_fixture *self)
{
    create(self, "{\"id\":\"cup\",\"stock\":1}");
    app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    for (int i = 0; i < 20; i++) {
        app_buy(self->service.buyers, "cup", "bert", "b", &self->reply);
        assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    }
    call(self, NULL, "/cup/restock", "{\"units\":1}", "k");
    assert_int_equal(self->reply.status, 200);
    assert_true(app_eventually(bert_gets_one, self, 2000));
    call(self, NULL, "/cup/audit", NULL, NULL);
    assert_string_equal(app_member(&self->reply, "verdict"), "pass");
}

TEST(bad_bodies_of_steps_are_named, struct app_fixture *self)
{
    create(self, "{\"id\":\"cup\",\"stock\":5}");
    are_refused(self, NULL, "/cup/restock", "body", "");
    are_refused(self, NULL, "/cup/restock", "units",
                "{}|{`units`:0}|{`units`:-1}|{`units`:1.0}|{`units`:`1`}|{`units`:100000001}|"
                "{`units`:1,`units`:1}");
    are_refused(self, NULL, "/cup/restock", "epoch", "{`units`:1,`epoch`:9}");
    are_refused(self, NULL, "/cup/pause", "for", "{`for`:1}");
    are_refused(self, NULL, "/cup/resume", "body", "[]");
    are_refused(self, NULL, "/cup/end", "now", "{`now`:true}");
    are_refused(self, NULL, "/CUP/pause", "id", "");
    assert_int_equal(app_ask_redis(self->service.redis, "XLEN", "seckill:{cup}:ledger"), 1);
}

TEST(an_ended_sale_and_no_sale_are_told_apart, struct app_fixture *self)
{
    static const struct {
        const char *method, *path, *body;
    } cases[] = {{NULL, "/cup/pause", ""},
                 {NULL, "/cup/resume", ""},
                 {NULL, "/cup/restock", "{\"units\":1}"},
                 {"PATCH", "/cup", "{\"title\":\"new\"}"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call(self, cases[i].method, cases[i].path, cases[i].body, "k");
        is_refused(self, 404, "not-found", NULL);
    }
    call(self, NULL, "/cup/audit", NULL, NULL);
    is_refused(self, 404, "not-found", NULL);
    create(self, "{\"id\":\"cup\",\"stock\":5}");
    call(self, NULL, "/cup/end", "", NULL);
    is_sale(self, "ended");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call(self, cases[i].method, cases[i].path, cases[i].body, "k");
        is_refused(self, 409, "conflict", NULL);
        assert_string_equal(app_member(&self->reply, "detail"), "The sale has ended.");
    }
    call(self, NULL, "/cup/end", "", NULL);
    is_sale(self, "ended");
}

TEST(methods_and_tokens_are_checked_first, struct app_fixture *self)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {
        {"GET", "/cup/pause", "Allow: POST\r\n"},   {"DELETE", "/cup/resume", "Allow: POST\r\n"},
        {"PUT", "/cup/restock", "Allow: POST\r\n"}, {"POST", "/cup/audit", "Allow: GET, HEAD\r\n"},
        {"PATCH", "/cup/end", "Allow: POST\r\n"},
    };
    static const char *const paths[] = {"/cup/pause", "/cup/resume", "/cup/restock", "/cup/audit"};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call(self, cases[i].method, cases[i].path, NULL, NULL);
        is_refused(self, 405, "method-not-allowed", NULL);
        assert_non_null(strstr(self->reply.headers, cases[i].allow));
    }
    call(self, "PUT", "/cup", NULL, NULL);
    is_refused(self, 405, "method-not-allowed", NULL);
    assert_non_null(strstr(self->reply.headers, "PATCH"));
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[64];
        struct app_call request = {
            .base = self->service.admin, .path = path, .method = i == 3 ? "GET" : "POST"};

        (void)snprintf(path, sizeof path, ADMIN_SALES "%s", paths[i]);
        assert_int_equal(app_status(&request), 401);
        request.token = "0123456789abcdef0123456789abcdef";
        assert_int_equal(app_status(&request), 403);
        request.base = self->service.buyers;
        assert_int_equal(app_status(&request), 404);
    }
}

TEST(the_audit_says_what_the_service_sees, struct app_fixture *self)
{
    create(self, "{\"id\":\"cup\",\"stock\":3}");
    app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    call(self, NULL, "/cup/restock", "{\"units\":4}", "k");
    call(self, NULL, "/cup/audit", NULL, NULL);
    app_assert_answer(&self->reply, 200, "{`view`:`service`}");
    assert_non_null(strstr(app_member(&self->reply, "note"), "own view"));
    app_assert_answer(&self->reply, 200,
                      "{`verdict`:`pass`,`orders`:1,`remaining`:6,`initialStock`:3,`restocked`:4,"
                      "`oversoldUnits`:0,`epoch`:2}");
    assert_non_null(
        strstr(self->reply.body, "\"ledger\":{\"entries\":3,\"lastLeft\":6,\"lastEpoch\":2}"));
    assert_non_null(strstr(self->reply.body,
                           "{\"name\":\"units-add-up\",\"verdict\":\"pass\","
                           "\"detail\":\"1 orders + 6 left, of 3 + 4 restocked\""));
    assert_int_equal(log_lines(self, "sale cup: audit:"),
                     0); /* a dashboard asks every few seconds */
}

/* ---- the operators' log ---------------------------------------------------------------------------- */

static void read_operators(struct app_fixture *self)
{
    (void)snprintf(self->out, sizeof self->out, "%s", app_file(self->dir, "operators.ndjson"));
}

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));

    return text ? text : "?";
}

/* Each step is in it twice: that it was asked for, and what became of it. */
TEST(every_step_is_in_the_operators_log, struct app_fixture *self)
{
    static const struct {
        const char *method, *path, *body, *key;
        const char *line; /* its end, from "what" */
    } steps[] = {
        {NULL, "", "{\"id\":\"cup\",\"stock\":3}", NULL, "create cup  done 3 1"},
        {NULL, "", "{\"id\":\"cup\",\"stock\":4}", NULL, "create cup  exists 4 0"},
        {NULL, "/cup/restock", "{\"units\":5}", "r1", "restock cup r1 done 5 2"},
        {NULL, "/cup/restock", "{\"units\":5}", "r1", "restock cup r1 repeated 5 2"},
        {NULL, "/cup/restock", "{\"units\":6}", "r1", "restock cup r1 key-reused 6 2"},
        {NULL, "/cup/pause", "", NULL, "pause cup  done 0 2"},
        {NULL, "/cup/resume", "", NULL, "resume cup  done 0 2"},
        {"PATCH", "/cup", "{\"title\":\"new\"}", NULL, "patch cup  done 0 2"},
        {NULL, "/cup/end", "", NULL, "end cup  done 0 2"},
        {NULL, "/mug/end", "", NULL, "end mug  no-such-sale 0 0"},
    };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        unsigned lines = 0;
        char said[128] = "";
        json_t *line = NULL;

        call(self, steps[i].method, steps[i].path, steps[i].body, steps[i].key);
        read_operators(self);
        for (const char *at = self->out; *at; at = strchr(at, '\n') + 1, lines++) {
            json_decref(line);
            line = json_loadb(at, strcspn(at, "\n"), 0, NULL);
            assert_string_equal(text_of(line, "who"), "operator");
            assert_string_equal(text_of(line, "from"), "127.0.0.1");
            if (lines % 2 == 0) assert_string_equal(text_of(line, "result"), "asked");
        }
        (void)snprintf(said, sizeof said, "%s %s %s %s %lld %lld", text_of(line, "what"),
                       text_of(line, "sale"), text_of(line, "key"), text_of(line, "result"),
                       json_integer_value(json_object_get(line, "units")),
                       json_integer_value(json_object_get(line, "epoch")));
        json_decref(line);
        assert_string_equal(said, steps[i].line);
        assert_int_equal(lines, 2 * (i + 1));
    }
}

TEST(what_cannot_be_written_down_is_not_done, struct app_fixture *self)
{
    static const struct {
        const char *method, *path, *body;
    } steps[] = {
        {NULL, "", "{\"id\":\"mug\",\"stock\":3}"},
        {NULL, "/cup/restock", "{\"units\":4}"},
        {NULL, "/cup/pause", ""},
        {NULL, "/cup/resume", ""},
        {"PATCH", "/cup", "{\"title\":\"new\"}"},
        {NULL, "/cup/end", ""},
    };
    char path[APP_PATH_SIZE + 32];

    create(self, "{\"id\":\"cup\",\"stock\":3}");
    (void)snprintf(path, sizeof path, "%s/operators.ndjson", self->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* nobody, not even root, writes into that */
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        call(self, steps[i].method, steps[i].path, steps[i].body, "r1");
        is_refused(self, 503, "store-unavailable", NULL);
        assert_string_equal(app_member(&self->reply, "detail"),
                            "The operators' log cannot be written: nothing was done.");
    }
    assert_int_equal(app_ask_redis(self->service.redis, "XLEN", "seckill:{cup}:ledger"), 1);
    assert_int_equal(app_ask_redis(self->service.redis, "EXISTS", "seckill:{mug}:sale"), 0);
    assert_int_equal(rmdir(path), 0);
    call(self, NULL, "/cup/end", "", NULL);
    is_sale(self, "ended");
}
