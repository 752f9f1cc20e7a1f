/*
 * A server of the lab's own that is no Redis: a script of lockkit/tools runs it in a folder, as an unprivileged
 * user, until it is told to end. One thread: the kernel ends it with the thread that started it.
 */
#ifndef SECKILL_LAB_OWN_SERVER_H
#define SECKILL_LAB_OWN_SERVER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/start_error.h"

enum { OWN_SERVER_WORDS = 4 };

struct own_server {
    char dir[PATH_MAX];  /* whose it is alone; "": there is none */
    char said[PATH_MAX]; /* what the script says, a file beside it */
    pid_t pid;           /* 0: it does not run */
};

/*
 * Start it.
 *
 * Shape    parent: its folder is made in there; of root in /tmp, as nobody else gets through root's folders.
 *          words: of the script, behind its folder; NULL behind the last.
 * Owns     *out in any case: own_server_stop().
 */
bool own_server_start(struct own_server *out, const char *tool, const char *parent,
                      const char *const words[OWN_SERVER_WORDS], struct start_error *why);
bool own_server_runs(struct own_server *self);
/* Ended, its folder is gone. Fine of one that was never started and is zeroed. */
void own_server_stop(struct own_server *self);

#endif
