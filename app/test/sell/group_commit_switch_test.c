/*
 * A sale's guard is switched while purchases are under way: no run of the old guard and one of the new
 * ever meet, whoever waits is sold by the new one, everybody is told by which, and other sales keep
 * theirs.
 * link: -Wl,--wrap=guards_find,--wrap=store_load_sale,--wrap=order_node_number
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/sale_fakes.h"
#include "test/support/sale_support.h"
#include "test/support/testing.h"

enum { CROWD = 24, EACH = 60, SWITCHES = 60, NAME_SIZE = 16 };

static struct {
    atomic_uint inside[2]; /* runs of each guard */
    atomic_uint runs[2];
    atomic_bool have_met;
    atomic_bool has_gate; /* a run of the first guard waits there */
    sem_t at_gate;
    sem_t gate;
} world;

static struct guard_result sell(unsigned which, struct purchase **batch, size_t count)
{
    atomic_fetch_add(&world.inside[which], 1);
    atomic_fetch_add(&world.runs[which], 1);
    if (which == 0 && atomic_load(&world.has_gate)) {
        (void)sem_post(&world.at_gate);
        (void)sem_wait(&world.gate);
    }
    if (atomic_load(&world.inside[!which]) > 0) atomic_store(&world.have_met, true);
    for (size_t i = 0; i < count; i++)
        batch[i]->outcome = which == 0 ? OUTCOME_PAUSED : OUTCOME_ENDED;
    (void)sched_yield();
    if (atomic_load(&world.inside[!which]) > 0) atomic_store(&world.have_met, true);
    atomic_fetch_sub(&world.inside[which], 1);
    return (struct guard_result){.status = GUARD_DONE};
}

static struct guard_result sell_first(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    return sell(0, batch, count);
}

static struct guard_result sell_second(const struct guard_ctx *ctx, struct purchase **batch,
                                       size_t count)
{
    return sell(1, batch, count);
}

enum { FIRST, SECOND, ELSEWHERE, GUARDS };

/* The sale "far" has a guard that cannot run here. */
static const struct guard guards[GUARDS] = {
    [FIRST] = {.name = "first", .sell = sell_first},
    [SECOND] = {.name = "second",
                .flaw = "on purpose",
                .expected = VERDICT_OVERSELLS,
                .sell = sell_second},
    [ELSEWHERE] = {.name = "elsewhere", .needs = NEED_REDLOCK, .sell = sell_first}};

static struct group_commit *start(unsigned batch)
{
    struct group_commit *group = group_commit_new(&(struct group_commit_options){
        .batch = batch, .queue_max = CROWD, .deadline_ms = 30000, .lease_ms = 3000, .lab = true});

    assert_non_null(group);
    sale_fakes_reset(guards, GUARDS);
    sale_fakes.far_guard = guards[ELSEWHERE].name;
    for (int i = 0; i < 2; i++) {
        atomic_store(&world.inside[i], 0);
        atomic_store(&world.runs[i], 0);
    }
    atomic_store(&world.have_met, false);
    atomic_store(&world.has_gate, false);
    assert_int_equal(sem_init(&world.at_gate, 0, 0), 0);
    assert_int_equal(sem_init(&world.gate, 0, 0), 0);
    return group;
}

struct buyer {
    pthread_t thread;
    struct group_commit *group;
    int times;
    unsigned sold[2];  /* by each guard */
    unsigned mistaken; /* purchases that carry the name of another guard than sold them */
};

static void *buy(void *arg)
{
    struct buyer *self = arg;

    for (int i = 0; i < self->times; i++) {
        struct purchase purchase = {.buyer = "b", .key = "", .outcome = OUTCOME_COUNT};
        const char *guard = group_commit_sell(self->group, "sale", &purchase);

        self->sold[0] += purchase.outcome == OUTCOME_PAUSED;
        self->sold[1] += purchase.outcome == OUTCOME_ENDED;
        self->mistaken +=
            strcmp(guard, purchase.outcome == OUTCOME_PAUSED ? guards[FIRST].name
                                                             : guards[SECOND].name) != 0;
    }
    return NULL;
}

static void send_in(struct buyer *buyer, struct group_commit *group, int times)
{
    *buyer = (struct buyer){.group = group, .times = times};
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy, buyer), 0);
}

static void end(struct buyer *buyer)
{
    assert_int_equal(pthread_join(buyer->thread, NULL), 0);
    assert_int_equal(buyer->mistaken, 0);
}

struct switcher {
    pthread_t thread;
    struct group_commit *group;
    atomic_int thread_id;
    atomic_bool is_done;
};

static void *make_switch(void *arg)
{
    struct switcher *self = arg;

    atomic_store(&self->thread_id, gettid());
    if (group_commit_switch_guard(self->group, "sale", &guards[SECOND]))
        atomic_store(&self->is_done, true);
    return NULL;
}

static bool has_depth(void *arg)
{
    return group_commit_depth(arg) == 4;
}

static bool sleeps(void *arg)
{
    struct switcher *self = arg;

    return atomic_load(&self->thread_id) && sale_thread_sleeps(atomic_load(&self->thread_id));
}

TEST(a_switch_waits_for_the_run_before_and_who_waits_is_sold_by_the_new_guard)
{
    struct group_commit *group = start(16);
    struct buyer buyers[4];
    struct switcher switcher = {.group = group};

    atomic_store(&world.has_gate, true);
    send_in(&buyers[0], group, 1);
    (void)sem_wait(&world.at_gate);
    for (int i = 1; i < 4; i++)
        send_in(&buyers[i], group, 1);
    assert_true(sale_eventually(has_depth, group, 20000));
    assert_int_equal(pthread_create(&switcher.thread, NULL, make_switch, &switcher), 0);
    assert_true(sale_eventually(sleeps, &switcher, 20000));
    assert_false(atomic_load(&switcher.is_done));
    assert_ptr_equal(group_commit_guard(group, "sale"), &guards[FIRST]);
    (void)sem_post(&world.gate);
    assert_int_equal(pthread_join(switcher.thread, NULL), 0);

    assert_true(atomic_load(&switcher.is_done));
    assert_ptr_equal(group_commit_guard(group, "sale"), &guards[SECOND]);
    for (int i = 0; i < 4; i++)
        end(&buyers[i]);
    assert_int_equal(buyers[0].sold[0], 1);
    for (int i = 1; i < 4; i++)
        assert_int_equal(buyers[i].sold[1], 1);
    assert_int_equal(atomic_load(&world.runs[1]), 1);
    assert_false(atomic_load(&world.have_met));
    group_commit_free(group);
}

/* In batches, and each by itself. */
TEST(under_load_the_old_guard_and_the_new_one_never_meet)
{
    static const unsigned batches[] = {1, 4, 256};

    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        struct group_commit *group = start(batches[b]);
        struct buyer buyers[CROWD];
        unsigned sold = 0;

        for (int i = 0; i < CROWD; i++)
            send_in(&buyers[i], group, EACH);
        for (int i = 0; i < SWITCHES; i++)
            assert_true(
                group_commit_switch_guard(group, "sale", i % 2 ? &guards[FIRST] : &guards[SECOND]));
        for (int i = 0; i < CROWD; i++) {
            end(&buyers[i]);
            sold += buyers[i].sold[0] + buyers[i].sold[1];
        }
        assert_int_equal(sold, CROWD * EACH);
        assert_false(atomic_load(&world.have_met));
        assert_int_equal(group_commit_depth(group), 0);
        group_commit_free(group);
    }
}

TEST(another_sale_keeps_its_guard)
{
    struct group_commit *group = start(16);
    struct purchase purchase = {.buyer = "b", .key = "", .outcome = OUTCOME_COUNT};

    assert_null(group_commit_guard(group, "sale"));
    assert_string_equal(group_commit_sell(group, "other", &purchase), "first");
    assert_true(group_commit_switch_guard(group, "sale", &guards[SECOND]));
    assert_string_equal(group_commit_sell(group, "sale", &purchase), "second");
    assert_string_equal(group_commit_sell(group, "other", &purchase), "first");
    assert_int_equal(purchase.outcome, OUTCOME_PAUSED);
    assert_true(group_commit_switch_guard(group, "sale", &guards[FIRST]));
    assert_string_equal(group_commit_sell(group, "sale", &purchase), "first");
    group_commit_free(group);
}

TEST(a_sale_whose_own_guard_cannot_run_here_is_sold_by_another)
{
    struct group_commit *group = start(16);
    struct purchase purchase = {.buyer = "b", .key = "", .outcome = OUTCOME_COUNT};

    assert_string_equal(group_commit_sell(group, "far", &purchase), "");
    assert_int_equal(purchase.outcome, OUTCOME_NO_GUARD);
    assert_true(group_commit_switch_guard(group, "far", &guards[SECOND]));
    assert_string_equal(group_commit_sell(group, "far", &purchase), "second");
    group_commit_free(group);
}
