/*
 * The runner's only global state: one flag, set by a signal handler.
 */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t has_come;

static void note_signal(int signal)
{
    (void)signal;
    has_come = 1;
}

void interrupt_watch(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction action = {.sa_handler = note_signal}; /* no SA_RESTART: sleeps end early */

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

bool interrupt_came(void)
{
    return has_come != 0;
}
