/*
 * Where the proxy listens and where it connects to: HOST:PORT, [IPV6]:PORT or unix:///path.
 */
#ifndef LOADTEST_PROXY_ADDRESS_H
#define LOADTEST_PROXY_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "common/failure.h"

enum { PROXY_ADDRESS_TEXT_MAX = 160 };

struct proxy_address {
    struct sockaddr_storage where;
    socklen_t length;
    char text[PROXY_ADDRESS_TEXT_MAX]; /* as given; after listening on port 0 with the real port */
};

/* Understand `text`; a host name is looked up now, and only now. */
bool proxy_address_parse(struct proxy_address *address, const char *text, struct failure *failure);

/* The address of a unix socket at a plain path. */
bool proxy_address_of_path(struct proxy_address *address, const char *path,
                           struct failure *failure);

/*
 * Listen, not blocking. Port 0 becomes the port that was found; a unix socket that nobody listens
 * on any more is replaced, and only our user may connect to ours.
 *
 * Returns  the descriptor, or -1: `failure` says why.
 */
int proxy_address_listen(struct proxy_address *address, struct failure *failure);

/* Remove the file of a unix socket that we listened on; nothing for TCP. */
void proxy_address_remove(const struct proxy_address *address);

/* Begin to connect, not blocking. The descriptor, or -1 with errno. */
int proxy_address_connect(const struct proxy_address *address);

#endif
