/*
 * Sees that a process which is told to stop ends in a known time, whatever hangs: a thread beside the
 * one that stops the parts.
 */
#ifndef SECKILL_STOP_WATCH_H
#define SECKILL_STOP_WATCH_H

#include <signal.h>
#include <stdint.h>

struct stop_watch; /* opaque */

struct stop_watch_options {
    const sigset_t *signals; /* borrowed: those that tell to stop; blocked in all threads */
    int64_t untaken_ms;      /* one that nobody has taken for so long is a stop that hangs, too */
    /* Called once, by the thread, when it is too late; does not return. step: what hangs. */
    void (*leave)(const char *step, void *arg);
    void *arg;
};

/* Starts the thread; copies the options. NULL when there is no memory or no thread. */
struct stop_watch *stop_watch_new(const struct stop_watch_options *options);

/* All steps from now on are to end within limit_ms. One thread, as the next. NULL is fine, as there. */
void stop_watch_begin(struct stop_watch *self, int64_t limit_ms);
/* The step that begins now; a string literal. */
void stop_watch_step(struct stop_watch *self, const char *step);

/* It was not too late. */
void stop_watch_free(struct stop_watch *self);

#endif
