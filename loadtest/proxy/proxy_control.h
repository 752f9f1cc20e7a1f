/*
 * The proxy's control socket: a unix socket, a command per line, an answer per line.
 *
 *     link1:delay 20 5     ->  ok
 *     cut me               ->  error: cut: "me" is one word too many
 *     status               ->  {"seed":1,"links":[{"name":"link1",...}]}
 */
#ifndef LOADTEST_PROXY_CONTROL_H
#define LOADTEST_PROXY_CONTROL_H

#include "proxy_links.h"

enum { PROXY_CONTROL_CLIENTS_MAX = 8 }; /* at a time; more are turned away */

struct proxy_control_client;

struct proxy_control {
    struct proxy_watch listener;
    struct proxy_address listen_at;
    struct proxy_links *links; /* borrowed */
    struct proxy_loop *loop;   /* borrowed */
    LIST_HEAD(proxy_control_clients, proxy_control_client) clients;
    size_t client_count;
};

/* `control` stays where it is until proxy_control_close(). `path` NULL: no control socket. */
bool proxy_control_open(struct proxy_control *control, const char *path, struct proxy_links *links,
                        struct failure *failure);

/* Close and remove the socket. Harmless when it is not open. */
void proxy_control_close(struct proxy_control *control);

/*
 * `proxy ctl PATH VERB...`, its client: send the words as one command, print the answer.
 *
 * Returns  0   ok
 *          1   the proxy answered with an error (printed on stderr), or does not answer
 *          2   bad words; nothing was sent
 */
int proxy_ctl(int argc, char **argv);

#endif
