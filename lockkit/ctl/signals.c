/*
 * A signalfd. Blocked signals are queued even when they are ignored, so those are left out.
 */
#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

/* To pass on. SIGTSTP and its kin are not: a stopped lockctl cannot renew, and is to be seen so. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == SIG_IGN;
}

bool signals_open(struct signals *out)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t wanted;

    out->fd = -1;
    if (sigaction(SIGCHLD, &normal, NULL) != 0) return false; /* else nobody is there to wait for */
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        if (!is_ignored(passed_on[i])) (void)sigaddset(&wanted, passed_on[i]);
    if (pthread_sigmask(SIG_BLOCK, &wanted, &out->before) != 0) return false;
    out->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return out->fd >= 0;
}

void signals_close(struct signals *signals)
{
    if (signals->fd >= 0) (void)close(signals->fd);
    signals->fd = -1;
}

bool signals_read(const struct signals *signals, struct signals_event *out)
{
    struct signalfd_siginfo info;

    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info) return false;
    *out = (struct signals_event){.number = (int)info.ssi_signo,
                                  .is_from_terminal = info.ssi_code == SI_KERNEL};
    return true;
}
