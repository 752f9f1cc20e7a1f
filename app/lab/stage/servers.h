/*
 * The lab's further Redis servers, beside the shop's: "redis-1", "redis-2"... They keep locks, and all they
 * keep is in memory. They are killed, started again empty, and made replicas of each other.
 *
 * Threads: the lab's, as the kernel ends them with the thread that started them.
 */
#ifndef SECKILL_LAB_SERVERS_H
#define SECKILL_LAB_SERVERS_H

#include <stdbool.h>

#include "lockkit/lockkit.h"

#include "base/start_error.h"

struct servers; /* opaque */

enum { SERVERS_MAX = 3, SERVERS_WORDS = 4 };

/*
 * None is started yet: that is done for the first scenario that wants them.
 *
 * Owns     the result is yours: servers_free(). dir, which is there, is copied.
 * Returns  NULL when out of memory.
 */
struct servers *servers_new(const char *dir);
void servers_free(struct servers *self);

/* From now on so many are up, empty, and nobody's replica. */
bool servers_prepare(struct servers *self, unsigned count, struct start_error *why);

/* Of each, from 1: a client of its own for whoever looks on, NULL while it is down; its socket's path. */
lk_client *servers_client(const struct servers *self, unsigned server);
const char *servers_socket(const struct servers *self, unsigned server);

/* SIGKILL; and start it again, empty. */
void servers_kill(struct servers *self, unsigned server);
bool servers_start(struct servers *self, unsigned server, struct start_error *why);

/* The one that is to follow is told where, a port of 127.0.0.1; or that it is the primary now. */
bool servers_follow(struct servers *self, unsigned server, int port, struct start_error *why);
bool servers_promote(struct servers *self, unsigned server, struct start_error *why);

/* Wait until the replica has all that the primary has, and the primary knows. */
bool servers_await_replica(struct servers *self, unsigned primary, unsigned replica,
                           struct start_error *why);

/* One command of up to four words, NULL behind the last; NULL when there is no answer. Any server. */
lk_reply *servers_ask(lk_client *client, const char *const words[SERVERS_WORDS + 1]);
#define SERVERS_ASK(client, ...)                                                                   \
    servers_ask((client), (const char *const[SERVERS_WORDS + 1]){__VA_ARGS__})

#endif
