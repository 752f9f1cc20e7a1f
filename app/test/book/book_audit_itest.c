/*
 * Redis and the book are compared, on real servers: what was spoilt is found, and nothing else, also while the sale goes
 * on. What is exported is what was sold.
 */
#include <pthread.h>

#include "common/port.h"
#include "test/postgres/lk_postgres.h"
#include "test/support/app_book.h"
#include "test/support/lk_net.h"

APP_BOOK_POSTGRES();

SET_UP(struct app_fixture, fixture)
{
    lkp_server_empty(postgres);
    app_fixture_begin(fixture);
    app_fixture_start_on_redis(
        fixture, (const char *const[]){"--book", postgres->url, "--book-wait", "1", NULL});
    assert_true(
        app_create_sale(&fixture->service, fixture->dir, "{\"id\":\"lamp\",\"stock\":500}"));
}

TEAR_DOWN(struct app_fixture, fixture)
{
    (void)app_fixture_end(fixture);
}

static int audit(struct app_fixture *self)
{
    return app_book_ctl(self, "audit", NULL, NULL);
}

static const struct row {
    const char *found; /* the line begins so */
    const char *spoil, *mend;
} rows[] = {
    {"  FAIL  book-follows", "DELETE FROM seckill_book.orders WHERE buyer = 'b007'",
     "INSERT INTO seckill_book.orders SELECT * FROM kept WHERE buyer = 'b007'"},
    {"  FAIL  book-follows",
     "UPDATE seckill_book.orders SET buyer = 'another' WHERE buyer = 'b003'",
     "UPDATE seckill_book.orders o SET buyer = k.buyer FROM kept k WHERE k.id = o.id"},
    {"  FAIL  book-follows", "UPDATE seckill_book.orders SET state = 'paid' WHERE buyer = 'b001'",
     "UPDATE seckill_book.orders SET state = 'sold' WHERE buyer = 'b001'"},
    {"  FAIL  position", "UPDATE seckill_book.sale SET ms = ms + 1, entries = entries + 1",
     "UPDATE seckill_book.sale SET ms = ms - 1, entries = entries - 1"},
    {"  FAIL  ledger",
     "UPDATE seckill_book.entry SET words[2] = 'Sold' WHERE words[10] LIKE '%:b002:%'",
     "UPDATE seckill_book.entry SET words[2] = 'sold' WHERE words[2] = 'Sold'"},
    {"  FAIL  unique", "ALTER TABLE seckill_book.orders_1 DROP CONSTRAINT orders_1_sale_buyer_key",
     "ALTER TABLE seckill_book.orders_1 ADD UNIQUE (sale, buyer)"},
    {"  FAIL  conflicts",
     "INSERT INTO seckill_book.conflict SELECT no, 'no-unit', 'x' FROM seckill_book.sale",
     "DELETE FROM seckill_book.conflict"},
};

/* A provider may name what it likes. */
static void note_payments_of_nothing(struct app_fixture *self)
{
    static const char *const orders[] = {"77:nobody:pay-1", "no-order.1:nobody:pay-2"};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        char command[160];

        (void)snprintf(command, sizeof command,
                       "XADD seckill:{lamp}:ledger * event payment-failed by x epoch 0 left 490 "
                       "order %s",
                       orders[i]);
        lk_reply_free(app_redis_command(self->redis.redis, command));
    }
}

TEST(what_was_spoilt_is_found, struct app_fixture *self)
{
    assert_int_equal(app_book_buy(self, &self->service, 0, 10), 10);
    note_payments_of_nothing(self);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
    assert_int_equal(app_stop(&self->service), 0); /* it would go on with the position */
    (void)lkp_ask(postgres, "CREATE TABLE kept AS SELECT * FROM seckill_book.orders");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)lkp_ask(postgres, "%s", rows[i].spoil);
        if (audit(self) != 1 || !strstr(self->out, rows[i].found))
            fail_msg("%zu: %s", i, self->out);
        (void)lkp_ask(postgres, "%s", rows[i].mend);
        if (audit(self) != 0) fail_msg("%zu: %s", i, self->out);
    }
    lk_reply_free(app_redis_command(self->redis.redis, "HDEL seckill:{lamp}:orders b004"));
    assert_int_equal(audit(self), 1);
    assert_non_null(strstr(self->out, "  FAIL  orders"));
    app_book_forget(self);
    assert_int_equal(audit(self), 1);
    (void)lkp_ask(postgres, "DROP SCHEMA seckill_book CASCADE");
    assert_int_equal(audit(self), 1); /* nothing was looked at */
}

/* With the rights that the deployment gives him, and no more. */
TEST(the_auditor_of_the_deployment_may_compare, struct app_fixture *self)
{
    char url[64];
    char command[640];
    int port = port_free();
    const char *rights = strstr(app_file("docker/redis", "users.acl.in"), "@AUDITOR_SHA256@ ");

    assert_int_equal(app_book_buy(self, &self->service, 0, 3), 3);
    assert_non_null(rights);
    rights = strchr(rights, ' ');
    (void)snprintf(command, sizeof command, "ACL SETUSER auditor on >read%.*s",
                   (int)strcspn(rights, "\n"), rights);
    lk_reply_free(app_redis_command(self->redis.redis, command));
    (void)snprintf(command, sizeof command, "CONFIG SET port %d", port);
    lk_reply_free(app_redis_command(self->redis.redis, command)); /* a socket's URL names nobody */
    (void)snprintf(url, sizeof url, "redis://auditor:read@127.0.0.1:%d", port);
    if (app_run("seckillctl",
                (const char *const[]){"audit", "--book", postgres->url, "--redis", url, NULL},
                self->out, sizeof self->out) != 0)
        fail_msg("%s", self->out);
}

static void *buy_many(void *arg)
{
    static struct app_fixture own;
    const struct app_fixture *self = arg;

    return app_book_buy(&own, &self->service, 0, 100) == 100 ? arg : NULL;
}

TEST(a_sale_that_goes_on_is_compared_too, struct app_fixture *self)
{
    pthread_t buyer;
    void *all = NULL;
    char *line = NULL;
    int count = 0;

    assert_int_equal(pthread_create(&buyer, NULL, buy_many, self), 0);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
    for (int i = 0; i < 5; i++)
        if (audit(self) != 0) fail_msg("%s", self->out);
    assert_int_equal(pthread_join(buyer, &all), 0);
    assert_non_null(all);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            app_run("seckillctl",
                    (const char *const[]){"orders", "export", "lamp", "--book", postgres->url,
                                          "--format", i ? "ndjson" : "csv", NULL},
                    self->out, sizeof self->out),
            0);
        assert_non_null(
            strstr(self->out, i ? "\"buyer\" : \"b042\", \"key\" : \"k\"" : ",b042,k,sold,20"));
        for (count = 0, line = self->out; (line = strchr(line, '\n')); line++)
            count++;
        assert_int_equal(count, i ? 100 : 101); /* with the names of the columns */
    }
}
