/*
 * The commands on keys that lockkit and its scripts use. Those of connections are in sim_server.c.
 */
#ifndef LK_SIM_COMMANDS_H
#define LK_SIM_COMMANDS_H

#include "sim_text.h"

/* The fault of the server in use, for which it refuses commands. */
enum sim_ailment { SIM_WELL, SIM_LOADING, SIM_FULL, SIM_READONLY };
void sim_commands_ail(enum sim_ailment ailment);
/* True while it is loading, with the error answer. */
bool sim_commands_load(struct sim_text *out);
/* A script begins or ends: once it has written it is not refused any more. */
void sim_commands_script(bool is_begun);

/*
 * Do one, and write its answer.
 *
 * Returns  false: there is no such command, and nothing was written
 */
bool sim_command(const struct sim_word *words, size_t count, struct sim_text *out);

#endif
