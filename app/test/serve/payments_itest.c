/*
 * Paid later, over HTTP, on a real service: what a buyer, a payment provider and an operator see of one
 * order after the other; signatures; instances; a service that is killed amid it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "test/support/app_forge.h"

#define SALES  "/api/v1/sales"
#define ADMIN  "/api/v1/admin/sales"
#define EVENTS "/api/v1/payments/events"

static const char key[] = "0123456789abcdef0123456789abcdef";
static const char next_key[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";

static char key_file[APP_PATH_SIZE + 16];
static char next_key_file[APP_PATH_SIZE + 16];

static void write_key(char path[APP_PATH_SIZE + 16], const char *dir, const char *name,
                      const char *text)
{
    (void)snprintf(path, APP_PATH_SIZE + 16, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

SET_UP(struct app_fixture, fixture)
{
    app_fixture_begin(fixture);
    write_key(key_file, fixture->dir, "pay.key", key);
    write_key(next_key_file, fixture->dir, "pay2.key", next_key);
    app_fixture_start(fixture,
                      (const char *const[]){"--payment-key", key_file, "--payment-key-2",
                                            next_key_file, "--pay-url", "http://pay.example/p",
                                            NULL},
                      NULL);
}

TEAR_DOWN(struct app_fixture, fixture)
{
    assert_int_equal(app_fixture_end(fixture), 0);
}

static void put_up(struct app_fixture *self, int units, int window_ms)
{
    char body[160];

    (void)snprintf(body, sizeof body,
                   "{\"id\":\"lamp\",\"stock\":%d,\"payment\":{\"windowMs\":%d,\"amount\":500,"
                   "\"currency\":\"CNY\"}}",
                   units, window_ms);
    assert_true(app_create_sale(&self->service, self->dir, body));
}

static long as_buyer(struct app_fixture *self, const char *method, const char *path,
                     const char *user)
{
    return app_http(
        &(struct app_call){
            .method = method, .base = self->service.buyers, .path = path, .user = user},
        &self->reply);
}

/* His new order; its id. */
static const char *order_of(struct app_fixture *self, const char *user)
{
    static char id[32];

    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders", user), 201);
    (void)snprintf(id, sizeof id, "%s", app_member(&self->reply, "id"));
    return id;
}

static void sign(const char *with, const char *body, int64_t at_s, char out[160])
{
    char text[1024];
    char mac[APP_MAC_SIZE];

    (void)snprintf(text, sizeof text, "%lld.%s", (long long)at_s, body);
    app_forge_mac(with, text, mac);
    (void)snprintf(out, 160, "Payment-Signature: t=%lld,v1=%s", (long long)at_s, mac);
}

struct event {
    const char *id, *type, *payment, *buyer, *order;
    int amount;
    const char *key; /* NULL: the first */
    int64_t shift_s; /* of the moment that is signed */
};

static void write_event(const struct event *said, char body[512], char header[160])
{
    struct event event = *said;

    (void)snprintf(body, 512,
                   "{\"id\":\"%s\",\"type\":\"payment.%s\",\"payment\":\"%s\",\"sale\":\"lamp\","
                   "\"order\":\"%s\",\"buyer\":\"%s\",\"amount\":%d,\"currency\":\"CNY\"}",
                   event.id, event.type ? event.type : "succeeded",
                   event.payment ? event.payment : event.id, event.order, event.buyer,
                   event.amount ? event.amount : 500);
    sign(event.key ? event.key : key, body, time(NULL) + event.shift_s, header);
}

static long tell_event(struct app_fixture *self, struct event event)
{
    char body[512];
    char header[160];

    write_event(&event, body, header);
    return app_http(&(struct app_call){.base = self->service.buyers,
                                       .path = EVENTS,
                                       .body = body,
                                       .headers = {header, "Content-Type: application/json"}},
                    &self->reply);
}

/* TELL(self, "paid", "e1", "anna", id): an event, and what comes of it. */
#define TELL(self, expected, ...)                                                                  \
    do {                                                                                           \
        assert_int_equal(tell_event((self), (struct event){__VA_ARGS__}), 200);                    \
        assert_string_equal(app_member(&(self)->reply, "result"), (expected));                     \
    } while (0)

TEST(an_order_is_held_paid_and_final, struct app_fixture *self)
{
    char id[32];

    put_up(self, 2, 60000);
    (void)snprintf(id, sizeof id, "%s", order_of(self, "anna"));
    assert_string_equal(app_member(&self->reply, "state"), "held");
    assert_true(app_member(&self->reply, "payBy")[0] != '\0');
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders/me/payment", "anna"), 200);
    assert_non_null(strstr(self->reply.body, "http://pay.example/p?sale=lamp&order="));
    assert_non_null(strstr(self->reply.body, "&amount=500&currency=CNY&payBy="));
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    assert_in_range(app_number(&self->reply, "secondsLeft"), 50, 60);

    TELL(self, "noted", .id = "e0", .type = "failed", .buyer = "anna", .order = id);
    TELL(self, "paid", .id = "e1", .buyer = "anna", .order = id);
    TELL(self, "repeated", .id = "e1", .buyer = "anna", .order = id);
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    app_assert_answer(&self->reply, 200, "{`state`:`paid`}");
    assert_int_equal(as_buyer(self, "DELETE", SALES "/lamp/orders/me", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "order-paid"));
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders/me/payment", "anna"), 409);
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
    assert_int_equal(app_operate(self, NULL, ADMIN "/lamp", NULL), 200);
    app_assert_answer(&self->reply, 200,
                      "{`held`:0,`paid`:1,`remaining`:1,`cancelled`:0,`expired`:0}");
}

/* A provider keeps its connection: what one event said is nothing that the next one says. */
TEST(events_on_one_connection_are_each_their_own, struct app_fixture *self)
{
    char order[32];
    const struct event events[] = {
        {.id = "e1", .type = "started", .buyer = "anna", .order = order},
        {.id = "e2", .type = "failed", .buyer = "anna", .order = order},
        {.id = "e3", .type = "gone", .buyer = "anna", .order = order},
        {.id = "e4", .buyer = "anna", .order = order},
        {.id = "e5", .buyer = "anna", .order = order, .payment = "another"}};
    static const char *const said[] = {"noted", "noted", "payment.started.", "\"paid\"", "double"};
    int fd = app_connect(self->service.buyers);

    put_up(self, 2, 60000);
    (void)snprintf(order, sizeof order, "%s", order_of(self, "anna"));
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        char body[512], header[160], request[1024];

        write_event(&events[i], body, header);
        (void)snprintf(request, sizeof request,
                       "POST " EVENTS " HTTP/1.1\r\nHost: x\r\n%s\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       header, strlen(body), body);
        assert_true(app_send(fd, request, strlen(request)));
        assert_int_not_equal(app_receive_answer(fd, self->out, sizeof self->out), 0);
        if (!strstr(self->out, said[i])) fail_msg("%s: %s", events[i].id, self->out);
    }
    (void)close(fd);
}

TEST(a_unit_that_is_let_go_is_sold_again_and_late_money_is_owed_back, struct app_fixture *self)
{
    char id[32];

    put_up(self, 1, 60000);
    (void)snprintf(id, sizeof id, "%s", order_of(self, "anna"));
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders", "bert"), 409);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    assert_in_range(app_number(&self->reply, "retryAfterMs"), 50000, 60000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(as_buyer(self, "DELETE", SALES "/lamp/orders/me", "anna"), 200);
        app_assert_answer(&self->reply, 200, "{`state`:`cancelled`}");
    }
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "order-cancelled"));
    (void)order_of(self, "bert"); /* at once */
    TELL(self, "late", .id = "e1", .payment = "p1", .buyer = "anna", .order = id);
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    app_assert_answer(
        &self->reply, 200,
        "{`state`:`cancelled`,`refund`:`owed`,`refundAmount`:500,`refundCurrency`:`CNY`}");
    assert_int_equal(app_operate(self, NULL, ADMIN "/lamp/refunds", NULL), 200);
    app_assert_answer(
        &self->reply, 200,
        "{`payment`:`p1`,`buyer`:`anna`,`amount`:500,`reason`:`late`,`state`:`owed`}");
    assert_int_equal(
        app_operate(self, "POST", ADMIN "/lamp/refunds", "{\"payment\":\"p1\",\"state\":\"done\"}"),
        200);
    assert_int_equal(
        app_operate(self, "POST", ADMIN "/lamp/refunds", "{\"payment\":\"p1\",\"state\":\"sent\"}"),
        409);
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    app_assert_answer(&self->reply, 200, "{`refund`:`done`}");
    assert_int_equal(app_operate(self, NULL, ADMIN "/lamp/audit", NULL), 200);
    app_assert_answer(&self->reply, 200, "{`verdict`:`pass`,`orders`:1}");
}

static long let_go(struct app_fixture *self, const char *match)
{
    return app_http(&(struct app_call){.method = "DELETE",
                                       .base = self->service.buyers,
                                       .path = SALES "/lamp/orders/me",
                                       .user = "anna",
                                       .headers = {match}},
                    &self->reply);
}

TEST(no_other_order_is_cancelled_than_the_named_one, struct app_fixture *self)
{
    char match[64];

    put_up(self, 2, 60000);
    (void)snprintf(match, sizeof match, "If-Match: \"%s\"", order_of(self, "anna"));
    assert_int_equal(let_go(self, "If-Match: \"123\""), 412);
    assert_true(app_is_problem(&self->reply, 412, "precondition-failed"));
    assert_int_equal(let_go(self, "If-Match: W/\"123\""), 400);
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    app_assert_answer(&self->reply, 200, "{`state`:`held`}");
    assert_int_equal(let_go(self, match), 200);
    assert_int_equal(let_go(self, match), 200);
    assert_int_equal(let_go(self, "If-Match: *"), 200);
    assert_int_equal(let_go(self, "If-Match: \"123\""), 412);
}

static bool is_for_sale(void *arg)
{
    return app_get(arg, ((struct app_fixture *)arg)->service.buyers, SALES "/lamp") == 200 &&
           app_number(&((struct app_fixture *)arg)->reply, "remaining") == 1;
}

TEST(what_is_not_paid_in_time_is_for_sale_again, struct app_fixture *self)
{
    put_up(self, 1, 1000);
    const char *id = order_of(self, "anna");
    char copy[32];

    (void)snprintf(copy, sizeof copy, "%s", id);
    assert_true(app_eventually(is_for_sale, self, 5000));
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders/me/payment", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "order-expired"));
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "order-expired"));
    TELL(self, "late", .id = "e1", .buyer = "anna", .order = copy);
    assert_int_equal(app_metric(self, "seckill_orders_expired_total"), 1);
    assert_int_equal(app_metric(self, "seckill_due_stale_total"), 0);
    assert_int_equal(app_metric(self, "seckill_payment_events_total{result=\"late\"}"), 1);
}

/* Half of the window is the margin: 600 ms of 1200. */
TEST(a_payment_is_not_begun_when_it_would_end_too_late, struct app_fixture *self)
{
    put_up(self, 1, 1200);
    (void)order_of(self, "anna");
    clock_pause_ms(800);
    assert_int_equal(as_buyer(self, "POST", SALES "/lamp/orders/me/payment", "anna"), 409);
    assert_true(app_is_problem(&self->reply, 409, "too-late-to-pay"));
}

TEST(only_what_is_signed_and_of_now_is_believed, struct app_fixture *self)
{
    char id[32];

    put_up(self, 1, 60000);
    (void)snprintf(id, sizeof id, "%s", order_of(self, "anna"));
    struct event event = {
        .id = "e1", .buyer = "anna", .order = id, .key = "0123456789abcdef0123456789abcdeF"};
    assert_int_equal(tell_event(self, event), 400);
    assert_true(app_is_problem(&self->reply, 400, "webhook-signature"));
    event.key = key;
    event.shift_s = -310;
    assert_int_equal(tell_event(self, event), 400);
    assert_true(app_is_problem(&self->reply, 400, "webhook-stale"));
    event.shift_s = 310;
    assert_int_equal(tell_event(self, event), 400);
    assert_int_equal(as_buyer(self, "GET", SALES "/lamp/orders/me", "anna"), 200);
    app_assert_answer(&self->reply, 200, "{`state`:`held`}");
    event.shift_s = 290;
    event.key = next_key;
    assert_int_equal(tell_event(self, event), 200);
    assert_int_equal(app_metric(self, "seckill_payment_events_refused_total"), 3);
    event.order = "\\\"";
    assert_int_equal(tell_event(self, event), 400);
    assert_true(app_is_problem(&self->reply, 400, "invalid-request"));
}

/* Killed after the hold, the service comes back later than the order's end: it ends what is due at once. */
TEST(what_fell_due_while_all_were_dead_ends_at_the_start, struct app_fixture *self)
{
    assert_true(app_start_redis(&self->redis, self->dir));
    const char *const own[] = {"--redis", self->redis.redis, NULL};

    assert_int_equal(app_stop(&self->service), 0);
    assert_true(app_start(&self->service, self->dir, own));
    put_up(self, 1, 1000);
    (void)order_of(self, "anna");
    app_kill(&self->service);
    clock_pause_ms(1200);
    assert_true(app_start(&self->service, self->dir, own));
    assert_true(app_eventually(is_for_sale, self, 8000)); /* when the dead one's lease is over */
    (void)order_of(self, "bert");
}

TEST(a_guard_whose_orders_are_final_does_not_sell_it, struct app_fixture *self)
{
    assert_int_equal(app_operate(self, "POST", ADMIN,
                                 "{\"id\":\"x\",\"stock\":1,\"guard\":\"none\",\"payment\":{"
                                 "\"windowMs\":1000,\"amount\":5,\"currency\":\"CNY\"}}"),
                     400);
    app_assert_answer(&self->reply, 400, "{`field`:`guard`}");
    put_up(self, 1, 60000);
    assert_int_equal(app_http(&(struct app_call){.method = "PUT",
                                                 .base = self->service.buyers,
                                                 .path = "/api/v1/lab/sales/lamp/guard",
                                                 .body = "{\"guard\":\"none\"}"},
                              &self->reply),
                     409);
}
