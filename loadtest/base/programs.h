/*
 * Where the programs and files are that we need: near our own executable, in the build tree and where
 * they are installed.
 */
#ifndef LOADTEST_PROGRAMS_H
#define LOADTEST_PROGRAMS_H

#include "common/failure.h"

enum { RUN_PATH_MAX = 1024 };

/* The folder of our own executable; false when /proc does not say. */
bool programs_dir(char out_dir[RUN_PATH_MAX], struct failure *failure);

/* The file of that name in the first of `folders`, which are seen from there and end with NULL, that has it.
 * false: none has. */
bool programs_find(const char *const folders[], const char *name, char out[RUN_PATH_MAX],
                   struct failure *failure);

/* The service; a program beside us, also as seckill-NAME; a script of lockkit/tools. */
bool programs_seckilld(char out[RUN_PATH_MAX], struct failure *failure);
bool programs_ours(const char *name, char out[RUN_PATH_MAX], struct failure *failure);
bool programs_tool(const char *name, char out[RUN_PATH_MAX], struct failure *failure);

/* mkdir -p. false: `failure` names the folder behind these words. */
bool programs_make_folders(const char *words, const char *path, struct failure *failure);

#endif
