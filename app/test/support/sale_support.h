/*
 * What the tests of the selling core share: a redis-server of their own, short commands and a dump
 * of a sale's keys, and knowing without sleeping and hoping that another thread has gone to sleep.
 *
 * A server is tied to the test program's life by the kernel, so that nothing is left running,
 * however a test ends.
 */
#ifndef SECKILL_SALE_SUPPORT_H
#define SECKILL_SALE_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "lockkit/lockkit.h"

/* ---- a server ---------------------------------------------------------------------------------- */

struct sale_server {
    char dir[64];
    char url[96]; /* unix://DIR/redis.sock */
    pid_t pid;    /* 0: not running */
};

/* Start a redis-server with an append-only file in a new folder under TMPDIR; false when it fails. */
bool sale_server_start(struct sale_server *server);
/* Start it again in its folder, after sale_server_stop(). */
bool sale_server_restart(struct sale_server *server);
/* End it with a signal (SIGTERM saves, SIGKILL does not) and wait for that. */
void sale_server_stop(struct sale_server *server, int signal_number);
/* Let it hang; when this returns true it has stopped answering (a signal alone needs a while). */
bool sale_server_freeze(const struct sale_server *server);
void sale_server_thaw(const struct sale_server *server);
/* Stop it, and delete its folder. */
void sale_server_remove(struct sale_server *server);

/*
 * A client of it; NULL when it does not answer. answer_ms limits a connect and a round trip: generous
 * (a busy machine must not fail a test) unless the test is about a server that hangs.
 */
enum { SALE_GENEROUS_MS = 10000 };
lk_client *sale_connect(const struct sale_server *server, unsigned pool_size, int64_t answer_ms);

/* ---- commands ------------------------------------------------------------------------------------ */

/* A command given as words between single blanks ("GET %s"); NULL when nothing came back. */
lk_reply *sale_ask(lk_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for its number (an integer, or digits); INT64_MIN when it is none. */
int64_t sale_ask_number(lk_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for nothing but whether it was answered without an error. */
bool sale_do(lk_client *client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All that the keys of a sale hold, as text; yours to free(). */
char *sale_dump(lk_client *client, const char *sale_id);
/* Remember what the keys of sale "s" hold; fail unless they hold the same now. `what`: was done meanwhile. */
void sale_remember(lk_client *client);
void sale_assert_same(lk_client *client, const char *what);
/* A reply as text: "(1 ann nil)". */
void sale_print(FILE *out, const lk_reply *reply);

/* ---- waiting --------------------------------------------------------------------------------------- */

/* Whether `claim` came true in time; asked every few ms. */
bool sale_eventually(bool (*claim)(void *arg), void *arg, int64_t limit_ms);

/* Whether a thread of this process (gettid()) sleeps at this moment. */
bool sale_thread_sleeps(pid_t thread);

#endif
