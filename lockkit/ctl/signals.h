/*
 * Signals as something to read: those that end or reach a command, and SIGCHLD.
 */
#ifndef LOCKCTL_SIGNALS_H
#define LOCKCTL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
    sigset_t before; /* what was blocked when we came: the command shall find it so */
    int fd;          /* owned; readable when one has come */
};

/* One that has come. */
struct signals_event {
    int number;            /* SIGCHLD, or one to pass on */
    bool is_from_terminal; /* the whole foreground group has got it */
};

/*
 * Block them and have them read. Ones that are ignored, as nohup does with SIGHUP, stay ignored.
 * Before threads exist, so that all of them block them too.
 *
 * Returns  false, and errno says why. Undone by signals_close(), also half-way.
 */
bool signals_open(struct signals *out);
void signals_close(struct signals *signals);

/* The next one; false: none is there now. */
bool signals_read(const struct signals *signals, struct signals_event *out);

#endif
