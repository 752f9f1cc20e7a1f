/*
 * loadtest run to its end in a folder of its own, and what it wrote. Everything here asserts: main
 * thread only.
 */
#ifndef LOADTEST_ITEST_LT_LOAD_H
#define LOADTEST_ITEST_LT_LOAD_H

#include <jansson.h>

#include "lt_command.h"

/* A FIXTURE whose state is a struct lt_sandbox. */
int lt_load_open(void **state);
int lt_load_close(void **state);

/* Run it with these words, as lt_must(); nothing outlives it. */
const char *lt_load_run(const struct lt_sandbox *sandbox, const char *words, int status);
/* The same without a status that is due. */
const struct lt_outcome *lt_load_try(const struct lt_sandbox *sandbox, const char *words);

/* Start it, wait until so many processes of the folder run, itself too, and send it that signal. Nothing
 * outlives it; its status as of waitpid(). */
int lt_load_signal(struct lt_sandbox *sandbox, const char *words, int processes, int number);

/* Its result.json; yours. */
json_t *lt_load_result(const struct lt_sandbox *sandbox);
/* A member, or one of a member: "settings.seed". It must be there. */
const char *lt_load_text(const json_t *object, const char *path);
double lt_load_number(const json_t *object, const char *path);

#endif
