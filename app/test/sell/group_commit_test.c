/*
 * group_commit.c with a guard, a store and a clock made up here: the guard stops at a gate that the
 * test opens, so who waits for whom is known without a sleep.
 * link: -Wl,--wrap=guards_find,--wrap=store_load_sale,--wrap=order_node_number,--wrap=clock_mono_ns
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "sale/order_id.h"
#include "test/support/sale_fakes.h"
#include "test/support/testing.h"

enum { CALLS_MAX = 64, BUYERS_MAX = 64, NAME_SIZE = 16, LONG_MS = 30000, NODE = 77 };

/* One run of the guard, as it saw it. */
struct call {
    char sale_id[SALE_ID_MAX + 1];
    int64_t limit_ms;
    size_t count;
    char buyers[BUYERS_MAX][NAME_SIZE];
};

static struct {
    pthread_mutex_t mutex; /* guards all but the atomics */
    pthread_cond_t changed;
    int passes;       /* how many runs may still go through the gate */
    unsigned inside;  /* runs at the gate, or past it and not done */
    unsigned at_once; /* the largest value of inside */
    unsigned calls;
    struct call seen[CALLS_MAX];
    guard_status answer;
    unsigned hooks;
    size_t hook_count;
    _Atomic int64_t clock_ahead_ns;
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void lock_world(void)
{
    (void)pthread_mutex_lock(&world.mutex);
}

static void unlock_world(void)
{
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
}

static void let_through(int runs)
{
    lock_world();
    world.passes = runs;
    unlock_world();
}

/* Buyer "b7" gets outcome 7 modulo their number, so that a mix-up of results shows. */
static outcome outcome_for(const char *buyer)
{
    return (outcome)(strtol(buyer + 1, NULL, 10) % OUTCOME_COUNT);
}

static struct guard_result gated_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    lock_world();
    unsigned at = world.calls++ % CALLS_MAX;
    struct call *call = &world.seen[at];
    call->count = count;
    call->limit_ms = ctx->limit_ms;
    (void)snprintf(call->sale_id, sizeof call->sale_id, "%s", ctx->sale_id);
    for (size_t i = 0; i < count && i < BUYERS_MAX; i++)
        (void)snprintf(call->buyers[i], NAME_SIZE, "%s", batch[i]->buyer);
    world.inside++;
    if (world.inside > world.at_once) world.at_once = world.inside;
    while (world.passes == 0)
        (void)pthread_cond_wait(&world.changed, &world.mutex);
    if (world.passes != INT_MAX) world.passes--;
    world.inside--;
    struct guard_result result = {.status = world.answer};
    unlock_world();
    for (size_t i = 0; i < count && result.status == GUARD_DONE; i++) {
        batch[i]->outcome = outcome_for(batch[i]->buyer);
        batch[i]->retry_ms = strtol(batch[i]->buyer + 1, NULL, 10);
    }
    return result;
}

static const struct guard guards[] = {
    {.name = "gated", .expected = VERDICT_SOUND, .sell = gated_sell},
    {.name = "many", .needs = NEED_REDLOCK, .expected = VERDICT_SOUND, .sell = gated_sell},
    {.name = "flawed", .flaw = "on purpose", .expected = VERDICT_OVERSELLS, .sell = gated_sell},
};

FAKE(int64_t, clock_mono_ns, void)
{
    return __real_clock_mono_ns() + atomic_load(&world.clock_ahead_ns);
}

static void count_batch(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns,
                        void *arg)
{
    lock_world();
    world.hooks += waited_ns >= 0 && ran_ns >= 0;
    world.hook_count += count;
    unlock_world();
}

static struct group_commit *group; /* owned: of the test */

/* The world and the group as new. */
static void start(const struct group_commit_options *options)
{
    struct group_commit_options own = *options;

    lock_world();
    world.passes = 0;
    world.inside = 0;
    world.at_once = 0;
    world.calls = 0;
    world.answer = GUARD_DONE;
    world.hooks = 0;
    world.hook_count = 0;
    unlock_world();
    sale_fakes_reset(guards, sizeof guards / sizeof guards[0]);
    atomic_store(&sale_fakes.node, NODE);
    atomic_store(&world.clock_ahead_ns, 0);
    own.instance = "here";
    own.lease_ms = 3000;
    own.on_batch = count_batch;
    if (own.deadline_ms == 0) own.deadline_ms = LONG_MS;
    if (own.queue_max == 0) own.queue_max = 1000;
    group_commit_free(group);
    group = group_commit_new(&own);
    assert_non_null(group);
}

#define START(...) start(&(struct group_commit_options){__VA_ARGS__})

AFTER_EACH()
{
    group_commit_free(group);
    group = NULL;
}

static void send_many(struct sale_buyer *buyers, int from, int to)
{
    for (int i = from; i <= to; i++)
        sale_buyer_enters(&buyers[i], group, "sale", i);
}

static void wait_for_many(struct sale_buyer *buyers, int from, int to)
{
    for (int i = from; i <= to; i++)
        sale_buyer_leaves(&buyers[i]);
}

/* Open the gate for good; all these come back. */
static void serve(struct sale_buyer *buyers, int from, int to)
{
    let_through(INT_MAX);
    wait_for_many(buyers, from, to);
}

static outcome buy_here(int number)
{
    struct sale_buyer buyer;

    sale_buyer_buys(&buyer, group, "sale", number);
    return buyer.purchase.outcome;
}

/* Come back when that many are at the gate together; if they never are, the time limit ends it. */
static void wait_until_inside(unsigned expected)
{
    for (unsigned inside = 0; inside < expected; clock_pause_ms(1)) {
        (void)pthread_mutex_lock(&world.mutex);
        inside = world.inside;
        (void)pthread_mutex_unlock(&world.mutex);
    }
}

/* ---- batches ------------------------------------------------------------------------------------------- */

TEST(those_who_come_meanwhile_are_served_together)
{
    struct sale_buyer buyers[6];

    START(.batch = 256);
    send_many(buyers, 0, 5);
    assert_int_equal(group_commit_depth(group), 6);
    serve(buyers, 0, 5);

    assert_int_equal(world.calls, 2);
    assert_int_equal(world.seen[0].count, 1);
    assert_int_equal(world.seen[1].count, 5);
    assert_int_equal(world.at_once, 1);
    assert_int_equal(group_commit_depth(group), 0);
    assert_int_equal(sale_fakes.loads, 1);
}

TEST(a_batch_has_at_most_its_bound_and_keeps_the_order)
{
    static const size_t expected[] = {1, 4, 4, 2};
    struct sale_buyer buyers[11];
    int next = 0;

    START(.batch = 4);
    send_many(buyers, 0, 10);
    serve(buyers, 0, 10);

    assert_int_equal(world.calls, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(world.seen[i].count, expected[i]);
        for (size_t k = 0; k < expected[i]; k++)
            assert_string_equal(world.seen[i].buyers[k], buyers[next++].name);
    }
}

TEST(everybody_gets_his_own_outcome)
{
    enum { MANY = 2 * OUTCOME_COUNT };
    struct sale_buyer buyers[MANY];

    START(.batch = MANY);
    send_many(buyers, 0, MANY - 1);
    serve(buyers, 0, MANY - 1);

    for (int i = 0; i < MANY; i++) {
        assert_int_equal(buyers[i].purchase.outcome, i % OUTCOME_COUNT);
        assert_int_equal(buyers[i].purchase.retry_ms, i);
        assert_string_equal(buyers[i].guard, "gated");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(buyers[i].purchase.order_id, buyers[k].purchase.order_id);
        int64_t id = strtoll(buyers[i].purchase.order_id, NULL, 10);
        assert_int_equal(id >> 12 & (ORDER_NODES - 1), NODE);
    }
}

TEST(a_guard_that_fails_fails_for_the_whole_batch)
{
    static const struct {
        guard_status status;
        outcome expected;
    } rows[] = {{GUARD_BUSY, OUTCOME_LOCK_TIMEOUT},
                {GUARD_UNAVAILABLE, OUTCOME_STORE_UNAVAILABLE},
                {GUARD_UNKNOWN, OUTCOME_UNKNOWN},
                {GUARD_UNSYNCED, OUTCOME_UNSYNCED}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sale_buyer buyers[4];

        START(.batch = 8);
        world.answer = rows[i].status;
        send_many(buyers, 0, 3);
        serve(buyers, 0, 3);
        assert_int_equal(world.calls, 2);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(buyers[k].purchase.outcome, rows[i].expected);
    }
}

TEST(the_hook_hears_of_every_batch_once)
{
    struct sale_buyer buyers[6];

    START(.batch = 3);
    send_many(buyers, 0, 5);
    serve(buyers, 0, 5);
    assert_int_equal(world.hooks, 3); /* 1 + 3 + 2 */
    assert_int_equal(world.hook_count, 6);
}

TEST(sales_do_not_wait_for_each_other)
{
    struct sale_buyer first;
    struct sale_buyer second;

    START(.batch = 8);
    sale_buyer_enters(&first, group, "one", 1);
    wait_until_inside(1);
    sale_buyer_enters(&second, group, "two", 2);
    wait_until_inside(2); /* both at the gate: neither queues behind the other */
    let_through(INT_MAX);
    sale_buyer_leaves(&first);
    sale_buyer_leaves(&second);
    assert_string_equal(world.seen[0].sale_id, "one");
    assert_string_equal(world.seen[1].sale_id, "two");
}

TEST(without_batching_everybody_runs_the_guard_at_once)
{
    struct sale_buyer buyers[5];

    START(.batch = 1);
    send_many(buyers, 0, 4);
    wait_until_inside(5);
    serve(buyers, 0, 4);
    assert_int_equal(world.calls, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(world.seen[i].count, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(buyers[i].purchase.outcome, i);
}

/* ---- without waiting ----------------------------------------------------------------------------------- */

/* A purchase that its own done() frees: whoever touches it afterwards is seen by a sanitizer. */
struct parcel {
    struct purchase purchase;
    char name[NAME_SIZE];
    atomic_uint *done;
    atomic_uint *wrong;
};

static void free_parcel(struct purchase *purchase, void *arg)
{
    struct parcel *parcel = arg;
    bool is_right = purchase == &parcel->purchase &&
                    purchase->outcome == outcome_for(parcel->name) &&
                    strcmp(purchase->guard, "gated") == 0;

    if (!is_right) atomic_fetch_add(parcel->wrong, 1);
    atomic_fetch_add(parcel->done, 1);
    free(parcel);
}

static void submit_parcel(int number, atomic_uint *done, atomic_uint *wrong)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);

    assert_non_null(parcel);
    *parcel = (struct parcel){.done = done, .wrong = wrong};
    (void)snprintf(parcel->name, sizeof parcel->name, "b%d", number);
    parcel->purchase = (struct purchase){.buyer = parcel->name,
                                         .key = "",
                                         .outcome = OUTCOME_COUNT,
                                         .done = free_parcel,
                                         .done_arg = parcel};
    group_commit_submit(group, "sale", &parcel->purchase);
}

TEST(who_follows_does_not_wait_and_is_told_once)
{
    enum { PARCELS = 9 };
    struct sale_buyer leaders[2];
    atomic_uint done = 0;
    atomic_uint wrong = 0;

    START(.batch = 64);
    send_many(leaders, 0, 1); /* 0 at the gate, 1 leads the next batch */
    for (int i = 0; i < PARCELS; i++)
        submit_parcel(10 + i, &done, &wrong); /* would hang here if it waited */
    assert_int_equal(atomic_load(&done), 0);
    assert_int_equal(group_commit_depth(group), 2 + PARCELS);
    serve(leaders, 0, 1);
    while (atomic_load(&done) < PARCELS) /* the leader may be answering still */
        clock_pause_ms(1);

    assert_int_equal(atomic_load(&done), PARCELS);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(world.calls, 2);
    assert_int_equal(world.seen[1].count, 1 + PARCELS);
}

TEST(who_is_served_at_once_is_told_before_the_call_returns)
{
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < 2; i++) {
        atomic_uint done = 0;
        atomic_uint wrong = 0;

        START(.batch = batches[i]);
        let_through(INT_MAX);
        submit_parcel(4, &done, &wrong);
        assert_int_equal(atomic_load(&done), 1);
        assert_int_equal(atomic_load(&wrong), 0);
    }
}

/* ---- limits ---------------------------------------------------------------------------------------------- */

TEST(out_of_time_means_the_guard_never_saw_it)
{
    struct sale_buyer buyers[4];

    START(.batch = 8);
    send_many(buyers, 0, 3); /* 0 at the gate, 1 leads the next batch, 2 and 3 follow it */
    atomic_store(&world.clock_ahead_ns, (int64_t)LONG_MS * 1000000);
    serve(buyers, 0, 3);

    assert_int_equal(buyers[0].purchase.outcome, outcome_for("b0")); /* begun: it gets its answer */
    for (int i = 1; i <= 3; i++)
        assert_int_equal(buyers[i].purchase.outcome, OUTCOME_LOCK_TIMEOUT);
    assert_int_equal(world.calls, 1);
    assert_int_equal(world.seen[0].count, 1);
    assert_int_equal(group_commit_depth(group), 0);
}

TEST(a_leader_out_of_time_still_serves_its_followers)
{
    struct sale_buyer buyers[4];

    START(.batch = 8);
    send_many(buyers, 0, 1);
    atomic_store(&world.clock_ahead_ns, (int64_t)LONG_MS * 1000000);
    send_many(buyers, 2, 3); /* they join the batch of 1, with all their time before them */
    serve(buyers, 0, 3);

    assert_int_equal(world.calls, 2);
    assert_int_equal(world.seen[1].count, 2);
    assert_string_equal(world.seen[1].buyers[0], "b2");
    assert_string_equal(world.seen[1].buyers[1], "b3");
    assert_int_equal(buyers[1].purchase.outcome, OUTCOME_LOCK_TIMEOUT);
    assert_int_equal(buyers[2].purchase.outcome, outcome_for("b2"));
    assert_int_equal(buyers[3].purchase.outcome, outcome_for("b3"));
}

TEST(the_queue_goes_on_after_a_batch_that_ran_out_of_time)
{
    struct sale_buyer buyers[4];

    START(.batch = 2);
    send_many(buyers, 0, 2); /* 1 and 2 fill a batch */
    atomic_store(&world.clock_ahead_ns, (int64_t)LONG_MS * 1000000);
    sale_buyer_enters(&buyers[3], group, "sale", 3); /* leads the next one */
    serve(buyers, 0, 3);

    assert_int_equal(world.calls, 2); /* nothing ran for 1 and 2 */
    assert_string_equal(world.seen[1].buyers[0], "b3");
    assert_int_equal(buyers[1].purchase.outcome, OUTCOME_LOCK_TIMEOUT);
    assert_int_equal(buyers[2].purchase.outcome, OUTCOME_LOCK_TIMEOUT);
    assert_int_equal(buyers[3].purchase.outcome, outcome_for("b3"));
}

TEST(the_guard_is_told_how_much_time_is_left)
{
    struct sale_buyer buyers[2];

    START(.batch = 8);
    send_many(buyers, 0, 1);
    atomic_store(&world.clock_ahead_ns, (int64_t)LONG_MS * 1000000 / 2);
    serve(buyers, 0, 1);
    assert_true(world.seen[0].limit_ms > LONG_MS / 2 && world.seen[0].limit_ms <= LONG_MS);
    assert_true(world.seen[1].limit_ms > 0 && world.seen[1].limit_ms <= LONG_MS / 2);
}

TEST(nobody_is_kept_for_the_time_of_those_behind)
{
    struct sale_buyer buyers[3];

    START(.batch = 8);
    send_many(buyers, 0, 1);
    atomic_store(&world.clock_ahead_ns, (int64_t)(LONG_MS - 1000) * 1000000);
    sale_buyer_enters(&buyers[2], group, "sale", 2); /* joins 1, with all its time before it */
    serve(buyers, 0, 2);

    assert_int_equal(world.seen[1].count, 2);
    assert_true(world.seen[1].limit_ms <= 1000);
}

TEST(more_than_the_queue_holds_is_refused_at_once)
{
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < 2; i++) {
        struct sale_buyer buyers[3];

        START(.batch = batches[i], .queue_max = 3);
        send_many(buyers, 0, 2);
        assert_int_equal(buy_here(3), OUTCOME_OVERLOADED);
        assert_int_equal(group_commit_depth(group), 3);
        serve(buyers, 0, 2);
        assert_int_equal(buy_here(4), outcome_for("b4")); /* room again */
        for (unsigned k = 0; k < world.calls; k++) {
            for (size_t m = 0; m < world.seen[k].count; m++)
                assert_string_not_equal(world.seen[k].buyers[m], "b3");
        }
    }
}

TEST(odd_batch_sizes_are_brought_into_bounds)
{
    static const unsigned sizes[] = {0, 1024, 1025, UINT_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        START(.batch = sizes[i]);
        let_through(INT_MAX);
        assert_int_equal(buy_here(5), outcome_for("b5"));
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------- */

TEST(a_sale_that_cannot_be_read_is_refused_and_asked_for_again)
{
    static const struct {
        store_status status;
        outcome expected;
    } rows[] = {{STORE_NOT_FOUND, OUTCOME_NO_SALE},
                {STORE_UNAVAILABLE, OUTCOME_STORE_UNAVAILABLE},
                {STORE_UNKNOWN, OUTCOME_STORE_UNAVAILABLE}, /* a read: nothing was executed */
                {STORE_FAILED, OUTCOME_STORE_UNAVAILABLE}};
    struct sale_buyer buyer;

    START(.batch = 8);
    let_through(INT_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sale_fakes.answer = rows[i].status;
        sale_buyer_buys(&buyer, group, "sale", 1);
        assert_string_equal(buyer.guard, "");
        assert_int_equal(buyer.purchase.outcome, rows[i].expected);
    }
    assert_int_equal(world.calls, 0);
    sale_fakes.answer = STORE_OK;
    assert_int_equal(buy_here(6), outcome_for("b6"));
}

TEST(a_flawed_guard_runs_in_the_lab_only)
{
    static const bool labs[] = {false, true};

    for (size_t i = 0; i < 2; i++) {
        outcome expected = labs[i] ? outcome_for("b5") : OUTCOME_NO_GUARD;

        START(.batch = 8, .lab = labs[i]);
        sale_fakes.guard = "flawed";
        let_through(INT_MAX);
        assert_int_equal(buy_here(5), expected);
        assert_int_equal(world.calls, labs[i]);
    }
}

TEST(a_guard_nobody_knows_is_refused)
{
    START(.batch = 8, .lab = true);
    sale_fakes.guard = "of tomorrow";
    let_through(INT_MAX);
    assert_int_equal(buy_here(5), OUTCOME_NO_GUARD);
    assert_int_equal(world.calls, 0);
}

TEST(a_guard_that_needs_servers_runs_only_where_there_are_some)
{
    struct guard_servers servers = {.redlock.count = 3};

    for (size_t i = 0; i < 2; i++) {
        START(.batch = 8, .lab = true, .servers = i ? &servers : NULL);
        sale_fakes.guard = "many";
        let_through(INT_MAX);
        assert_int_equal(buy_here(5), i ? outcome_for("b5") : OUTCOME_NO_GUARD);
        assert_int_equal(world.calls, i);
    }
}

TEST(without_a_node_number_nothing_is_sold)
{
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < 2; i++) {
        START(.batch = batches[i]);
        let_through(INT_MAX);
        atomic_store(&sale_fakes.node, -1);
        assert_int_equal(buy_here(5), OUTCOME_STORE_UNAVAILABLE);
        assert_int_equal(world.calls, 0);
        atomic_store(&sale_fakes.node, 0);
        assert_int_equal(buy_here(5), outcome_for("b5"));
    }
}

TEST(freeing_nothing_is_fine)
{
    group_commit_free(NULL);
}
