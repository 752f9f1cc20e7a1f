/*
 * The links of a proxy, each with where it listens, where it connects to and what is wrong with it. A
 * command finds its link, or goes to every one.
 */
#ifndef LOADTEST_PROXY_LINKS_H
#define LOADTEST_PROXY_LINKS_H

#include "proxy_connection.h"

enum { PROXY_LINKS_MAX = 16 };

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

struct proxy_links {
    struct proxy_link list[PROXY_LINKS_MAX];
    size_t count;
    struct proxy_surroundings around;
};

/* Listen: `links` stays where it is. false: `failure` names the address; what was opened is closed again. */
bool proxy_links_open(struct proxy_links *links, const struct proxy_link_plan *plans, size_t count,
                      const struct proxy_surroundings *around, struct failure *failure);
void proxy_links_close(struct proxy_links *links);

/* Carry out a command other than `status`. */
bool proxy_links_execute(struct proxy_links *links, const struct proxy_command *command,
                         const char *by, struct failure *failure);

/* {"seed":1,"links":[{...}]} in one line, of the links that `command` names. Returned to be freed;
 * NULL: `failure`. */
char *proxy_links_status(const struct proxy_links *links, const struct proxy_command *command,
                         struct failure *failure);

#endif
