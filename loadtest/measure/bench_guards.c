/*
 * The sound ones of the guards in --help, and sums. One thread.
 */
#include "bench_guards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/guard_list.h"

static const char *after(const char *text, const char *words)
{
    const char *found = text ? strstr(text, words) : NULL;
    return found ? found + strlen(words) : NULL;
}

static long default_batch(const char *help)
{
    const char *flag = after(help, "--batch ");
    const char *value = after(flag, "[");
    const char *end = flag ? strchr(flag, '\n') : NULL;

    return value && end && value < end ? strtol(value, NULL, 10) : 0;
}

bool bench_guards_parse(const char *help, struct bench_guards *out_guards)
{
    struct guard_list all;

    *out_guards = (struct bench_guards){.batch = default_batch(help)};
    if (!guard_list_parse(help, &all)) return false;
    for (int i = 0; i < all.count; i++)
        if (all.list[i].finding == GUARD_SOUND)
            memcpy(out_guards->names[out_guards->count++], all.list[i].name, GUARD_NAME_MAX);
    return out_guards->count > 0 && out_guards->batch > 0;
}

bool bench_guards_ask(const char *run_dir, struct bench_guards *out_guards, struct failure *failure)
{
    char help[GUARD_HELP_MAX];

    return guard_list_ask_help(run_dir, help, sizeof help, failure) &&
           (bench_guards_parse(help, out_guards) ||
            failure_set(failure, "seckilld --help names no guards"));
}

void bench_guards_add_cost(struct bench_cost *cost, const struct bench_count *count)
{
    static const struct tally none;

    if (!cost->doubt[0]) (void)snprintf(cost->doubt, sizeof cost->doubt, "%s", count->doubt);
    cost->refused += count->refused;
    if (count->accepted <= 0 || cost->count == ROUNDS_MAX) return;
    double orders = (double)count->accepted;
    cost->round_trips[cost->count] = count->round_trips / orders;
    cost->commands[cost->count] = (double)count->commands / orders;
    cost->per_s[cost->count] = count->per_s;
    cost->count++;
    cost->orders += count->accepted;
    (void)counters_add_calls(&none, &count->sum, &cost->sum);
}
