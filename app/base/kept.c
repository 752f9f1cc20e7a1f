/*
 * See kept.h. Who holds a thing is counted, so that it can be read while the next is made, and by
 * many at a time without a copy. Any thread.
 */
#include "kept.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"

struct kept {
    struct kept_options options;
    pthread_cond_t was_made; /* is_making ended */
    pthread_mutex_t mutex;   /* guards all below */
    bool is_making;          /* somebody is */
    int64_t due_at_ms;       /* it may be made again from then on; in the past: several times */
    struct kept_base *thing; /* owned, with those who borrow it; NULL: it could not be made */
};

struct kept *kept_new(const struct kept_options *options)
{
    struct kept *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->was_made, NULL);
    return self;
}

void kept_free(struct kept *self)
{
    if (!self) return;
    if (self->thing) self->options.free(self->thing);
    (void)pthread_cond_destroy(&self->was_made);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* Called and returns with the mutex held. Gives what was told until now: to be returned. */
static struct kept_base *renew_locked(struct kept *self)
{
    const struct kept_options *options = &self->options;
    struct kept_base *old = self->thing;
    int64_t earliest_ms = 0;

    self->is_making = true;
    (void)pthread_mutex_unlock(&self->mutex);
    struct kept_base *made = options->make(options->arg);
    if (made) made->users = 1; /* this */
    earliest_ms = clock_mono_ms() - options->spare * options->age_ms;
    (void)pthread_mutex_lock(&self->mutex);
    self->thing = made;
    if (self->due_at_ms < earliest_ms) self->due_at_ms = earliest_ms;
    self->due_at_ms += options->age_ms;
    self->is_making = false;
    (void)pthread_cond_broadcast(&self->was_made);
    return old;
}

void *kept_borrow(struct kept *self)
{
    struct kept_base *old = NULL;
    struct kept_base *thing = NULL;
    bool is_new = false;

    (void)pthread_mutex_lock(&self->mutex);
    for (; self->is_making; is_new = true)
        (void)pthread_cond_wait(&self->was_made, &self->mutex);
    if (!is_new && clock_mono_ms() >= self->due_at_ms) old = renew_locked(self);
    thing = self->thing;
    if (thing) thing->users++;
    (void)pthread_mutex_unlock(&self->mutex);
    kept_return(self, old);
    return thing;
}

void kept_return(struct kept *self, void *thing)
{
    struct kept_base *base = thing;
    size_t users = 1;

    if (!base) return;
    (void)pthread_mutex_lock(&self->mutex);
    users = --base->users;
    (void)pthread_mutex_unlock(&self->mutex);
    if (users == 0) self->options.free(base);
}
