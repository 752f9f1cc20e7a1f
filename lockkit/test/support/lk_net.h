/*
 * Bare sockets for tests, where lockkit itself must not be in the way.
 */
#ifndef LK_NET_H
#define LK_NET_H

#include <stdbool.h>
#include <stddef.h>

/* A connection to a unix socket; -1 when refused. Close it. */
int lk_net_connect(const char *path);
bool lk_net_send(int fd, const char *text);
/* Cut the connections of this process to a unix socket, as if whoever is there had hung up. */
void lk_net_cut(const char *path);
/* Append what has arrived to a text (NULL at first) without waiting; yours to free. */
char *lk_net_read(int fd, char *text, size_t *len);
/* Whether a Redis there answers a PING, if only to ask for a password. */
bool lk_net_answers(const char *path);

#endif
