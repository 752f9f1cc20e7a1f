/*
 * A sale that Redis has forgotten, made again from the book on real servers: whoever is killed meanwhile, and whatever
 * was sold beside it.
 */
#include <signal.h>

#include "base/clock.h"
#include "test/postgres/lk_postgres.h"
#include "test/support/app_book.h"
#include "test/support/app_topology.h"

enum { MANY = 100 };

APP_BOOK_POSTGRES();

/* One that keeps nothing. */
static void start_redis(struct app_fixture *self)
{
    static const char *const nothing[] = {"--appendonly", "no", "--save", "", NULL};

    assert_true(app_start_redis_with(&self->redis, self->dir, nothing));
}

SET_UP(struct app_fixture, fixture)
{
    lkp_server_empty(postgres);
    app_fixture_begin(fixture);
    start_redis(fixture);
}

TEAR_DOWN(struct app_fixture, fixture)
{
    (void)app_fixture_end(fixture);
}

static void start(struct app_fixture *self, const char *book)
{
    assert_true(app_start(
        &self->service, self->dir,
        (const char *const[]){"--redis", self->redis.redis, book ? "--book" : NULL, book, NULL}));
}

static bool is_booked(void *arg)
{
    return lkp_ask(postgres, "SELECT to_regclass('seckill_book.conflict')")[0] != '\0' &&
           lkp_ask(postgres, "SELECT 1 FROM seckill_book.sale WHERE held = %d", *(int *)arg)[0] ==
               '1';
}

/* So many units, of which so many are sold, and in the book. */
static void sell(struct app_fixture *self, int units, int sold)
{
    char body[64];

    start(self, postgres->url);
    (void)snprintf(body, sizeof body, "{\"id\":\"lamp\",\"stock\":%d}", units);
    assert_true(app_create_sale(&self->service, self->dir, body));
    assert_int_equal(app_book_buy(self, &self->service, 0, sold), sold);
    assert_true(app_eventually(is_booked, &sold, APP_BOOK_MS));
}

TEST(a_service_makes_a_sale_again_that_redis_has_forgotten, struct app_fixture *self)
{
    static char wanted[APP_BOOK_SIZE];

    sell(self, 10, 4);
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/restock", "{\"units\":2}"),
                     200);
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/pause", ""), 200);
    (void)app_eventually(is_booked, &(int){-1}, 500); /* so it is in the book */
    app_book_dump(self, wanted);
    app_book_forget(self);
    app_book_comes_back(self, wanted); /* of itself */
    assert_int_equal(app_stop(&self->service), 0);
    app_book_forget(self);
    start(self, postgres->url);
    app_book_comes_back(self, wanted); /* at the start */
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/resume", ""), 200);
    assert_int_equal(app_book_buy(self, &self->service, 0, 4), 4); /* the same orders */
    assert_int_equal(app_book_buy(self, &self->service, 4, 12), 8);
    assert_true(app_eventually(is_booked, &(int){12}, APP_BOOK_MS));
    assert_int_equal(app_operate(self, NULL, "/api/v1/admin/sales/lamp/audit", NULL), 200);
    assert_string_equal(app_member(&self->reply, "verdict"), "pass");
    assert_int_equal(app_book_ctl(self, "sale", "rebuild", "lamp"), 0);
    assert_string_equal(self->out, "lamp: whole, 0 conflicts\n");
}

TEST(a_waiting_room_is_made_again_with_its_rate, struct app_fixture *self)
{
    static char wanted[APP_BOOK_SIZE];

    start(self, postgres->url);
    assert_true(app_create_sale(&self->service, self->dir,
                                "{\"id\":\"lamp\",\"stock\":10,\"waitingRoom\":"
                                "{\"admitPerSecond\":2,\"places\":\"draw\"}}"));
    assert_true(app_eventually(is_booked, &(int){0}, APP_BOOK_MS));
    assert_int_equal(app_operate(self, "PATCH", "/api/v1/admin/sales/lamp",
                                 "{\"waitingRoom\":{\"admitPerSecond\":1}}"),
                     200);
    assert_true(app_eventually(app_book_agrees, self, APP_BOOK_MS));
    app_book_dump(self, wanted);
    app_book_forget(self);
    app_book_comes_back(self, wanted);
    clock_pause_ms(1200); /* an instance that saw it gone looks for a room once in a second */
    assert_int_equal(app_buy(self->service.buyers, "lamp", "ann", "k", &self->reply), 403);
}

/* Several at once, each killed a little later than the one before. */
TEST(a_rebuild_that_is_killed_goes_on, struct app_fixture *self)
{
    static char wanted[APP_BOOK_SIZE];
    struct app_process killed[2] = {{0}};

    sell(self, 2 * MANY, MANY);
    app_book_dump(self, wanted);
    assert_int_equal(app_stop(&self->service), 0);
    for (int ms = 0; ms < 60; ms += 4) {
        if (ms % 20 == 0) app_book_forget(self);
        for (int i = 0; i < 2; i++)
            app_start_program(&killed[i], "build/release/seckillctl",
                              (const char *const[]){"sale", "rebuild", "--all", "--book",
                                                    postgres->url, "--redis", self->redis.redis,
                                                    NULL},
                              self->dir);
        clock_pause_ms(ms);
        for (int i = 0; i < 2; i++)
            app_kill(&killed[i]);
    }
    assert_int_equal(app_book_ctl(self, "sale", "rebuild", "--all"), 0);
    app_book_comes_back(self, wanted);
    start(self, postgres->url);
    assert_int_equal(app_book_buy(self, &self->service, 0, 2), 2);
    assert_int_equal(app_book_buy(self, &self->service, MANY, 3), 3);
    assert_true(app_eventually(is_booked, &(int){MANY + 3}, APP_BOOK_MS));
    assert_int_equal(app_operate(self, NULL, "/api/v1/admin/sales/lamp/audit", NULL), 200);
    assert_string_equal(app_member(&self->reply, "verdict"), "pass");
}

static bool is_paused(void *arg)
{
    struct app_fixture *self = arg;
    lk_reply *state =
        app_redis_command(self->redis.redis, "HMGET seckill:{lamp}:sale state rebuild");
    const char *text = lk_reply_bytes(lk_reply_at(state, 0)).data;
    bool is_so = text && strcmp(text, "paused") == 0 && !lk_reply_bytes(lk_reply_at(state, 1)).data;

    lk_reply_free(state);
    return is_so;
}

/* b000 to b002 are in the book, b002 to b006 were sold by who knew nothing of it. */
static void fork_with(struct app_fixture *self, int units)
{
    char body[64];

    sell(self, units, 3);
    assert_int_equal(app_stop(&self->service), 0);
    app_book_forget(self);
    start(self, NULL);
    (void)snprintf(body, sizeof body, "{\"id\":\"lamp\",\"stock\":%d}", units);
    assert_true(app_create_sale(&self->service, self->dir, body));
    assert_int_equal(app_book_buy(self, &self->service, 2, 5), 5);
    assert_int_equal(app_stop(&self->service), 0);
    start(self, postgres->url);
}

static const char conflicts[] =
    "SELECT string_agg(why || ' ' || split_part(what, ':', 2) || ' ' ||"
    " (settled_at IS NULL), ';' ORDER BY what) FROM seckill_book.conflict";

TEST(what_was_sold_beside_the_book_stands_while_units_last, struct app_fixture *self)
{
    fork_with(self, 9);
    assert_true(app_eventually(is_booked, &(int){7}, APP_BOOK_MS));
    assert_string_equal(lkp_ask(postgres, conflicts), "same-buyer b002 false");
    assert_int_equal(app_book_buy(self, &self->service, 0, 12), 9);
    assert_true(app_eventually(is_booked, &(int){9}, APP_BOOK_MS));
}

TEST(what_was_sold_twice_stops_the_sale_by_name, struct app_fixture *self)
{
    fork_with(self, 5);
    assert_true(app_eventually(is_paused, self, APP_BOOK_MS));
    assert_true(app_eventually(is_booked, &(int){5}, APP_BOOK_MS));
    assert_string_equal(lkp_ask(postgres, conflicts),
                        "same-buyer b002 true;no-unit b005 true;no-unit b006 true");
    assert_int_equal(app_book_buy(self, &self->service, 7, 1), 0);
    assert_true(app_is_problem(&self->reply, 503, "sale-paused"));
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/restock", "{\"units\":2}"),
                     200);
    assert_int_equal(app_book_ctl(self, "sale", "rebuild", "lamp"), 0);
    assert_string_equal(self->out, "lamp: paused, 0 conflicts\n");
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/resume", ""), 200);
    assert_int_equal(app_book_buy(self, &self->service, 0, 9), 7);
    assert_true(app_eventually(is_booked, &(int){7}, APP_BOOK_MS));
}

static bool sells_again(void *arg)
{
    return app_book_buy(arg, &((struct app_fixture *)arg)->service, MANY, 1) == 1;
}

/* So many of these buyers, that Redis knows of. */
static int count_kept(struct app_fixture *self, int first, int count)
{
    int kept = 0;

    for (int i = first; i < first + count; i++) {
        char command[64];

        (void)snprintf(command, sizeof command, "HEXISTS seckill:{lamp}:orders b%03d", i);
        lk_reply *reply = app_redis_command(self->redis.redis, command);
        kept += (int)lk_reply_integer(reply, 0);
        lk_reply_free(reply);
    }
    return kept;
}

static bool is_there(void *arg)
{
    return app_get(arg, ((struct app_fixture *)arg)->service.buyers, "/api/v1/sales/lamp") == 200;
}

/* Redis comes back as it was before b002 and b003, and nobody can compare it with the book: it sells nothing. */
TEST(nothing_is_sold_before_redis_was_compared_with_the_book, struct app_fixture *self)
{
    sell(self, 5, 2);
    lk_reply_free(app_redis_command(self->redis.redis, "SAVE"));
    assert_int_equal(app_book_buy(self, &self->service, 2, 2), 2);
    assert_true(app_eventually(is_booked, &(int){4}, APP_BOOK_MS));
    lkp_server_kill(postgres);
    app_kill(&self->redis);
    start_redis(self);
    assert_true(app_eventually(is_there, self, APP_BOOK_MS));
    assert_int_equal(app_number(&self->reply, "remaining"), 3); /* as of old */
    for (int i = 4; i < 24; i++) {
        assert_int_equal(app_book_buy(self, &self->service, i, 1), 0);
        assert_true(app_is_problem(&self->reply, 503, "store-unavailable"));
    }
    lkp_server_restart(postgres);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_int_equal(count_kept(self, 0, 4), 4);
    assert_int_equal(app_book_buy(self, &self->service, 4, 5), 0);
    assert_true(app_eventually(is_booked, &(int){5}, APP_BOOK_MS));
    assert_string_equal(lkp_ask(postgres, "SELECT count(*) FROM seckill_book.conflict"), "0");
}

/* ---- told ------------------------------------------------------------------------------------- */

/* PostgreSQL is away while five buy, and Redis forgets them: how many of those who were told 201 are lost. */
static int lose(struct app_fixture *self, const char *waits)
{
    assert_true(
        app_start(&self->service, self->dir,
                  (const char *const[]){"--redis", self->redis.redis, "--book", postgres->url,
                                        "--book-wait", waits, "--deadline-ms", "500", NULL}));
    (void)app_create_sale(&self->service, self->dir, "{\"id\":\"lamp\",\"stock\":1000}");
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_true(app_eventually(is_booked, &(int){1}, APP_BOOK_MS));
    lkp_server_kill(postgres);
    int told = app_book_buy(self, &self->service, 0, 5);
    if (told < 5) assert_true(app_is_problem(&self->reply, 503, "outcome-unknown"));
    app_book_forget(self);
    lkp_server_restart(postgres);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    int lost = told - count_kept(self, 0, 5);
    print_message("# --book-wait %s: %d were told 201, %d of them are lost\n", waits, told, lost);
    return lost;
}

TEST(what_the_book_has_not_got_is_lost_with_redis, struct app_fixture *self)
{
    assert_int_equal(lose(self, "0"), 5);
}

TEST(who_waits_for_the_book_loses_nothing, struct app_fixture *self)
{
    int told = 0;

    assert_true(lose(self, "1") <= 0);
    for (int i = 10; i < 30; i++) { /* told, and forgotten at once */
        told += app_book_buy(self, &self->service, i, 1);
        if (i % 4 > 0) continue;
        if (i % 8 > 0) {
            app_book_forget(self);
        } else {
            app_kill(&self->redis);
            start_redis(self);
        }
        assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    }
    assert_int_equal(told, 20);
    assert_int_equal(count_kept(self, 10, 20), 20);
}

/* What is said of b000 to b002: paid, mismatch and later done, cancelled. "": not that, the book has it not. */
static void end_orders(struct app_fixture *self, const char *event, const char *paid,
                       const char *owed, long cancelled)
{
    char name[16];

    (void)snprintf(name, sizeof name, "%s-0", event);
    assert_string_equal(app_book_pay(self, name, "b000", 5), paid);
    (void)snprintf(name, sizeof name, "%s-1", event);
    assert_string_equal(app_book_pay(self, name, "b001", 6), owed);
    assert_int_equal(app_book_me(self, "DELETE", "b002"), cancelled);
}

static bool is_in_state(struct app_fixture *self, const char *buyer, const char *state)
{
    return app_book_me(self, "GET", buyer) == 200 &&
           strcmp(app_member(&self->reply, "state"), state) == 0;
}

TEST(no_final_is_told_before_the_book_has_it, struct app_fixture *self)
{
    assert_true(app_start(&self->service, self->dir,
                          (const char *const[]){"--redis", self->redis.redis, "--book",
                                                postgres->url, "--book-wait", "1", "--payment-key",
                                                app_book_key(self), NULL}));
    assert_true(app_create_sale(&self->service, self->dir, APP_BOOK_PAID_LATER("9", "600000")));
    assert_int_equal(app_book_buy(self, &self->service, 0, 3), 3);
    lkp_server_kill(postgres);
    end_orders(self, "a", "", "", 503);
    assert_true(app_is_problem(&self->reply, 503, "outcome-unknown"));
    assert_int_equal(app_book_me(self, "GET", "b000"), 503);
    app_book_forget(self); /* all that nobody was told */
    lkp_server_restart(postgres);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_true(is_in_state(self, "b000", "held"));
    end_orders(self, "b", "paid", "mismatch", 200);
    app_kill(&self->redis); /* at once */
    start_redis(self);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_true(is_in_state(self, "b000", "paid"));
    assert_true(is_in_state(self, "b002", "cancelled"));
    end_orders(self, "b", "repeated", "repeated", 200);
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/refunds",
                                 "{\"payment\":\"p-b-1\",\"state\":\"done\"}"),
                     200);
    app_book_forget(self);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_true(is_in_state(self, "b000", "paid"));
    assert_int_equal(app_operate(self, NULL, "/api/v1/admin/sales/lamp/refunds", NULL), 200);
    app_assert_answer(&self->reply, 200, "{`payment`:`p-b-1`,`state`:`done`}");
}

/* b000 to b002 have orders; Redis comes back without the last two, then without all, and nobody can compare it. */
TEST(no_order_is_unknown_because_redis_forgot_it, struct app_fixture *self)
{
    assert_true(app_start(&self->service, self->dir,
                          (const char *const[]){"--redis", self->redis.redis, "--book",
                                                postgres->url, "--book-wait", "0", "--payment-key",
                                                app_book_key(self), NULL}));
    assert_true(app_create_sale(&self->service, self->dir, APP_BOOK_PAID_LATER("9", "600000")));
    assert_int_equal(app_book_buy(self, &self->service, 0, 1), 1);
    assert_true(app_eventually(is_booked, &(int){1}, APP_BOOK_MS));
    lk_reply_free(app_redis_command(self->redis.redis, "SAVE"));
    assert_int_equal(app_book_buy(self, &self->service, 1, 2), 2);
    assert_true(app_eventually(is_booked, &(int){3}, APP_BOOK_MS));
    lkp_server_kill(postgres);
    app_kill(&self->redis);
    start_redis(self);
    assert_true(app_eventually(is_there, self, APP_BOOK_MS));
    for (int i = 0; i < 2; i++) {
        assert_string_equal(app_book_pay(self, "a", "b001", 5), "");
        assert_true(app_is_problem(&self->reply, 503, "store-unavailable"));
        assert_int_equal(app_book_me(self, "GET", "b002"), 503);
        assert_int_equal(app_book_me(self, "DELETE", "b000"), 503);
        app_book_forget(self);
    }
    lkp_server_restart(postgres);
    assert_true(app_eventually(sells_again, self, APP_BOOK_MS));
    assert_string_equal(app_book_pay(self, "a", "b001", 5), "paid");
    assert_true(is_in_state(self, "b002", "held"));
    assert_int_equal(app_book_me(self, "DELETE", "b000"), 200);
    assert_int_equal(app_book_me(self, "GET", "b003"), 404);
}

static struct app_topology many;

static bool is_bought_by(const char *buyer)
{
    return app_topology_buy(&many, "lamp", buyer, buyer) == 201;
}

static const char restored_first[] = "SELECT every((ms, seq) < (SELECT ms, seq FROM "
                                     "seckill_book.entry WHERE words::text ~ ':dan:'))"
                                     " FROM seckill_book.entry WHERE words[2] = 'restored'";

/* Both replicas are away while cid is told 201; then one comes back, and the primary never. */
static void fail_over(void)
{
    LKS_EVENTUALLY(LKS_INTEGER(lkt_server(many.topology, "n1"), "WAIT", "2", "1000") == 2,
                   APP_BOOK_MS);
    (void)lkt_tell(many.topology, "kill n2");
    (void)lkt_tell(many.topology, "kill n3");
    assert_true(is_bought_by("cid"));
    (void)lkt_tell(many.topology, "kill n1");
    (void)lkt_tell(many.topology, "restart n2");
}

TEST_WITH(a_failover_that_loses_orders_gets_them_back, NULL, NULL)
{
    lkp_server_empty(postgres);
    many.topology = lkt_start(NULL);
    app_topology_begin(&many);
    APP_MANY_START(&many, "--book", postgres->url, "--book-wait", "1");
    assert_int_equal(app_topology_create(&many, "lamp", 4, "mutex"), 201);
    LKS_EVENTUALLY(is_bought_by("ann"), APP_BOOK_MS);
    fail_over();
    LKS_EVENTUALLY(is_bought_by("dan"), 2 * APP_BOOK_MS); /* not before cid is back */
    assert_string_equal(lkp_ask(postgres, restored_first), "t");
    assert_int_equal(app_topology_look_up(&many, "lamp", "cid"), 200);
    app_topology_assert_books(&many, "lamp", 3, 1);
    app_topology_end(&many);
    lkt_stop(many.topology);
}
