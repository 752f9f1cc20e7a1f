/*
 * Programs that are started, and killed when this process ends, whatever ends it; and work with lockkit
 * itself, in a child: lockbench has no threads, so it can fork at any time, and what a client's threads
 * do ends with the child.
 */
#ifndef LOCKKIT_BENCH_PROCESS_H
#define LOCKKIT_BENCH_PROCESS_H

#include <sys/types.h>

#include "lockkit/error.h"

struct stage;
struct task;

enum { PROCESS_PATH_MAX = 256 };
/* The program of that name beside this one, as they are built. */
void process_beside(const char *name, char out[PROCESS_PATH_MAX]);

/* argv ends with NULL; the descriptors become its standard ones, -1: /dev/null. 0: see err. */
pid_t process_start(const char *const *argv, int in, int out, int errors, struct lk_error *err);

/* SIGKILL, and wait for its end. 0 is fine. */
void process_kill(pid_t pid);

/* A kind of work (works.h), in a child: what it returns, and writes. */
LK_MUST_CHECK lk_status process_measure(lk_status (*body)(struct stage *stage,
                                                          const struct task *task,
                                                          double *out_values, struct lk_error *err),
                                        struct stage *stage, const struct task *task,
                                        double *out_values, struct lk_error *err);

#endif
