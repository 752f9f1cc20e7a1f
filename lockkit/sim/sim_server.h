/*
 * A simulated Redis server: connections, commands, messages. Its answers are those of a real server;
 * sim_itest.c compares them command by command.
 */
#ifndef LK_SIM_SERVER_H
#define LK_SIM_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "sim_text.h"

struct sim_socket;
struct sim_peer;

/* An empty server, at a moment in ms since 1970. */
void sim_server_begin(int64_t epoch_ms);
/* Restart it with its keys; it is loading until sim_commands_ail(SIM_WELL). */
void sim_server_load(void);

struct sim_peer *sim_server_accept(struct sim_socket *socket);
void sim_server_receive(struct sim_peer *peer, const char *bytes, size_t len);
void sim_server_bye(struct sim_peer *peer);

/* Run one command without a connection; the answer is in the protocol's form. */
void sim_server_ask(const struct sim_word *words, size_t count, struct sim_text *out);

#endif
