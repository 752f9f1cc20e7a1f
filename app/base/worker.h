/*
 * A thread that looks after something, round by round: the next round comes at the time that the last one
 * named, or when somebody wakes it.
 */
#ifndef SECKILL_WORKER_H
#define SECKILL_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Part of what it looks after. All zero: not started. */
struct worker {
    /* Returns when the next round is due, as clock_mono_ms(); INT64_MAX: not before it is woken. */
    int64_t (*round)(void *arg);
    void *arg;
    pthread_mutex_t
        mutex; /* guards what follows; and, once started, what its owner says; not held in a round */
    pthread_cond_t changed;
    bool is_woken;
    bool is_stopping;
    bool is_started;
    pthread_t thread;
};

/* The first round comes at once. False: no thread; worker_stop() is fine then, too. */
bool worker_start(struct worker *self, int64_t (*round)(void *arg), void *arg);
/* Another round, at once or behind the one that runs. Any thread, once started; nothing when stopped. */
void worker_wake(struct worker *self);
/* For a long round: whether it is to end now. */
bool worker_is_stopping(struct worker *self);
/* Returns when the round that runs is over; there is no other one. */
void worker_stop(struct worker *self);

#endif
