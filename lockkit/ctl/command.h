/*
 * The command that runs under the lock: how it is started, and what it is told.
 */
#ifndef LOCKCTL_COMMAND_H
#define LOCKCTL_COMMAND_H

#include <signal.h>
#include <sys/types.h>

/* What a command gets. */
struct command_start {
    char **words;              /* its name and arguments, ending with NULL */
    const sigset_t *mask;      /* the signals it finds blocked */
    int death_signal;          /* what the kernel sends it when lockctl dies; 0: nothing */
    const char *const *extras; /* "NAME=value" for its environment, ending with NULL */
    const char *const *names;  /* "NAME=" of variables it does not inherit, ending with NULL */
};

/*
 * Start it. The thread that does so must live as long as the command: the kernel takes its end for
 * that of lockctl.
 *
 * Returns  its pid; -1, and errno says why.
 */
pid_t command_start(const struct command_start *start);

/* Its exit status as a shell tells it, from what waitpid() said. */
int command_status(int wait_status);

/*
 * The command's first steps: lockctl is started again under a second name, ties its life to its
 * parent's and becomes the command. So nothing forks a process that has threads, and there is no
 * moment in which the command lives and would outlive lockctl.
 *
 * Returns  when these arguments are not that call.
 */
void command_become(int argc, char **argv);

#endif
