/*
 * The embedded redis-server: a child process on a unix socket in the data folder, for people who
 * want a shop that keeps its orders and not a database to administer.
 */
#ifndef SECKILL_REDIS_CHILD_H
#define SECKILL_REDIS_CHILD_H

#include "base/start_error.h"

struct redis_child; /* opaque */

/*
 * Lock the folder, start redis-server in it (append-only file, fsync always) and wait until it
 * answers. The folder exists.
 *
 * Owns     the result is yours; end it with redis_child_stop().
 * Returns  NULL and one line in *why: folder in use, path too long, redis-server missing or dead.
 * Threads  this and all below: one thread, which must live as long as the child, because the kernel
 *          ends the child with the thread that started it.
 */
struct redis_child *redis_child_start(const char *dir, struct start_error *why);

/* Likewise, but it writes nothing to disk: who starts it in this folder again starts it empty. */
struct redis_child *redis_child_start_in_memory(const char *dir, struct start_error *why);

/* "unix:///.../redis.sock"; lives as long as the child. */
const char *redis_child_url(const struct redis_child *self);

/* Look after the child, now and then: when it has died it is started again, with growing pauses. */
void redis_child_tend(struct redis_child *self);

/* Ask it to save and go, wait, kill it after 10 s, unlock the folder; 20 s in all. NULL is fine. */
void redis_child_stop(struct redis_child *self);
/* The same at once: it is killed, and has no time to save. */
void redis_child_kill(struct redis_child *self);

/*
 * The child's first steps. seckilld is started again under a second name, ties its life to its
 * parent's and becomes redis-server: so nothing ever forks a process full of threads.
 *
 * Returns  false when these arguments are not that call; else it does not return.
 */
bool redis_child_is_this(int argc, char **argv);

#endif
