/*
 * A lock library in a process of its own, told what to do by the line protocol of
 * ../interop/checks/peer.h. The parent's side of it; one thread.
 */
#ifndef LOCKKIT_BENCH_PLAYER_H
#define LOCKKIT_BENCH_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lockkit/error.h"

struct player;

/*
 * Start a program (argv ends with NULL) and wait until it tells its version. What it says on
 * standard error goes to the file `log`. It is killed when this process ends.
 *
 * Returns  NULL with err filled.
 */
struct player *player_start(const char *const *argv, const char *log, struct lk_error *err);
/* SIGKILL: what it holds is left to the leases. NULL is fine. After player_kill() stop is still due. */
void player_stop(struct player *player);
void player_kill(struct player *player);

/* "Redisson-4.7.0" */
const char *player_version(const struct player *player);
pid_t player_pid(const struct player *player);

enum { PLAYER_THREADS = 4096 };

/* Have one of its threads, from 1, do something: "lock mutex KEY wait=1000". */
LK_MUST_CHECK __attribute__((format(printf, 4, 5))) lk_status
player_tell(struct player *player, unsigned thread, struct lk_error *err, const char *format, ...);
/* The same; its id, which is another one each time when divided by PLAYER_THREADS; 0: it has ended. */
unsigned player_send(struct player *player, unsigned thread, const char *request);

struct answer {
    size_t player; /* which of them */
    unsigned id, thread;
    char result[24];
    char value[200];
    int64_t began_ns, ended_ns;
};

/*
 * The next answer of any of several players.
 *
 * Returns  OK, CANCELLED (interrupted), UNREACHABLE (one has ended), UNKNOWN (none in time), SERVER
 *          (no answer; or, of next, another one than "ok"; err has it).
 */
LK_MUST_CHECK lk_status players_hear(struct player *const *players, size_t count, int64_t within_ms,
                                     struct answer *out, struct lk_error *err);
LK_MUST_CHECK lk_status players_next(struct player *const *players, size_t count, int64_t within_ms,
                                     struct answer *out, struct lk_error *err);

#endif
