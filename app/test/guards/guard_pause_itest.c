/*
 * What happens between the steps of a guard that takes several: its holder is paused, somebody else
 * sells, an answer is lost. The seams are the calls to lockkit that the guards make, so every case
 * happens every time. The flawed ones are in guard_crude_itest.c.
 * link: -Wl,--wrap=lk_guarded_eval -Wl,--wrap=lk_session_call
 */
#include <signal.h>

#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { LEASE_MS = 3000 };

/* ---- the seams ------------------------------------------------------------------------------------------ */

enum failure { NOTHING_SENT, LOST_ON_THE_WAY, ANSWER_LOST };

/* In front of a guarded script; behind the reading of `watch`. */
enum place { BEFORE_SCRIPT, AFTER_READING };

static struct {
    enum place place; /* where `meanwhile` is called, once */
    void (*meanwhile)(struct sale_world *world);
    bool stays; /* called every time */
    struct sale_world *world;
    const char *command; /* for run_command() */
    unsigned session_calls;
    unsigned fail_at; /* the n-th call on a session; 0: none */
    enum failure how; /* it is executed only when the answer is lost */
} seam;

static bool lease_is_over(void *arg)
{
    return sale_number(arg, "EXISTS seckill:{s}:lock") == 0;
}

static void have_a_break(enum place place)
{
    void (*meanwhile)(struct sale_world * world) = seam.meanwhile;

    if (place != seam.place) return;
    if (!seam.stays) seam.meanwhile = NULL;
    if (meanwhile) meanwhile(seam.world);
}

FAKE(lk_status, lk_guarded_eval, lk_lock *lock, const struct lk_eval *eval, int64_t limit_ms,
     lk_reply **out_reply, struct lk_error *err)
{
    have_a_break(BEFORE_SCRIPT);
    return __real_lk_guarded_eval(lock, eval, limit_ms, out_reply, err);
}

FAKE(lk_status, lk_session_call, lk_session *session, const struct lk_command *commands,
     size_t count, int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    bool fails = ++seam.session_calls == seam.fail_at;
    bool is_reading = commands[0].args[0].data[0] == 'W';

    if (fails && seam.how != ANSWER_LOST)
        return seam.how == NOTHING_SENT ? LK_UNREACHABLE : LK_UNKNOWN;
    lk_status status = __real_lk_session_call(session, commands, count, limit_ms, replies, err);
    if (is_reading) have_a_break(AFTER_READING);
    if (!fails || status != LK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
    return LK_UNKNOWN;
}

static void open_sale(struct sale_world *world, const char *guard, int64_t units,
                      int64_t deadline_ms)
{
    memset(&seam, 0, sizeof seam);
    seam.world = world;
    seam.place = strcmp(guard, "watch") == 0 ? AFTER_READING : BEFORE_SCRIPT;
    SALE_INSTANCES(world, guard, units, .batch = 8, .lease_ms = LEASE_MS,
                   .deadline_ms = deadline_ms);
}

/* ---- mutex-watchdog ---------------------------------------------------------------------------------------- */

static int64_t left_ms; /* of the lease, when it was looked at last */
static bool was_renewed;

static bool is_renewed(void *arg)
{
    int64_t last_ms = left_ms;

    left_ms = sale_number(arg, "PTTL seckill:{s}:lock"); /* negative: it is over */
    return left_ms > last_ms;
}

static void await_a_renewal(struct sale_world *world)
{
    left_ms = LEASE_MS;
    was_renewed = sale_eventually(is_renewed, world, 10000);
}

TEST(the_watchdog_keeps_the_lease_of_a_slow_holder, struct sale_world *world)
{
    open_sale(world, "mutex-watchdog", 5, 0);
    seam.meanwhile = await_a_renewal;
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    assert_true(was_renewed);
    assert_true(lease_is_over(world)); /* released, not renewed for ever */
    sale_books_are(world, 1, 4, 2);
}

static void lose_the_lock(struct sale_world *world)
{
    (void)sale_do(world->client, "SET seckill:{s}:lock somebody-else");
}

TEST(a_watched_holder_that_overslept_sells_nothing, struct sale_world *world)
{
    open_sale(world, "mutex-watchdog", 5, 0);
    seam.meanwhile = lose_the_lock;
    sale_instances_expect(world, "ann", OUTCOME_LOCK_TIMEOUT);
    sale_books_are(world, 0, 5, 1);
    assert_int_equal(sale_number(world, "EXISTS seckill:{s}:lock"), 1); /* theirs, left alone */
}

/* ---- watch ------------------------------------------------------------------------------------------------- */

static void somebody_buys(struct sale_world *world)
{
    seam.meanwhile = NULL;
    (void)sale_instances_buy_in(world, 1, "bob", "");
}

TEST(what_changed_in_between_is_read_again, struct sale_world *world)
{
    open_sale(world, "watch", 5, 0);
    seam.meanwhile = somebody_buys;
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    assert_int_equal(seam.session_calls, 6); /* read, somebody's two, refused; read, written */
    sale_books_are(world, 2, 3, 3);
}

TEST(the_last_unit_goes_to_one, struct sale_world *world)
{
    open_sale(world, "watch", 1, 0);
    seam.meanwhile = somebody_buys;
    sale_instances_expect(world, "ann", OUTCOME_SOLD_OUT);
    sale_books_are(world, 1, 0, 2);
}

static void run_command(struct sale_world *world)
{
    (void)sale_do(world->client, "%s", seam.command);
}

TEST(each_thing_that_is_read_is_watched, struct sale_world *world)
{
    static const struct {
        const char *command;
        outcome expected;
    } rows[] = {
        {"HSET seckill:{s}:sale state paused", OUTCOME_PAUSED},
        {"HSET seckill:{s}:sale state ended", OUTCOME_ENDED},
        {"HSET seckill:{s}:sale ends_ms 1", OUTCOME_ENDED},
        {"HSET seckill:{s}:sale starts_ms 95617584000000", OUTCOME_NOT_STARTED},
        {"SET seckill:{s}:stock 0", OUTCOME_SOLD_OUT},
        {"HSET seckill:{s}:orders ann 17:held:", OUTCOME_ALREADY_ORDERED},
        {"DEL seckill:{s}:sale", OUTCOME_NO_SALE},
        {"RENAME seckill:{s}:stock seckill:{s}:ledger", OUTCOME_STORE_UNAVAILABLE},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_sale(world, "watch", 5, 0);
        seam.command = rows[i].command;
        seam.meanwhile = run_command;
        sale_instances_expect(world, "ann", rows[i].expected);
        assert_true(seam.session_calls >= 3); /* what was read first did not count */
    }
}

/* A refusal, too, is of one moment: who wins elsewhere meanwhile is not told "sold out". */
TEST(a_refusal_is_validated_like_a_sale, struct sale_world *world)
{
    open_sale(world, "watch", 1, 0);
    assert_true(sale_do(world->client, "SET seckill:{s}:stock 0"));
    seam.command = "HSET seckill:{s}:orders ann 17:held:";
    seam.meanwhile = run_command;
    sale_instances_expect(world, "ann", OUTCOME_ALREADY_ORDERED);
    assert_int_equal(seam.session_calls, 4);
}

static void touch_the_stock(struct sale_world *world)
{
    (void)sale_do(world->client, "SET seckill:{s}:stock 5");
}

TEST(a_conflict_without_end_is_a_lock_timeout, struct sale_world *world)
{
    enum { DEADLINE_MS = 1000, PATIENCE_MS = 10000 /* half of what a sell has by default */ };

    open_sale(world, "watch", 5, DEADLINE_MS);
    seam.meanwhile = touch_the_stock;
    seam.stays = true;
    int64_t begin_ms = clock_mono_ms();
    sale_instances_expect(world, "ann", OUTCOME_LOCK_TIMEOUT);
    assert_in_range(clock_mono_ms() - begin_ms, DEADLINE_MS / 2, PATIENCE_MS);
    assert_true(seam.session_calls >= 4); /* it did try again */
    sale_books_are(world, 0, 5, 1);
}

/* ---- watch: lost answers --------------------------------------------------------------------------------------- */

/* The n-th call fails, in each way: the outcome is the truth, and asking again gets an order. */
TEST(a_lost_answer_is_settled, struct sale_world *world)
{
    static const struct {
        unsigned fail_at;
        enum failure how;
        outcome expected;
        int64_t orders;
    } rows[] = {
        {1, NOTHING_SENT, OUTCOME_STORE_UNAVAILABLE, 0},
        {1, LOST_ON_THE_WAY, OUTCOME_STORE_UNAVAILABLE, 0},
        {1, ANSWER_LOST, OUTCOME_STORE_UNAVAILABLE, 0},
        {2, NOTHING_SENT, OUTCOME_STORE_UNAVAILABLE, 0},
        {2, LOST_ON_THE_WAY, OUTCOME_STORE_UNAVAILABLE, 0}, /* by resolve.lua */
        {2, ANSWER_LOST, OUTCOME_CREATED, 1},               /* by resolve.lua */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_sale(world, "watch", 5, 0);
        seam.fail_at = rows[i].fail_at;
        seam.how = rows[i].how;
        sale_instances_expect(world, "ann", rows[i].expected);
        sale_books_are(world, rows[i].orders, 5 - rows[i].orders, 1 + rows[i].orders);
        sale_instances_expect(world, "ann",
                              rows[i].orders ? OUTCOME_ALREADY_ORDERED : OUTCOME_CREATED);
        sale_books_are(world, 1, 4, 2);
    }
}

static void void_the_attempt(struct sale_world *world)
{
    lk_reply *fields = sale_ask(world->client, "HKEYS seckill:{s}:void");
    struct lk_bytes process = lk_reply_bytes(lk_reply_at(fields, 0));

    (void)sale_do(world->client, "HSET seckill:{s}:void %s 1000000", process.data);
    lk_reply_free(fields);
}

/* A transaction in the buffers of a dead connection, executed after its attempt was given up. */
TEST(a_transaction_that_comes_late_is_refused, struct sale_world *world)
{
    open_sale(world, "watch", 5, 0);
    seam.fail_at = 2; /* so that the void hash has this process' field */
    seam.how = LOST_ON_THE_WAY;
    sale_instances_expect(world, "ann", OUTCOME_STORE_UNAVAILABLE);
    assert_int_equal(sale_number(world, "HLEN seckill:{s}:void"), 1);
    seam.meanwhile = void_the_attempt;
    sale_instances_expect(world, "ann", OUTCOME_STORE_UNAVAILABLE);
    assert_int_equal(seam.session_calls, 5); /* read, refused; read again: given up */
    sale_books_are(world, 0, 5, 1);
}

GROUP(sale_world_open, sale_world_close);
