/*
 * A sale in segments, sold by two instances on one server: every unit is sold, each buyer has one order, nobody is
 * told that it is sold out who could have had one; and a move that somebody left in the middle is completed once.
 */
#include <inttypes.h>
#include <pthread.h>

#include "base/clock.h"
#include "sell/segments.h"
#include "store/store_admin.h"
#include "store/store_pay.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

enum { BUYERS = 400, UNITS = 90, THREADS = 8, SEGMENTS = 5 };

static struct sale_world *world;

BEFORE_ALL()
{
    void *state = NULL;

    assert_int_equal(sale_world_open(&state), 0);
    world = state;
}

AFTER_ALL()
{
    void *state = world;

    (void)sale_world_close(&state);
}

/* Sale "m", and shops that sell one purchase at a time, or many. */
static void put_up(int64_t units, unsigned segments, unsigned batch)
{
    struct sale sale = {.id = "m", .title = "t", .guard = "mutex", .initial = units};

    SALE_INSTANCES(world, "mutex", 1, .batch = batch);
    sale.segments.count = segments;
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
}

static struct purchase buy_in(size_t shop, const char *buyer, const char *key)
{
    struct purchase purchase = {.buyer = buyer, .key = key, .outcome = OUTCOME_COUNT};

    (void)group_commit_sell(world->shops[shop].group, "m", &purchase);
    return purchase;
}

static void told(size_t shop, const char *buyer, outcome expected)
{
    const char *is = sale_outcome_name(buy_in(shop, buyer, "").outcome);

    if (strcmp(is, sale_outcome_name(expected)) != 0)
        fail_msg("%s: %s, not %s", buyer, is, sale_outcome_name(expected));
}

static struct sale load(void)
{
    struct sale sale;

    assert_int_equal(store_load_sale(world->shops[1].store, "m", &sale, NULL), STORE_OK);
    return sale;
}

static struct sale_id segment(unsigned number)
{
    struct sale sale;
    struct sale_id id;

    assert_int_equal(store_find_segments(world->shops[0].store, "m", &sale, NULL), STORE_OK);
    segment_id("m", sale.segments.generation, number, &id);
    return id;
}

/* A buyer whose home it is; the n-th one. */
static const char *buyer_of(unsigned home, unsigned count, unsigned n)
{
    static char names[8][16];
    static unsigned next;
    char *name = names[next++ % 8];

    for (unsigned i = 0, found = 0;; i++) {
        (void)snprintf(name, sizeof names[0], "of%u", i);
        if (segment_home(name, count) == home && found++ == n) return name;
    }
}

/* The service's own audit, and what it counts. */
static void books_are(int64_t orders, int64_t left)
{
    struct sale_audit audit;

    assert_int_equal(store_audit_sale(world->shops[0].store, "m", &audit, NULL), STORE_OK);
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++)
        if (audit.checks[i].verdict != AUDIT_PASS)
            fail_msg("%s: %s", sale_audit_check_name((enum audit_check)i), audit.checks[i].words);
    assert_int_equal(audit.reading.orders, orders);
    assert_int_equal(audit.reading.left - audit.reading.moved, left);
}

TEST(it_is_one_sale_to_everybody_outside)
{
    struct order order;

    put_up(10, SEGMENTS, 8);
    assert_int_equal(load().left, 10);
    assert_int_equal(load().segments.count, SEGMENTS);
    struct purchase ann = buy_in(0, "ann", "k");
    assert_int_equal(ann.outcome, OUTCOME_CREATED);
    assert_int_equal(buy_in(1, "ann", "k").outcome, OUTCOME_REPLAYED);
    told(1, "ann", OUTCOME_ALREADY_ORDERED);
    assert_int_equal(store_find_order(world->shops[1].store, "m", "ann", &order, NULL), STORE_OK);
    assert_string_equal(order.id, ann.order_id);
    assert_int_equal(store_find_order(world->shops[1].store, "m", "bob", &order, NULL),
                     STORE_NOT_FOUND);
    cancel_end end = CANCEL_NO_ORDER;
    (void)snprintf(order.buyer, sizeof order.buyer, "ann");
    assert_int_equal(store_cancel_order(world->shops[1].store, "m", &order, &end, NULL), STORE_OK);
    assert_int_equal(end, CANCEL_IS_PAID); /* as of any sale where nothing is paid later */
    books_are(1, 9);
    struct sale again = load();
    assert_int_equal(store_create_sale(world->shops[1].store, &again, NULL), STORE_EXISTS);
    again.segments.count = 0;
    assert_int_equal(store_create_sale(world->shops[1].store, &again, NULL), STORE_EXISTS);
}

/* ---- the last unit ------------------------------------------------------------------------------------ */

TEST(the_last_unit_is_sold_wherever_it_is)
{
    put_up(3, 3, 8);
    for (unsigned n = 0; n < 3; n++)
        told(n % 2, buyer_of(1, 3, n), OUTCOME_CREATED);
    for (unsigned home = 0; home < 3; home++)
        told(home % 2, buyer_of(home, 3, 9), OUTCOME_SOLD_OUT);
    told(1, buyer_of(1, 3, 2), OUTCOME_ALREADY_ORDERED);
    books_are(3, 0);
}

struct conn_scheduler {
    unsigned from;
    unsigned created, sold_out, others;
};

static void *buy_many(void *arg)
{
    struct conn_scheduler *crowd = arg;
    char name[16];

    for (unsigned i = crowd->from; i < BUYERS; i += THREADS / 2) {
        (void)snprintf(name, sizeof name, "b%u", i);
        outcome is = buy_in(crowd->from % 2, name, "").outcome;
        crowd->created += is == OUTCOME_CREATED;
        crowd->sold_out += is == OUTCOME_SOLD_OUT;
        crowd->others += is != OUTCOME_CREATED && is != OUTCOME_SOLD_OUT;
    }
    return NULL;
}

/* Each buyer asks twice, of both instances at a time. */
static void sell_to_crowd(unsigned batch)
{
    pthread_t threads[THREADS];
    struct conn_scheduler crowds[THREADS];
    unsigned created = 0;
    unsigned sold_out = 0;

    put_up(UNITS, SEGMENTS, batch);
    for (unsigned i = 0; i < THREADS; i++) {
        crowds[i] = (struct conn_scheduler){.from = i % (THREADS / 2)};
        assert_int_equal(pthread_create(&threads[i], NULL, buy_many, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        created += crowds[i].created;
        sold_out += crowds[i].sold_out;
        assert_int_equal(crowds[i].others + crowds[i].created + crowds[i].sold_out,
                         BUYERS / (THREADS / 2));
    }
    assert_int_equal(created, UNITS);
    assert_true(sold_out > 0);
    assert_int_equal(load().left, 0);
    books_are(UNITS, 0);
}

TEST(a_crowd_at_two_instances_gets_every_unit_once)
{
    sell_to_crowd(16);
    sell_to_crowd(1);
}

/* ---- moves --------------------------------------------------------------------------------------------- */

/* All units are in the last segment, out of which somebody began to move them. */
static struct sale_move leave_move(unsigned target, int64_t most)
{
    struct sale_move move = {.units = most, .target = target};

    assert_int_equal(store_withdraw_units(world->shops[1].store, segment(2).text, &move, NULL),
                     STORE_OK);
    return move;
}

/* 4 units: 2, 1, 1; those of the first two are sold. */
static void put_up_and_sell_but_the_last(void)
{
    put_up(4, 3, 8);
    told(0, buyer_of(0, 3, 0), OUTCOME_CREATED);
    told(0, buyer_of(0, 3, 1), OUTCOME_CREATED);
    told(0, buyer_of(1, 3, 0), OUTCOME_CREATED);
}

TEST(a_move_that_was_left_is_completed_by_who_is_refused)
{
    for (unsigned step = 0; step < 2; step++) {
        put_up_and_sell_but_the_last();
        struct sale_move move = leave_move(1, 9);

        assert_true(move.number == 1 && move.units == 1 && move.target == 1);
        assert_int_equal(load().left, 1); /* on its way */
        if (step > 0)
            assert_int_equal(
                store_deposit_units(world->shops[1].store, segment(1).text, 2, &move, NULL),
                STORE_OK);
        told(0, buyer_of(0, 3, 2), OUTCOME_CREATED);
        told(0, buyer_of(1, 3, 2), OUTCOME_SOLD_OUT);
        books_are(4, 0);
    }
}

TEST(what_comes_late_or_again_moves_nothing)
{
    struct store *store = NULL;
    struct sale_move other;

    put_up(40, 4, 8);
    store = world->shops[1].store;
    struct sale_move move = leave_move(0, 3);
    assert_int_equal(leave_move(1, 5).number, 1); /* one at a time: the same is told */
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_deposit_units(store, segment(0).text, 2, &move, NULL), STORE_OK);
    assert_int_equal(load().segments.each[0].left, 13);
    assert_int_equal(store_settle_move(store, segment(2).text, 7, NULL), STORE_OK);
    assert_int_equal(load().segments.each[2].moving.units, 3); /* not of another number */
    assert_int_equal(store_settle_move(store, segment(2).text, 1, NULL), STORE_OK);
    other = leave_move(0, 2);
    assert_int_equal(other.number, 2);
    assert_int_equal(store_settle_move(store, segment(2).text, 1, NULL), STORE_OK);
    assert_int_equal(store_deposit_units(store, segment(0).text, 2, &move, NULL), STORE_OK);
    books_are(0, 40);
    assert_int_equal(load().segments.each[0].left, 13);
    assert_int_equal(load().segments.each[2].moving.units, 2);
    assert_int_equal(store_deposit_units(store, segment(0).text, 2, &other, NULL), STORE_OK);
    assert_int_equal(store_deposit_units(store, segment(0).text, 2, &move, NULL), STORE_OK);
    assert_int_equal(load().segments.each[0].left, 15);
    assert_int_equal(leave_move(3, 99).units, 2); /* it is pending still */
    assert_int_equal(store_settle_move(store, segment(2).text, 2, NULL), STORE_OK);
    assert_int_equal(leave_move(3, 99).units, 5);
    books_are(0, 40);
}

/* ---- operators' steps --------------------------------------------------------------------------------------- */

typedef store_status plain_step(struct store *store, const char *id, struct sale_step_end *out_end,
                                struct lk_error *err);

static void take(plain_step *step, sale_step expected)
{
    struct sale_step_end end = {.step = SALE_STEP_COUNT};

    assert_int_equal(step(world->shops[1].store, "m", &end, NULL), STORE_OK);
    assert_int_equal(end.step, expected);
}

TEST(steps_are_taken_on_all_segments)
{
    put_up(12, 4, 8);
    take(store_pause_sale, SALE_STEP_DONE);
    for (unsigned home = 0; home < 4; home++)
        told(0, buyer_of(home, 4, 0), OUTCOME_PAUSED);
    take(store_resume_sale, SALE_STEP_DONE);
    take(store_resume_sale, SALE_STEP_NOT_PAUSED);
    for (unsigned home = 0; home < 4; home++)
        told(0, buyer_of(home, 4, 0), OUTCOME_CREATED);
    take(store_begin_removal, SALE_STEP_NOT_OVER);
    take(store_end_sale, SALE_STEP_DONE);
    for (unsigned home = 0; home < 4; home++)
        told(0, buyer_of(home, 4, 1), OUTCOME_ENDED);
    books_are(4, 8);
}

TEST(a_restock_happens_once_and_reaches_every_home)
{
    struct sale_step_end end;

    put_up(1, 4, 8);
    told(0, buyer_of(3, 4, 0), OUTCOME_CREATED);
    told(0, buyer_of(3, 4, 1), OUTCOME_SOLD_OUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_restock_sale(world->shops[1].store, "m",
                                            &(struct sale_restock){4, "key"}, &end, NULL),
                         STORE_OK);
        assert_int_equal(end.step, i ? SALE_STEP_REPEATED : SALE_STEP_DONE);
    }
    assert_int_equal(load().cooling, 4);
    assert_int_equal(load().epoch, 2);
    told(0, buyer_of(2, 4, 1), OUTCOME_SOLD_OUT); /* not for sale yet, nor to be moved */
    for (unsigned i = 0; i < 4; i++) {
        struct sale_move move = {.units = 9};

        assert_int_equal(store_withdraw_units(world->shops[0].store, segment(i).text, &move, NULL),
                         STORE_OK);
        assert_int_equal(move.units, 0);
    }
    clock_pause_ms(SALE_COOL_MS + 60);
    for (unsigned home = 0; home < 4; home++)
        told(home % 2, buyer_of(home, 4, 2), OUTCOME_CREATED);
    told(1, buyer_of(0, 4, 3), OUTCOME_SOLD_OUT);
    books_are(5, 0);
}

/* A segment that is lost is no smaller sale; and nobody throws the rest away. */
TEST(what_a_lost_segment_leaves_is_kept_and_told)
{
    struct sale_step_end end = {.step = SALE_STEP_COUNT};
    struct sale_audit audit;
    struct sale sale;

    put_up(12, 4, 8);
    for (unsigned home = 0; home < 4; home++)
        told(0, buyer_of(home, 4, 0), OUTCOME_CREATED);
    assert_true(sale_do(world->client, "DEL seckill:{%s}:sale seckill:{%s}:stock", segment(2).text,
                        segment(2).text));
    assert_int_equal(store_load_sale(world->shops[0].store, "m", &sale, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_audit_sale(world->shops[0].store, "m", &audit, NULL), STORE_OK);
    assert_int_equal(audit.verdict, AUDIT_FAIL);
    assert_int_equal(store_clear_segments(world->shops[0].store, "m", &end, NULL), STORE_OK);
    assert_int_equal(end.step, SALE_STEP_NOT_OVER);
    assert_int_equal(sale_number(world, "EXISTS seckill:{m}:segments"), 1);
    told(0, buyer_of(0, 4, 1), OUTCOME_CREATED);
}

/* Of its units and steps, as far as others are there. */
TEST(a_patch_is_of_all_segments_and_a_creation_that_failed_leaves_nothing)
{
    struct sale sale = {.id = "m", .title = "t", .guard = "mutex", .initial = 9};
    struct sale_patch patch = {
        .title = "new", .starts_ms = -1, .ends_ms = 4102444800000, .admit = 7};
    struct sale_step_end end;
    struct sale part;

    SALE_INSTANCES(world, "mutex", 1, .batch = 8);
    sale.segments.count = 3;
    sale.waiting.admit = 5;
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
    int64_t keys = sale_number(world, "DBSIZE");
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_create_sale(world->shops[1].store, &sale, NULL), STORE_EXISTS);
    assert_int_equal(sale_number(world, "DBSIZE"), keys);
    assert_int_equal(store_patch_sale(world->shops[0].store, "m", &patch, &end, NULL), STORE_OK);
    assert_int_equal(end.step, SALE_STEP_DONE);
    assert_int_equal(load().waiting.admit, 7);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(store_load_sale(world->shops[0].store, segment(i).text, &part, NULL),
                         STORE_OK);
        assert_true(part.ends_ms == patch.ends_ms);
        assert_string_equal(part.title, "new");
    }
    assert_int_equal(store_patch_sale(world->shops[0].store, "m",
                                      &(struct sale_patch){NULL, -1, -1, 8}, &end, NULL),
                     STORE_OK);
    assert_int_equal(end.step, SALE_STEP_DONE);
    assert_int_equal(load().waiting.admit, 8);
}

/* Who sold the one before hears once that it is gone, at most. */
static void told_at_last(size_t shop, const char *buyer, outcome expected)
{
    outcome first = buy_in(shop, buyer, "").outcome;

    assert_true(first == expected || first == OUTCOME_LOCK_TIMEOUT || first == OUTCOME_NO_SALE);
    told(shop, buyer, first == OUTCOME_CREATED ? OUTCOME_ALREADY_ORDERED : expected);
}

static void remove_it(void)
{
    struct sale_step_end end;

    take(store_end_sale, SALE_STEP_DONE);
    take(store_begin_removal, SALE_STEP_DONE);
    assert_int_equal(store_end_removal(world->shops[1].store, "m", &end, NULL), STORE_OK);
    assert_int_equal(sale_number(world, "EVAL return(#redis.call('KEYS','seckill:{m*')) 0"), 0);
}

/* Another one of the same id, cut otherwise: who sold the old one puts nobody in two homes. */
TEST(a_sale_made_anew_is_another_one_to_all_instances)
{
    static const unsigned counts[] = {4, 3, 0, 2, 0};

    put_up(8, 2, 8);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct sale sale = {.id = "m", .title = "t", .guard = "mutex", .initial = 8};

        told_at_last(0, "ann", OUTCOME_CREATED);
        remove_it();
        sale.segments.count = counts[i];
        assert_int_equal(store_create_sale(world->shops[1].store, &sale, NULL), STORE_OK);
        told_at_last(1, "ann", OUTCOME_CREATED);
        told_at_last(0, "ann", OUTCOME_ALREADY_ORDERED);
        books_are(1, 7);
        remove_it();
        told_at_last(0, "ann", OUTCOME_NO_SALE);
        assert_int_equal(store_create_sale(world->shops[1].store, &sale, NULL), STORE_OK);
    }
}
