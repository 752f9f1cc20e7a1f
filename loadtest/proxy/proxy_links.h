/*
 * All links of a proxy: a command finds its link, or goes to every one.
 */
#ifndef LOADTEST_PROXY_LINKS_H
#define LOADTEST_PROXY_LINKS_H

#include "proxy_link.h"

enum { PROXY_LINKS_MAX = 16 };

struct proxy_links {
    struct proxy_link list[PROXY_LINKS_MAX];
    size_t count;
    struct proxy_surroundings around;
};

/* false: `failure` names the address; what was opened is closed again. */
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
