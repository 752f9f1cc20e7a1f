/*
 * Private servers, of Debian's packages, that some guards need besides Redis: each in a folder of its own
 * under /tmp, since what runs as root must not be seen to do so.
 */
#ifndef LOADTEST_OWN_SERVER_H
#define LOADTEST_OWN_SERVER_H

#include "process.h"

typedef enum own_kind { OWN_POSTGRES, OWN_ZOOKEEPER, OWN_KINDS } own_kind;

struct own_server {
    struct process process;
    char dir[32]; /* "": there is none */
    char url[128];
};

/* The flag by which seckilld is told of one; guards say so that need it. */
const char *own_server_flag(own_kind kind);

/* Whether one is installed that could be started. */
bool own_server_is_here(own_kind kind);

/* Start it, with what it says in a log in `log_dir`, and wait until it answers. */
bool own_server_start(struct own_server *server, own_kind kind, const char *log_dir,
                      struct failure *failure);

/* At once, and delete its folder. Harmless when there is none. */
void own_server_stop(struct own_server *server);

#endif
