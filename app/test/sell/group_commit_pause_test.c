/*
 * The fault of group commit: of so many sells one pauses, where its guard says, and no other call
 * pauses anything.
 * link: -Wl,--wrap=guards_find,--wrap=store_load_sale,--wrap=order_node_number,--wrap=clock_pause_ms
 */
#include "base/clock.h"
#include "test/support/sale_fakes.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 20000 };

static struct {
    struct guard_ctx ctx; /* of the last sell */
    int64_t paused_ms;    /* since the sell began */
} world;

static struct guard_result pausing_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    world.ctx = *ctx;
    guard_pause(ctx);
    for (size_t i = 0; i < count; i++)
        batch[i]->outcome = OUTCOME_CREATED;
    return (struct guard_result){.status = GUARD_DONE};
}

static const struct guard pausing_guard = {
    .name = "pausing", .expected = VERDICT_SOUND, .sell = pausing_sell};

FAKE(void, clock_pause_ms, int64_t ms)
{
    world.paused_ms += ms;
}

static struct group_commit *start(unsigned batch, int64_t pause_ms, int64_t every)
{
    struct group_commit *group =
        group_commit_new(&(struct group_commit_options){.instance = "here",
                                                        .batch = batch,
                                                        .queue_max = 100,
                                                        .lease_ms = 3000,
                                                        .deadline_ms = LIMIT_MS,
                                                        .dir = "a/folder",
                                                        .pause_ms = pause_ms,
                                                        .pause_every = every});

    sale_fakes_reset(&pausing_guard, 1);
    assert_non_null(group);
    return group;
}

static int64_t pause_of_next_sell(struct group_commit *group)
{
    struct purchase purchase = {.buyer = "b", .key = "", .outcome = OUTCOME_COUNT};

    world.paused_ms = 0;
    (void)group_commit_sell(group, "sale", &purchase);
    assert_int_equal(purchase.outcome, OUTCOME_CREATED);
    return world.paused_ms;
}

TEST(of_so_many_sells_one_pauses)
{
    static const struct {
        int64_t pause_ms, every;
        int64_t expected[6];
    } rows[] = {{0, 0, {0}},
                {0, 1, {0}},
                {70, 0, {70, 70, 70, 70, 70, 70}},
                {70, 1, {70, 70, 70, 70, 70, 70}},
                {70, 3, {0, 0, 70, 0, 0, 70}},
                {70, 7, {0}}};
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct group_commit *group = start(batches[i % 2], rows[i].pause_ms, rows[i].every);

        for (size_t k = 0; k < 6; k++)
            assert_int_equal(pause_of_next_sell(group), rows[i].expected[k]);
        group_commit_free(group);
    }
}

TEST(a_guard_learns_how_long_it_may_wait_and_where_its_files_are)
{
    struct group_commit *group = start(8, 0, 0);

    (void)pause_of_next_sell(group);
    assert_true(world.ctx.limit_ms > 0 && world.ctx.limit_ms <= LIMIT_MS);
    assert_int_equal(world.ctx.wait_ms, world.ctx.limit_ms);
    assert_string_equal(world.ctx.dir, "a/folder");
    assert_non_null(world.ctx.fenced);
    group_commit_free(group);
}
