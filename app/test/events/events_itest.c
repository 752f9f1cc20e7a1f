/*
 * Streams of events of a real service: what they tell and when, how a client comes back, who gets a
 * place, and what ends them.
 */
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "test/support/app_stream.h"

enum {
    STREAMS = 3,
    CONNECTIONS = 4,
    WAIT_MS = 10000,
    QUIET_MS = 300,
    BURST = 60,
    STREAM_END_MS = 4000, /* less than the 5300 after which a stop cuts off */
};

#define CUPS "{\"id\":\"cup\",\"stock\":100000}"

static const char *const places[] = {"--connections", "4", "--streams", "3", NULL};
static struct app_stream streams[STREAMS + 1];
static struct app_event event;

static bool put_up(struct app_fixture *self, const char *body)
{
    return app_create_sale(&self->service, self->dir, body);
}

SET_UP(struct app_fixture, self)
{
    for (size_t i = 0; i <= STREAMS; i++)
        streams[i].fd = -1;
    app_fixture_begin(self);
    app_fixture_start(self, places, NULL);
    assert_true(put_up(self, CUPS));
}

TEAR_DOWN(struct app_fixture, self)
{
    for (size_t i = 0; i <= STREAMS; i++)
        app_stream_close(&streams[i]);
    (void)app_fixture_end(self);
}

/* ---- what tests do ----------------------------------------------------------------------------- */

static void expect(struct app_fixture *self, const char *kind, const char *data)
{
    assert_true(app_stream_next(&streams[0], &event, WAIT_MS));
    assert_string_equal(event.kind, kind);
    if (data) assert_string_equal(event.data, data);
    (void)self;
}

/* Of a sale of which nobody has bought: how a stream begins. */
static struct app_stream *open_stream(struct app_fixture *self)
{
    assert_true(app_stream_open(&streams[0], self->service.buyers, "cup"));
    expect(self, "retry", "2000");
    expect(self, "snapshot", NULL);
    assert_non_null(strstr(event.data, "\"id\":\"cup\""));
    assert_non_null(strstr(event.data, "\"state\":\"active\""));
    assert_null(strstr(event.data, "guard")); /* the buyers' view */
    assert_int_equal(app_event_number(&event, "remaining"), 100000);
    expect(self, "orders", "{\"orders\":0}");
    return &streams[0];
}

/* It ends with its service. */
static void expect_no_more(struct app_fixture *self)
{
    assert_int_equal(app_stop(&self->service), 0);
    assert_false(app_stream_next(&streams[0], &event, WAIT_MS));
}

static void buy(struct app_fixture *self, const char *user)
{
    assert_int_equal(app_order(self, "cup", user, NULL), 201);
}

static void operate(struct app_fixture *self, const char *step, const char *body)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/api/v1/admin/sales/cup/%s", step);
    assert_int_equal(app_operate(self, "POST", path, body), 200);
}

static bool nobody_watches(void *arg)
{
    return app_metric(arg, "seckill_sse_clients") == 0;
}

static bool three_are_counted(void *arg)
{
    return app_metric(arg, "seckill_sse_events_total{event=\"orders\"}") == 4;
}

/* Write `count` entries into the ledger of cups, as if it was patched so often. */
static void flood_ledger(const char *url, size_t count)
{
    const struct lk_bytes add[] = {LK_BYTES("XADD"), LK_BYTES("seckill:{cup}:ledger"),
                                   LK_BYTES("*"), LK_BYTES("event"), LK_BYTES("patched")};
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    const struct lk_command command = {add, 5};
    lk_reply *reply = NULL;

    assert_non_null(client);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lk_client_call(client, &command, 1, WAIT_MS, &reply, NULL), LK_OK);
        lk_reply_free(reply);
    }
    lk_client_close(client);
}

/* ---- what is told ------------------------------------------------------------------------------ */

TEST(a_stream_begins_with_a_snapshot_and_tells_each_purchase, struct app_fixture *self)
{
    static const char *const headers[] = {
        "Content-Type: text/event-stream\r\n", "Cache-Control: no-cache, no-transform\r\n",
        "X-Accel-Buffering: no\r\n", "X-Content-Type-Options: nosniff\r\n"};
    struct app_stream *stream = open_stream(self);

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        assert_non_null(strstr(stream->head, headers[i]));

    for (int i = 1; i <= 3; i++) {
        char user[16];
        char data[40];

        (void)snprintf(user, sizeof user, "buyer-%d", i);
        buy(self, user);
        (void)snprintf(data, sizeof data, "{\"orders\":%d}", i);
        expect(self, "orders", data);
        (void)snprintf(data, sizeof data, "{\"remaining\":%d}", 100000 - i);
        expect(self, "stock", data);
    }
    assert_true(app_eventually(three_are_counted, self, WAIT_MS)); /* just after they are told */
    assert_true(app_metric(self, "seckill_sse_clients") == 1);
    assert_true(app_metric(self, "seckill_sse_events_total{event=\"snapshot\"}") == 1);
    assert_true(app_metric(self, "seckill_sse_events_total{event=\"stock\"}") == 3);
    assert_true(app_metric(self, "seckill_sse_events_total{event=\"state\"}") == 0);
    expect_no_more(self);
}

TEST(other_requests_are_answered_at_once, struct app_fixture *self)
{
    static const struct {
        const char *method, *path;
        long status;
        const char *has;
    } cases[] = {
        {"HEAD", "/api/v1/sales/cup/events", 200, "Content-Type: text/event-stream\r\n"},
        {"HEAD", "/api/v1/sales/mug/events", 404, ""},
        {"GET", "/api/v1/sales/mug/events", 404, "application/problem+json"},
        {"GET", "/api/v1/sales/CUP/events", 400, "application/problem+json"},
        {"POST", "/api/v1/sales/cup/events", 405, "Allow: GET, HEAD\r\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        app_http(&(struct app_call){.method = cases[i].method,
                                    .base = self->service.buyers,
                                    .path = cases[i].path},
                 &self->reply);
        assert_int_equal(self->reply.status, cases[i].status);
        assert_non_null(strstr(self->reply.headers, cases[i].has));
    }
    assert_true(app_metric(self, "seckill_sse_clients") == 0);
}

TEST(what_operators_do_and_the_clock_does_is_told, struct app_fixture *self)
{
    (void)open_stream(self);
    operate(self, "pause", NULL);
    expect(self, "state", "{\"state\":\"paused\",\"because\":\"paused\"}");
    operate(self, "resume", NULL);
    expect(self, "state", "{\"state\":\"active\",\"because\":\"resumed\"}");
    operate(self, "restock", "{\"units\":5}");
    expect(self, "state", "{\"state\":\"active\",\"because\":\"restocked\"}");
    expect(self, "stock", "{\"remaining\":100005}"); /* nobody has bought: the clock has done it */
    operate(self, "end", NULL);
    expect(self, "state", "{\"state\":\"ended\",\"because\":\"ended\"}");
    expect_no_more(self);
}

TEST(the_last_unit_and_the_end_of_the_window_are_told, struct app_fixture *self)
{
    char body[128];
    time_t ends_s = (time_t)(clock_unix_ms() / 1000 + 3);
    struct tm ends;

    assert_non_null(gmtime_r(&ends_s, &ends));
    assert_true(strftime(body, sizeof body,
                         "{\"id\":\"one\",\"stock\":1,\"endsAt\":\"%Y-%m-%dT%H:%M:%SZ\"}",
                         &ends) > 0);
    assert_true(put_up(self, body));
    assert_true(app_stream_open(&streams[0], self->service.buyers, "one"));
    expect(self, "retry", NULL);
    expect(self, "snapshot", NULL);
    expect(self, "orders", "{\"orders\":0}");
    assert_int_equal(app_buy(self->service.buyers, "one", "anna", NULL, &self->reply), 201);
    expect(self, "state", "{\"state\":\"sold_out\",\"because\":\"sold\"}");
    expect(self, "orders", "{\"orders\":1}");
    expect(self, "stock", "{\"remaining\":0}");
    expect(self, "state", "{\"state\":\"ended\",\"because\":\"clock\"}");
    assert_true(clock_unix_ms() >= (int64_t)ends_s * 1000);
}

/* How often is events_test.c's; here: rarer than purchases, always less, and the last word is the truth. */
TEST(a_burst_is_told_in_few_events, struct app_fixture *self)
{
    struct app_stream *stream = open_stream(self);
    long long left = 100001;
    long long orders = 0;
    int told = 0;

    for (int i = 0; i < BURST; i++) {
        char user[16];

        (void)snprintf(user, sizeof user, "buyer-%d", i);
        buy(self, user);
    }
    while (left > 100000 - BURST) {
        assert_true(app_stream_next(stream, &event, WAIT_MS));
        if (strcmp(event.kind, "orders") == 0) orders = app_event_number(&event, "orders");
        if (strcmp(event.kind, "stock") != 0) continue;
        assert_true(app_event_number(&event, "remaining") < left);
        left = app_event_number(&event, "remaining");
        told++;
    }
    assert_int_equal(left, 100000 - BURST);
    assert_int_equal(orders, BURST);
    assert_true(told < BURST);
}

/* ---- coming back ------------------------------------------------------------------------------- */

/* What happened meanwhile is in the snapshot; of an id that an older version gave nothing is made. */
TEST(who_comes_back_gets_a_snapshot_from_any_instance, struct app_fixture *self)
{
    const char *args[] = {"--redis", self->service.redis, NULL};

    assert_true(app_start(&self->other, self->dir, args));
    (void)open_stream(self);
    app_stream_close(&streams[0]);
    buy(self, "anna");
    operate(self, "pause", NULL);
    operate(self, "resume", NULL);
    assert_true(app_stream_ask(&streams[0], self->other.buyers,
                               "GET /api/v1/sales/cup/events HTTP/1.1\r\nHost: here\r\n"
                               "Last-Event-ID: 1-1\r\n\r\n"));
    expect(self, "retry", NULL);
    expect(self, "snapshot", NULL);
    assert_int_equal(app_event_number(&event, "remaining"), 99999);
    expect(self, "orders", "{\"orders\":1}");
    buy(self, "bert");
    expect(self, "orders", "{\"orders\":2}");
    expect(self, "stock", "{\"remaining\":99998}");
}

/* ---- places ------------------------------------------------------------------------------------ */

static bool gets_a_stream(void *arg)
{
    struct app_fixture *self = arg;

    return app_stream_open(&streams[STREAMS], self->service.buyers, "cup");
}

TEST(more_streams_than_places_are_refused, struct app_fixture *self)
{
    for (size_t i = 0; i < STREAMS; i++)
        assert_true(app_stream_open(&streams[i], self->service.buyers, "cup"));
    (void)app_get(self, self->service.buyers, "/api/v1/sales/cup/events");
    assert_true(app_is_problem(&self->reply, 503, "overloaded"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    assert_true(app_metric(self, "seckill_sse_clients") == STREAMS);
    assert_true(app_metric(self, "seckill_sse_dropped_total{reason=\"full\"}") == 1);
    buy(self, "anna"); /* who buys is not in their way */

    app_stream_close(&streams[1]);
    assert_true(app_eventually(gets_a_stream, self, WAIT_MS));
}

TEST(streams_take_no_turns_from_buyers, struct app_fixture *self)
{
    static const char get[] = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";
    int fds[CONNECTIONS];
    char out[1024];

    for (size_t i = 0; i < STREAMS; i++)
        assert_true(app_stream_open(&streams[i], self->service.buyers, "cup"));
    for (size_t i = 0; i < CONNECTIONS; i++)
        fds[i] = app_connect(self->service.buyers);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < CONNECTIONS; i++) {
            assert_true(app_send(fds[i], get, sizeof get - 1));
            (void)app_receive(fds[i], out, sizeof out, "ok\n", WAIT_MS);
            assert_non_null(strstr(out, "Connection: keep-alive\r\n"));
        }
        clock_pause_ms(QUIET_MS); /* more than a fair share while others wait */
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        (void)close(fds[i]);
}

static bool slow_stream_is_dropped(void *arg)
{
    struct app_fixture *self = arg;

    flood_ledger(self->service.redis, 30);
    clock_pause_ms(40); /* so that it is told, rather than skipped */
    return app_metric(self, "seckill_sse_dropped_total{reason=\"slow\"}") == 1;
}

TEST(a_client_that_does_not_read_is_dropped, struct app_fixture *self)
{
    static const char get[] = "GET /api/v1/sales/cup/events HTTP/1.1\r\nHost: here\r\n\r\n";
    int bytes = 2048;
    int fd = app_connect(self->service.buyers);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    assert_true(app_send(fd, get, sizeof get - 1));
    assert_true(app_eventually(slow_stream_is_dropped, self, 15000));
    assert_true(app_eventually(nobody_watches, self, WAIT_MS));
    (void)close(fd);
}

/* ---- Redis goes and comes, the service stops --------------------------------------------------- */

TEST(without_redis_streams_say_so_and_go_on_later, struct app_fixture *self)
{
    assert_int_equal(app_stop(&self->service), 0); /* the next one finds its cups */
    app_fixture_start_on_redis(self, places);
    (void)open_stream(self);
    buy(self, "anna");
    expect(self, "orders", NULL);
    expect(self, "stock", "{\"remaining\":99999}");

    app_kill(&self->redis);
    expect(self, ":", "store unavailable");
    clock_pause_ms(QUIET_MS); /* it looks again, and says it once: orders come next */
    (void)app_get(self, self->service.buyers, "/api/v1/sales/cup/events");
    assert_true(app_is_problem(&self->reply, 503, "store-unavailable"));
    assert_true(app_start_redis(&self->redis, self->dir));
    for (int i = 0; i < 100 && self->reply.status != 201; i++) {
        app_buy(self->service.buyers, "cup", "bert", "k", &self->reply);
        if (self->reply.status != 201) clock_pause_ms(50);
    }
    expect(self, "orders", "{\"orders\":2}");
    expect(self, "stock", "{\"remaining\":99998}");
}

TEST(a_stop_ends_streams_at_once, struct app_fixture *self)
{
    for (size_t i = 0; i < STREAMS; i++)
        assert_true(app_stream_open(&streams[i], self->service.buyers, "cup"));
    assert_int_equal(kill(self->service.pid, SIGTERM), 0);
    for (size_t i = 0; i < STREAMS; i++)
        assert_true(app_stream_ends(&streams[i], STREAM_END_MS));
    assert_int_equal(app_wait(&self->service, WAIT_MS), 0);
}

TEST(what_one_instance_sells_the_other_tells, struct app_fixture *self)
{
    const char *args[] = {"--redis", self->service.redis, "--streams", "3", NULL};

    assert_true(app_start(&self->other, self->dir, args));
    (void)open_stream(self);
    for (int i = 0; i < 10; i++) {
        char user[16];

        (void)snprintf(user, sizeof user, "buyer-%d", i);
        assert_int_equal(app_buy(self->other.buyers, "cup", user, NULL, &self->reply), 201);
        assert_true(app_stream_find(&streams[0], "stock", &event, WAIT_MS));
        assert_int_equal(app_event_number(&event, "remaining"), 100000 - i - 1);
    }
}

/* ---- silence ----------------------------------------------------------------------------------- */

/* Opened first, looked at last: a stream on which nothing happens. */
static struct app_fixture idle;
static struct app_stream idle_stream;

BEFORE_ALL()
{
    app_fixture_begin(&idle);
    app_fixture_start(&idle, places, NULL);
    assert_true(put_up(&idle, CUPS));
    assert_true(app_stream_open(&idle_stream, idle.service.buyers, "cup"));
}

AFTER_ALL()
{
    app_stream_close(&idle_stream);
    assert_int_equal(app_fixture_end(&idle), 0);
}

TEST_WITH(silence_is_broken_by_a_comment, NULL, NULL)
{
    assert_true(app_stream_find(&idle_stream, ":", &event, 20000));
    assert_string_equal(event.data, "still here");
}
