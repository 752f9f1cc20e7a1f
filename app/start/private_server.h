/*
 * The embedded servers: Redis for the sale, PostgreSQL for the book, each a child process on a unix socket in
 * the data folder, for people who want a shop that keeps its orders and not a database to administer.
 */
#ifndef SECKILL_PRIVATE_SERVER_H
#define SECKILL_PRIVATE_SERVER_H

#include <sys/types.h>

#include "base/start_error.h"

struct private_server; /* opaque */

typedef enum private_kind {
    PRIVATE_REDIS,           /* append-only file, fsync always */
    PRIVATE_REDIS_IN_MEMORY, /* who starts it in this folder again starts it empty */
    PRIVATE_REDIS_IN_CLUSTER, /* likewise, by the nodes.conf that is there: it hears of no other node */
    PRIVATE_POSTGRES,         /* made in the folder's "book" when it is not there */
} private_kind;

/*
 * Lock the folder for that kind, start the server in it and wait until it answers. The folder exists.
 *
 * Owns     the result is yours; end it with private_server_stop().
 * Returns  NULL and one line in *why: folder in use, path too long, the program missing or dead.
 * Threads  this and all below: one thread, which must live as long as the child, because the kernel
 *          ends the child with the thread that started it.
 */
struct private_server *private_server_start(private_kind kind, const char *dir,
                                            struct start_error *why);

/* Where it is; lives as long as the child. */
const char *private_server_url(const struct private_server *self);

/* Its process; 0: none is running. */
pid_t private_server_pid(const struct private_server *self);

/* Look after the child, now and then: when it has died it is started again, with growing pauses. */
void private_server_tend(struct private_server *self);

/* Ask it to save and go, wait, kill it after 10 s, unlock the folder; 20 s in all. NULL is fine. */
void private_server_stop(struct private_server *self);
/* The same at once: it is killed, and has no time to save. */
void private_server_kill(struct private_server *self);

/* A process to be started, by whomever. */
struct private_server_process {
    const char *program; /* a path, or a name to be found on the PATH */
    char *const *argv;
    char *const *env; /* NULL: ours */
    int files[4];     /* what become its descriptors 0, 1...; -1: /dev/null. It has no others: */
    int file_count;
};

/*
 * Start it: in a process group of its own (Ctrl-C is ours to handle), with no signal blocked or ignored. No socket that
 * another thread has made, and not yet marked, lives as long as it.
 *
 * Returns  0, and its *out_pid; else an errno.
 */
int private_server_spawn(const struct private_server_process *process, pid_t *out_pid);

/*
 * The child's first steps. seckilld is started again under a second name, ties its life to its
 * parent's and becomes the server: so nothing ever forks a process full of threads.
 *
 * Returns  false when these arguments are not that call; else it does not return.
 */
bool private_server_is_this(int argc, char **argv);

#endif
