/*
 * Threads of our own: they take no signals.
 */
#ifndef LKI_THREAD_H
#define LKI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* False, with errno: there can be none now. */
bool lki_thread_start(pthread_t *out, void *(*body)(void *), void *arg);

#endif
