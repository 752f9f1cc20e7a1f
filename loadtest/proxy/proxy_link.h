/*
 * One link of the fault proxy: where it listens, where it connects to, what is wrong with it.
 */
#ifndef LOADTEST_PROXY_LINK_H
#define LOADTEST_PROXY_LINK_H

#include <jansson.h>

#include "proxy_connection.h"

/* What is said of a link on the command line. */
struct proxy_link_plan {
    char name[PROXY_NAME_MAX];
    struct proxy_address listen_at, server;
};

struct proxy_link {
    struct proxy_link_plan plan; /* after open: with the real port */
    struct proxy_lane lane;
    struct proxy_watch listener;
    struct proxy_timer accept_again; /* descriptors had run out */
    int client_fd_max;
};

/* What the links of a proxy share; borrowed by each. */
struct proxy_surroundings {
    struct proxy_loop *loop;
    const struct proxy_history *history;
    uint64_t seed;
    int client_fd_max; /* a client with a higher descriptor is one too many */
};

/* Listen. `link` stays where it is until proxy_link_close(); `stream` tells it from others. */
bool proxy_link_open(struct proxy_link *link, const struct proxy_link_plan *plan,
                     const struct proxy_surroundings *around, uint64_t stream,
                     struct failure *failure);

/* Close listener and connections, remove a unix socket's file. */
void proxy_link_close(struct proxy_link *link);

/* Carry out a verb on this link; `by` goes to the history. false: `pass` could not listen again. */
bool proxy_link_execute(struct proxy_link *link, const struct proxy_command *command,
                        const char *by, struct failure *failure);

/* Its faults and counts. Returned to be freed; NULL: no memory. */
json_t *proxy_link_status(const struct proxy_link *link);

#endif
