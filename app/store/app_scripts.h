/*
 * The sale's Lua (app/scripts), embedded at build.
 */
#ifndef SECKILL_APP_SCRIPTS_H
#define SECKILL_APP_SCRIPTS_H

#include "lockkit/script.h"

/* By file name without ".lua"; aborts on a name that is not there. */
const struct lk_script_source *app_scripts_named(const char *name);

/* A script of these files, NULL at their end, each in front of the next; yours. NULL when out of memory. */
lk_script *app_scripts_join(const char *const *names);
/* The same, with the names as arguments. */
#define APP_SCRIPTS_JOIN(...) app_scripts_join((const char *const[]){__VA_ARGS__, NULL})

#endif
