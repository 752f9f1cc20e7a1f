/*
 * A waiting room on two instances, and one thing after the other that goes wrong while a crowd takes its places and
 * buys: no place is given twice, nobody comes in before his turn, everybody buys in the end.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "waiting/ticket.h"

#define LAMP "/api/v1/sales/lamp"

enum {
    BUYERS = 40,
    EARLY = 15,
    RATE = 20,
    FAULT_MS = 1500,
    LIMIT_MS = 30000,
    ASK_MS = 300 /* while it goes wrong */
};

APP_FOLDER();

struct visitor {
    char name[8];
    char ticket[TICKET_SIZE];
    long long number;
    bool has_bought;
};

struct conn_scheduler {
    struct app_fixture *self;
    struct visitor visitors[BUYERS];
    unsigned asked, joined, bought;
    int64_t limit_ms; /* of an answer; 0: 10 s */
    int64_t began_ms;
};

/* ---- what goes wrong: at last it is over ---------------------------------------------------------------- */

static void kill_instance(struct app_fixture *self, bool is_over)
{
    const char *const args[] = {"--redis", self->redis.redis, NULL};

    if (is_over)
        assert_true(app_start(&self->other, self->dir, args));
    else
        app_kill(&self->other);
}

static void stop_instance(struct app_fixture *self, bool is_over)
{
    assert_int_equal(kill(self->other.pid, is_over ? SIGCONT : SIGSTOP), 0);
}

static void kill_redis(struct app_fixture *self, bool is_over)
{
    if (is_over)
        assert_true(app_start_redis(&self->redis, self->dir));
    else
        app_kill(&self->redis);
}

static void stop_redis(struct app_fixture *self, bool is_over)
{
    assert_int_equal(kill(self->redis.pid, is_over ? SIGCONT : SIGSTOP), 0);
}

static void cut_connections(struct app_fixture *self, bool is_over)
{
    (void)is_over;
    lk_reply_free(app_redis_command(self->redis.redis, "CLIENT KILL TYPE normal"));
}

static void forget_scripts(struct app_fixture *self, bool is_over)
{
    (void)is_over;
    lk_reply_free(app_redis_command(self->redis.redis, "SCRIPT FLUSH"));
}

static const struct row {
    const char *what;
    void (*fault)(struct app_fixture *self, bool is_over);
} rows[] = {
    {"an instance is killed", kill_instance}, {"an instance stands still", stop_instance},
    {"Redis is killed", kill_redis},          {"Redis stands still", stop_redis},
    {"connections are cut", cut_connections}, {"Redis has forgotten the scripts", forget_scripts}};

/* ---- the crowd ------------------------------------------------------------------------------------------- */

/* By either instance in turn, however it is. */
static long ask(struct conn_scheduler *crowd, const struct visitor *who, const char *path)
{
    struct app_fixture *self = crowd->self;
    char header[32 + TICKET_SIZE];

    (void)snprintf(header, sizeof header, "Waiting-Ticket: %s", who->ticket);
    return app_http(
        &(struct app_call){.method = "POST",
                           .base = (crowd->asked++ % 2 ? &self->service : &self->other)->buyers,
                           .path = path,
                           .user = who->name,
                           .limit_ms = crowd->limit_ms,
                           .headers = {who->ticket[0] ? header : NULL}},
        &self->reply);
}

static void join(struct conn_scheduler *crowd, struct visitor *who)
{
    if (ask(crowd, who, LAMP "/waiting-room") != 200) return;
    (void)snprintf(who->ticket, sizeof who->ticket, "%s",
                   app_member(&crowd->self->reply, "ticket"));
    who->number = app_number(&crowd->self->reply, "number");
    crowd->joined++;
}

/* Whoever may buy was let in: since the beginning no more than the rate, and one second's share. */
static void buy(struct conn_scheduler *crowd, struct visitor *who)
{
    long status = ask(crowd, who, LAMP "/orders");
    int64_t passed_ms = clock_mono_ms() - crowd->began_ms;

    if (status != 201 && status != 409) return; /* or he has bought, and the answer was lost */
    assert_in_range(who->number, 1, RATE + RATE * passed_ms / 1000);
    if (status == 409) assert_true(app_is_problem(&crowd->self->reply, 409, "already-ordered"));
    who->has_bought = true;
    crowd->bought++;
}

/* Again and again each of the first ones asks for what he wants next. */
static void go_on(struct conn_scheduler *crowd, size_t count, int64_t until_ms)
{
    while (crowd->bought < count && clock_mono_ms() < until_ms) {
        for (size_t i = 0; i < count && clock_mono_ms() < until_ms; i++) {
            struct visitor *who = &crowd->visitors[i];

            if (!who->ticket[0])
                join(crowd, who);
            else if (!who->has_bought)
                buy(crowd, who);
        }
        clock_pause_ms(10);
    }
}

static void each_has_a_place_of_his_own(const struct conn_scheduler *crowd)
{
    bool is_taken[BUYERS + 1] = {true};

    for (size_t i = 0; i < BUYERS; i++) {
        assert_in_range(crowd->visitors[i].number, 1, BUYERS);
        assert_false(is_taken[crowd->visitors[i].number]);
        is_taken[crowd->visitors[i].number] = true;
    }
}

static void run_row(struct app_fixture *self, const struct row *row)
{
    struct conn_scheduler crowd = {.self = self};

    for (int i = 0; i < BUYERS; i++)
        (void)snprintf(crowd.visitors[i].name, sizeof crowd.visitors[i].name, "u%d", i);
    crowd.began_ms = clock_mono_ms();
    assert_true(
        app_create_sale(&self->service, self->dir,
                        "{\"id\":\"lamp\",\"stock\":40,\"waitingRoom\":{\"admitPerSecond\":20}}"));
    for (int i = 0; i < EARLY; i++)
        join(&crowd, &crowd.visitors[i]);
    row->fault(self, false);
    crowd.limit_ms = ASK_MS;
    go_on(&crowd, BUYERS, clock_mono_ms() + FAULT_MS);
    print_message("# %s: %u of %d have joined, %u bought", row->what, crowd.joined, BUYERS,
                  crowd.bought);
    crowd.limit_ms = 0;
    row->fault(self, true);
    go_on(&crowd, BUYERS, clock_mono_ms() + LIMIT_MS);
    print_message("; all after %d ms\n", (int)(clock_mono_ms() - crowd.began_ms));
    assert_int_equal(crowd.bought, BUYERS);
    if (row->fault == kill_redis)
        assert_true(app_metric(self, "seckill_waiting_failures_total") > 0);
    each_has_a_place_of_his_own(&crowd);
    assert_int_equal(app_ask_redis(self->redis.redis, "HLEN", "seckill:{lamp}:orders"), BUYERS);
    assert_int_equal(app_ask_redis(self->redis.redis, "HLEN", "seckill:{lamp}:places"), BUYERS);
    assert_int_equal(app_ask_redis(self->redis.redis, "GET", "seckill:{lamp}:stock"), 0);
}

TEST(places_and_turns_outlive_whatever_goes_wrong, struct app_fixture *self)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const args[] = {"--redis", self->redis.redis, NULL};

        app_fixture_start_on_redis(self, (const char *const[]){NULL});
        assert_true(app_start(&self->other, self->dir, args));
        run_row(self, &rows[i]);
        assert_int_equal(app_fixture_end(self), 0);
        app_fixture_begin(self);
    }
}
