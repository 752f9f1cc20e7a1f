/*
 * One of those who come when the report is too old reads it, with no mutex held; the others wait for
 * it, no longer than reading takes. Any thread.
 */
#include "stock_report_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

struct stock_report_cache {
    lk_client *client;       /* borrowed */
    pthread_cond_t was_read; /* is_reading ended */
    pthread_mutex_t mutex;   /* guards all below */
    bool is_reading;         /* somebody is: what follows is theirs alone until then */
    bool is_good;            /* Redis told it */
    int64_t too_old_at_ms;   /* 0: never read */
    size_t count;
    struct metrics_stock rows[STOCK_REPORT_MAX];
};

struct stock_report_cache *stock_report_cache_new(lk_client *client)
{
    struct stock_report_cache *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->client = client;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->was_read, NULL);
    return self;
}

void stock_report_cache_free(struct stock_report_cache *self)
{
    if (!self) return;
    (void)pthread_cond_destroy(&self->was_read);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* Called and returns with the mutex held. */
static void renew_locked(struct stock_report_cache *self)
{
    self->is_reading = true;
    (void)pthread_mutex_unlock(&self->mutex);
    self->too_old_at_ms = clock_mono_ms() + STOCK_REPORT_AGE_MS;
    self->is_good = stock_report_read(self->client, self->rows, &self->count);
    (void)pthread_mutex_lock(&self->mutex);
    self->is_reading = false;
    (void)pthread_cond_broadcast(&self->was_read);
}

bool stock_report_cache_read(struct stock_report_cache *self,
                             struct metrics_stock out[STOCK_REPORT_MAX], size_t *out_count)
{
    bool is_good = false;

    (void)pthread_mutex_lock(&self->mutex);
    while (self->is_reading)
        (void)pthread_cond_wait(&self->was_read, &self->mutex);
    if (clock_mono_ms() >= self->too_old_at_ms) renew_locked(self);
    is_good = self->is_good;
    if (is_good) {
        memcpy(out, self->rows, self->count * sizeof *out);
        *out_count = self->count;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return is_good;
}
