/*
 * Simulated descriptors: eventfds, and sockets to simulated servers. Bytes have a latency, keep their order, and may
 * be delayed or lost, for all connections of a process together.
 */
#ifndef LK_SIM_NET_H
#define LK_SIM_NET_H

#include <stddef.h>

#include "torture/torture_links.h"

enum { SIM_PORT = 6379 }; /* of the first server; the others' follow */

struct sim_socket;
struct sim_peer;

/* The server's end of a socket. */
struct sim_net_server {
    struct sim_peer *(*accept)(struct sim_socket *socket);
    void (*hear)(struct sim_peer *peer, const char *bytes, size_t len);
    void (*bye)(struct sim_peer *peer);
};

/* Forget all descriptors. */
void sim_net_begin(const struct sim_net_server *server);
/* Set the state of a process's link from now on. */
void sim_net_link(int pid, enum torture_link_state state);
/* A process has ended, and its sockets with it. */
void sim_net_end(int pid);
/* The server's process is paused: data that arrives waits. */
void sim_net_pause_server(int server, bool is_paused);
/* The server ends with its connections; and starts again. */
void sim_net_end_server(int server);
void sim_net_start_server(int server);
bool sim_net_is_down(int server);

/* ---- for the servers ------------------------------------------------------------------------------- */

/* Bytes on their way to the other end. Copied. */
void sim_net_answer(struct sim_socket *socket, const char *bytes, size_t len);
/* It ends the connection; what is on its way is lost. A bye() follows. */
void sim_net_hang_up(struct sim_socket *socket);
/* Every socket that stands, in the order they were made; NULL past the last. */
struct sim_socket *sim_net_each(struct sim_socket *before);
struct sim_peer *sim_net_peer(const struct sim_socket *socket);
int sim_net_server(const struct sim_socket *socket);

#endif
