/*
 * A background thread that works in rounds: the next round begins at the time that the last one returned, or
 * when another thread wakes it.
 */
#ifndef SECKILL_WORKER_H
#define SECKILL_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A member of the object that the thread works on. All zero: not started. */
struct worker {
    /* Returns when the next round is due, as clock_mono_ms(); INT64_MAX: not before it is woken. */
    int64_t (*round)(void *arg);
    void *arg;
    pthread_mutex_t
        mutex; /* guards the members below and whatever the owner documents; it is not held during a round */
    pthread_cond_t changed;
    bool is_woken;
    bool is_stopping;
    bool is_started;
    pthread_t thread;
};

/* The first round begins at once. False: the thread could not be started; worker_stop() is allowed then, too. */
bool worker_start(struct worker *self, int64_t (*round)(void *arg), void *arg);
/* Request another round, at once or after the one that runs. Any thread, once started; no effect when stopped. */
void worker_wake(struct worker *self);
/* For a long round: whether the thread has been asked to stop. */
bool worker_is_stopping(struct worker *self);
/* Stop the thread: returns when the current round has ended; no other round begins. */
void worker_stop(struct worker *self);

#endif
