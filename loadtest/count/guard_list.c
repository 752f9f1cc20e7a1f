/*
 * A guard's line starts with two blanks; further lines, deeper in, say "needs FLAG" when it does, and
 * "FLAWED, needs --lab, FINDING: WHY" when it is. One thread.
 */
#include "guard_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/programs.h"
#include "bench_machine.h"

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool guard_list_ask_help(const char *run_dir, char *out, size_t size, struct failure *failure)
{
    char program[RUN_PATH_MAX];
    const char *const argv[] = {program, "--help", NULL};

    return programs_seckilld(program, failure) &&
           (bench_machine_output_of(argv, run_dir, out, size) ||
            failure_set(failure, "%s --help does not end well", program));
}

const char *guard_list_finding_name(guard_finding finding)
{
    static const char *const names[] = {
        [GUARD_SOUND] = "sound", [GUARD_OVERSELLS] = "oversells", [GUARD_STUCK] = "stuck"};
    return names[finding];
}

/* "needs FLAG" */
static bool take_need(const char *line, size_t length, struct guard_entry *guard)
{
    static const char head[] = "needs ";
    size_t head_len = sizeof head - 1;

    if (!starts_with(line, head) || length - head_len >= sizeof guard->needs) return false;
    (void)snprintf(guard->needs, sizeof guard->needs, "%.*s", (int)(length - head_len),
                   line + head_len);
    return true;
}

/* "FLAWED, needs --lab, FINDING: WHY", up to the line's end. false: of another shape. */
static bool take_flaw(const char *line, size_t length, struct guard_entry *guard)
{
    static const struct {
        const char *head;
        guard_finding finding;
    } findings[] = {{"FLAWED, needs --lab, oversells: ", GUARD_OVERSELLS},
                    {"FLAWED, needs --lab, stuck: ", GUARD_STUCK}};

    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        size_t head_len = strlen(findings[i].head);
        if (!starts_with(line, findings[i].head)) continue;
        guard->finding = findings[i].finding;
        (void)snprintf(guard->flaw, sizeof guard->flaw, "%.*s", (int)(length - head_len),
                       line + head_len);
    }
    return guard->finding != GUARD_SOUND;
}

static bool take_line(const char *line, size_t length, struct guard_list *guards)
{
    size_t indent = strspn(line, " ");
    size_t name_len = strcspn(line + indent, " \n");

    if (indent > 2) {
        if (guards->count == 0) return false;
        struct guard_entry *last = &guards->list[guards->count - 1];
        return take_need(line + indent, length - indent, last) ||
               take_flaw(line + indent, length - indent, last);
    }
    if (name_len == 0 || name_len >= GUARD_NAME_MAX || guards->count == GUARDS_MAX) return false;
    struct guard_entry *guard = &guards->list[guards->count++];
    *guard = (struct guard_entry){.finding = GUARD_SOUND};
    (void)snprintf(guard->name, sizeof guard->name, "%.*s", (int)name_len, line + indent);
    return true;
}

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

bool guard_list_parse(const char *help, struct guard_list *out_guards)
{
    static const char head[] = "\nGuards:\n";
    const char *line = strstr(help, head);
    bool is_good = line != NULL;

    *out_guards = (struct guard_list){.batch = default_batch(help)};
    if (line) line += strlen(head);
    while (is_good && *line == ' ') {
        size_t length = strcspn(line, "\n");
        is_good = take_line(line, length, out_guards);
        line += length + (line[length] == '\n');
    }
    return is_good && out_guards->count > 0;
}

static const struct guard_entry *find(const struct guard_list *guards, const char *name,
                                      size_t length)
{
    for (int i = 0; i < guards->count; i++)
        if (strlen(guards->list[i].name) == length &&
            strncmp(guards->list[i].name, name, length) == 0)
            return &guards->list[i];
    return NULL;
}

bool guard_list_choose(const struct guard_list *all, const char *wish,
                       struct guard_list *out_chosen, struct failure *failure)
{
    bool is_wanted[GUARDS_MAX] = {false};
    bool is_all = strcmp(wish, "all") == 0;

    for (const char *name = wish; name && !is_all;) {
        size_t length = strcspn(name, ",");
        const struct guard_entry *guard = find(all, name, length);
        if (!guard)
            return failure_set(failure,
                               "--guard: the service has no guard \"%.*s\" (see its --help)",
                               (int)length, name);
        if (is_wanted[guard - all->list])
            return failure_set(failure, "--guard: \"%s\" is there twice", guard->name);
        is_wanted[guard - all->list] = true;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    *out_chosen = (struct guard_list){.batch = all->batch};
    for (int i = 0; i < all->count; i++)
        if (is_all || is_wanted[i]) out_chosen->list[out_chosen->count++] = all->list[i];
    return true;
}

void guard_list_keep_sound(struct guard_list *guards)
{
    int kept = 0;

    for (int i = 0; i < guards->count; i++)
        if (guards->list[i].finding == GUARD_SOUND) guards->list[kept++] = guards->list[i];
    guards->count = kept;
}

bool guard_list_needs(const struct guard_list *guards, const char *flag)
{
    for (int i = 0; i < guards->count; i++)
        if (strcmp(guards->list[i].needs, flag) == 0) return true;
    return false;
}

void guard_list_drop_needing(struct guard_list *guards, const char *flag)
{
    int kept = 0;

    for (int i = 0; i < guards->count; i++)
        if (strcmp(guards->list[i].needs, flag) != 0) guards->list[kept++] = guards->list[i];
    guards->count = kept;
}

void guard_list_drop_not_here(struct guard_list *guards)
{
    for (int kind = 0; kind < OWN_KINDS; kind++)
        if (!own_server_is_here((own_kind)kind))
            guard_list_drop_needing(guards, own_server_flag((own_kind)kind));
}

void guard_list_tell_needs(const struct guard_list *guards, bool out_needs[OWN_KINDS])
{
    for (int kind = 0; kind < OWN_KINDS; kind++)
        out_needs[kind] = guard_list_needs(guards, own_server_flag((own_kind)kind));
}

const struct guard_entry *guard_list_find(const struct guard_list *guards, const char *name)
{
    return find(guards, name, strlen(name));
}
