/*
 * Each promise breaks by what breaks it, once, and by nothing else.
 */
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"
#include "test/support/testing.h"

static struct lab_scenario scenario;
static struct lab_run run;
static struct stage stage;

/* Actors A and B, one unit, two locks, nothing done. */
BEFORE_EACH()
{
    scenario = (struct lab_scenario){.keeps_order = false};
    run = (struct lab_run){.scenario = &scenario, .actor_count = 2, .lock_count = 2, .units = 1};
    run.actors[0].name = "A";
    run.actors[1].name = "B";
    stage = (struct stage){.run = &run};
    stage.actors[0].wants = -1;
    stage.actors[1].wants = -1;
}

/* The next step, which leaves all as it was. */
static struct lab_step *step_by(int actor)
{
    struct lab_step *step = &run.steps[run.step_count++];

    *step = (struct lab_step){.actor = actor};
    if (run.step_count > 1) step->state = step[-1].state;
    return step;
}

static void own_lock(struct lab_step *step, size_t lock, const char *owner, enum lab_lease lease)
{
    (void)snprintf(step->state.lock[lock].owner, LABEL_SIZE, "%s", owner);
    step->state.lock[lock].lease = lease;
}

static void order_for(struct lab_step *step, const char *order, const char *buyer)
{
    size_t at = step->state.order_count++;

    (void)snprintf(step->state.orders[at].order, ORDER_LABEL_SIZE, "%s", order);
    (void)snprintf(step->state.orders[at].buyer, LABEL_SIZE, "%s", buyer);
}

static void assert_breaks(enum lab_promise promise)
{
    promises_judge(&stage);
    if (promise == LAB_KEPT) {
        assert_int_equal(run.break_count, 0);
        return;
    }
    assert_int_equal(run.break_count, 1);
    assert_int_equal(run.breaks[0].promise, promise);
    assert_int_equal(run.breaks[0].step, run.step_count);
    assert_int_equal(run.steps[run.step_count - 1].broken, promise);
    (void)step_by(LAB_TIME);
    promises_judge(&stage); /* told once */
    assert_int_equal(run.break_count, 1);
}

TEST(as_many_orders_as_units_are_fine_and_one_more_is_oversold)
{
    struct lab_step *step = step_by(0);

    order_for(step, "1", "x");
    assert_breaks(LAB_KEPT);
    order_for(step_by(1), "2", "y");
    assert_breaks(LAB_OVERSOLD);
}

TEST(what_is_paid_for_and_for_sale_again_is_oversold)
{
    static const struct lab_scenario later = {.is_paid_later = true};
    struct lab_step *step = step_by(0);

    run.scenario = &later;
    order_for(step, "1", "x");
    assert_breaks(LAB_KEPT);
    step_by(1)->state.stock = 1;
    assert_breaks(LAB_OVERSOLD);
}

TEST(an_order_that_is_over_does_not_count)
{
    struct lab_step *step = step_by(0);

    order_for(step, "1", "x");
    step->state.over_count = 1;
    order_for(step_by(1), "2", "y");
    assert_breaks(LAB_KEPT);
}

TEST(money_that_is_told_of_is_for_something)
{
    stage.actors[0].cast.has_money = stage.actors[1].cast.has_money = true;
    stage.actors[0].is_joined = true;
    step_by(0)->state.payments = 1;
    assert_breaks(LAB_KEPT);
    stage.actors[1].is_joined = true;
    (void)step_by(1);
    assert_breaks(LAB_MONEY_GONE);
}

/* A program is judged by what its task is about, alone. */
static void play_program(const char *task)
{
    static struct program program;

    program_init(&program, task_named(task), "");
    stage.program = &program;
    (void)snprintf(stage.actors[0].order_id, ORDER_ID_MAX, "1001");
}

TEST(an_order_of_whoever_has_ended_has_its_message)
{
    struct lab_step *step = step_by(0);

    play_program("outbox");
    order_for(step, "1001", "A");
    assert_breaks(LAB_KEPT);
    stage.actors[0].is_joined = stage.actors[0].is_dead = true;
    step_by(0)->state.messages = 1;
    assert_breaks(LAB_KEPT);
    step_by(0)->state.messages = 0;
    assert_breaks(LAB_UNTOLD);
}

TEST(who_prolongs_anothers_lease_believes_that_it_is_his)
{
    play_program("renew");
    own_lock(step_by(0), 0, "A#1", LAB_LEASED);
    step_by(0)->state.lock[0].is_prolonged = true;
    assert_breaks(LAB_KEPT);
    step_by(1)->state.lock[0].is_prolonged = true;
    assert_breaks(LAB_TWO_HOLDERS);
}

TEST(what_is_paid_is_not_for_sale_again)
{
    play_program("pay");
    order_for(step_by(0), "1001", "1001");
    assert_breaks(LAB_KEPT);
    step_by(1)->state.stock = 1;
    assert_breaks(LAB_OVERSOLD);
}

TEST(what_a_task_is_not_about_is_not_judged)
{
    play_program("release");
    order_for(step_by(0), "1", "x");
    order_for(step_by(1), "2", "y");
    assert_breaks(LAB_KEPT);
}

TEST(a_second_order_of_a_buyer_is_found)
{
    struct lab_step *step = step_by(0);

    run.units = 9;
    order_for(step, "1", "x");
    order_for(step, "2", "y");
    assert_breaks(LAB_KEPT);
    order_for(step_by(0), "3", "x");
    assert_breaks(LAB_TWO_ORDERS);
}

TEST(only_the_owner_and_time_free_a_lock)
{
    own_lock(step_by(0), 0, "A#1", LAB_LEASED);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 0, "", LAB_FREE);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 0, "A#2", LAB_LEASED);
    own_lock(step_by(LAB_TIME), 0, "", LAB_FREE);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 1, "A#3", LAB_LEASED);
    promises_judge(&stage);
    own_lock(step_by(1), 1, "B#1", LAB_LEASED);
    assert_breaks(LAB_FOREIGN_RELEASE);
}

TEST(of_several_owners_each_frees_its_own)
{
    own_lock(step_by(0), 0, "A#1", LAB_LEASED);
    own_lock(step_by(1), 0, "A#1,B#1", LAB_LEASED);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 0, "B#1", LAB_LEASED);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 0, "B#1,A#2", LAB_LEASED);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(0), 0, "", LAB_FREE); /* B's, too */
    assert_breaks(LAB_FOREIGN_RELEASE);
}

TEST(a_lock_of_the_dead_is_stuck_unless_it_has_a_lease)
{
    own_lock(step_by(0), 0, "A", LAB_FOR_EVER);
    assert_breaks(LAB_KEPT); /* it lives */
    stage.actors[0].is_joined = true;
    stage.actors[0].is_dead = true;
    own_lock(step_by(LAB_TIME), 0, "A", LAB_LEASED);
    assert_breaks(LAB_KEPT);
    own_lock(step_by(LAB_TIME), 0, "A", LAB_FOR_EVER);
    assert_breaks(LAB_STUCK);
}

TEST(a_circle_of_waits_is_a_deadlock_and_a_queue_is_none)
{
    struct lab_step *step = step_by(0);

    own_lock(step, 0, "A#1", LAB_LEASED);
    own_lock(step, 1, "B#1", LAB_LEASED);
    stage.actors[1].wants = 0;
    assert_breaks(LAB_KEPT);
    stage.actors[0].wants = 1;
    (void)step_by(0);
    assert_breaks(LAB_DEADLOCK);
}

TEST(waiting_for_oneself_is_a_deadlock)
{
    own_lock(step_by(0), 0, "A#1", LAB_LEASED);
    stage.actors[0].wants = 0;
    assert_breaks(LAB_DEADLOCK);
}

static void try_in_vain(size_t actor, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        stage_tried(&stage.actors[actor], false);
    (void)step_by((int)actor);
}

TEST(rounds_that_all_lose_are_a_livelock)
{
    try_in_vain(0, 3);
    assert_breaks(LAB_KEPT); /* alone */
    try_in_vain(1, 2);
    assert_breaks(LAB_KEPT);
    try_in_vain(1, 1);
    assert_breaks(LAB_LIVELOCK);
}

TEST(who_wins_ends_the_livelock)
{
    try_in_vain(0, 3);
    stage_tried(&stage.actors[1], true);
    try_in_vain(1, 3);
    assert_breaks(LAB_KEPT);
}

static void answer(const char *told, guard_status status, outcome which)
{
    static const struct guard any;

    stage.actors[0].cast.guard = &any;
    stage.actors[0].is_joined = true;
    stage.actors[0].told = told;
    stage.actors[0].status = status;
    stage.actors[0].outcome = which;
    (void)snprintf(stage.actors[0].order_id, ORDER_ID_MAX, "1001");
}

TEST(a_created_order_must_be_in_the_books)
{
    answer("created", GUARD_DONE, OUTCOME_CREATED);
    order_for(step_by(0), "1001", "x");
    assert_breaks(LAB_KEPT);
    step_by(0)->state.order_count = 0;
    assert_breaks(LAB_FALSE_ANSWER);
}

TEST(a_refused_order_must_not_be_in_the_books)
{
    answer("lock-timeout", GUARD_BUSY, OUTCOME_COUNT);
    (void)step_by(0);
    assert_breaks(LAB_KEPT);
    order_for(step_by(LAB_TIME), "1001", "x");
    assert_breaks(LAB_FALSE_ANSWER);
}

TEST(an_order_that_has_expired_was_one)
{
    answer("order-expired", GUARD_DONE, OUTCOME_HAS_EXPIRED);
    order_for(step_by(0), "1001", "x");
    assert_breaks(LAB_KEPT);
    step_by(0)->state.order_count = 0;
    assert_breaks(LAB_FALSE_ANSWER);
}

static void come(size_t actor, unsigned step, const char *order)
{
    stage.actors[actor].came = step;
    (void)snprintf(stage.actors[actor].order_id, ORDER_ID_MAX, "%s", order);
}

TEST(who_came_first_is_served_first_if_that_is_promised)
{
    run.units = 2;
    come(0, 1, "1001");
    come(1, 2, "1002");
    order_for(step_by(1), "1002", "y");
    assert_breaks(LAB_KEPT);
    scenario.keeps_order = true;
    stage.actors[0].is_joined = true; /* it has gone */
    (void)step_by(0);
    assert_breaks(LAB_KEPT);
    stage.actors[0].is_joined = false;
    (void)step_by(0);
    assert_breaks(LAB_OVERTAKEN);
}

TEST(who_is_served_is_not_overtaken)
{
    struct lab_step *step = step_by(0);

    run.units = 2;
    scenario.keeps_order = true;
    come(0, 1, "1001");
    come(1, 2, "1002");
    order_for(step, "1001", "x");
    assert_breaks(LAB_KEPT);
    order_for(step_by(1), "1002", "y");
    assert_breaks(LAB_KEPT);
}

TEST(one_lock_has_one_holder)
{
    run.locks[0] = "lamp";
    run.locks[1] = "case";
    stage.actors[0].stage = &stage;
    stage.actors[1].stage = &stage;
    promises_note_hold(&stage.actors[0], "lamp");
    promises_note_hold(&stage.actors[1], "case");
    promises_note_hold(&stage.actors[1], "hat"); /* which is not shown */
    (void)step_by(0);
    assert_breaks(LAB_KEPT);
    promises_note_hold(&stage.actors[1], "lamp");
    promises_note_end(&stage.actors[1], "lamp"); /* in the same step */
    (void)step_by(1);
    assert_breaks(LAB_TWO_HOLDERS);
}

TEST(a_release_that_wakes_two_is_a_herd_if_that_is_promised)
{
    static const struct lab_scenario wakes_one = {.wakes_one = true};

    run.scenario = &(const struct lab_scenario){.wakes_one = false};
    (void)step_by(0);
    stage.woken = 2;
    assert_breaks(LAB_KEPT);
    run.scenario = &wakes_one;
    stage.woken = 1;
    assert_breaks(LAB_KEPT);
    stage.woken = 2;
    assert_breaks(LAB_HERD);
}

TEST(who_gave_it_back_or_overslept_is_no_holder)
{
    run.locks[0] = "lamp";
    run.locks[1] = "lamp"; /* of another server */
    stage.actors[0].stage = &stage;
    stage.actors[1].stage = &stage;
    promises_note_hold(&stage.actors[0], "lamp");
    promises_note_end(&stage.actors[0], "lamp");
    promises_note_hold(&stage.actors[1], "lamp");
    (void)step_by(1);
    assert_breaks(LAB_KEPT);
    promises_note_lapse(&stage, "lamp");
    promises_note_hold(&stage.actors[0], "lamp");
    (void)step_by(0);
    assert_breaks(LAB_KEPT);
}

TEST(unknown_promises_nothing)
{
    answer("outcome-unknown", GUARD_UNKNOWN, OUTCOME_COUNT);
    order_for(step_by(0), "1001", "x");
    assert_breaks(LAB_KEPT);
}
