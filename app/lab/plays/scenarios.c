/*
 * The table of scenarios, in the order of teaching. Any thread.
 */
#include "scenarios.h"

#include <string.h>

static const struct lab_scenario *const themes[] = {
    scenarios_first_locks, scenarios_release, scenarios_pauses,  scenarios_reentrant,
    scenarios_servers,     scenarios_waiting, scenarios_readers, scenarios_deadlocks,
    scenarios_counting,    scenarios_waking,  scenarios_buyers,  scenarios_incident,
};

const struct lab_scenario *scenarios_at(size_t index)
{
    for (size_t i = 0; i < sizeof themes / sizeof themes[0]; i++) {
        for (const struct lab_scenario *row = themes[i]; row->name; row++) {
            if (index-- == 0) return row;
        }
    }
    return NULL;
}

const struct lab_scenario *scenarios_named(const char *name)
{
    for (size_t i = 0; scenarios_at(i); i++) {
        if (strcmp(scenarios_at(i)->name, name) == 0) return scenarios_at(i);
    }
    return NULL;
}
