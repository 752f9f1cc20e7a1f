/*
 * A sale that is over is removed from Redis, and kept in the book: nobody makes it again, whoever was killed amid it. Old
 * ones are dropped; a book of before it had partitions loses nothing.
 */
#include "base/clock.h"
#include "test/postgres/lk_postgres.h"
#include "test/support/app_book.h"

#define LAMP "/api/v1/admin/sales/lamp"

APP_BOOK_POSTGRES();

static const char plain[] = "{\"id\":\"lamp\",\"stock\":5}";

SET_UP(struct app_fixture, fixture)
{
    lkp_server_empty(postgres);
    app_fixture_begin(fixture);
    app_fixture_start_on_redis(fixture,
                               (const char *const[]){"--book", postgres->url, "--payment-key",
                                                     app_book_key(fixture), NULL});
}

TEAR_DOWN(struct app_fixture, fixture)
{
    (void)app_fixture_end(fixture);
}

/* Three units are sold, and in the book. */
static void sell(struct app_fixture *self, const char *sale)
{
    assert_true(app_create_sale(&self->service, self->dir, sale));
    assert_int_equal(app_book_buy(self, &self->service, 0, 3), 3);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
}

static void end(struct app_fixture *self)
{
    assert_int_equal(app_operate(self, "POST", LAMP "/end", ""), 200);
}

static void removes(struct app_fixture *self, long status, const char *detail)
{
    assert_int_equal(app_operate(self, "DELETE", LAMP, NULL), status);
    if (!strstr(self->reply.body, detail)) fail_msg("%s", self->reply.body);
}

/* Nothing of it is in Redis, and a while later still not. */
static void is_gone(struct app_fixture *self)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(app_ask_redis(self->redis.redis,
                                       "EXISTS seckill:{lamp}:sale"
                                       " seckill:{lamp}:orders"
                                       " seckill:{lamp}:stock"
                                       " seckill:{lamp}:refunds",
                                       "seckill:{lamp}:ledger"),
                         0);
        assert_int_equal(app_ask_redis(self->redis.redis, "SCARD", "seckill:sales"), 0);
        assert_string_equal(lkp_ask(postgres, "SELECT string_agg(id, ',') FROM seckill_book.sale"),
                            "lamp@1");
        if (i == 0) clock_pause_ms(1200); /* the writer has looked */
    }
}

static void restart(struct app_fixture *self)
{
    assert_true(app_start(
        &self->service, self->dir,
        (const char *const[]){"--redis", self->redis.redis, "--book", postgres->url, NULL}));
}

TEST(a_sale_of_the_same_name_is_another_one, struct app_fixture *self)
{
    sell(self, plain);
    removes(self, 409, "not over");
    end(self);
    removes(self, 200, "\"remaining\":2");
    is_gone(self);
    removes(self, 404, "");
    sell(self, plain);
    assert_int_equal(app_stop(&self->service), 0);
    restart(self);
    assert_int_equal(app_book_buy(self, &self->service, 3, 5), 2);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
    assert_string_equal(lkp_ask(postgres, "SELECT string_agg(s.id || ' ' || o.n, ';' ORDER BY no)"
                                          " FROM seckill_book.sale s, LATERAL (SELECT count(*)"
                                          " AS n FROM seckill_book.orders WHERE sale = no) o"),
                        "lamp@1 3;lamp 5");
    assert_int_equal(
        app_run("seckillctl",
                (const char *const[]){"book", "drop", "--before", "2100-01-01T00:00:00Z", "--book",
                                      postgres->url, NULL},
                self->out, sizeof self->out),
        0);
    assert_string_equal(self->out, "1 sales dropped\n");
    assert_string_equal(lkp_ask(postgres, "SELECT concat_ws(' ', count(*),"
                                          " to_regclass('seckill_book.orders_1') IS NULL,"
                                          " (SELECT count(DISTINCT sale) FROM seckill_book.entry))"
                                          " FROM seckill_book.orders"),
                        "5 t 1");
    assert_true(app_book_agrees(self));
}

TEST(what_is_not_final_is_not_removed, struct app_fixture *self)
{
    sell(self, APP_BOOK_PAID_LATER("5", "600000"));
    end(self);
    removes(self, 409, "held");
    assert_string_equal(app_book_pay(self, "e0", "b000", 5), "paid");
    assert_string_equal(app_book_pay(self, "e1", "b001", 5), "paid");
    assert_int_equal(app_book_me(self, "DELETE", "b002"), 200);
    assert_string_equal(app_book_pay(self, "e2", "b002", 5), "late");
    removes(self, 409, "owed");
    assert_int_equal(
        app_operate(self, "POST", LAMP "/refunds", "{\"payment\":\"p-e2\",\"state\":\"done\"}"),
        200);
    lkp_server_kill(postgres);
    removes(self, 409, "book");
    assert_string_equal(app_book_pay(self, "e3", "b001", 5), ""); /* nothing more happens to it */
    assert_int_equal(self->reply.status, 404);
    lkp_server_restart(postgres);
    LKS_EVENTUALLY(app_operate(self, "DELETE", LAMP, NULL) == 200, APP_BOOK_MS);
    is_gone(self);
}

/* Killed behind this step: it is closed, it is kept in the book, it is off the list. */
static const struct row {
    const char *redis, *book;
} rows[] = {
    {"HSET seckill:{lamp}:sale removing 1", "SELECT 1"},
    {"HSET seckill:{lamp}:sale removing 1", "UPDATE seckill_book.sale SET id = 'lamp@1'"},
    {"SREM seckill:sales lamp", "UPDATE seckill_book.sale SET id = 'lamp@1'"},
};

TEST(a_removal_that_was_killed_is_finished, struct app_fixture *self)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sell(self, plain);
        end(self);
        assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
        assert_int_equal(app_stop(&self->service), 0);
        lk_reply_free(app_redis_command(self->redis.redis, rows[0].redis));
        lk_reply_free(app_redis_command(self->redis.redis, rows[i].redis));
        (void)lkp_ask(postgres, "%s", rows[i].book);
        restart(self);
        clock_pause_ms(1000); /* it has looked */
        removes(self, 200, "lamp");
        is_gone(self);
        (void)lkp_ask(postgres, "TRUNCATE seckill_book.sale RESTART IDENTITY CASCADE;"
                                " DROP TABLE seckill_book.orders_1");
    }
}

/* As it was before migration 4. */
static const char unpartitioned[] =
    "DROP TRIGGER on_sale ON seckill_book.sale;"
    " DROP FUNCTION seckill_book.on_sale, seckill_book.add_partition, seckill_book.drop_before,"
    " seckill_book.booked;"
    " CREATE TABLE seckill_book.kept AS TABLE seckill_book.orders;"
    " DROP TABLE seckill_book.orders;"
    " CREATE TABLE seckill_book.orders (LIKE seckill_book.kept,"
    " CONSTRAINT orders_pkey PRIMARY KEY (sale, id),"
    " CONSTRAINT orders_sale_buyer_key UNIQUE (sale, buyer));"
    " INSERT INTO seckill_book.orders TABLE seckill_book.kept;"
    " DROP TABLE seckill_book.kept; DELETE FROM seckill_book.schema WHERE version > 3";

TEST(a_book_of_before_the_partitions_loses_nothing, struct app_fixture *self)
{
    static const char every_row[] = "SELECT md5(string_agg(o::text, ';' ORDER BY id))"
                                    " FROM seckill_book.orders o";
    char before[40];

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"other\",\"stock\":5}"));
    sell(self, plain);
    assert_int_equal(app_buy(self->service.buyers, "other", "b001", "k", &self->reply), 201);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
    assert_int_equal(app_stop(&self->service), 0);
    (void)lkp_ask(postgres, "%s", unpartitioned);
    (void)snprintf(before, sizeof before, "%s", lkp_ask(postgres, every_row));
    assert_int_equal(app_book_ctl(self, "audit", NULL, NULL), 0); /* migrates, and all agree */
    assert_string_equal(lkp_ask(postgres, every_row), before);
    assert_string_equal(lkp_ask(postgres, "SELECT string_agg(tableoid::regclass::text, ';'"
                                          " ORDER BY sale, id) FROM seckill_book.orders"
                                          " WHERE buyer = 'b001'"),
                        "seckill_book.orders_1;seckill_book.orders_2");
    restart(self);
    assert_int_equal(app_book_buy(self, &self->service, 0, 9), 5);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
}
