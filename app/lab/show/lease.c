/*
 * See lease.h. It is read from the last command that granted it. Any thread.
 */
#include "lease.h"

#include <stdlib.h>
#include <string.h>

enum { SHORTEST_MS = 100 }; /* less is no lease: a count */

/* In which word a command says how long is told by the one before it. */
static const struct {
    const char *verb, *before;
    int ms;
} rows[] = {
    {"SET ", "PX", 1}, {"SETEX ", "lock", 1000}, {"EXPIRE ", "lock", 1000}, {"EVALSHA ", "#", 1}};

static bool names_key(const struct tap_call *call, const char *key)
{
    const char *at = call->command ? strstr(call->command, key) : NULL;

    return at && strchr(" \"", at[strlen(key)]);
}

static long long granted_by(const char *command)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = strstr(command, rows[i].before);
        long long ms = at ? strtoll(at + strcspn(at, " "), NULL, 10) * rows[i].ms : 0;

        if (strncmp(command, rows[i].verb, strlen(rows[i].verb)) == 0 && ms >= SHORTEST_MS)
            return ms;
    }
    return LEASE_UNKNOWN;
}

static bool was_granted(const struct tap_call *call)
{
    return call->reply && (strncmp(call->reply, "OK", 2) == 0 || call->reply[0] == '1' ||
                           strncmp(call->reply, "[1", 2) == 0);
}

static long long granted_in(const struct lab_step *step, unsigned server, const char *key)
{
    for (size_t i = step->calls.count; i > 0; i--) {
        const struct tap_call *call = &step->calls.list[i - 1];
        bool is_it = call->server == server && names_key(call, key) && was_granted(call);
        long long ms = is_it ? granted_by(call->command) : LEASE_UNKNOWN;

        if (ms != LEASE_UNKNOWN) return ms;
    }
    return LEASE_UNKNOWN;
}

long long lease_ms(const struct lab_run *run, size_t step, size_t lock)
{
    const struct lab_step *steps = run->steps;
    bool has_lapsed = step > 0 && steps[step].actor == LAB_TIME &&
                      steps[step].state.lock[lock].lease == LAB_FREE &&
                      steps[step - 1].state.lock[lock].lease == LAB_LEASED;
    long long ms = LEASE_UNKNOWN;

    if (has_lapsed) return 0;
    if (steps[step].state.lock[lock].lease != LAB_LEASED) return LEASE_UNKNOWN;
    for (size_t i = step + 1; i > 0 && ms == LEASE_UNKNOWN; i--)
        ms = granted_in(&steps[i - 1], run->lock_servers[lock], run->locks[lock]);
    return ms;
}
