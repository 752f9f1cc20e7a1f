/*
 * Where lockkit and a rival (Redisson, redis-py, node-redlock, redsync) contend: a private server,
 * some more for a redlock, a process each, a table of checks, and what came of them as rows of the
 * compatibility matrix.
 */
#ifndef LOCKKIT_INTEROP_ARENA_H
#define LOCKKIT_INTEROP_ARENA_H

#include "duel.h"

struct check {
    const char *what;  /* "force unlock" */
    const char *kinds; /* for each of these, with blanks between */
    bool is_once;      /* else both ways: lockkit first, then the rival */
    void (*run)(struct duel *duel);
};

enum { ARENA_TABLES_MAX = 4, ARENA_NODES_MAX = 5 };
struct arena {
    const char *name;  /* of the file of rows */
    const char *kinds; /* for these alone; NULL: for all that the tables name */
    size_t nodes;      /* servers of a redlock, besides the one of all else */
    bool is_cluster;   /* the one is a cluster; keys are {duel-N} */
    struct peer *(*start_rival)(const struct lks_server *server);
    const struct check *tables[ARENA_TABLES_MAX + 1]; /* each ends with an empty row */
};

/* Run all checks as a TAP test program, write the rows; the exit status. */
int arena_run(const struct arena *plan);

/* Rivals. What they have to say goes to build/interop/NAME.log. */
struct peer *arena_start_redisson(const struct lks_server *server);
struct peer *arena_start_redis_py(const struct lks_server *server);
/* These know the redlock's servers too. */
struct peer *arena_start_node_redlock(const struct lks_server *server);
struct peer *arena_start_node_redlock_4(const struct lks_server *server);
struct peer *arena_start_redsync(const struct lks_server *server);
/* One more of the plan's. Stop it. */
struct peer *arena_start_rival(const struct lks_server *server);
/* One more lockkit, which asks at least every poll_ms; the duels' own one asks so seldom that
   whatever comes soon came by a message. Stop it. */
struct peer *arena_start_lockkit(const struct lks_server *server, unsigned poll_ms);

enum { REDISSON_WATCHDOG_MS = 1500, NO_POLL_MS = 20000 };

#endif
