/*
 * What the commands do that lockkit and its scripts send: to keys, and to nobody's connection.
 */
#ifndef LK_SIM_COMMANDS_H
#define LK_SIM_COMMANDS_H

#include "sim_text.h"

/* What the server in use has, and refuses therefore. */
enum sim_ailment { SIM_WELL, SIM_LOADING, SIM_FULL, SIM_READONLY };
void sim_commands_ail(enum sim_ailment ailment);
/* While it has not loaded: true, with the answer. */
bool sim_commands_load(struct sim_text *out);
/* A script begins, or ends: what has written writes to its end. */
void sim_commands_script(bool is_begun);

/*
 * Do one, and write its answer.
 *
 * Returns  false: there is no such command, and nothing was written
 */
bool sim_command(const struct sim_word *words, size_t count, struct sim_text *out);

#endif
