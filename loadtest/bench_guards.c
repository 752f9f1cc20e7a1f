/*
 * --help has a section "Guards:"; a guard's line starts with two blanks, and a further line, deeper
 * in, says FLAWED when it is. One thread.
 */
#include "bench_guards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_machine.h"

enum { HELP_MAX = 16384 };

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

static void take_line(const char *line, size_t length, struct bench_guards *guards)
{
    size_t indent = strspn(line, " ");
    size_t name_len = strcspn(line + indent, " \n");
    const char *flaw = strstr(line, "FLAWED");

    if (indent > 2) {
        if (flaw && (size_t)(flaw - line) < length && guards->count > 0) guards->count--;
        return;
    }
    if (name_len == 0 || name_len >= GUARD_NAME_MAX || guards->count == GUARDS_MAX) return;
    (void)snprintf(guards->names[guards->count++], GUARD_NAME_MAX, "%.*s", (int)name_len,
                   line + indent);
}

bool bench_guards_parse(const char *help, struct bench_guards *out_guards)
{
    const char *line = after(help, "\nGuards:\n");

    *out_guards = (struct bench_guards){.batch = default_batch(help)};
    while (line && *line == ' ') {
        size_t length = strcspn(line, "\n");
        take_line(line, length, out_guards);
        line += length + (line[length] == '\n');
    }
    return out_guards->count > 0 && out_guards->batch > 0;
}

bool bench_guards_ask(const char *run_dir, struct bench_guards *out_guards, struct failure *failure)
{
    char program[RUN_PATH_MAX + 64];
    char help[HELP_MAX];
    const char *const argv[] = {program, "--help", NULL};

    if (!service_find_seckilld(program, sizeof program, failure)) return false;
    return (bench_output_of(argv, run_dir, help, sizeof help) &&
            bench_guards_parse(help, out_guards)) ||
           failure_set(failure, "%s --help names no guards", program);
}

void bench_cost_add(struct bench_cost *cost, const struct bench_count *count)
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
