/*
 * A sale is sold by another guard, through the lab's route: on that instance, of that sale, until the
 * instance ends; and while everybody buys.
 */
#include <pthread.h>

#include <jansson.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "test/support/app_fixture.h"
#include "test/support/app_lab.h"
#include "test/support/app_promtext.h"
#include "test/support/testing.h"

#define LAB         "/api/v1/lab"
#define ADMIN_SALES "/api/v1/admin/sales"

/* A Redis that stood still for a second is away, and is asked again. */
enum { PATIENCE_MS = 20000, METRICS_AGE_MS = 100, ASK_AGAIN = 5 };

static void switch_guard(struct app_lab *self, const char *sale, const char *guard)
{
    char path[96];
    char body[64];

    (void)snprintf(path, sizeof path, LAB "/sales/%s/guard", sale);
    (void)snprintf(body, sizeof body, "{\"guard\":\"%s\"}", guard);
    for (int i = 0; i < ASK_AGAIN && app_lab_ask(self, "PUT", path, body) == 503; i++) {}
    if (self->reply.status != 200) fail_msg("%s: %s", guard, self->reply.body);
}

/* A sample of /metrics; -1 when it is not there. */
static double sample(const struct app_process *service, const char *name)
{
    struct app_reply *reply = malloc(sizeof *reply);

    assert_non_null(reply);
    app_http(&(struct app_call){.base = service->admin, .path = "/metrics"}, reply);
    double value = app_promtext_value(reply->body, name);
    free(reply);
    return value;
}

TEST(a_switch_tells_what_the_sale_is_sold_by_now, struct app_lab *self)
{
    const struct guard *none = guards_find("none");

    app_lab_put_up(self, "cup", 5);
    switch_guard(self, "cup", "none");
    json_t *root = app_lab_body(self);
    const json_t *guard = json_object_get(root, "guard");

    assert_string_equal(app_lab_text(root, "saleId"), "cup");
    assert_string_equal(app_lab_text(root, "storedGuard"), "mutex");
    assert_true(app_lab_text(root, "instance")[0]);
    assert_string_equal(app_lab_text(guard, "name"), "none");
    assert_string_equal(app_lab_text(guard, "idea"), none->idea);
    assert_string_equal(app_lab_text(guard, "flaw"), none->flaw);
    assert_string_equal(app_lab_text(guard, "expected"), "oversells");
    json_decref(root);
}

static void show_as_operator(struct app_lab *self, const struct app_process *service,
                             const char *path)
{
    assert_int_equal(
        app_http(
            &(struct app_call){.base = service->admin, .path = path, .token = app_token(self->dir)},
            &self->reply),
        200);
}

TEST(a_switch_is_of_one_sale_on_one_instance, struct app_lab *self)
{
    struct app_process other = {0};

    app_lab_put_up(self, "cup", 5);
    app_lab_put_up(self, "tea", 5);
    assert_true(app_lab_start(self, &other, NULL, NULL));
    assert_int_equal(app_buy(self->service.buyers, "tea", "anna", NULL, &self->reply), 201);
    switch_guard(self, "cup", "none");
    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply), 201);
    assert_int_equal(app_buy(self->service.buyers, "tea", "bert", NULL, &self->reply), 201);
    assert_int_equal(app_buy(other.buyers, "cup", "bert", NULL, &self->reply), 201);

    const char *by_none = "seckill_orders_total{guard=\"none\",outcome=\"created\"}";
    const char *by_mutex = "seckill_orders_total{guard=\"mutex\",outcome=\"created\"}";
    assert_int_equal(sample(&self->service, by_none), 1);
    assert_int_equal(sample(&self->service, by_mutex), 2);
    assert_int_equal(sample(&other, by_none), 0);
    assert_int_equal(sample(&other, by_mutex), 1);

    show_as_operator(self, &self->service, ADMIN_SALES "/cup");
    app_assert_answer(&self->reply, 200, "{`guard`:`mutex`,`guardHere`:`none`}");
    show_as_operator(self, &self->service, ADMIN_SALES);
    assert_non_null(strstr(self->reply.body, "\"guardHere\":\"none\""));
    show_as_operator(self, &self->service, ADMIN_SALES "/tea");
    assert_string_equal(app_member(&self->reply, "guardHere"), "");
    show_as_operator(self, &other, ADMIN_SALES "/cup");
    assert_string_equal(app_member(&self->reply, "guardHere"), "");
    assert_int_equal(app_stop(&other), 0);

    switch_guard(self, "cup", "mutex");
    show_as_operator(self, &self->service, ADMIN_SALES "/cup");
    assert_string_equal(app_member(&self->reply, "guardHere"), "");
}

TEST(a_switch_ends_with_its_instance, struct app_lab *self)
{
    app_lab_put_up(self, "cup", 5);
    switch_guard(self, "cup", "none");
    assert_int_equal(app_stop(&self->service), 0);
    assert_true(app_lab_start(self, &self->service, NULL, NULL));
    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply), 201);
    assert_int_equal(
        sample(&self->service, "seckill_orders_total{guard=\"mutex\",outcome=\"created\"}"), 1);
}

enum { SHOPPERS = 8 };

struct shopper {
    pthread_t thread;
    const struct app_process *service;
    const char *sale;
    int number;
    int buyers;     /* one after the other */
    unsigned sold;  /* answers 201 */
    unsigned other; /* answers that no buyer should get here */
};

static void *shop(void *arg)
{
    struct shopper *self = arg;
    struct app_reply *reply = malloc(sizeof *reply);
    char user[32];

    for (int i = 0; reply && i < self->buyers; i++) {
        (void)snprintf(user, sizeof user, "u%d-%d", self->number, i);
        do {
            app_buy(self->service->buyers, self->sale, user, "k", reply);
        } while (reply->status == 503);
        self->sold += reply->status == 201;
        self->other += reply->status != 201 && !app_is_problem(reply, 409, "sold-out");
    }
    free(reply);
    return NULL;
}

static void begin_shopping(struct shopper *shoppers, const struct app_process *service,
                           const char *sale, int buyers)
{
    for (int i = 0; i < SHOPPERS; i++) {
        shoppers[i] =
            (struct shopper){.service = service, .sale = sale, .number = i, .buyers = buyers};
        assert_int_equal(pthread_create(&shoppers[i].thread, NULL, shop, &shoppers[i]), 0);
    }
}

static unsigned end_shopping(struct shopper *shoppers)
{
    unsigned sold = 0;

    for (int i = 0; i < SHOPPERS; i++) {
        assert_int_equal(pthread_join(shoppers[i].thread, NULL), 0);
        assert_int_equal(shoppers[i].other, 0);
        sold += shoppers[i].sold;
    }
    return sold;
}

static bool has_sold_some(void *arg)
{
    return app_ask_redis(arg, "HLEN", "seckill:{cup}:orders") >= 20;
}

/* Sound guards, one after the other, while everybody buys: in batches, and each by itself. */
TEST_WITH(switches_under_load_lose_and_oversell_nothing, app_lab_prepare, app_lab_tear_down)
{
    static const char *const guards[] = {"script",    "watch", "fair", "mutex-watchdog",
                                         "reentrant", "spin",  "mutex"};
    static const char *const batches[] = {"1", "64"};
    enum { STOCK = 200, BUYERS = 40 };
    struct app_lab *self = *state;

    for (size_t b = 0; b < 2; b++) {
        const char *const sale = b == 0 ? "cup" : "tea";
        static struct shopper shoppers[SHOPPERS]; /* they outlive a test that fails */

        assert_true(app_lab_start(self, &self->service, "--batch", batches[b]));
        app_lab_put_up(self, sale, STOCK);
        begin_shopping(shoppers, &self->service, sale, BUYERS);
        if (b == 0) assert_true(app_eventually(has_sold_some, self->redis.redis, PATIENCE_MS));
        for (size_t i = 0; i < 3 * sizeof guards / sizeof guards[0]; i++)
            switch_guard(self, sale, guards[i % (sizeof guards / sizeof guards[0])]);
        assert_int_equal(end_shopping(shoppers), STOCK);
        assert_int_equal(app_stop(&self->service), 0);
    }
    assert_int_equal(app_ask_redis(self->redis.redis, "HLEN", "seckill:{cup}:orders"), STOCK);
    assert_int_equal(app_ask_redis(self->redis.redis, "GET", "seckill:{cup}:stock"), 0);
    assert_int_equal(app_ask_redis(self->redis.redis, "HLEN", "seckill:{tea}:orders"), STOCK);
    assert_int_equal(app_ask_redis(self->redis.redis, "GET", "seckill:{tea}:stock"), 0);
}

/* Everybody reads the one unit, sleeps, and sells it. */
TEST_WITH(a_flawed_guard_oversells_from_its_switch_on, app_lab_prepare, app_lab_tear_down)
{
    struct app_lab *self = *state;
    static struct shopper shoppers[SHOPPERS];
    const char *const args[] = {"--lab-pause",     "300", "--batch", "1", "--redis",
                                self->redis.redis, NULL};

    assert_true(app_start(&self->service, self->dir, args));
    app_lab_put_up(self, "cup", 1);
    app_lab_put_up(self, "tea", 1);
    switch_guard(self, "cup", "none");
    begin_shopping(shoppers, &self->service, "cup", 1);
    assert_true(end_shopping(shoppers) > 1);
    begin_shopping(shoppers, &self->service, "tea", 1);
    assert_int_equal(end_shopping(shoppers), 1);
    assert_int_equal(
        sample(&self->service, "seckill_orders_total{guard=\"mutex\",outcome=\"created\"}"), 1);
    assert_true(sample(&self->service, "seckill_orders_total{guard=\"none\",outcome=\"created\"}") >
                1);
}

/* Nothing but the memory of the order book answers without a run of the guard. */
static bool memory_answers(void *arg)
{
    static const char runs[] = "seckill_batch_size_count{guard=\"mutex\"}";
    struct app_lab *self = arg;
    double before = sample(&self->service, runs);

    app_buy(self->service.buyers, "cup", "late", NULL, &self->reply);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    assert_true(before > 0);
    clock_pause_ms(METRICS_AGE_MS); /* or it is perhaps the same text */
    return sample(&self->service, runs) == before;
}

TEST(after_a_flawed_guard_nothing_is_answered_from_memory, struct app_lab *self)
{
    app_lab_put_up(self, "cup", 1);
    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply), 201);
    assert_true(app_eventually(memory_answers, self, PATIENCE_MS));
    assert_int_equal(app_ask_redis(self->redis.redis, "INCR", "seckill:{cup}:stock"), 1);
    switch_guard(self, "cup", "none");
    switch_guard(self, "cup", "mutex");
    assert_int_equal(app_buy(self->service.buyers, "cup", "bert", NULL, &self->reply), 201);
}

FIXTURE(app_lab_set_up, app_lab_tear_down);
