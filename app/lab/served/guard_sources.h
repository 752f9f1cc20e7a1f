/*
 * The C source of the guards, embedded at build, for whoever learns from them.
 */
#ifndef SECKILL_GUARD_SOURCES_H
#define SECKILL_GUARD_SOURCES_H

#include <stdbool.h>

/*
 * The files that a guard is made of: its own, then those that it includes the headers of. Each begins
 * with a line "==> NAME.c <==", and a blank line ends it, as head(1) prints files.
 *
 * Owns     the result is yours (free).
 * Returns  NULL when no file names a guard so, or memory is out (*out_is_known tells which).
 * Threads  any.
 */
char *guard_sources_text(const char *guard, bool *out_is_known);

#endif
