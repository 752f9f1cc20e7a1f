/*
 * See worker.h.
 */
#include "worker.h"

#include <time.h>

/* Wait until that moment, or until the thread is woken. */
static void wait_locked(struct worker *self, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    int timed_out = 0;

    while (!self->is_woken && !self->is_stopping && timed_out == 0)
        timed_out = pthread_cond_clockwait(&self->changed, &self->mutex, CLOCK_MONOTONIC, &until);
    self->is_woken = false;
}

static void *run(void *arg)
{
    struct worker *self = arg;

    (void)pthread_mutex_lock(&self->mutex);
    while (!self->is_stopping) {
        (void)pthread_mutex_unlock(&self->mutex);
        int64_t next_ms = self->round(self->arg);
        (void)pthread_mutex_lock(&self->mutex);
        wait_locked(self, next_ms);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

bool worker_start(struct worker *self, int64_t (*round)(void *arg), void *arg)
{
    self->round = round;
    self->arg = arg;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->changed, NULL);
    self->is_started = pthread_create(&self->thread, NULL, run, self) == 0;
    return self->is_started;
}

void worker_wake(struct worker *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->is_woken = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
}

bool worker_is_stopping(struct worker *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool is_stopping = self->is_stopping;
    (void)pthread_mutex_unlock(&self->mutex);
    return is_stopping;
}

void worker_stop(struct worker *self)
{
    if (!self->is_started) return;
    (void)pthread_mutex_lock(&self->mutex);
    self->is_stopping = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
    (void)pthread_join(self->thread, NULL);
    self->is_started = false;
}
