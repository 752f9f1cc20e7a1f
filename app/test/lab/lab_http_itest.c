/*
 * The lab over HTTP, on a real service: scenarios are listed and played as the command plays them, one
 * at a time; what is not taken is named; without --lab there is nothing; and whatever ends the service
 * leaves nothing of the lab behind. (The switch of a sale's guard: lab_guard_itest.c.)
 */
#include <pthread.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/served/guard_sources.h"
#include "test/support/app_lab.h"
#include "test/support/app_stream.h"
#include "test/support/testing.h"

#define LAB         "/api/v1/lab"
#define ADMIN_SALES "/api/v1/admin/sales"
#define RUNS(name)  LAB "/scenarios/" name "/runs"

enum { PATIENCE_MS = 20000, PROMPT_MS = 10000, OUT_SIZE = 1 << 18 };

/* ---- lists --------------------------------------------------------------------------------------- */

static void assert_listed(struct app_lab *self, const char *path, enum lab_language language)
{
    size_t count = 0;

    assert_int_equal(app_lab_ask(self, NULL, path, NULL), 200);
    json_t *root = app_lab_body(self);
    const json_t *list = json_object_get(root, "scenarios");

    for (; scenarios_at(count); count++) {
        const struct lab_scenario *scenario = scenarios_at(count);
        const json_t *one = json_array_get(list, count);

        assert_string_equal(app_lab_text(one, "name"), scenario->name);
        assert_string_equal(app_lab_text(one, "number"), scenario->number);
        assert_string_equal(app_lab_text(one, "title"), lab_text_in(scenario->title, language));
        assert_ptr_equal(
            strstr(lab_text_in(scenario->lesson, language), app_lab_text(one, "lesson")),
            lab_text_in(scenario->lesson, language));
    }
    assert_int_equal(json_array_size(list), count);
    json_decref(root);
}

TEST(scenarios_are_listed_in_both_languages, struct app_lab *self)
{
    assert_listed(self, LAB "/scenarios", LAB_ENGLISH);
    assert_listed(self, LAB "/scenarios?lang=en", LAB_ENGLISH);
    assert_listed(self, LAB "/scenarios?lang=zh", LAB_CHINESE);
    assert_non_null(strstr(self->reply.headers, "Content-Type: application/json\r\n"));
    assert_int_equal(app_lab_ask(self, "HEAD", LAB "/scenarios", NULL), 200);
    (void)app_lab_ask(self, NULL, LAB "/scenarios?lang=fr", NULL);
    assert_true(app_is_problem(&self->reply, 400, "invalid-request"));
    assert_string_equal(app_member(&self->reply, "field"), "lang");
    assert_true(app_lab_is_gone(self->labs)); /* nothing was played */
}

TEST(guards_are_listed_with_the_one_in_use, struct app_lab *self)
{
    assert_int_equal(app_lab_ask(self, NULL, LAB "/guards", NULL), 200);
    json_t *root = app_lab_body(self);
    size_t count = 0;

    while (guards_at(count))
        count++;
    assert_string_equal(app_lab_text(root, "default"), "mutex");
    assert_int_equal(json_array_size(json_object_get(root, "guards")), count);
    json_decref(root);
}

TEST(the_source_of_a_guard_is_the_one_that_was_built, struct app_lab *self)
{
    bool is_known = false;
    char *text = NULL;

    for (size_t i = 0; guards_at(i); i++) {
        char path[96];

        (void)snprintf(path, sizeof path, LAB "/guards/%s/source", guards_at(i)->name);
        text = guard_sources_text(guards_at(i)->name, &is_known);
        assert_non_null(text);
        assert_int_equal(app_lab_ask(self, NULL, path, NULL), 200);
        assert_non_null(
            strstr(self->reply.headers, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
        assert_memory_equal(self->reply.body, text, self->reply.len);
        assert_true(self->reply.len > 1000);
        free(text);
    }
    assert_int_equal(app_lab_ask(self, "HEAD", LAB "/guards/mutex/source", NULL), 200);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

/* "kept" when it breaks nothing. */
TEST(runs_come_to_their_verdicts, struct app_lab *self)
{
    static const struct {
        const char *path;
        const char *broken;
    } table[] = {
        {RUNS("thread-lock"), "oversold"},    {RUNS("setnx-crash"), "stuck"},
        {RUNS("paused-process"), "oversold"}, {RUNS("atomic-release"), "kept"},
        {RUNS("self-deadlock"), "deadlock"},  {RUNS("two-clicks"), "two-orders"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (app_lab_ask(self, "POST", table[i].path, "{}") != 200)
            fail_msg("%s: %s", table[i].path, self->reply.body);
        json_t *root = app_lab_body(self);
        const json_t *verdict = json_object_get(root, "verdict");
        const json_t *first = json_array_get(json_object_get(verdict, "broken"), 0);

        assert_true(json_is_true(json_object_get(verdict, "isExpected")));
        assert_string_equal(first ? app_lab_text(first, "promise") : "kept", table[i].broken);
        json_decref(root);
    }
    assert_int_equal(app_lab_processes(self->labs), 1); /* one Redis for all */
    assert_int_equal(app_ask_redis(self->redis.redis, "EXISTS", "seckill:{lamp}:sale"), 0);
}

TEST(a_run_is_what_the_command_tells, struct app_lab *self)
{
    static const char *const names[] = {"lost-update", "paused-process", "late-pipeline",
                                        "empty-restart"};
    enum { PAIRS = 8 }; /* each in both languages */
    static const char *const languages[] = {"en", "zh"};
    char *out = malloc(OUT_SIZE);

    assert_non_null(out);
    for (size_t i = 0; i < PAIRS; i++) {
        const char *const args[] = {
            "lab", "run", names[i / 2], "--json", "--lang", languages[i % 2], NULL};
        char path[96];
        bool is_same = false;

        (void)snprintf(path, sizeof path, LAB "/scenarios/%s/runs?lang=%s", names[i / 2],
                       languages[i % 2]);
        for (int n = 0; n < APP_LAB_TRIES && !is_same; n++) {
            assert_int_equal(app_lab_ask(self, "POST", path, "{}"), 200);
            int status = app_run("seckillctl", args, out, OUT_SIZE);
            out[strcspn(out, "\n")] = '\0';
            is_same = status == 0 && strcmp(self->reply.body, out) == 0;
        }
        if (!is_same) fail_msg("%s\n%s", self->reply.body, out);
    }
    free(out);
}

/* The next choice, and the one before: nothing is kept between two plays. */
TEST(a_play_by_a_schedule_is_what_the_command_tells, struct app_lab *self)
{
    static const char *const schedules[] = {"", "A", "AAtBBAB", "AAt", "A"};
    char *out = malloc(OUT_SIZE);
    char body[96];

    assert_non_null(out);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        const char *const args[] = {"lab",        "play", "mutex-unchecked", "--json", "--schedule",
                                    schedules[i], NULL};

        (void)snprintf(body, sizeof body, "{\"guard\":\"mutex-unchecked\",\"schedule\":\"%s\"}",
                       schedules[i]);
        if (app_lab_ask(self, "POST", LAB "/plays", body) != 200) fail_msg("%s", self->reply.body);
        assert_int_equal(app_run("seckillctl", args, out, OUT_SIZE), 0);
        out[strcspn(out, "\n")] = '\0';
        assert_string_equal(self->reply.body, out);
    }
    assert_int_equal(
        app_lab_ask(self, "POST", LAB "/plays", "{\"guard\":\"setnx\",\"schedule\":\"At\"}"), 400);
    assert_non_null(strstr(self->reply.body, "\"at\":1,\"choices\":[\"A\",\"B\",\"a\""));
    free(out);
}

TEST(a_search_finds_what_the_command_finds, struct app_lab *self)
{
    static const struct {
        const char *body, *found;
    } table[] = {
        {"{\"guard\":\"set-del\"}", "\"schedule\":\"AAAtBA\",\"length\":6,\"faults\":1,"},
        {"{\"guard\":\"no-rollback\",\"faults\":0}", "\"promise\":\"unit-gone\""},
        {"{\"guard\":\"mutex\"}", "\"verdict\":\"none\",\"finished\":true"},
        {"{\"guard\":\"watchdog-unchecked\",\"kinds\":\"tp\",\"actors\":4,\"seconds\":1}",
         "\"unfinished\""},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(app_lab_ask(self, "POST", LAB "/explorations", table[i].body), 200);
        if (!strstr(self->reply.body, table[i].found)) fail_msg("%s", self->reply.body);
    }
}

/* A search that takes all its time. */
#define LONG_SEARCH "\"guard\":\"watchdog-unchecked\",\"kinds\":\"tp\",\"actors\":4,\"seconds\":"

static bool begin_search(const struct app_lab *self, const char *body, struct app_stream *out)
{
    char request[512];

    (void)snprintf(request, sizeof request,
                   "POST " LAB "/explorations HTTP/1.1\r\nHost: here\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    return app_stream_ask(out, self->service.buyers, request);
}

TEST(a_search_tells_how_far_it_is, struct app_lab *self)
{
    static struct app_stream stream;
    struct app_event event = {.kind = ""};
    long long plays = 0;
    int told = 0;

    assert_true(begin_search(self, "{" LONG_SEARCH "2,\"events\":true}", &stream));
    assert_non_null(strstr(stream.head, "Content-Type: text/event-stream\r\n"));
    while (app_stream_next(&stream, &event, APP_LAB_RUN_MS) &&
           strcmp(event.kind, "progress") == 0) {
        assert_true(app_event_number(&event, "depth") >= 1);
        assert_true(app_event_number(&event, "states") >= 1);
        assert_true(app_event_number(&event, "plays") >= plays);
        plays = app_event_number(&event, "plays");
        told++;
    }
    assert_in_range(told, 2, 11); /* a machine may stand still */
    assert_true(plays > 1);
    assert_string_equal(event.kind, "found");
    assert_non_null(strstr(event.data, "\"verdict\":\"unfinished\""));
    assert_true(app_stream_ends(&stream, APP_LAB_RUN_MS));
    app_stream_close(&stream);
    assert_true(begin_search(self, "{\"guard\":\"set-del\",\"events\":true}", &stream));
    assert_true(app_stream_find(&stream, "found", &event, APP_LAB_RUN_MS));
    assert_non_null(strstr(event.data, "\"schedule\":\"AAAtBA\""));
    app_stream_close(&stream);
}

static bool plays_again(void *arg)
{
    return app_lab_ask(arg, "POST", RUNS("self-deadlock"), "{}") == 200;
}

TEST(a_search_ends_with_who_asked, struct app_lab *self)
{
    enum { SOON_MS = 4000 }; /* a search of 5 s, from its begin */
    static struct app_stream stream;
    struct app_event event;
    int64_t began_ms = clock_mono_ms();

    assert_true(begin_search(self, "{" LONG_SEARCH "5,\"events\":true}", &stream));
    assert_true(app_stream_find(&stream, "progress", &event, APP_LAB_RUN_MS));
    assert_int_equal(app_lab_ask(self, "POST", LAB "/explorations", "{\"guard\":\"none\"}"), 503);
    app_stream_close(&stream);
    assert_true(app_eventually(plays_again, self, SOON_MS + began_ms - clock_mono_ms()));
    assert_false(begin_search(self, "{\"guard\":\"x\",\"events\":true}", &stream));
    assert_int_equal(stream.status, 400);
}

struct visitor {
    pthread_t thread;
    const struct app_process *service;
    struct app_reply reply;
};

static void *visit(void *arg)
{
    struct visitor *self = arg;

    app_http(&(struct app_call){.method = "POST",
                                .base = self->service->buyers,
                                .path = RUNS("watchdog"), /* seconds */
                                .body = "{}",
                                .limit_ms = APP_LAB_RUN_MS},
             &self->reply);
    return NULL;
}

TEST(a_second_run_is_refused_while_one_plays, struct app_lab *self)
{
    enum { VISITORS = 6 };
    struct visitor *visitors = calloc(VISITORS, sizeof *visitors);
    unsigned played = 0;
    unsigned refused = 0;

    assert_non_null(visitors);
    for (int i = 0; i < VISITORS; i++) {
        visitors[i].service = &self->service;
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
    }
    for (int i = 0; i < VISITORS; i++) {
        assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
        played += visitors[i].reply.status == 200;
        if (!app_is_problem(&visitors[i].reply, 503, "lab-busy")) continue;
        refused += strstr(visitors[i].reply.headers, "\r\nRetry-After: 1\r\n") != NULL;
    }
    free(visitors);
    assert_true(played >= 1);
    assert_true(refused >= 1);
    assert_int_equal(played + refused, VISITORS);
    assert_int_equal(app_lab_ask(self, "POST", RUNS("thread-lock"), "{}"), 200);
}

/* ---- what is not taken --------------------------------------------------------------------------- */

static const struct {
    const char *method, *path, *body, *header;
    long status;
    const char *problem, *detail; /* detail: the field, or the methods that are allowed */
} refusals[] = {
    {"POST", RUNS("nope"), "{}", NULL, 404, "not-found", "name"},
    {"POST", RUNS("Thread-Lock"), "{}", NULL, 404, "not-found", "name"},
    {"POST", RUNS("%2e%2e"), "{}", NULL, 404, "not-found", "name"},
    {"POST", RUNS("thread-lock") "?lang=", "{}", NULL, 400, "invalid-request", "lang"},
    {"POST", RUNS("thread-lock"), "{\"lang\":\"en\"}", NULL, 400, "invalid-request", "lang"},
    {"POST", RUNS("thread-lock"), "[]", NULL, 400, "invalid-request", "body"},
    {"POST", RUNS("thread-lock"), "", "Accept: */*", 415, "unsupported-media-type", "Content-Type"},
    {"POST", RUNS("thread-lock"), NULL, NULL, 415, "unsupported-media-type", "Content-Type"},
    {"POST", RUNS("thread-lock"), "x", "Content-Type: text/plain", 415, "unsupported-media-type",
     "Content-Type"},
    {"GET", RUNS("thread-lock"), NULL, NULL, 405, "method-not-allowed", "Allow: POST\r\n"},
    {"POST", LAB "/scenarios", "{}", NULL, 405, "method-not-allowed", "Allow: GET, HEAD\r\n"},
    {"POST", LAB "/sales/cup/guard", "{}", NULL, 405, "method-not-allowed", "Allow: PUT\r\n"},
    {"GET", LAB "/plays", NULL, NULL, 405, "method-not-allowed", "Allow: POST\r\n"},
    {"POST", LAB "/plays", "{\"guard\":\"none\"}", NULL, 400, "invalid-request", "schedule"},
    {"POST", LAB "/plays", "{\"guard\":\"x\",\"schedule\":\"\"}", NULL, 400, "invalid-request",
     "guard"},
    {"POST", LAB "/plays", "{\"guard\":\"none\",\"schedule\":1}", NULL, 400, "invalid-request",
     "schedule"},
    {"POST", LAB "/plays", "{\"guard\":\"none\",\"schedule\":\"\",\"actors\":5}", NULL, 400,
     "invalid-request", "actors"},
    {"POST", LAB "/plays", "{\"guard\":\"none\",\"schedule\":\"\",\"units\":0}", NULL, 400,
     "invalid-request", "units"},
    {"POST", LAB "/plays", "{\"guard\":\"zookeeper\",\"schedule\":\"\"}", NULL, 403, "forbidden",
     "guard"},
    {"GET", LAB "/explorations", NULL, NULL, 405, "method-not-allowed", "Allow: POST\r\n"},
    {"POST", LAB "/explorations", "{\"guard\":\"x\"}", NULL, 400, "invalid-request", "guard"},
    {"POST", LAB "/explorations", "{\"guard\":\"none\",\"seconds\":6}", NULL, 400,
     "invalid-request", "seconds"},
    {"POST", LAB "/explorations", "{\"guard\":\"none\",\"faults\":3}", NULL, 400, "invalid-request",
     "faults"},
    {"POST", LAB "/explorations", "{\"guard\":\"none\",\"kinds\":\"tx\"}", NULL, 400,
     "invalid-request", "kinds"},
    {"POST", LAB "/explorations", "{\"guard\":\"none\",\"events\":1}", NULL, 400, "invalid-request",
     "events"},
    {"GET", LAB "/guards/nope/source", NULL, NULL, 404, "not-found", "name"},
    {"GET", LAB "/guards/by_hand.c/source", NULL, NULL, 404, "not-found", "name"},
    {"GET", LAB "/guards/%2e%2e/source", NULL, NULL, 404, "not-found", "name"},
    {"PUT", LAB "/guards/mutex/source", "{}", NULL, 405, "method-not-allowed",
     "Allow: GET, HEAD\r\n"},
    {"POST", "/lab", "{}", NULL, 405, "method-not-allowed", "Allow: GET, HEAD\r\n"},
    {"PUT", LAB "/sales/cup/guard", "{}", NULL, 400, "invalid-request", "guard"},
    {"PUT", LAB "/sales/cup/guard", NULL, NULL, 400, "invalid-request", "body"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":\"nope\"}", NULL, 400, "invalid-request", "guard"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":1}", NULL, 400, "invalid-request", "guard"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":null}", NULL, 400, "invalid-request", "guard"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":\"none\",\"guard\":\"none\"}", NULL, 400,
     "invalid-request", "guard"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":\"none\",\"for\":1}", NULL, 400, "invalid-request",
     "for"},
    {"PUT", LAB "/sales/cup/guard", "guard=none", "Content-Type: text/plain", 415,
     "unsupported-media-type", "Content-Type"},
    {"PUT", LAB "/sales/cup/guard", "{\"guard\":\"redlock\"}", NULL, 403, "forbidden", "guard"},
    {"PUT", LAB "/sales/CUP/guard", "{\"guard\":\"none\"}", NULL, 400, "invalid-request", "id"},
    {"PUT", LAB "/sales/nothing/guard", "{\"guard\":\"none\"}", NULL, 404, "not-found", ""},
};

TEST(what_is_not_taken_is_named_and_does_nothing, struct app_lab *self)
{
    app_lab_put_up(self, "cup", 5);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        app_http(&(struct app_call){.method = refusals[i].method,
                                    .base = self->service.buyers,
                                    .path = refusals[i].path,
                                    .body = refusals[i].body,
                                    .headers = {refusals[i].header}},
                 &self->reply);
        if (!app_is_problem(&self->reply, refusals[i].status, refusals[i].problem))
            fail_msg("%zu: %s %s: %s", i, refusals[i].method, refusals[i].path, self->reply.body);
        if (refusals[i].status == 405) {
            assert_non_null(strstr(self->reply.headers, refusals[i].detail));
        } else {
            assert_string_equal(app_member(&self->reply, "field"), refusals[i].detail);
        }
    }
    app_http(&(struct app_call){.base = self->service.admin,
                                .path = ADMIN_SALES "/cup",
                                .token = app_token(self->dir)},
             &self->reply);
    assert_null(strstr(self->reply.body, "guardHere"));
    assert_true(app_lab_is_gone(self->labs));
}

TEST_WITH(without_lab_there_is_nothing, app_lab_prepare, app_lab_tear_down)
{
    static const struct {
        const char *method, *path, *body;
    } calls[] = {
        {"GET", LAB "/scenarios", NULL},
        {"HEAD", LAB "/scenarios", NULL},
        {"GET", LAB "/guards", NULL},
        {"GET", LAB "/guards/mutex/source", NULL},
        {"GET", "/lab", NULL},
        {"POST", RUNS("thread-lock"), "{}"},
        {"POST", LAB "/plays", "{}"},
        {"POST", LAB "/explorations", "{}"},
        {"PUT", LAB "/sales/cup/guard", "{\"guard\":\"none\"}"},
        {"PUT", LAB "/sales/CUP/guard", "{\"guard\":\"none\"}"},
        {"DELETE", LAB "/guards", NULL},
    };
    struct app_lab *self = *state;
    char before[512];

    assert_true(app_lab_start(self, &self->service, "no-lab", NULL));
    app_lab_put_up(self, "cup", 5);
    assert_int_equal(app_lab_ask(self, "GET", "/nothing", NULL), 404);
    (void)snprintf(before, sizeof before, "%.500s", self->reply.body);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_int_equal(app_lab_ask(self, calls[i].method, calls[i].path, calls[i].body), 404);
        if (strcmp(calls[i].method, "HEAD") != 0) assert_string_equal(self->reply.body, before);
    }
    assert_true(app_lab_is_gone(self->labs));
}

TEST(the_operators_port_has_no_lab, struct app_lab *self)
{
    app_http(&(struct app_call){.base = self->service.admin,
                                .path = LAB "/scenarios",
                                .token = app_token(self->dir)},
             &self->reply);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
}

TEST_WITH(without_a_redis_server_it_says_what_to_do, app_lab_prepare, app_lab_tear_down)
{
    struct app_lab *self = *state;
    char usual[2048];

    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    (void)snprintf(usual, sizeof usual, "%s", getenv("PATH"));
    assert_int_equal(setenv("PATH", self->labs, 1), 0);
    bool is_up = app_lab_start(self, &self->service, NULL, NULL);
    assert_int_equal(setenv("PATH", usual, 1), 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
    assert_true(is_up);
    for (int i = 0; i < 2; i++) { /* it stays able to say so */
        (void)app_lab_ask(self, "POST", RUNS("thread-lock"), "{}");
        assert_true(app_is_problem(&self->reply, 503, "lab-unavailable"));
        assert_non_null(strstr(app_member(&self->reply, "detail"), "Is redis-server installed"));
    }
    assert_int_equal(app_lab_ask(self, NULL, LAB "/scenarios", NULL), 200);
}

/* ---- ends ---------------------------------------------------------------------------------------- */

TEST(a_stop_in_the_middle_of_a_run_leaves_nothing_behind, struct app_lab *self)
{
    struct visitor *visitor = calloc(1, sizeof *visitor);

    assert_non_null(visitor);
    visitor->service = &self->service;
    assert_int_equal(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
    assert_true(app_eventually(app_lab_is_open, self->labs, PATIENCE_MS));
    int64_t began_ms = clock_mono_ms();
    assert_int_equal(app_stop(&self->service), 0);
    assert_true(clock_mono_ms() - began_ms < PROMPT_MS);
    assert_true(app_lab_is_gone(self->labs));
    assert_int_equal(pthread_join(visitor->thread, NULL), 0);
    assert_true(app_is_problem(&visitor->reply, 503, "lab-unavailable"));
    free(visitor);
}

static bool no_process_is_left(void *labs)
{
    return app_lab_processes(labs) == 0;
}

TEST(a_kill_in_the_middle_of_a_run_leaves_no_process, struct app_lab *self)
{
    struct visitor *visitor = calloc(1, sizeof *visitor);

    assert_non_null(visitor);
    visitor->service = &self->service;
    assert_int_equal(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
    assert_true(app_eventually(app_lab_is_open, self->labs, PATIENCE_MS));
    app_kill(&self->service);
    assert_true(app_eventually(no_process_is_left, self->labs, PATIENCE_MS));
    assert_int_equal(pthread_join(visitor->thread, NULL), 0);
    free(visitor);
    app_folder_remove(self->labs); /* nobody was left to do that */
}

FIXTURE(app_lab_set_up, app_lab_tear_down);
