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

enum { HELP_MAX = 16384 };

const char *guard_list_finding_name(guard_finding finding)
{
    static const char *const names[] = {
        [GUARD_SOUND] = "sound", [GUARD_OVERSELLS] = "oversells", [GUARD_STUCK] = "stuck"};
    return names[finding];
}

/* "needs FLAG", or "FLAWED, needs --lab, FINDING: WHY". false: of another shape. */
static bool take_more(const char *line, struct guard_entry *guard)
{
    char word[GUARD_NAME_MAX];

    _Static_assert(GUARD_NAME_MAX == 24 && GUARD_FLAW_MAX == 160, "the widths below");
    if (sscanf(line, "needs %23[a-z-]", guard->needs) == 1) return true;
    if (sscanf(line, "FLAWED, needs --lab, %23[a-z]: %159[^\n]", word, guard->flaw) != 2)
        return false;
    for (guard_finding finding = GUARD_OVERSELLS; finding <= GUARD_STUCK; finding++)
        if (strcmp(word, guard_list_finding_name(finding)) == 0) guard->finding = finding;
    return guard->finding != GUARD_SOUND;
}

static bool take_line(const char *line, struct guard_list *guards)
{
    size_t indent = strspn(line, " ");
    size_t name_len = strcspn(line + indent, " \n");

    if (indent > 2)
        return guards->count > 0 && take_more(line + indent, &guards->list[guards->count - 1]);
    if (name_len == 0 || name_len >= GUARD_NAME_MAX || guards->count == GUARDS_MAX) return false;
    struct guard_entry *guard = &guards->list[guards->count++];
    *guard = (struct guard_entry){.finding = GUARD_SOUND};
    (void)snprintf(guard->name, sizeof guard->name, "%.*s", (int)name_len, line + indent);
    return true;
}

static long default_batch(const char *help)
{
    const char *flag = strstr(help, "--batch ");
    const char *value = flag ? strpbrk(flag, "[\n") : NULL;

    return value && *value == '[' ? strtol(value + 1, NULL, 10) : 0;
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
        is_good = take_line(line, out_guards);
        line += length + (line[length] == '\n');
    }
    return is_good && out_guards->count > 0;
}

bool guard_list_ask(const char *run_dir, struct guard_list *out_guards, struct failure *failure)
{
    char program[RUN_PATH_MAX], help[HELP_MAX];
    const char *const argv[] = {program, "--help", NULL};

    if (!programs_seckilld(program, failure)) return false;
    if (!bench_machine_output_of(argv, run_dir, help, sizeof help))
        return failure_set(failure, "%s --help does not end well", program);
    return guard_list_parse(help, out_guards) ||
           failure_set(failure, "the guards in seckilld --help are not understood");
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

/* With all that there are, as far as there is room. */
static bool blame_name(const struct guard_list *all, const char *name, size_t length,
                       struct failure *failure)
{
    char known[300] = "";

    for (int i = 0; i < all->count; i++)
        (void)snprintf(known + strlen(known), sizeof known - strlen(known), " %s",
                       all->list[i].name);
    (void)failure_set(failure, "--guard: the service has no guard \"%.*s\"; it has%s",
                      length < GUARD_NAME_MAX ? (int)length : GUARD_NAME_MAX, name, known);
    if (failure) failure->is_usage = true;
    return false;
}

bool guard_list_choose(const struct guard_list *all, const char *wish,
                       struct guard_list *out_chosen, struct failure *failure)
{
    bool is_wanted[GUARDS_MAX] = {false};
    bool is_all = strcmp(wish, "all") == 0;

    for (const char *name = wish; name && !is_all;) {
        size_t length = strcspn(name, ",");
        const struct guard_entry *guard = find(all, name, length);
        if (!guard) return blame_name(all, name, length, failure);
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

static bool is_sound(const struct guard_entry *guard)
{
    return guard->finding == GUARD_SOUND;
}

static bool is_here(const struct guard_entry *guard)
{
    for (int kind = 0; kind < OWN_KINDS; kind++)
        if (strcmp(guard->needs, own_server_flag((own_kind)kind)) == 0)
            return own_server_is_here((own_kind)kind);
    return true;
}

static void keep(struct guard_list *guards, bool (*is_kept)(const struct guard_entry *guard))
{
    int kept = 0;

    for (int i = 0; i < guards->count; i++)
        if (is_kept(&guards->list[i])) guards->list[kept++] = guards->list[i];
    guards->count = kept;
}

void guard_list_keep_sound(struct guard_list *guards)
{
    keep(guards, is_sound);
}

void guard_list_drop_not_here(struct guard_list *guards)
{
    keep(guards, is_here);
}

bool guard_list_needs(const struct guard_list *guards, const char *flag)
{
    for (int i = 0; i < guards->count; i++)
        if (strcmp(guards->list[i].needs, flag) == 0) return true;
    return false;
}

void guard_list_collect_needs(const struct guard_list *guards, bool out_needs[OWN_KINDS])
{
    for (int kind = 0; kind < OWN_KINDS; kind++)
        out_needs[kind] = guard_list_needs(guards, own_server_flag((own_kind)kind));
}

const struct guard_entry *guard_list_find(const struct guard_list *guards, const char *name)
{
    return find(guards, name, strlen(name));
}
