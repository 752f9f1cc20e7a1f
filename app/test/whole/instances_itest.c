/*
 * Two instances on one Redis: double clicks on both, winners who ask again, and one instance that
 * is killed under load. Whatever happens, stock and orders add up and winners stay winners.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum {
    INSTANCES = 2,
    THREADS = 12,
    SHOPPERS = 24,
    BUYERS = 240,
    STOCK = 70,
    MANY = 1000000,
    OUT_SIZE = 2048
};

static const char *base_of[INSTANCES]; /* of the fixture's service and of its other one */

SET_UP(struct app_fixture, self)
{
    app_fixture_begin(self);
    app_fixture_start_on_redis(self, (const char *const[]){"--lease-ms", "500", NULL});
    assert_true(
        app_start(&self->other, self->dir,
                  (const char *const[]){"--redis", self->redis.redis, "--lease-ms", "500", NULL}));
    base_of[0] = self->service.buyers;
    base_of[1] = self->other.buyers;
}

TEAR_DOWN(struct app_fixture, self)
{
    (void)app_fixture_end(self);
}

struct answer {
    int status;     /* 0: none came */
    char order[24]; /* id of the order, when it names one */
    bool is_sold_out;
};

/* The string after `name` in a body. */
static void copy_member(const char *body, const char *name, char *out, size_t size)
{
    const char *at = strstr(body, name);
    size_t len = at ? strcspn(at + strlen(name), "\"") : 0;

    if (!at || len >= size) return;
    memcpy(out, at + strlen(name), len);
    out[len] = '\0';
}

/* Connects when *fd is -1, and again next time when the connection has ended. */
static struct answer ask(int *fd, const char *base, const char *user, const char *key)
{
    struct answer answer = {0};
    char bytes[512];
    char out[OUT_SIZE];
    int len = snprintf(bytes, sizeof bytes,
                       "POST /api/v1/sales/cup/orders HTTP/1.1\r\nHost: here\r\nX-User-Id: %s\r\n"
                       "Idempotency-Key: %s\r\n\r\n",
                       user, key);

    if (*fd < 0) *fd = app_connect(base);
    if (*fd < 0) return answer;
    if (app_send(*fd, bytes, (size_t)len) && app_receive(*fd, out, sizeof out, "}\n", 5000) > 12 &&
        strstr(out, "}\n")) {
        answer.status = (int)strtol(out + 9, NULL, 10);
        answer.is_sold_out = strstr(out, "/problems/sold-out") != NULL;
        copy_member(out, "{\"id\":\"", answer.order, sizeof answer.order);
        copy_member(out, "\"orderId\":\"", answer.order, sizeof answer.order);
    }
    if (answer.status == 0 || strstr(out, "Connection: close")) {
        (void)close(*fd);
        *fd = -1;
    }
    return answer;
}

struct clicker {
    pthread_t thread;
    const char *base;
    size_t first;             /* buyers first, first + THREADS, ... */
    struct answer *first_try; /* [BUYERS] of this instance; borrowed */
    struct answer *next_try;
};

static void *click(void *arg)
{
    struct clicker *self = arg;
    char user[24];
    int fd = -1;

    for (size_t buyer = self->first; buyer < BUYERS; buyer += THREADS) {
        (void)snprintf(user, sizeof user, "buyer-%zu", buyer);
        self->first_try[buyer] = ask(&fd, self->base, user, "click");
        self->next_try[buyer] = ask(&fd, self->base, user, "another");
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

struct clicks {
    struct answer first[INSTANCES][BUYERS];
    struct answer next[INSTANCES][BUYERS];
};

static void click_on_both(struct clicks *out)
{
    struct clicker clickers[INSTANCES][THREADS];

    for (size_t i = 0; i < INSTANCES; i++) {
        for (size_t t = 0; t < THREADS; t++) {
            clickers[i][t] = (struct clicker){.base = base_of[i],
                                              .first = t,
                                              .first_try = out->first[i],
                                              .next_try = out->next[i]};
            if (pthread_create(&clickers[i][t].thread, NULL, click, &clickers[i][t]) != 0) abort();
        }
    }
    for (size_t i = 0; i < INSTANCES; i++) {
        for (size_t t = 0; t < THREADS; t++)
            (void)pthread_join(clickers[i][t].thread, NULL);
    }
}

/* Whether these four answers can be the truth about one buyer; *out_won says which. */
static bool is_one_story(const struct clicks *clicks, size_t buyer, bool *out_won)
{
    const char *order = clicks->first[0][buyer].order;

    *out_won = clicks->first[0][buyer].status == 201;
    for (size_t i = 0; i < INSTANCES; i++) {
        const struct answer *first = &clicks->first[i][buyer];
        const struct answer *next = &clicks->next[i][buyer];

        if (*out_won) { /* the same order, each time; a new key does not get another */
            if (first->status != 201 || strcmp(first->order, order) != 0) return false;
            if (next->status != 409 || next->is_sold_out || strcmp(next->order, order) != 0)
                return false;
        } else if (!first->is_sold_out || !next->is_sold_out) {
            return false;
        }
    }
    return true;
}

TEST(double_clicks_on_two_instances_make_one_order_each, struct app_fixture *self)
{
    struct clicks *clicks = calloc(1, sizeof *clicks);
    size_t winners = 0;
    size_t liars = 0;

    assert_non_null(clicks);
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":70}"));
    click_on_both(clicks);
    for (size_t buyer = 0; buyer < BUYERS; buyer++) {
        bool won = false;

        if (!is_one_story(clicks, buyer, &won)) liars++;
        if (won) winners++;
    }
    free(clicks);
    assert_int_equal(liars, 0);
    assert_int_equal(winners, STOCK);
}

struct shopper {
    pthread_t thread;
    const char *base;
    const char *fallback; /* where those go on whose server died */
    atomic_bool *should_stop;
    size_t number;
    size_t asked;    /* buyers shopper-NUMBER-0 ... asked-1 */
    size_t accepted; /* of them, in the end */
    size_t unknown;  /* got no answer at first */
};

static void *shop(void *arg)
{
    struct shopper *self = arg;
    const char *base = self->base;
    char user[48];
    int fd = -1;

    while (!atomic_load(self->should_stop)) {
        struct answer answer;

        (void)snprintf(user, sizeof user, "shopper-%zu-%zu", self->number, self->asked);
        answer = ask(&fd, base, user, "k");
        if (answer.status == 0) {
            self->unknown++;
            base = self->fallback;
        }
        for (int again = 0; again < 150 && answer.status != 201; again++) {
            clock_pause_ms(100); /* a dead holder's lease has to end first */
            answer = ask(&fd, base, user, "k");
        }
        self->asked++;
        if (answer.status == 201) self->accepted++;
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

TEST(a_killed_instance_loses_no_order_and_no_unit, struct app_fixture *self)
{
    struct shopper shoppers[SHOPPERS];
    atomic_bool should_stop = false;
    size_t asked = 0;
    size_t accepted = 0;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":1000000}"));
    for (size_t i = 0; i < SHOPPERS; i++) {
        shoppers[i] = (struct shopper){.base = base_of[i % INSTANCES],
                                       .fallback = base_of[1],
                                       .should_stop = &should_stop,
                                       .number = i};
        if (pthread_create(&shoppers[i].thread, NULL, shop, &shoppers[i]) != 0) abort();
    }
    clock_pause_ms(700); /* full load */
    app_kill(&self->service);
    clock_pause_ms(1500); /* the other goes on */
    atomic_store(&should_stop, true);
    for (size_t i = 0; i < SHOPPERS; i++)
        (void)pthread_join(shoppers[i].thread, NULL);
    for (size_t i = 0; i < SHOPPERS; i++) {
        asked += shoppers[i].asked;
        accepted += shoppers[i].accepted;
    }

    assert_true(asked > 200);
    assert_int_equal(accepted, asked); /* whoever asked again got a definite answer */
    assert_int_equal(app_ask_redis(self->redis.redis, "HLEN", "seckill:{cup}:orders"), asked);
    assert_int_equal(app_ask_redis(self->redis.redis, "GET", "seckill:{cup}:stock"),
                     MANY - (long long)asked);
}
