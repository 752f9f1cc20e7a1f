/*
 * The guards that this service has, by its own --help: it is the one list there is.
 */
#ifndef LOADTEST_GUARD_LIST_H
#define LOADTEST_GUARD_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/own_server.h"
#include "common/failure.h"

enum {
    GUARDS_MAX = 32,
    GUARD_NAME_MAX = 24,
    GUARD_FLAW_MAX = 160,
};

/* What a flawed guard is there to show. */
typedef enum guard_finding {
    GUARD_SOUND,
    GUARD_OVERSELLS, /* loses updates: oversold, undersold, two orders for one buyer */
    GUARD_STUCK,     /* a crash leaves its lock for ever */
} guard_finding;

struct guard_entry {
    char name[GUARD_NAME_MAX];
    char needs[GUARD_NAME_MAX]; /* the flag that names servers it runs only with; "": none */
    char flaw[GUARD_FLAW_MAX];  /* in the service's words; "" when sound */
    guard_finding finding;
};

struct guard_list {
    struct guard_entry list[GUARDS_MAX];
    int count;
    long batch; /* the service's default; 0: it does not say */
};

/* "sound", "oversells", "stuck" */
const char *guard_list_finding_name(guard_finding finding);

/* Read what `seckilld --help` prints: its section "Guards:", and the default of --batch. false: it is not there, or
 * says something we do not know. */
bool guard_list_parse(const char *help, struct guard_list *out_guards);
/* ... of this service. */
bool guard_list_ask(const char *run_dir, struct guard_list *out_guards, struct failure *failure);

/*
 * Those of `wish`, "all" or names with commas between, in the order of the service.
 *
 * Returns  false   a name that is not there, twice, or empty; `failure` names it.
 */
bool guard_list_choose(const struct guard_list *all, const char *wish,
                       struct guard_list *out_chosen, struct failure *failure);

/* Drop the flawed ones. */
void guard_list_keep_sound(struct guard_list *guards);
/* Drop those that need a server which is not installed here. */
void guard_list_drop_not_here(struct guard_list *guards);
bool guard_list_needs(const struct guard_list *guards, const char *flag);
/* Which servers they need. */
void guard_list_collect_needs(const struct guard_list *guards, bool out_needs[OWN_KINDS]);

/* NULL: there is none of that name. */
const struct guard_entry *guard_list_find(const struct guard_list *guards, const char *name);

#endif
