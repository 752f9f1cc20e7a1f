/*
 * The sale's Lua (app/scripts), embedded at build.
 */
#ifndef SECKILL_APP_SCRIPTS_H
#define SECKILL_APP_SCRIPTS_H

#include "lockkit/script.h"

/* By file name without ".lua"; aborts on a name that is not there. */
const struct lk_script_source *app_script_named(const char *name);

#endif
