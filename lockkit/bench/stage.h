/*
 * Where everything is measured: one server, and the players on it, which are started when first
 * needed and stay, so that their second round finds them warm.
 */
#ifndef LOCKKIT_BENCH_STAGE_H
#define LOCKKIT_BENCH_STAGE_H

#include <sys/types.h>

#include "bare.h"
#include "plan.h"
#include "player.h"

enum { STAGE_PLAYERS = 3, STAGE_PATH_MAX = 256, KEEPER_LEASE_MS = 3000 };

struct stage {
    char dir[80];                 /* of this run: socket, logs; "" when there is none */
    char url[STAGE_PATH_MAX];     /* what lockkit's own children connect to */
    char tcp_url[STAGE_PATH_MAX]; /* what players connect to */
    pid_t server;                 /* 0: not ours */
    struct bare bare;             /* lockbench's own connection */
    const char *interop;          /* where the rivals are installed; borrowed */
    int64_t duration_ms;          /* of one measurement */
    uint64_t seed;
    char prefix[32];                                      /* of all keys */
    unsigned serial;                                      /* of keys */
    struct player *players[LIBRARY_COUNT][STAGE_PLAYERS]; /* owned */
    struct player *keepers[LIBRARY_COUNT]; /* owned; they hold locks for KEEPER_LEASE_MS */
    char versions[LIBRARY_COUNT][64];      /* of the libraries that have played; or "" */
};

/* redis: the URL of a server, or NULL: start one, which keeps nothing on disk. */
LK_MUST_CHECK lk_status stage_open(struct stage *stage, const char *redis, struct lk_error *err);
/* Also half-way. Nothing of the stage outlives it; on a server that is not ours no key does. */
void stage_close(struct stage *stage);

/* After a failure: kill the library's players, whose answers nobody awaits any more. */
void stage_drop(struct stage *stage, library_id library);

/* A key that was not used before. Good until the next call. */
const char *stage_key(struct stage *stage);

/* The library's first players, as many as asked for. INVALID: it is not installed. */
LK_MUST_CHECK lk_status stage_players(struct stage *stage, library_id library, size_t count,
                                      struct lk_error *err);
LK_MUST_CHECK lk_status stage_keeper(struct stage *stage, library_id library, struct lk_error *err);

#endif
