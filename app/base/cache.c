/*
 * See cache.h. Each value counts its borrowers, so that many threads can read it without a copy while the next
 * value is made. Any thread.
 */
#include "cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"

struct cache {
    struct cache_options options;
    pthread_cond_t was_made; /* is_making ended */
    pthread_mutex_t mutex;   /* guards all below */
    bool is_making;          /* somebody is */
    int64_t due_at_ms;       /* earliest moment of the next make; if past, by the burst allowance */
    struct cache_entry *entry; /* owned together with its borrowers; NULL: it could not be made */
};

struct cache *cache_new(const struct cache_options *options)
{
    struct cache *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->was_made, NULL);
    return self;
}

void cache_free(struct cache *self)
{
    if (!self) return;
    if (self->entry) self->options.free(self->entry);
    (void)pthread_cond_destroy(&self->was_made);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* The mutex is held at the call and at the return. Returns the previous value, which the caller releases. */
static struct cache_entry *renew_locked(struct cache *self)
{
    const struct cache_options *options = &self->options;
    struct cache_entry *old = self->entry;
    int64_t earliest_ms = 0;

    self->is_making = true;
    (void)pthread_mutex_unlock(&self->mutex);
    struct cache_entry *made = options->make(options->arg);
    if (made) made->users = 1; /* this */
    earliest_ms = clock_mono_ms() - options->burst * options->age_ms;
    (void)pthread_mutex_lock(&self->mutex);
    self->entry = made;
    if (self->due_at_ms < earliest_ms) self->due_at_ms = earliest_ms;
    self->due_at_ms += options->age_ms;
    self->is_making = false;
    (void)pthread_cond_broadcast(&self->was_made);
    return old;
}

void *cache_borrow(struct cache *self)
{
    struct cache_entry *old = NULL;
    struct cache_entry *entry = NULL;
    bool is_new = false;

    (void)pthread_mutex_lock(&self->mutex);
    for (; self->is_making; is_new = true)
        (void)pthread_cond_wait(&self->was_made, &self->mutex);
    if (!is_new && clock_mono_ms() >= self->due_at_ms) old = renew_locked(self);
    entry = self->entry;
    if (entry) entry->users++;
    (void)pthread_mutex_unlock(&self->mutex);
    cache_return(self, old);
    return entry;
}

void cache_return(struct cache *self, void *entry)
{
    struct cache_entry *base = entry;
    size_t users = 1;

    if (!base) return;
    (void)pthread_mutex_lock(&self->mutex);
    users = --base->users;
    (void)pthread_mutex_unlock(&self->mutex);
    if (users == 0) self->options.free(base);
}
