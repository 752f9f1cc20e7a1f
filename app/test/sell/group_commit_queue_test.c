/*
 * The bound of group commit's queue, on a clock of its own that only the guard moves: a batch takes
 * exactly as long as the test says, and waits at a gate while the queue is filled behind it.
 * link: -Wl,--wrap=guards_find,--wrap=store_load_sale,--wrap=order_node_number,--wrap=clock_mono_ns
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "test/support/sale_fakes.h"
#include "test/support/testing.h"

enum { CROWD_MAX = 24, DEADLINE_MS = 30000 };

static struct {
    _Atomic int64_t now_ns;
    _Atomic int64_t batch_ms; /* what the guard takes */
    atomic_bool is_shut;      /* the gate behind which it waits */
    atomic_uint sold;
    _Atomic int64_t limit_ms; /* that the guard was told last */
    _Atomic int64_t ask_ms;   /* what a question to Redis takes before */
} world;

static struct guard_result slow_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    while (atomic_load(&world.is_shut))
        clock_pause_ms(1);
    world.limit_ms = ctx->limit_ms;
    atomic_fetch_add(&world.now_ns, atomic_load(&world.batch_ms) * 1000000);
    for (size_t i = 0; i < count; i++)
        batch[i]->outcome = OUTCOME_CREATED;
    atomic_fetch_add(&world.sold, (unsigned)count);
    return (struct guard_result){.status = GUARD_DONE};
}

static const struct guard slow_guard = {
    .name = "slow", .expected = VERDICT_SOUND, .sell = slow_sell};

FAKE_RETURNS(int64_t, clock_mono_ns, (void), atomic_load(&world.now_ns));

static struct group_commit *start(const struct group_commit_options *options)
{
    struct group_commit_options own = *options;

    atomic_store(&world.now_ns, 1000000000);
    atomic_store(&world.is_shut, false);
    atomic_store(&world.sold, 0);
    sale_fakes_reset(&slow_guard, 1);
    own.instance = "here";
    own.lease_ms = 3000;
    if (own.queue_max == 0) own.queue_max = CROWD_MAX - 1;
    if (own.deadline_ms == 0) own.deadline_ms = DEADLINE_MS;
    struct group_commit *group = group_commit_new(&own);
    assert_non_null(group);
    return group;
}

static void run_batches(struct group_commit *group, unsigned count, int64_t batch_ms)
{
    struct sale_buyer buyer;

    atomic_store(&world.batch_ms, batch_ms);
    for (unsigned i = 0; i < count; i++) {
        sale_buyer_buys(&buyer, group, "sale", 0);
        assert_int_equal(buyer.purchase.outcome, OUTCOME_CREATED);
    }
}

/* Send buyers until one is refused, then let all through at once. Returns how many were let in. */
static unsigned count_let_in(struct group_commit *group)
{
    struct sale_buyer buyers[CROWD_MAX] = {0};
    unsigned before = atomic_load(&world.sold);
    unsigned sent = 0;

    atomic_store(&world.batch_ms, 0); /* so that nobody runs out of time */
    atomic_store(&world.is_shut, true);
    while (sent < CROWD_MAX && !(sent && atomic_load(&buyers[sent - 1].is_back)))
        sale_buyer_enters(&buyers[sent++], group, "sale", 0);
    atomic_store(&world.is_shut, false);
    for (unsigned i = 0; i < sent; i++)
        sale_buyer_leaves(&buyers[i]);
    for (unsigned i = 0; i + 1 < sent; i++)
        assert_int_equal(buyers[i].purchase.outcome, OUTCOME_CREATED);
    assert_int_equal(buyers[sent - 1].purchase.outcome, OUTCOME_OVERLOADED);
    assert_int_equal(atomic_load(&world.sold) - before,
                     sent - 1); /* the guard never saw the other */
    return sent - 1;
}

TEST(as_many_are_let_in_as_are_served_in_time)
{
    static const struct {
        struct group_commit_options options;
        int64_t batch_ms; /* took the batch before */
        unsigned expected;
    } rows[] = {
        {{.batch = 4, .queue_ms = 500}, 100, 20},
        {{.batch = 4, .queue_ms = 500}, 101, 16}, /* not a part of a batch */
        {{.batch = 4, .queue_ms = 500}, 10, CROWD_MAX - 1},
        {{.batch = 4, .queue_ms = 500}, 499, 8}, /* one runs, one gathers */
        {{.batch = 4, .queue_ms = 500}, 10000, 8},
        {{.batch = 4, .queue_ms = 500, .queue_max = 7}, 100, 7},
        {{.batch = 4, .queue_ms = 500, .queue_max = 7}, 10000, 7},
        {{.batch = 4, .queue_ms = 60000, .deadline_ms = 500}, 100, 20}, /* out of time by then */
        {{.batch = 4}, 10000, CROWD_MAX - 1},
        {{.batch = 1, .queue_ms = 500}, 100, CROWD_MAX - 1}, /* they queue at the lock */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct group_commit *group = start(&rows[i].options);

        run_batches(group, 1, rows[i].batch_ms);
        unsigned let_in = count_let_in(group);
        if (let_in != rows[i].expected)
            fail_msg("row %zu: %u let in, not %u", i, let_in, rows[i].expected);
        group_commit_free(group);
    }
}

TEST(before_the_first_batch_has_run_nobody_is_refused_for_time)
{
    struct group_commit *group =
        start(&(struct group_commit_options){.batch = 4, .queue_ms = 500, .queue_max = 15});

    assert_int_equal(count_let_in(group), 15);
    group_commit_free(group);
}

TEST(the_bound_follows_what_batches_take)
{
    static const struct {
        struct {
            unsigned batches;
            int64_t batch_ms;
        } before, then;
        unsigned expected; /* 1,000 ms / what a batch takes of late, times 4 */
    } rows[] = {
        {{1, 250}, {1, 450}, 12}, /* 300 ms: one slow batch is no slow store */
        {{1, 250}, {9, 450}, 8},  /* nearly 440 ms */
        {{1, 450}, {4, 100}, 16}, /* 211 ms */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct group_commit *group =
            start(&(struct group_commit_options){.batch = 4, .queue_ms = 1000});

        run_batches(group, rows[i].before.batches, rows[i].before.batch_ms);
        run_batches(group, rows[i].then.batches, rows[i].then.batch_ms);
        assert_int_equal(count_let_in(group), rows[i].expected);
        group_commit_free(group);
    }
}

static void take_long(void)
{
    atomic_fetch_add(&world.now_ns, world.ask_ms * 1000000);
}

/* Redis hangs while the lease of the number for order ids is renewed, or the sale is read. */
TEST(what_is_asked_for_before_is_off_the_deadline)
{
    static const struct {
        int64_t ask_ms, limit_ms;
        unsigned batch;
        outcome expected;
    } rows[] = {{0, DEADLINE_MS, 4, OUTCOME_CREATED},
                {10000, DEADLINE_MS - 10000, 4, OUTCOME_CREATED},
                {10000, DEADLINE_MS - 10000, 1, OUTCOME_CREATED},
                {DEADLINE_MS, 0, 4, OUTCOME_LOCK_TIMEOUT},
                {DEADLINE_MS, 0, 1, OUTCOME_LOCK_TIMEOUT}};

    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        struct group_commit *group =
            start(&(struct group_commit_options){.batch = rows[i / 2].batch});
        struct sale_buyer buyer;

        world.limit_ms = 0;
        world.ask_ms = rows[i / 2].ask_ms;
        *(i % 2 == 0 ? &sale_fakes.on_node : &sale_fakes.on_load) = take_long;
        atomic_store(&world.batch_ms, 0);
        sale_buyer_buys(&buyer, group, "sale", 0);
        assert_int_equal(buyer.purchase.outcome, rows[i / 2].expected);
        assert_int_equal(world.limit_ms, rows[i / 2].limit_ms);
        group_commit_free(group);
    }
}
