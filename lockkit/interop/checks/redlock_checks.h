/*
 * Checks of the lock over several independent servers: lockkit's redlock, node-redlock and redsync
 * count their votes on the same keys. Those of redlock_faults.c kill and stop servers.
 */
#ifndef LOCKKIT_INTEROP_REDLOCK_CHECKS_H
#define LOCKKIT_INTEROP_REDLOCK_CHECKS_H

#include "mutex_checks.h"

enum { REDLOCK_NODES = 5, REDLOCK_QUORUM = 3 };

/* A program of what holds for all rivals on one server and on five, and of a table of its own. */
#define REDLOCK_ARENA(program, start, own)                                                         \
    int main(void)                                                                                 \
    {                                                                                              \
        return arena_run(&(const struct arena){                                                    \
            .name = (program),                                                                     \
            .nodes = REDLOCK_NODES,                                                                \
            .start_rival = (start),                                                                \
            .tables = {mutex_checks, redlock_checks, redlock_faults, (own)}});                     \
    }                                                                                              \
    _Static_assert(true, "")
extern const struct check redlock_checks[], redlock_faults[];

/* What sets the libraries apart. */
struct redlock_traits {
    const char *version;    /* begins with this */
    bool waits_for_all;     /* and not only for a quorum */
    bool keeps_minority;    /* between its own tries */
    bool has_watchdog;      /* or something like it */
    bool tells_unreachable; /* from busy */
    long long drift_ms;     /* of a lease of 30 s */
};
const struct redlock_traits *redlock_traits_of(const struct peer *peer);

/* ---- what checks are made of ---------------------------------------------------------------- */

/* On how many of the servers that run its key is. */
size_t redlock_keys(const struct duel *duel);
/* Everything that was taken is given back: by now, or by a late answer. */
void redlock_expect_free(const struct duel *duel);
/* Take it, and wait until it is on all servers. */
void redlock_take_all(const struct duel *duel, struct peer *peer);
/* The value of the key, which is the same wherever it is. Good for one more call. */
const char *redlock_token(const struct duel *duel);
/* Take and give back so many times, and tell the matrix how long the taking took at the median. */
enum { REDLOCK_TAKES_MAX = 11 };
double redlock_take_ms(const struct duel *duel, struct peer *peer, size_t times);

/* ---- checks --------------------------------------------------------------------------------- */

/* Nobody is inside with another one, and no key is left. */
void redlock_exclusion(struct duel *duel);
void redlock_extension(struct duel *duel);

#endif
