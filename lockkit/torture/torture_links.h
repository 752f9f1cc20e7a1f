/*
 * The links of a torture: each worker process reaches the server through a unix socket of its own,
 * behind which the fault proxy passes the bytes on until a link is told otherwise. One thread.
 */
#ifndef LK_TORTURE_LINKS_H
#define LK_TORTURE_LINKS_H

#include <sys/types.h>

#include "torture_board.h"

enum torture_link_state {
    LINK_PASSES,
    LINK_HELD,   /* nothing moves; later all goes on, also requests whose asker has given up */
    LINK_DEAF,   /* requests arrive, answers are lost; its end cuts the connections */
    LINK_CLOSED, /* connections are cut, new ones too */
};

/* Where a link listens, and the unix socket behind it; at most 107 bytes each. */
struct torture_link {
    const char *path, *server;
    enum torture_link_state state;
};

struct torture_links {
    pid_t proxy; /* 0: there are none */
    int control;
    unsigned count;
    struct torture_link list[TORTURE_PROCESSES_MAX + 1]; /* paths borrowed */
};

/* The proxy in front of a list that is filled in, with its control socket at a path. False: it does
   not start, or there is no program of that name beside this one or above. */
bool torture_links_open(struct torture_links *links, const char *control);
void torture_links_close(struct torture_links *links);

void torture_links_set(struct torture_links *links, unsigned link, enum torture_link_state state);

#endif
