/*
 * A Sentinel set or a cluster of real servers: lockkit/tools/redis_set at the other end of two
 * pipes. It ends with us, however we end.
 *
 * Threads  one at a time.
 */
#ifndef LOADTEST_TOPOLOGY_H
#define LOADTEST_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/failure.h"

enum { TOPOLOGY_SERVERS_MAX = 24, TOPOLOGY_LINE_MAX = 512 };

struct topology {
    pid_t pid; /* 0: not open */
    int to_fd;
    int from_fd;
    char url[1024]; /* redis+sentinel://... or redis+cluster://... */
    struct {
        char name[8]; /* "n1" */
        int port;
    } servers[TOPOLOGY_SERVERS_MAX];
    size_t count;
};

/* Start it and wait until it is well. `words` are lockkit/tools/redis_set's, then NULL: "cluster", "-", "3", NULL. */
bool topology_open(struct topology *topology, const char *const words[], struct failure *failure);

/* One of its commands (its head lists them), "kill n1" say. `answer` is what stands behind the "ok". */
bool topology_command(struct topology *topology, const char *command,
                      char answer[TOPOLOGY_LINE_MAX], struct failure *failure);

/* 0: there is none of that name. */
int topology_port(const struct topology *topology, const char *name);

/* Harmless when it is not open. */
void topology_close(struct topology *topology);

#endif
