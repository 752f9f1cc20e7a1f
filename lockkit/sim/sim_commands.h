/*
 * What the commands do that lockkit and its scripts send: to keys, and to nobody's connection.
 */
#ifndef LK_SIM_COMMANDS_H
#define LK_SIM_COMMANDS_H

#include "sim_text.h"

/*
 * Do one, and write its answer.
 *
 * Returns  false: there is no such command, and nothing was written
 */
bool sim_command(const struct sim_word *words, size_t count, struct sim_text *out);

#endif
