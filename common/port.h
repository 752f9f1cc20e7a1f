/*
 * TCP ports for servers that cannot choose one themselves.
 */
#ifndef COMMON_PORT_H
#define COMMON_PORT_H

/* A port of 127.0.0.1 on which no program listens right now; 0: none was found. */
int port_free(void);

#endif
