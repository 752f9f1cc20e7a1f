/*
 * Where the programs and files are that we need: near our own executable, in the build tree and where
 * they are installed.
 */
#ifndef LOADTEST_PROGRAMS_H
#define LOADTEST_PROGRAMS_H

#include "failure.h"

enum { RUN_PATH_MAX = 1024 };

/* The folder of our own executable; false when /proc does not say. */
bool programs_dir(char out_dir[RUN_PATH_MAX], struct failure *failure);

/* The first of `places`, which are seen from there and end with NULL, that may be accessed so (R_OK, X_OK).
 * false: none may; `failure` then names the first one. */
bool programs_find(const char *const places[], int access_mode, char out[RUN_PATH_MAX],
                   struct failure *failure);

/* The service. */
bool programs_seckilld(char out[RUN_PATH_MAX], struct failure *failure);

#endif
