/*
 * The search: of every guard that it can play, which promises break, by how short a schedule and by how few
 * faults; and of the sound ones that it has tried all, and nothing breaks.
 */
#include <stdatomic.h>
#include <time.h>

#include "lab/plays/scenarios.h"
#include "lab/schedule/explore.h"
#include "lab/stage/program.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 120000, LEAST_PER_SECOND = 500 };

static const struct {
    const char *guard, *kinds;
    struct {
        enum lab_promise promise;
        unsigned length, faults;
    } broken[4];
} table[] = {
    {"none", "t,k,l,s", {{LAB_OVERSOLD, 4, 0}}},
    {"thread", "t,k", {{LAB_OVERSOLD, 4, 0}}},
    {"file", "t,k", {{LAB_OVERSOLD, 4, 0}}},
    {"setnx", "t,k", {{LAB_STUCK, 2, 1}}},
    {"setnx-expire", "t,k", {{LAB_STUCK, 2, 1}, {LAB_FOREIGN_RELEASE, 7, 1}, {LAB_OVERSOLD, 9, 1}}},
    {"set-del", "t,k", {{LAB_FOREIGN_RELEASE, 6, 1}, {LAB_OVERSOLD, 7, 1}}},
    {"get-del", "t,k", {{LAB_FOREIGN_RELEASE, 7, 1}, {LAB_OVERSOLD, 7, 1}}},
    {"mutex-unchecked", "t,k", {{LAB_OVERSOLD, 7, 1}}},
    {"watchdog-unchecked", "t,k", {{0}}},
    {"watchdog-unchecked", "t,p", {{LAB_OVERSOLD, 9, 2}}},
    /* B's SET has put an end to A's hold already, by the 4th choice: the model counted DELs alone, 7. */
    {"get-then-set", "t,k", {{LAB_FOREIGN_RELEASE, 4, 0}, {LAB_OVERSOLD, 8, 0}}},
    {"per-buyer-lock", "t,k", {{LAB_OVERSOLD, 6, 0}}},
    {"decr-blind", "t,k", {{LAB_OVERSOLD, 4, 0}}},
    {"unmarked", "s", {{LAB_FALSE_ANSWER, 3, 1}}},
    {"setex", "t,k", {{LAB_FOREIGN_RELEASE, 2, 0}, {LAB_OVERSOLD, 6, 0}}},
    {"object-token", "t,k", {{LAB_OVERSOLD, 7, 1}}},
    {"no-rollback", "t,k", {{LAB_UNIT_GONE, 2, 0}}},
    {"check-first", "t,k,l,s", {{0}}},
    {"redlock-unchecked", "r", {{LAB_TWO_HOLDERS, 4, 2}, {LAB_OVERSOLD, 8, 2}}},
    {"redlock-unchecked", "t,k", {{LAB_OVERSOLD, 7, 1}}},
    {"redlock", "r", {{LAB_TWO_HOLDERS, 4, 2}}},
    {"redlock", "t,k", {{0}}},
    {"mutex-elsewhere", "r", {{LAB_TWO_HOLDERS, 4, 2}, {LAB_OVERSOLD, 8, 2}}},
    /* The model looks in one command, 5: here order and stock are read by two. */
    {"pay-after-look", "t,k", {{LAB_OVERSOLD, 6, 1}}},
    {"pay-in-one-step", "t,l", {{0}}},
    {"mutex", "t,k", {{0}}},
    {"mutex-watchdog", "t,k,p", {{0}}},
    {"reentrant", "t,k", {{0}}},
    {"fair", "t,k", {{0}}},
    {"spin", "t,k", {{0}}},
    {"fenced", "t,k", {{0}}},
    {"script", "t,k,l,s", {{0}}},
    {"watch", "t,k,l", {{0}}},
};

enum { ROWS = sizeof table / sizeof table[0] };

static void assert_found(const struct explore *all, size_t row)
{
    size_t count = 0;

    print_message("# %-20s %5zu schedules %5zu plays %5zu states %6ld ms\n", all->guard->name,
                  all->schedules, all->plays, all->states, (long)all->took_ms);
    if (all->trouble.text[0]) fail_msg("%s", all->trouble.text);
    assert_true(all->is_finished);
    for (; table[row].broken[count].promise != LAB_KEPT; count++) {
        const struct explore_found *found = &all->found[count];

        assert_true(count < all->found_count);
        if (found->length != table[row].broken[count].length)
            fail_msg("%s by %s: not %u choices", all->guard->name, found->text,
                     table[row].broken[count].length);
        assert_int_equal(found->promise, table[row].broken[count].promise);
        assert_int_equal(found->faults, table[row].broken[count].faults);
    }
    assert_int_equal(all->found_count, count);
    assert_int_equal(all->verdict, count > 0 ? EXPLORE_BROKEN : EXPLORE_NONE);
}

static struct explore explore(struct lab *lab, const char *guard, const char *kinds, bool is_plain)
{
    struct explore all = {.guard = scenarios_guard(guard),
                          .actors = 2,
                          .units = 1,
                          .faults = 2,
                          .depth = 40,
                          .kinds = kinds,
                          .limit_ms = LIMIT_MS,
                          .is_all = true,
                          .is_plain = is_plain};

    explore_run(&all, lab);
    return all;
}

TEST(each_guard_breaks_what_it_breaks_by_the_shortest_schedule)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct explore all = explore(*state, table[i].guard, table[i].kinds, false);

        assert_found(&all, i);
    }
}

/* By the time that it has worked: on a machine that others use, too, it may have to wait. */
TEST(it_tries_at_least_500_schedules_in_a_second)
{
    clock_t begin = clock();
    struct explore all = explore(*state, "get-then-set", "t,k", false);
    double worked = (double)(clock() - begin) / CLOCKS_PER_SEC;

    print_message("# %.0f in a second, %.0f of its own work\n",
                  (double)all.schedules * 1000 / (double)all.took_ms,
                  (double)all.schedules / worked);
    assert_true((double)all.schedules >= LEAST_PER_SECOND * worked);
}

TEST(what_leads_to_a_state_that_was_seen_finds_nothing_else)
{
    static const char *const guards[] = {"none", "setnx", "decr-blind", "script"};

    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        struct explore hashed = explore(*state, guards[i], "t,k", false);
        struct explore plain = explore(*state, guards[i], "t,k", true);

        assert_true(plain.schedules >= hashed.schedules);
        assert_int_equal(plain.found_count, hashed.found_count);
        for (size_t k = 0; k < plain.found_count; k++)
            assert_string_equal(plain.found[k].text, hashed.found[k].text);
    }
}

TEST(no_guard_is_left_out)
{
    for (size_t i = 0; scenarios_guard_at(i); i++) {
        bool is_there = schedule_refusal(scenarios_guard_at(i)) != NULL;

        for (size_t k = 0; k < ROWS; k++)
            is_there |= strcmp(table[k].guard, scenarios_guard_at(i)->name) == 0;
        if (!is_there) fail_msg("%s", scenarios_guard_at(i)->name);
    }
}

/* ---- what is not the same each time ------------------------------------------------------------------ */

static struct guard_result flip(const struct guard_ctx *ctx, struct purchase **batch, size_t count)
{
    static atomic_uint calls; /* two in each play */

    return (atomic_fetch_add(&calls, 1) / 2 % 2 == 0 ? guard_none : guard_script)
        .sell(ctx, batch, count);
}

TEST(a_guard_that_flips_a_coin_is_trouble)
{
    const struct guard coin = {.name = "coin", .idea = "", .sell = flip};
    struct explore all = {
        .guard = &coin, .actors = 2, .units = 1, .depth = 9, .kinds = "", .limit_ms = LIMIT_MS};

    explore_run(&all, *state);
    assert_int_equal(all.verdict, EXPLORE_TROUBLE);
    assert_string_not_equal(all.trouble.text, "");
}

static atomic_uint sold, last_sale; /* 0: there is none */

static struct guard_result sell_and_stop(const struct guard_ctx *ctx, struct purchase **batch,
                                         size_t count)
{
    if (atomic_fetch_add(&sold, 1) + 1 == atomic_load(&last_sale)) tap_interrupt();
    return guard_none.sell(ctx, batch, count);
}

TEST(who_interrupts_it_while_it_confirms_gets_no_verdict)
{
    const struct guard hasty = {.name = "hasty", .idea = "", .sell = sell_and_stop};
    const struct explore wish = {
        .guard = &hasty, .actors = 2, .units = 1, .depth = 9, .kinds = "", .limit_ms = LIMIT_MS};
    struct explore all = wish;

    explore_run(&all, *state);
    assert_int_equal(all.verdict, EXPLORE_BROKEN);
    atomic_store(&last_sale, atomic_exchange(&sold, 0) - 1); /* the last play's first */
    all = wish;
    explore_run(&all, *state);
    tap_forget_interrupt();
    assert_string_equal(all.trouble.text, "");
    assert_int_equal(all.verdict, EXPLORE_UNFINISHED);
    assert_int_equal(all.found_count, 0);
}

/* What it says is cut, after so many bytes. */
TEST(a_program_may_say_something_else_in_any_language)
{
    struct program chatty;
    struct explore all = {.guard = &chatty.guard,
                          .actors = 2,
                          .units = 1,
                          .depth = 9,
                          .kinds = "",
                          .limit_ms = LIMIT_MS};

    program_init(&chatty, task_at(0), "printf '卖%.0s' $(seq 100)");
    explore_run(&all, *state);
    char *json = explore_json(&all);
    assert_non_null(json);
    if (!strstr(json, "\"verdict\":\"trouble\"") || !strstr(json, "卖卖")) fail_msg("%s", json);
    free(json);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
