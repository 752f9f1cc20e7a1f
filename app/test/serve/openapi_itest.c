/*
 * Answers of a real service against the description it serves: status, type of content, type of
 * problem and members of each are declared for their operation.
 */
#include "test/support/app_openapi.h"
#include "test/support/testing.h"

#define SALES "/api/v1/sales"
#define ADMIN "/api/v1/admin/sales"
#define LAB   "/api/v1/lab"
#define JSON  "Content-Type: application/json"
#define KEY   "Idempotency-Key: k"
#define FORM  "Content-Type: application/x-www-form-urlencoded"

enum { OPERATIONS_MAX = 64 };

struct fixture {
    char dir[APP_PATH_SIZE];
    struct app_process redis;
    struct app_process service;
    struct app_reply reply;
    json_t *document;
    const json_t *answered[OPERATIONS_MAX]; /* operations that were asked */
    size_t answered_count;
};

/* Start the service on our Redis, with a rate. */
static bool start(struct fixture *self, const char *rate)
{
    const char *const args[] = {"--redis", self->redis.redis, "--public-metrics", "--rate", rate,
                                NULL};

    if (!app_start(&self->service, self->dir, args)) return false;
    app_http(&(struct app_call){.base = self->service.admin, .path = "/openapi.json"},
             &self->reply);
    json_decref(self->document);
    self->document = json_loads(self->reply.body, JSON_REJECT_DUPLICATES, NULL);
    self->answered_count = 0;
    return self->document != NULL;
}

SET_UP(struct fixture, fixture)
{
    app_folder_make(fixture->dir);
    assert_true(app_start_redis(&fixture->redis, fixture->dir));
    assert_true(start(fixture, "0"));
}

TEAR_DOWN(struct fixture, fixture)
{
    int status = app_stop(&fixture->service);

    (void)app_stop(&fixture->redis);
    json_decref(fixture->document);
    app_folder_remove(fixture->dir);
    assert_int_equal(status, 0);
}

static void note_answered(struct fixture *self, const json_t *operation)
{
    for (size_t i = 0; i < self->answered_count; i++) {
        if (self->answered[i] == operation) return;
    }
    assert_true(self->answered_count < OPERATIONS_MAX);
    self->answered[self->answered_count++] = operation;
}

/* "HEAD" is described by GET. problem: its name; NULL: none. */
static void ask(struct fixture *self, const struct app_call *call, long status, const char *problem)
{
    const char *method = call->method ? call->method : "GET";
    const char *described = strcmp(method, "HEAD") == 0 ? "GET" : method;
    const json_t *operation = app_openapi_operation(self->document, described, call->path);
    char why[256] = "";
    char type[64];

    if (!operation) fail_msg("%s %s is not described", method, call->path);
    app_http(call, &self->reply);
    if (self->reply.status != status)
        fail_msg("%s %s: %ld, not %ld: %s", method, call->path, self->reply.status, status,
                 self->reply.body);
    (void)snprintf(type, sizeof type, "/problems/%s", problem ? problem : "");
    if (problem && strcmp(app_member(&self->reply, "type"), type) != 0)
        fail_msg("%s %s: not %s: %s", method, call->path, type, self->reply.body);
    if (!app_openapi_declares(self->document, operation, &self->reply, why, sizeof why))
        fail_msg("%s %s: %ld %s: %s", method, call->path, status, why, self->reply.body);
    note_answered(self, operation);
}

struct step {
    const char *method, *path, *user, *body;
    long status;
    const char *problem;
    const char *header;
};

static void ask_as_buyer(struct fixture *self, const struct step *step)
{
    bool has_cookie = step->header && strncmp(step->header, "Cookie:", 7) == 0;

    ask(self,
        &(struct app_call){.method = step->method,
                           .base = self->service.buyers,
                           .path = step->path,
                           .user = step->user,
                           .body = step->body,
                           .headers = {step->header, step->body && has_cookie ? JSON : NULL}},
        step->status, step->problem);
}

static void ask_as_operator(struct fixture *self, const struct step *step)
{
    ask(self,
        &(struct app_call){.method = step->method,
                           .base = self->service.admin,
                           .path = step->path,
                           .token = app_token(self->dir),
                           .body = step->body,
                           .headers = {step->body && !step->header ? JSON : step->header, KEY}},
        step->status, step->problem);
}

static void ask_all(struct fixture *self, void (*who)(struct fixture *self, const struct step *),
                    const struct step *steps)
{
    for (; steps->method; steps++)
        who(self, steps);
}

static const struct step operators_steps[] = {
    {"POST", ADMIN, NULL, "{\"id\":\"cup\",\"stock\":1}", 201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"cup\",\"stock\":1}", 409, "conflict", NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"cup\",\"stock\":0}", 400, "invalid-request", NULL},
    {"POST", ADMIN, NULL, "id=cup", 415, "unsupported-media-type", FORM},
    {"POST", ADMIN, NULL, "{\"id\":\"far\",\"stock\":1,\"startsAt\":\"2199-01-01T00:00:00Z\"}", 201,
     NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"over\",\"stock\":1}", 201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"held\",\"stock\":1}", 201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"still\",\"stock\":1}", 201, NULL, NULL},
    {"POST", ADMIN, NULL,
     "{\"id\":\"lamp\",\"stock\":1,\"payment\":{\"windowMs\":60000,\"amount\":5,\"currency\":"
     "\"CNY\"}}",
     201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"lamp2\",\"stock\":1,\"payment\":{\"windowMs\":1}}", 400,
     "invalid-request", NULL},
    {"POST", ADMIN, NULL,
     "{\"id\":\"room\",\"stock\":1,\"startsAt\":\"2199-01-01T00:00:00Z\","
     "\"waitingRoom\":{\"admitPerSecond\":1,\"places\":\"draw\"}}",
     201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"cut\",\"stock\":9,\"segments\":4}", 201, NULL, NULL},
    {"POST", ADMIN, NULL, "{\"id\":\"cut2\",\"stock\":9,\"segments\":33}", 400, "invalid-request",
     NULL},
    {"GET", ADMIN "/cut", NULL, NULL, 200, NULL, NULL},
    {"PATCH", ADMIN "/room", NULL, "{\"waitingRoom\":{\"admitPerSecond\":2}}", 200, NULL, NULL},
    {"PATCH", ADMIN "/cup", NULL, "{\"waitingRoom\":{\"admitPerSecond\":2}}", 409, "conflict",
     NULL},
    {"GET", ADMIN "/lamp/refunds", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/none/refunds", NULL, NULL, 404, "not-found", NULL},
    {"POST", ADMIN "/lamp/refunds", NULL, "{\"payment\":\"p\",\"state\":\"sent\"}", 404,
     "not-found", NULL},
    {"POST", ADMIN "/lamp/refunds", NULL, "{\"payment\":\"p\",\"state\":\"lost\"}", 400,
     "invalid-request", NULL},
    {"GET", "/api/v1/admin/operator", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN, NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/cup", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/none", NULL, NULL, 404, "not-found", NULL},
    {"GET", ADMIN "/CUP", NULL, NULL, 400, "invalid-request", NULL},
    {"PATCH", ADMIN "/cup", NULL, "{\"title\":\"Cup\"}", 200, NULL, NULL},
    {"DELETE", ADMIN "/cup", NULL, NULL, 409, "conflict", NULL},
    {"PATCH", ADMIN "/cup", NULL, "{}", 400, "invalid-request", NULL},
    {"PATCH", ADMIN "/none", NULL, "{\"title\":\"Cup\"}", 404, "not-found", NULL},
    {"PATCH", ADMIN "/cup", NULL, "{\"startsAt\":\"2199-01-01T00:00:00Z\"}", 409, "conflict", NULL},
    {"POST", ADMIN "/over/end", NULL, "", 200, NULL, NULL},
    {"POST", ADMIN "/none/end", NULL, "", 404, "not-found", NULL},
    {"POST", ADMIN "/none/archive", NULL, "", 404, "not-found", NULL},
    {"POST", ADMIN "/cup/archive", NULL, "", 409, "conflict", NULL},
    {"POST", ADMIN "/over/pause", NULL, "", 409, "conflict", NULL},
    {"POST", ADMIN "/cup/resume", NULL, "", 409, "conflict", NULL},
    {"POST", ADMIN "/cup/restock", NULL, "{\"units\":0}", 400, "invalid-request", NULL},
    {"GET", ADMIN "/cup/audit", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/none/audit", NULL, NULL, 404, "not-found", NULL},
    {"GET", "/dashboard", NULL, NULL, 200, NULL, NULL},
    {"GET", "/dashboard", NULL, NULL, 304, NULL, "If-None-Match: *"},
    {0},
};

static const struct step buyers_steps[] = {
    {"GET", "/livez", NULL, NULL, 200, NULL, NULL},
    {"HEAD", "/livez", NULL, NULL, 200, NULL, NULL},
    {"GET", "/readyz", NULL, NULL, 200, NULL, NULL},
    {"GET", "/version", NULL, NULL, 200, NULL, NULL},
    {"GET", "/metrics", NULL, NULL, 200, NULL, NULL},
    {"GET", "/openapi.json", NULL, NULL, 200, NULL, NULL},
    {"GET", "/problems/sold-out", NULL, NULL, 200, NULL, NULL},
    {"GET", "/problems/none", NULL, NULL, 404, "not-found", NULL},
    {"GET", "/problems/%2e%2e", NULL, NULL, 404, "not-found", NULL},
    {"GET", "/", NULL, NULL, 200, NULL, NULL},
    {"GET", "/", NULL, NULL, 304, NULL, "If-None-Match: *"},
    {"GET", "/assets/shared/api.js", NULL, NULL, 200, NULL, NULL},
    {"GET", "/assets/shared/base.css", NULL, NULL, 200, NULL, NULL},
    {"GET", "/assets/shared/icon.svg", NULL, NULL, 200, NULL, NULL},
    {"GET", "/assets/shared/icon.svg", NULL, NULL, 304, NULL, "If-None-Match: *"},
    {"GET", "/assets/shared/none.js", NULL, NULL, 404, "not-found", NULL},
    {"GET", "/api/v1/time", NULL, NULL, 200, NULL, NULL},
    {"GET", SALES, NULL, NULL, 200, NULL, NULL},
    {"GET", SALES "/cup", NULL, NULL, 200, NULL, NULL},
    {"GET", SALES "/far", NULL, NULL, 200, NULL, NULL},
    {"GET", SALES "/none", NULL, NULL, 404, "not-found", NULL},
    {"HEAD", SALES "/cup/events", NULL, NULL, 200, NULL, NULL},
    {"GET", SALES "/none/events", NULL, NULL, 404, "not-found", NULL},
    {"POST", SALES "/room/waiting-room", "anna", NULL, 200, NULL, NULL},
    {"POST", SALES "/cup/waiting-room", "anna", NULL, 404, "not-found", NULL},
    {"GET", SALES "/room/waiting-room", "anna", NULL, 200, NULL, NULL},
    {"GET", SALES "/cup/waiting-room", "anna", NULL, 200, NULL, NULL},
    {"POST", SALES "/room/orders", "anna", NULL, 403, "ticket-required", NULL},
    {"GET", SALES "/cup/orders/me", "anna", NULL, 404, "not-found", NULL},
    {"GET", SALES "/cup/orders/me", NULL, NULL, 401, "unauthenticated", NULL},
    {"POST", SALES "/cup/orders", NULL, NULL, 401, "unauthenticated", NULL},
    {"POST", SALES "/cup/orders", "anna", "{\"qty\":2}", 400, "invalid-request", NULL},
    {"POST", SALES "/cup/orders", "anna", "qty=1", 415, "unsupported-media-type", FORM},
    {"POST", SALES "/cup/orders", "anna", NULL, 201, NULL, "Idempotency-Key: k"},
    {"POST", SALES "/cup/orders", "anna", NULL, 201, NULL, "Idempotency-Key: k"},
    {"POST", SALES "/cup/orders", "anna", NULL, 409, "already-ordered", NULL},
    {"POST", SALES "/cup/orders", "bert", NULL, 409, "sold-out", NULL},
    {"POST", SALES "/far/orders", "bert", NULL, 409, "sale-not-started", NULL},
    {"POST", SALES "/over/orders", "bert", NULL, 410, "sale-ended", NULL},
    {"POST", SALES "/none/orders", "bert", NULL, 404, "not-found", NULL},
    {"GET", SALES "/cup/orders/me", "anna", NULL, 200, NULL, NULL},
    {"DELETE", SALES "/cup/orders/me", "anna", NULL, 409, "order-paid", NULL},
    {"DELETE", SALES "/lamp/orders/me", "anna", NULL, 404, "not-found", NULL},
    {"POST", SALES "/lamp/orders", "anna", NULL, 201, NULL, NULL},
    {"POST", SALES "/lamp/orders", "bert", NULL, 409, "sold-out", NULL},
    {"GET", SALES "/lamp", NULL, NULL, 200, NULL, NULL},
    {"GET", SALES "/lamp/orders/me", "anna", NULL, 200, NULL, NULL},
    {"POST", SALES "/lamp/orders/me/payment", "anna", NULL, 503, "payment-unavailable", NULL},
    {"POST", "/api/v1/payments/events", NULL, "{}", 503, "payment-unavailable", JSON},
    {"DELETE", SALES "/lamp/orders/me", "anna", NULL, 200, NULL, NULL},
    {"DELETE", SALES "/lamp/orders/me", "anna", NULL, 200, NULL, NULL},
    {"POST", SALES "/lamp/orders", "anna", NULL, 409, "order-cancelled", NULL},
    {0},
};

static const struct step lab_steps[] = {
    {"GET", LAB "/scenarios", NULL, NULL, 200, NULL, NULL},
    {"GET", LAB "/scenarios?lang=zh", NULL, NULL, 200, NULL, NULL},
    {"GET", LAB "/scenarios?lang=fr", NULL, NULL, 400, "invalid-request", NULL},
    {"GET", LAB "/guards", NULL, NULL, 200, NULL, NULL},
    {"GET", LAB "/guards/mutex/source", NULL, NULL, 200, NULL, NULL},
    {"GET", LAB "/guards/none-such/source", NULL, NULL, 404, "not-found", NULL},
    {"GET", LAB "/ways", NULL, NULL, 404, "not-found", NULL},
    {"GET", "/lab/errata", NULL, NULL, 200, NULL, NULL},
    {"GET", "/ways", NULL, NULL, 200, NULL, NULL},
    {"GET", "/lab", NULL, NULL, 200, NULL, NULL},
    {"GET", "/lab", NULL, NULL, 304, NULL, "If-None-Match: *"},
    {"POST", LAB "/scenarios/self-deadlock/runs", NULL, "", 200, NULL, JSON},
    {"POST", LAB "/scenarios/paused-process/runs?lang=zh", NULL, "{}", 200, NULL, NULL},
    {"POST", LAB "/scenarios/none/runs", NULL, "{}", 404, "not-found", NULL},
    {"POST", LAB "/scenarios/self-deadlock/runs", NULL, "a", 415, "unsupported-media-type", FORM},
    {"POST", LAB "/plays", NULL, "{\"guard\":\"none\",\"schedule\":\"ABA\"}", 200, NULL, NULL},
    {"POST", LAB "/plays", NULL, "{\"guard\":\"none\",\"schedule\":\"At\"}", 400, "bad-schedule",
     NULL},
    {"POST", LAB "/plays?lang=zh", NULL,
     "{\"guard\":\"setnx\",\"units\":2,\"actors\":1,\"schedule\":\"\"}", 200, NULL, NULL},
    {"POST", LAB "/explorations", NULL, "{\"guard\":\"setnx\"}", 200, NULL, NULL},
    {"POST", LAB "/explorations", NULL, "{\"guard\":\"mutex\",\"kinds\":\"ks\"}", 200, NULL, NULL},
    {"POST", LAB "/explorations", NULL, "{\"guard\":\"setnx\",\"events\":true}", 200, NULL, NULL},
    {"POST", LAB "/explorations", NULL, "{\"guard\":\"postgres\"}", 403, "forbidden", NULL},
    {"POST", LAB "/explorations", NULL, "{}", 400, "invalid-request", NULL},
    {"POST", LAB "/plays", NULL, "{\"guard\":\"none\"}", 400, "invalid-request", NULL},
    {"POST", LAB "/plays", NULL, "{\"guard\":\"redlock\",\"schedule\":\"A!2-2B\"}", 200, NULL,
     NULL},
    {"POST", LAB "/plays", NULL, "{\"guard\":\"postgres\",\"schedule\":\"A\"}", 403, "forbidden",
     NULL},
    {"PUT", LAB "/sales/still/guard", NULL, "{\"guard\":\"none\"}", 200, NULL, NULL},
    {"PUT", LAB "/sales/still/guard", NULL, "{\"guard\":\"redlock\"}", 403, "forbidden", NULL},
    {"PUT", LAB "/sales/still/guard", NULL, "{}", 400, "invalid-request", NULL},
    {"PUT", LAB "/sales/none/guard", NULL, "{\"guard\":\"none\"}", 404, "not-found", NULL},
    {0},
};

static const struct step later_steps[] = {
    {"GET", ADMIN "/still", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/cup/orders", NULL, NULL, 200, NULL, NULL},
    {"GET", ADMIN "/none/orders", NULL, NULL, 404, "not-found", NULL},
    {"POST", ADMIN "/cup/restock", NULL, "{\"units\":2}", 200, NULL, NULL},
    {"GET", ADMIN "/cup", NULL, NULL, 200, NULL, NULL}, /* with units that cool */
    {"POST", ADMIN "/still/pause", NULL, "", 200, NULL, NULL},
    {"GET", ADMIN "/cup/audit", NULL, NULL, 200, NULL, NULL},
    {0},
};

static void ask_as_strangers(struct fixture *self)
{
    struct app_call call = {.base = self->service.admin, .path = ADMIN};

    ask(self, &call, 401, "unauthenticated");
    call.token = "0123456789abcdef0123456789abcdef";
    ask(self, &call, 403, "forbidden");
}

/* As the learner of the only seat, and as the teacher. */
static void ask_the_class(struct fixture *self)
{
    static const char seats[] = LAB "/class/seats";
    static const char seat[] = LAB "/class/seat";
    static const char taken[] = "/api/v1/admin/class/seats";
    char cookie[128] = "Cookie: ";
    const char *const args[] = {"--redis", self->redis.redis, "--class", "1", NULL};

    ask_as_buyer(self, &(struct step){"GET", "/class", NULL, NULL, 404, "not-found", NULL});
    assert_int_equal(app_stop(&self->service), 0);
    assert_true(app_start(&self->service, self->dir, args));
    ask_as_buyer(self, &(struct step){"GET", "/class", NULL, NULL, 200, NULL, NULL});
    ask_as_buyer(self, &(struct step){"GET", seat, NULL, NULL, 404, "not-found", NULL});
    ask_as_buyer(self, &(struct step){"POST", seats, NULL, "{}", 400, "invalid-request", NULL});
    ask_as_buyer(self, &(struct step){"POST", seats, NULL, "{\"name\":\"ann\"}", 201, NULL, NULL});
    (void)sscanf(strstr(self->reply.headers, "seat="), "%100[^;]", cookie + strlen(cookie));
    ask_as_buyer(self,
                 &(struct step){"POST", seats, NULL, "{\"name\":\"bob\"}", 409, "conflict", NULL});
    ask_as_buyer(self, &(struct step){"GET", seat, NULL, NULL, 200, NULL, cookie});
    ask_as_buyer(self, &(struct step){"POST", LAB "/class/seat/sale", NULL, "{\"guard\":\"none\"}",
                                      201, NULL, cookie});
    ask_as_operator(self, &(struct step){"GET", "/classroom", NULL, NULL, 200, NULL, NULL});
    ask_as_operator(self, &(struct step){"GET", taken, NULL, NULL, 200, NULL, NULL});
    ask_as_operator(
        self, &(struct step){"DELETE", "/api/v1/admin/class/seats/1", NULL, NULL, 200, NULL, NULL});
    ask_as_operator(self, &(struct step){"DELETE", "/api/v1/admin/class/seats/1", NULL, NULL, 404,
                                         "not-found", NULL});
}

static size_t operations_of(const json_t *document)
{
    size_t count = 0;
    const char *path = NULL;
    json_t *item = NULL;

    json_object_foreach(json_object_get(document, "paths"), path, item)
    {
        count += json_object_size(item) - (json_object_get(item, "servers") != NULL);
    }
    return count;
}

TEST(every_answer_is_declared, struct fixture *self)
{
    ask_all(self, ask_as_operator, operators_steps);
    ask_all(self, ask_as_buyer, buyers_steps);
    ask_all(self, ask_as_buyer, lab_steps);
    ask_as_strangers(self);
    assert_true(app_hold_lock(self->redis.redis, "held", 60000));
    ask_as_buyer(self, &(struct step){"POST", SALES "/held/orders", "bert", NULL, 503,
                                      "lock-timeout", NULL});
    ask_all(self, ask_as_operator, later_steps);
    ask_as_buyer(self, &(struct step){"POST", SALES "/still/orders", "bert", NULL, 503,
                                      "sale-paused", NULL});
    ask_as_operator(self, &(struct step){"POST", ADMIN "/still/resume", NULL, "", 200, NULL, NULL});

    ask_the_class(self);
    assert_int_equal(self->answered_count, operations_of(self->document)); /* each was asked */
}

TEST(large_bodies_and_other_methods_are_declared, struct fixture *self)
{
    char body[5000];

    memset(body, ' ', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    ask_as_buyer(self, &(struct step){"POST", SALES "/cup/orders", "anna", body, 413,
                                      "payload-too-large", NULL});
    app_http(
        &(struct app_call){.method = "DELETE", .base = self->service.buyers, .path = SALES "/cup"},
        &self->reply);
    assert_true(app_is_problem(&self->reply, 405, "method-not-allowed"));
    assert_null(app_openapi_operation(self->document, "DELETE", SALES "/cup"));
}

TEST(too_many_requests_are_declared, struct fixture *self)
{
    static const struct step first = {"POST", SALES "/cup/orders", "anna", NULL,
                                      404,    "not-found",         NULL};
    static const struct step second = {"POST", SALES "/cup/orders", "anna", NULL,
                                       429,    "quota-exceeded",    NULL};

    assert_int_equal(app_stop(&self->service), 0);
    assert_true(start(self, "1:1"));
    ask_as_buyer(self, &first);
    ask_as_buyer(self, &second);
    assert_non_null(strstr(self->reply.headers, "\r\nRetry-After: "));
}

TEST(answers_without_a_store_are_declared, struct fixture *self)
{
    static const struct step steps[] = {
        {"GET", "/readyz", NULL, NULL, 503, NULL, NULL},
        {"GET", "/metrics", NULL, NULL, 200, NULL, NULL},
        {"GET", SALES, NULL, NULL, 503, "store-unavailable", NULL},
        {"GET", SALES "/cup", NULL, NULL, 503, "store-unavailable", NULL},
        {"GET", SALES "/cup/events", NULL, NULL, 503, "store-unavailable", NULL},
        {"GET", "/api/v1/time", NULL, NULL, 503, "store-unavailable", NULL},
        {"POST", SALES "/cup/orders", "anna", NULL, 503, "store-unavailable", NULL},
        {"GET", SALES "/cup/orders/me", "anna", NULL, 503, "store-unavailable", NULL},
        {0},
    };
    static const struct step admin[] = {
        {"GET", ADMIN, NULL, NULL, 503, "store-unavailable", NULL},
        {"POST", ADMIN "/cup/end", NULL, "", 503, "store-unavailable", NULL},
        {"GET", ADMIN "/cup/audit", NULL, NULL, 503, "store-unavailable", NULL},
        {0},
    };

    app_kill(&self->redis);
    ask_all(self, ask_as_buyer, steps);
    ask_all(self, ask_as_operator, admin);
}
