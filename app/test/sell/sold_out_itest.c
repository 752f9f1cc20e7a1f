/*
 * Answers from memory after the sell-out: right, and never from an old book. Two instances on one
 * Redis.
 */
#include "base/clock.h"
#include "store/store_admin.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

enum { UNITS = 3, LOST_MS = 100, SOON_MS = 10000 };

static const struct group_commit_options in_batches = {.batch = 8};

static int64_t scripts_run(struct sale_world *world)
{
    lk_reply *stats = sale_ask(world->client, "INFO commandstats");
    struct lk_bytes text = lk_reply_bytes(stats);
    const char *line = text.data ? strstr(text.data, "cmdstat_evalsha:calls=") : NULL;
    int64_t calls = line ? strtoll(line + strlen("cmdstat_evalsha:calls="), NULL, 10) : 0;

    lk_reply_free(stats);
    return calls;
}

/* Whether a latecomer was answered without any script: the book is there. */
static bool answers_from_memory(void *arg)
{
    struct sale_world *world = arg;
    int64_t before = scripts_run(world);
    bool is_known = true;

    for (size_t shop = 0; shop < SALE_INSTANCES; shop++)
        is_known &= sale_instances_buy_in(world, shop, "late", "").outcome == OUTCOME_SOLD_OUT;
    return is_known && scripts_run(world) == before;
}

static void sell_out(struct sale_world *world, const char *guard,
                     const struct group_commit_options *options)
{
    sale_instances_open(world, guard, UNITS, options);
    assert_int_equal(sale_instances_buy_in(world, 0, "ann", "k1").outcome, OUTCOME_CREATED);
    assert_int_equal(sale_instances_buy_in(world, 1, "bob", "").outcome, OUTCOME_CREATED);
    sale_instances_expect(world, "cid", OUTCOME_CREATED);
}

TEST(winners_and_latecomers_are_answered_from_memory, struct sale_world *world)
{
    sell_out(world, "mutex", &in_batches);
    struct purchase before = sale_instances_buy_in(world, 0, "ann", "k1");
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));

    for (size_t shop = 0; shop < SALE_INSTANCES; shop++) {
        struct purchase again = sale_instances_buy_in(world, shop, "ann", "k1");

        assert_int_equal(again.outcome, OUTCOME_REPLAYED);
        assert_string_equal(again.order_id, before.order_id);
        assert_string_equal(again.guard, "mutex");
        assert_int_equal(sale_instances_buy_in(world, shop, "ann", "k2").outcome,
                         OUTCOME_ALREADY_ORDERED);
        assert_int_equal(sale_instances_buy_in(world, shop, "bob", "").outcome,
                         OUTCOME_ALREADY_ORDERED);
    }
}

static void restock(struct sale_world *world, int units)
{
    struct sale_step_end end;

    assert_int_equal(store_restock_sale(world->shops[0].store, "s",
                                        &(struct sale_restock){units, "k"}, &end, NULL),
                     STORE_OK);
    assert_int_equal(end.step, SALE_STEP_DONE);
    assert_int_equal(end.epoch, 2);
}

static bool dan_gets_one(void *arg)
{
    return sale_instances_buy_in(arg, 0, "dan", "k").outcome == OUTCOME_CREATED;
}

TEST(a_new_epoch_is_seen_by_every_instance, struct sale_world *world)
{
    sell_out(world, "mutex", &in_batches);
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    restock(world, 2);

    assert_true(sale_eventually(dan_gets_one, world, SOON_MS));
    assert_int_equal(sale_instances_buy_in(world, 1, "eve", "").outcome, OUTCOME_CREATED);
    assert_int_equal(sale_instances_buy_in(world, 1, "fay", "").outcome, OUTCOME_SOLD_OUT);
    sale_instances_expect(world, "ann", OUTCOME_ALREADY_ORDERED);
}

/* Both shops were sure of the sell-out a moment before, and are asked all the time. */
TEST(whoever_gets_a_unit_that_came_back_is_never_told_sold_out, struct sale_world *world)
{
    sell_out(world, "mutex", &in_batches);
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    restock(world, 1);
    assert_true(sale_eventually(dan_gets_one, world, SOON_MS));
    for (unsigned asked = 0; asked < 400; asked++)
        assert_int_equal(sale_instances_buy_in(world, 1, "dan", "k").outcome, OUTCOME_REPLAYED);
}

TEST(no_shop_remembers_anything_while_units_cool, struct sale_world *world)
{
    sell_out(world, "mutex", &in_batches);
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    restock(world, 1);
    clock_pause_ms(SALE_BELIEVED_MS + 20); /* what was remembered before is over */
    assert_false(answers_from_memory(world));
    sale_instances_expect(world, "bob", OUTCOME_ALREADY_ORDERED);
}

TEST(an_ended_sale_is_no_longer_called_sold_out, struct sale_world *world)
{
    struct sale_step_end end;

    sell_out(world, "script", &in_batches);
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    assert_int_equal(store_end_sale(world->shops[0].store, "s", &end, NULL), STORE_OK);

    clock_pause_ms(LOST_MS);
    assert_int_equal(sale_instances_buy_in(world, 1, "late", "").outcome, OUTCOME_ENDED);
    assert_int_equal(sale_instances_buy_in(world, 1, "bob", "").outcome, OUTCOME_ALREADY_ORDERED);
}

TEST(an_instance_cut_off_from_redis_does_not_trust_its_book, struct sale_world *world)
{
    world->answer_ms = 1000;
    sell_out(world, "mutex", &(struct group_commit_options){.batch = 8, .deadline_ms = 1000});
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    assert_true(sale_server_freeze(&world->server));
    clock_pause_ms(2 * (int64_t)LOST_MS);
    struct purchase purchase = sale_instances_buy_in(world, 0, "late", "");
    sale_server_thaw(&world->server);

    assert_true(purchase.outcome == OUTCOME_UNKNOWN || purchase.outcome == OUTCOME_LOCK_TIMEOUT ||
                purchase.outcome == OUTCOME_STORE_UNAVAILABLE);
}

/* What a failover can do between two looks: Cid's order is lost, and Zoe has got his unit since. */
TEST(a_book_of_the_same_epoch_may_be_another, struct sale_world *world)
{
    const char *ledger = world->keys.text[KEY_LEDGER];
    const char *orders = world->keys.text[KEY_ORDERS];

    sell_out(world, "mutex", &in_batches);
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    assert_true(
        sale_do(world->client,
                "EVAL local%cr=redis.call;local%cl=r('XREVRANGE',KEYS[1],'+','-');"
                "r('XDEL',KEYS[1],l[1][1]);r('HDEL',KEYS[2],'cid');"
                "r('HSET',KEYS[2],'zoe','9:held:');"
                "r('XADD',KEYS[1],'*','event','sold','epoch',1,'left',0,'order','9:zoe:') 2 "
                "%s %s",
                '\t', '\t', ledger, orders));

    clock_pause_ms(LOST_MS);
    for (size_t shop = 0; shop < SALE_INSTANCES; shop++) {
        assert_int_equal(sale_instances_buy_in(world, shop, "cid", "").outcome, OUTCOME_SOLD_OUT);
        assert_int_equal(sale_instances_buy_in(world, shop, "zoe", "").outcome,
                         OUTCOME_ALREADY_ORDERED);
        assert_int_equal(sale_instances_buy_in(world, shop, "ann", "").outcome,
                         OUTCOME_ALREADY_ORDERED);
    }
    assert_true(
        sale_eventually(answers_from_memory, world, SOON_MS)); /* and it is in memory again */
}

/* Memory does not know which replicas have an order. */
TEST(where_replicas_are_waited_for_no_replay_comes_from_memory, struct sale_world *world)
{
    static const struct deployment synced = {.sync_replicas = 1, .sync_ms = 100};

    sell_out(world, "mutex", &(struct group_commit_options){.batch = 8, .deployment = &synced});
    assert_true(sale_eventually(answers_from_memory, world, SOON_MS));
    int64_t before = scripts_run(world);
    assert_int_equal(sale_instances_buy_in(world, 0, "ann", "other").outcome,
                     OUTCOME_ALREADY_ORDERED);
    assert_int_equal(scripts_run(world), before);
    assert_int_equal(sale_instances_buy_in(world, 0, "ann", "k1").outcome, OUTCOME_REPLAYED);
    assert_true(scripts_run(world) >= before + 2); /* purchase.lua, confirm.lua */
}

TEST(a_flawed_guard_is_always_asked, struct sale_world *world)
{
    SALE_INSTANCES(world, "none", 1, .batch = 8, .lab = true);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    sale_instances_expect(world, "late", OUTCOME_SOLD_OUT);
    clock_pause_ms(LOST_MS);
    assert_true(sale_do(world->client, "SET %s 1", world->keys.text[KEY_STOCK]));
    sale_instances_expect(world, "bob", OUTCOME_CREATED);
}

GROUP(sale_world_open, sale_world_close);
