/*
 * See thread.h.
 */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

bool lki_thread_start(pthread_t *out, void *(*body)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(out, NULL, body, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return failure == 0;
}
