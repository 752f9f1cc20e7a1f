/*
 * Programs that are started, and killed when this process ends, whatever ends it.
 */
#ifndef LOCKKIT_BENCH_PROCESS_H
#define LOCKKIT_BENCH_PROCESS_H

#include <sys/types.h>

#include "lockkit/error.h"

/* argv ends with NULL; the descriptors become its standard ones, -1: /dev/null. 0: see err. */
pid_t process_start(const char *const *argv, int in, int out, int errors, struct lk_error *err);

/* SIGKILL, and wait for its end. 0 is fine. */
void process_kill(pid_t pid);

#endif
