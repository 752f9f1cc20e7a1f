/*
 * Of a Lua script that ran, the line that decided what it answered.
 */
#ifndef SECKILL_LAB_DECIDED_H
#define SECKILL_LAB_DECIDED_H

#include <stdbool.h>

#include "lab/tap/tap.h"

/* What the script of a call is called: "mutex_release.lua", in the call's command; *out_len 0: it has none. Borrowed. */
const char *decided_name(const struct tap_call *call, size_t *out_len);

/* The line of call->script that decided, from 1; 0: it is not known. */
unsigned decided_line(const struct tap_call *call);

/* The beginning of a line of a text, from 1. NULL: it has fewer. */
const char *decided_find_line(const char *text, unsigned line);

/* Whether this line is worth reading: all of a short script; else code around the line that decided, and what it writes. */
bool decided_is_worth(const struct tap_call *call, unsigned line);

#endif
