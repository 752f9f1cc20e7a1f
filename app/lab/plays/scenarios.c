/*
 * The table of scenarios, in the order of teaching. Any thread.
 */
#include "scenarios.h"

#include <string.h>

#include "lab/stage/server_commands.h"
#include "lab/stage/servers.h"

static const struct lab_scenario *const themes[] = {
    scenarios_first_locks, scenarios_release,  scenarios_pauses,   scenarios_reentrant,
    scenarios_servers,     scenarios_waiting,  scenarios_readers,  scenarios_deadlocks,
    scenarios_counting,    scenarios_waking,   scenarios_buyers,   scenarios_databases,
    scenarios_ensembles,   scenarios_payments, scenarios_articles, scenarios_lines,
};

const struct guard *scenarios_guard_at(size_t index)
{
    static const struct guard *const own[] = {
        &scenario_guard_get_then_set,    &scenario_guard_per_buyer_lock,
        &scenario_guard_decr_blind,      &scenario_guard_unmarked,
        &scenario_guard_setex,           &scenario_guard_object_token,
        &scenario_guard_no_rollback,     &scenario_guard_check_first,
        &scenario_guard_mutex_elsewhere, &scenario_guard_redlock_unchecked,
        &scenario_guard_pay_after_look,  &scenario_guard_pay_in_one_step};
    size_t count = 0;

    while (count <= index && guards_at(count))
        count++;
    if (count > index) return guards_at(index);
    return index - count < sizeof own / sizeof own[0] ? own[index - count] : NULL;
}

const struct guard *scenarios_guard(const char *name)
{
    for (size_t i = 0; scenarios_guard_at(i); i++) {
        if (strcmp(scenarios_guard_at(i)->name, name) == 0) return scenarios_guard_at(i);
    }
    return NULL;
}

const struct lab_scenario *scenarios_at(size_t index)
{
    for (size_t i = 0; i < sizeof themes / sizeof themes[0]; i++) {
        for (const struct lab_scenario *row = themes[i]; row->name; row++) {
            if (index-- == 0) return row;
        }
    }
    return NULL;
}

const char *scenarios_lack(const struct lab_scenario *scenario)
{
    const char *lacks = servers_lack(scenario->beside);

    return lacks ? lacks : server_commands_lack(scenario->command);
}

const struct lab_scenario *scenarios_named(const char *name)
{
    for (size_t i = 0; scenarios_at(i); i++) {
        if (strcmp(scenarios_at(i)->name, name) == 0) return scenarios_at(i);
    }
    return NULL;
}
