/*
 * A sale with a waiting room, over HTTP, on real services: who may buy when, by which ticket; the draw, drawn
 * again; instances that share a room; what restarts and stops do to it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/rfc3339.h"
#include "test/support/app_fixture.h"
#include "waiting/draw.h"
#include "waiting/ticket.h"

#define ADMIN "/api/v1/admin/sales"
#define LAMP  "/api/v1/sales/lamp"
#define ROOM  LAMP "/waiting-room"

enum { STEP_MS = 200, TWO_STEPS_MS = 400 };

SET_UP(struct app_fixture, fixture)
{
    app_fixture_begin(fixture);
    app_fixture_start_on_redis(fixture, (const char *const[]){NULL});
}

TEAR_DOWN(struct app_fixture, fixture)
{
    assert_int_equal(app_fixture_end(fixture), 0);
}

static void put_up(struct app_fixture *self, const char *room)
{
    char body[200];

    (void)snprintf(body, sizeof body, "{\"id\":\"lamp\",\"stock\":100,\"waitingRoom\":%s}", room);
    assert_true(app_create_sale(&self->service, self->dir, body));
}

/* As a buyer who shows a ticket, if it is not "". */
static long ask(struct app_fixture *self, const char *method, const char *path, const char *user,
                const char *ticket)
{
    char header[32 + TICKET_SIZE];

    (void)snprintf(header, sizeof header, "Waiting-Ticket: %s", ticket);
    return app_http(&(struct app_call){.method = method,
                                       .base = self->service.buyers,
                                       .path = path,
                                       .user = user,
                                       .headers = {ticket[0] ? header : NULL}},
                    &self->reply);
}

static long buy(struct app_fixture *self, const char *user, const char *ticket)
{
    return ask(self, "POST", LAMP "/orders", user, ticket);
}

/* His ticket; the reply is there, too. */
static void join(struct app_fixture *self, const char *user, char out[TICKET_SIZE])
{
    assert_int_equal(ask(self, "POST", ROOM, user, ""), 200);
    (void)snprintf(out, TICKET_SIZE, "%s", app_member(&self->reply, "ticket"));
}

/* So many buyers, u1 and so on, from a number on. */
static void join_many(struct app_fixture *self, int first, int count, char (*out)[TICKET_SIZE])
{
    for (int i = 0; i < count; i++) {
        char user[16];

        (void)snprintf(user, sizeof user, "u%d", first + i);
        join(self, user, out[i]);
        assert_int_equal(app_number(&self->reply, "number"), first + i);
    }
}

static void await(struct app_fixture *self, const char *turn, const char *user, const char *ticket)
{
    int64_t until_ms = clock_mono_ms() + 8000;

    do {
        assert_true(clock_mono_ms() < until_ms);
        clock_pause_ms(20);
        assert_int_equal(ask(self, "GET", ROOM, user, ticket), 200);
    } while (strcmp(app_member(&self->reply, "turn"), turn) != 0);
}

static void await_turn(struct app_fixture *self, const char *user, const char *ticket)
{
    await(self, "admitted", user, ticket);
}

static void await_draw(struct app_fixture *self, const char *user, const char *ticket)
{
    for (int i = 0; i < 400; i++) {
        assert_int_equal(ask(self, "GET", ROOM, user, ticket), 200);
        if (app_number(&self->reply, "drawn") >= 0) return;
        clock_pause_ms(20);
    }
    fail_msg("no draw: %s", self->reply.body);
}

TEST(a_ticket_lets_its_buyer_buy_when_his_turn_has_come, struct app_fixture *self)
{
    char tickets[8][TICKET_SIZE];
    char again[TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":1}");
    assert_int_equal(app_get(self, self->service.buyers, LAMP), 200);
    assert_non_null(
        strstr(self->reply.body, "\"waitingRoom\":{\"admitPerSecond\":1,\"places\":\"arrival\"}"));
    assert_int_equal(buy(self, "u1", ""), 403);
    assert_true(app_is_problem(&self->reply, 403, "ticket-required"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    join_many(self, 1, 8, tickets);
    assert_string_equal(app_member(&self->reply, "commitment"), ""); /* nothing is drawn */
    join(self, "u8", again);
    assert_string_equal(again, tickets[7]);
    app_assert_answer(&self->reply, 200, "{`saleId`:`lamp`,`turn`:`waiting`,`number`:8,`place`:8}");
    assert_in_range(app_number(&self->reply, "waitMs"), 2000, 8000);

    assert_int_equal(buy(self, "u8", tickets[7]), 403);
    assert_true(app_is_problem(&self->reply, 403, "not-your-turn"));
    assert_in_range(app_number(&self->reply, "retryAfterMs"), 500, 2000);
    await_turn(self, "u1", tickets[0]);
    assert_int_equal(buy(self, "u9", tickets[0]), 403); /* it is not his */
    assert_true(app_is_problem(&self->reply, 403, "ticket-required"));
    assert_int_equal(buy(self, "u1", tickets[0]), 201);
    assert_int_equal(buy(self, "u1", ""), 409); /* who has one hears of it, in any case */
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
    assert_int_equal(
        app_operate(self, "PATCH", ADMIN "/lamp", "{\"waitingRoom\":{\"admitPerSecond\":1000}}"),
        200);
    await_turn(self, "u8", tickets[7]);
    assert_int_equal(buy(self, "u8", tickets[7]), 201);
    assert_int_equal(app_operate(self, NULL, ADMIN "/lamp", NULL), 200);
    assert_non_null(strstr(self->reply.body, "\"admitted\":8,\"waiting\":0}"));
    assert_int_equal(app_metric(self, "seckill_waiting_joined_total"), 9);
    assert_int_equal(app_metric(self, "seckill_waiting_refused_total"), 3);
}

/* Whoever comes when nobody waits finds one second's places at most; then it is so many a second. */
TEST(so_many_a_second_are_let_in_and_no_more, struct app_fixture *self)
{
    enum { BUYERS = 60, RATE = 20 };
    char tickets[BUYERS][TICKET_SIZE];
    int64_t began_ms = 0;
    int let_in = 0;

    put_up(self, "{\"admitPerSecond\":20}");
    assert_int_equal(ask(self, "GET", ROOM, "u1", ""), 200); /* it begins */
    clock_pause_ms(2500);
    began_ms = clock_mono_ms();
    join_many(self, 1, BUYERS, tickets);
    do { /* what has passed since the room was full of nobody counts, and nothing else */
        assert_int_equal(ask(self, "GET", ROOM, "u60", tickets[59]), 200);
        assert_true(app_number(&self->reply, "admitted") <=
                    RATE + RATE * (clock_mono_ms() - began_ms) / 1000 + 1);
    } while (clock_mono_ms() - began_ms < 500);
    while (clock_mono_ms() - began_ms < 1500) {
        char user[16];

        (void)snprintf(user, sizeof user, "u%d", let_in + 1);
        if (buy(self, user, tickets[let_in]) == 201) let_in++;
        assert_true(let_in <= RATE + RATE * (clock_mono_ms() - began_ms + STEP_MS) / 1000 + 1);
    }
    assert_int_equal(ask(self, "GET", ROOM, "u60", tickets[59]), 200);
    assert_true(app_number(&self->reply, "admitted") >= RATE + RATE / 2); /* of 50 */
    assert_in_range(app_number(&self->reply, "waiting"), 1, BUYERS - let_in);
}

TEST(who_came_before_the_start_gets_a_place_by_lot, struct app_fixture *self)
{
    enum { EARLY = 12 };
    char tickets[EARLY][TICKET_SIZE];
    char late[TICKET_SIZE];
    char commitment[2 * TOKEN_MAC_SIZE + 1];
    char hex[2 * TOKEN_MAC_SIZE + 1] = "";
    unsigned char mac[TOKEN_MAC_SIZE];
    struct token_key seed = {.len = DRAW_SEED_SIZE};
    unsigned taken = 0;

    assert_int_equal(
        app_operate(self, "POST", ADMIN,
                    "{\"id\":\"lamp\",\"stock\":9,\"startsAt\":\"2099-01-01T00:00:00Z\","
                    "\"waitingRoom\":{\"admitPerSecond\":1,\"places\":\"draw\"}}"),
        201);
    join_many(self, 1, EARLY, tickets);
    app_assert_answer(&self->reply, 200,
                      "{`turn`:`before-draw`,`number`:12,`waiting`:12,`admitted`:0}");
    assert_int_equal(app_number(&self->reply, "place"), -1);
    assert_string_equal(app_member(&self->reply, "seed"), "");
    (void)snprintf(commitment, sizeof commitment, "%s", app_member(&self->reply, "commitment"));
    assert_int_equal(buy(self, "u1", tickets[0]), 403);

    assert_int_equal(
        app_operate(self, "PATCH", ADMIN "/lamp", "{\"startsAt\":\"2020-01-01T00:00:00Z\"}"), 200);
    await_draw(self, "u1", tickets[0]);
    join(self, "late", late);
    app_assert_answer(&self->reply, 200, "{`number`:13,`place`:13,`drawn`:12}");
    assert_true(hex_read(app_member(&self->reply, "seed"), seed.bytes, DRAW_SEED_SIZE));
    assert_true(draw_commit(&seed, mac)); /* as was said before */
    hex_write(mac, sizeof mac, hex);
    assert_string_equal(hex, commitment);
    for (int i = 0; i < EARLY; i++) {
        char user[16];

        (void)snprintf(user, sizeof user, "u%d", i + 1);
        assert_int_equal(ask(self, "GET", ROOM, user, tickets[i]), 200);
        long long place = app_number(&self->reply, "place");
        assert_int_equal(place, draw_place(&seed, i + 1, EARLY));
        taken |= 1U << place;
    }
    assert_int_equal(taken, (1U << (EARLY + 1)) - 2);
}

/* Whatever the room's step comes to first. */
TEST(who_comes_after_the_start_takes_no_part_in_the_draw, struct app_fixture *self)
{
    char tickets[3][TICKET_SIZE];

    assert_int_equal(
        app_operate(self, "POST", ADMIN,
                    "{\"id\":\"lamp\",\"stock\":9,\"startsAt\":\"2099-01-01T00:00:00Z\","
                    "\"waitingRoom\":{\"admitPerSecond\":1,\"places\":\"draw\"}}"),
        201);
    join_many(self, 1, 3, tickets);
    assert_int_equal(
        app_operate(self, "PATCH", ADMIN "/lamp", "{\"startsAt\":\"2020-01-01T00:00:00Z\"}"), 200);
    assert_int_equal(ask(self, "POST", ROOM, "late", ""), 200);
    await_draw(self, "u1", tickets[0]);
    assert_int_equal(app_number(&self->reply, "drawn"), 3);
}

TEST(a_draw_in_which_nobody_took_part_is_one, struct app_fixture *self)
{
    char ticket[TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":1,\"places\":\"draw\"}");
    join(self, "u1", ticket);
    await_draw(self, "u1", ticket);
    app_assert_answer(&self->reply, 200, "{`number`:1,`place`:1,`drawn`:0}");
    assert_int_equal(strlen(app_member(&self->reply, "seed")), 2 * TOKEN_MAC_SIZE);
}

TEST(nobody_is_let_in_while_nothing_is_left, struct app_fixture *self)
{
    char tickets[5][TICKET_SIZE];

    assert_true(
        app_create_sale(&self->service, self->dir,
                        "{\"id\":\"lamp\",\"stock\":1,\"waitingRoom\":{\"admitPerSecond\":2}}"));
    join_many(self, 1, 5, tickets);
    await_turn(self, "u1", tickets[0]);
    assert_int_equal(buy(self, "u1", tickets[0]), 201);
    clock_pause_ms(TWO_STEPS_MS);
    assert_int_equal(ask(self, "GET", ROOM, "u5", tickets[4]), 200);
    long long before = app_number(&self->reply, "admitted");
    clock_pause_ms(1200);
    assert_int_equal(ask(self, "GET", ROOM, "u5", tickets[4]), 200);
    assert_int_equal(app_number(&self->reply, "admitted"), before);
    assert_int_equal(app_operate(self, "POST", ADMIN "/lamp/restock", "{\"units\":5}"), 200);
    await_turn(self, "u5", tickets[4]);
}

/* A key that is not there signs for nobody. */
TEST(a_room_that_is_gone_lets_nobody_in, struct app_fixture *self)
{
    static const struct token_key nothing = {.len = DRAW_SEED_SIZE};
    char ticket[TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":1}");
    join(self, "u1", ticket);
    assert_int_equal(app_operate(self, "POST", ADMIN "/lamp/end", ""), 200);
    assert_int_equal(app_operate(self, "DELETE", ADMIN "/lamp", ""), 200);
    assert_true(ticket_make(&nothing, &(struct ticket){"lamp", "u1", 1}, ticket));
    await(self, "none", "u1", ticket);
    put_up(self, "{\"admitPerSecond\":1}");
    (void)ask(self, "POST", ROOM, "u1", ticket); /* for a moment it is not known here */
    await(self, "no-ticket", "u1", ticket);
    assert_int_equal(buy(self, "u1", ticket), 403);
}

TEST(a_clock_that_is_set_back_stops_no_room, struct app_fixture *self)
{
    char tickets[9][TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":4}");
    join_many(self, 1, 9, tickets);
    lk_reply_free(
        app_redis_command(self->redis.redis, "HSET seckill:{lamp}:waiting at_ms 99999999999999"));
    await_turn(self, "u9", tickets[8]);
}

/* A ticket of one instance is good at the other; while all of them are away nobody is let in. */
TEST(instances_share_the_room_and_a_stop_lets_no_crowd_in, struct app_fixture *self)
{
    enum { BUYERS = 30 };
    const char *const args[] = {"--redis", self->redis.redis, NULL};
    char tickets[BUYERS][TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":3}");
    join_many(self, 1, BUYERS, tickets);
    await_turn(self, "u1", tickets[0]);
    long long before = app_number(&self->reply, "admitted");
    int64_t stopped_ms = clock_mono_ms();
    app_kill(&self->service);
    clock_pause_ms(4000);
    assert_true(app_start(&self->service, self->dir, args));
    assert_int_equal(ask(self, "GET", ROOM, "u30", tickets[29]), 200);
    long long after = app_number(&self->reply, "admitted");
    assert_in_range(after, before,
                    before + 3 + 1 + 3); /* a second's share, and what a slow start lets in */
    assert_true(after < before + 3 * (clock_mono_ms() - stopped_ms) / 1000);
    assert_int_equal(buy(self, "u30", tickets[29]), 403);
    assert_int_equal(buy(self, "u1", tickets[0]), 201);
    assert_true(app_start(&self->other, self->dir, args));
    assert_int_equal(ask(self, "POST", ROOM, "u30", ""), 200);
    assert_string_equal(app_member(&self->reply, "ticket"), tickets[29]);
}

TEST(the_rate_is_changed_and_the_room_goes_with_its_sale, struct app_fixture *self)
{
    char tickets[40][TICKET_SIZE];

    put_up(self, "{\"admitPerSecond\":1}");
    join_many(self, 1, 40, tickets);
    assert_int_equal(
        app_operate(self, "PATCH", ADMIN "/lamp", "{\"waitingRoom\":{\"admitPerSecond\":1000}}"),
        200);
    await_turn(self, "u40", tickets[39]);
    assert_int_equal(buy(self, "u40", tickets[39]), 201);
    assert_int_equal(app_operate(self, "POST", ADMIN "/lamp/end", ""), 200);
    assert_int_equal(ask(self, "POST", ROOM, "u41", ""), 404);
    assert_int_equal(app_operate(self, "DELETE", ADMIN "/lamp", ""), 200);
    put_up(self, "{\"admitPerSecond\":1}");
    await(self, "no-ticket", "u1", tickets[0]);
    assert_int_equal(buy(self, "u1", tickets[0]), 403);
    assert_true(app_is_problem(&self->reply, 403, "ticket-required")); /* another room's ticket */
}

TEST(only_sales_with_a_room_have_one, struct app_fixture *self)
{
    static const char *const bad[] = {"{}",
                                      "{\"admitPerSecond\":0}",
                                      "{\"admitPerSecond\":1000001}",
                                      "{\"admitPerSecond\":1.5}",
                                      "{\"admitPerSecond\":1,\"places\":\"luck\"}",
                                      "{\"admitPerSecond\":1,\"places\":null}",
                                      "{\"admitPerSecond\":1,\"more\":1}",
                                      "7",
                                      "[]"};
    char body[200];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"id\":\"x\",\"stock\":1,\"waitingRoom\":%s}", bad[i]);
        assert_int_equal(app_operate(self, "POST", ADMIN, body), 400);
        app_assert_answer(&self->reply, 400, "{`field`:`waitingRoom`}");
    }
    put_up(self, "null");
    assert_int_equal(ask(self, "GET", ROOM, "u1", ""), 200);
    app_assert_answer(&self->reply, 200, "{`turn`:`none`}");
    assert_int_equal(ask(self, "POST", ROOM, "u1", ""), 404);
    assert_int_equal(
        app_operate(self, "PATCH", ADMIN "/lamp", "{\"waitingRoom\":{\"admitPerSecond\":5}}"), 409);
    assert_int_equal(buy(self, "u1", ""), 201);
    assert_int_equal(ask(self, "POST", "/api/v1/sales/none/waiting-room", "u1", ""), 404);
    assert_int_equal(ask(self, "POST", "/api/v1/sales/none/orders", "u1", ""), 404);
    assert_int_equal(ask(self, "POST", ROOM, NULL, ""), 401);
}

TEST(with_admit_every_new_sale_has_one, struct app_fixture *self)
{
    assert_int_equal(app_stop(&self->service), 0);
    assert_true(app_start(&self->service, self->dir, (const char *const[]){"--admit", "9", NULL}));
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"lamp\",\"stock\":1}"));
    assert_int_equal(buy(self, "u1", ""), 403);
    app_assert_answer(&self->reply, 403, "{`type`:`/problems/ticket-required`}");
}
