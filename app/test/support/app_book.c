/*
 * See app_book.h.
 */
#include "app_book.h"

#include "lockkit/lockkit.h"

#include "app_forge.h"
#include "base/clock.h"
#include "sale_support.h"

static const char payment_key[] = "0123456789abcdef0123456789abcdef";

const char *app_book_url;

int app_book_ctl(struct app_fixture *self, const char *first, const char *second, const char *id)
{
    return app_run("seckillctl",
                   (const char *const[]){first, "--book", app_book_url, "--redis",
                                         self->redis.redis, second, id, NULL},
                   self->out, sizeof self->out);
}

bool app_book_agrees(void *self)
{
    return app_book_ctl(self, "audit", NULL, NULL) == 0;
}

int app_book_buy(struct app_fixture *self, const struct app_process *from, int first, int count)
{
    int sold = 0;

    for (int i = first; i < first + count; i++) {
        char user[16];

        (void)snprintf(user, sizeof user, "b%03d", i);
        sold += app_buy(from->buyers, "lamp", user, "k", &self->reply) == 201;
    }
    return sold;
}

const char *app_book_key(struct app_fixture *self)
{
    static char path[APP_PATH_SIZE + 16];

    (void)snprintf(path, sizeof path, "%s/pay.key", self->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(payment_key, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

long app_book_me(struct app_fixture *self, const char *method, const char *buyer)
{
    return app_http(&(struct app_call){.method = method,
                                       .base = self->service.buyers,
                                       .path = "/api/v1/sales/lamp/orders/me",
                                       .user = buyer},
                    &self->reply);
}

const char *app_book_pay(struct app_fixture *self, const char *event, const char *buyer, int amount)
{
    char body[512];
    char text[640];
    char mac[APP_MAC_SIZE];
    char header[160];
    long long now_s = clock_unix_ms() / 1000;
    lk_reply *row = NULL;

    (void)snprintf(text, sizeof text, "HGET seckill:{lamp}:orders %s", buyer);
    row = app_redis_command(self->redis.redis, text);
    const char *order = lk_reply_bytes(row).data;
    (void)snprintf(body, sizeof body,
                   "{\"id\":\"%s\",\"type\":\"payment.succeeded\",\"payment\":\"p-%s\","
                   "\"sale\":\"lamp\",\"order\":\"%.*s\",\"buyer\":\"%s\",\"amount\":%d,"
                   "\"currency\":\"CNY\"}",
                   event, event, order ? (int)strcspn(order, ":") : 1, order ? order : "0", buyer,
                   amount);
    lk_reply_free(row);
    (void)snprintf(text, sizeof text, "%lld.%s", now_s, body);
    app_forge_mac(payment_key, text, mac);
    (void)snprintf(header, sizeof header, "Payment-Signature: t=%lld,v1=%s", now_s, mac);
    long status =
        app_http(&(struct app_call){.base = self->service.buyers,
                                    .path = "/api/v1/payments/events",
                                    .body = body,
                                    .headers = {header, "Content-Type: application/json"}},
                 &self->reply);
    return status == 200 ? app_member(&self->reply, "result") : "";
}

void app_book_dump(struct app_fixture *self, char out[APP_BOOK_SIZE])
{
    static const char *const asked[] = {
        "GET seckill:{lamp}:stock",
        "HMGET seckill:{lamp}:sale title initial state guard starts_ms ends_ms",
        "HMGET seckill:{lamp}:sale window_ms amount currency restocked restock:k admit draw",
        "HMGET seckill:{lamp}:sale paid cancelled expired",
        "HGETALL seckill:{lamp}:orders",
        "HGETALL seckill:{lamp}:refunds",
        "ZRANGE seckill:{lamp}:due 0 -1 WITHSCORES",
        "SMEMBERS seckill:sales"};
    FILE *file = fmemopen(out, APP_BOOK_SIZE, "w");

    assert_non_null(file);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        lk_reply *reply = app_redis_command(self->redis.redis, asked[i]);

        sale_print(file, reply);
        lk_reply_free(reply);
    }
    assert_int_equal(fclose(file), 0);
}

void app_book_forget(struct app_fixture *self)
{
    lk_reply_free(app_redis_command(self->redis.redis, "FLUSHALL"));
}

struct wanted {
    struct app_fixture *self;
    const char *text;
    char now[APP_BOOK_SIZE];
};

static bool is_as_wanted(void *arg)
{
    struct wanted *wanted = arg;

    app_book_dump(wanted->self, wanted->now);
    return strcmp(wanted->now, wanted->text) == 0;
}

void app_book_comes_back(struct app_fixture *self, const char *wanted)
{
    static struct wanted to;

    to.self = self;
    to.text = wanted;
    if (!app_eventually(is_as_wanted, &to, APP_BOOK_MS)) assert_string_equal(to.now, wanted);
}
