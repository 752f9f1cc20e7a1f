/*
 * What happens here, counted, for Prometheus. Every name and label value is there from the start.
 */
#ifndef SECKILL_METRICS_H
#define SECKILL_METRICS_H

#include "lockkit/event.h"

#include "purchase.h"

struct metrics; /* opaque; safe for any number of threads, never blocks */

/* NULL when out of memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *self);

/* A request was answered with this status. */
void metrics_count_request(struct metrics *self, int status);
/* A purchase ended; guard "" when the sale was not known. */
void metrics_count_order(struct metrics *self, const char *guard, outcome result);

/* Hooks; `arg` is the struct metrics. */
void metrics_on_batch(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns,
                      void *arg);
void metrics_on_event(const struct lk_event *event, void *arg);

/*
 * All of it in Prometheus' text format.
 *
 * Shape    queue_depth is read by the caller, at this moment.
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *metrics_render(const struct metrics *self, unsigned queue_depth, size_t *out_len);

#endif
