/*
 * The sale's Lua (app/scripts), embedded at build.
 */
#ifndef SECKILL_APP_SCRIPTS_H
#define SECKILL_APP_SCRIPTS_H

#include "lockkit/script.h"

/* By file name without ".lua"; aborts on a name that is not there. */
const struct lk_script_source *app_scripts_named(const char *name);

/* A script of two files, the first in front of the second; yours. NULL when out of memory. */
lk_script *app_scripts_join(const char *first, const char *second);

#endif
