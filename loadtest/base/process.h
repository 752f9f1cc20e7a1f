/*
 * Child processes: start with output in files, watch, stop. A child dies with us even when we are
 * killed with SIGKILL (PR_SET_PDEATHSIG), and sits in its own process group, so that Ctrl-C at the
 * terminal reaches only us and we stop the children in order.
 *
 * Threads  start all children from the main thread: a child is tied to the thread that started it.
 */
#ifndef LOADTEST_PROCESS_H
#define LOADTEST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/failure.h"

struct process {
    pid_t pid;       /* 0: not started, or ended and collected */
    int wait_status; /* of waitpid(), once it ended */
    bool has_ended;
    bool is_asked; /* to end */
};

/* Start argv[0] (looked up in PATH; at most 62 words, then NULL); stdout and stderr are appended to
 * these files. */
bool process_start(struct process *process, const char *const argv[], const char *stdout_path,
                   const char *stderr_path, struct failure *failure);

/* Does it run? Collects it when it has ended. */
bool process_is_running(struct process *process);

void process_signal(const struct process *process, int signal);

/* Wait until it ended; false when it still runs after `limit_ms`. */
bool process_wait(struct process *process, int64_t limit_ms);

/* Ask it to end, once: to seckilld a second SIGTERM means "at once". */
void process_ask(struct process *process);

/* Ask, wait up to `grace_ms`, then SIGKILL; collects it. Harmless when it does not run. */
void process_stop(struct process *process, int64_t grace_ms);

/* The number behind a label ("VmHWM:") in /proc/PID/status; -1: it is not there. */
long process_status(pid_t pid, const char *label);

/* "exit status 3", "signal 9", "running". */
void process_ending(const struct process *process, char *out, size_t size);

#endif
