/*
 * Counters and histograms as relaxed atomics: a reader may see one counter a moment before another,
 * never a torn or a shrinking one. Counted on any thread, rendered on whichever serves /metrics.
 */
#include "metrics.h"

#include <stdlib.h>
#include <string.h>

#include "guards/guards.h"
#include "metrics_state.h"

const int metrics_statuses[METRICS_STATUSES] = {200, 201, 400, 401, 403, 404, 405, 408, 409,
                                                410, 411, 412, 413, 415, 429, 500, 503, 0};

const struct metrics_scale metrics_seconds = {12,
                                              1e9,
                                              {100000, 250000, 500000, 1000000, 2500000, 5000000,
                                               10000000, 25000000, 50000000, 100000000, 1000000000,
                                               10000000000}};
const struct metrics_scale metrics_waits = {12,
                                            1e9,
                                            {1000000, 2500000, 5000000, 10000000, 25000000,
                                             50000000, 100000000, 250000000, 500000000, 1000000000,
                                             2500000000, 10000000000}};
const struct metrics_scale metrics_sizes = {11, 1, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};

/* The events of this thread's locks since its last batch. */
static _Thread_local struct {
    int64_t round_trip_ns; /* the last one */
    int64_t wait_ns;       /* for locks */
    int64_t hold_ns;       /* of a lock; 0: none was held */
    int64_t acquired_at_ns;
    char token[64]; /* of the lock acquired then */
    bool has_locked;
} batch_locks;

static void add(atomic_ullong *counter, unsigned long long count)
{
    atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

struct metrics *metrics_new(metrics_route_at route_at)
{
    struct metrics *self = aligned_alloc(METRICS_CACHE_LINE, sizeof *self);
    const char *ignored = NULL;

    if (!self) return NULL;
    memset(self, 0, sizeof *self);
    self->route_at = route_at;
    while (route_at && self->route_count < METRICS_ROUTES_MAX &&
           route_at(self->route_count, &ignored, &ignored))
        self->route_count++;
    while (self->guard_count < METRICS_GUARDS_MAX && guards_at(self->guard_count))
        self->guard_count++;
    return self;
}

void metrics_free(struct metrics *self)
{
    free(self);
}

static metrics_class class_of(int status)
{
    switch (status / 100) {
    case 2:
        return METRICS_2XX;
    case 4:
        return METRICS_4XX;
    case 5:
        return METRICS_5XX;
    default:
        return METRICS_OTHER;
    }
}

void metrics_count_request(struct metrics *self, unsigned route, int status)
{
    size_t i = 0;

    while (i < METRICS_STATUSES - 1 && metrics_statuses[i] != status)
        i++;
    add(&self->answers[i], 1);
    add(&self->requests[route <= self->route_count ? route : 0][class_of(status)], 1);
}

void metrics_add(struct metrics *self, metrics_counter which, int64_t count)
{
    add(&self->counters[which], (unsigned long long)count);
}

void metrics_count_payment(struct metrics *self, pay_result result)
{
    add(&self->payments[result], 1);
}

void metrics_count(struct metrics *self, metrics_counter which)
{
    metrics_add(self, which, 1);
}

void metrics_count_events(struct metrics *self, event_kind kind, unsigned count)
{
    add(&self->events[kind], count);
}

void metrics_count_drop(struct metrics *self, metrics_drop reason)
{
    add(&self->drops[reason], 1);
}

static struct metrics_of_guard *of_guard(struct metrics *self, const char *guard)
{
    size_t i = 0;

    while (i < self->guard_count && strcmp(guards_at(i)->name, guard) != 0)
        i++;
    return &self->guards[i];
}

void metrics_count_order(struct metrics *self, const char *guard, outcome result)
{
    add(&of_guard(self, guard)->orders[result], 1);
}

static void observe(struct metrics_histogram *histogram, const struct metrics_scale *scale,
                    int64_t value)
{
    size_t i = 0;

    while (i < scale->count && value > scale->bound[i])
        i++;
    add(&histogram->bucket[i], 1);
    if (value > 0) add(&histogram->sum, (unsigned long long)value);
}

void metrics_time_purchase(struct metrics *self, int64_t took_ns)
{
    observe(&self->purchase_time, &metrics_waits, took_ns);
}

void metrics_on_batch(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns, void *arg)
{
    struct metrics *self = arg;
    struct metrics_of_guard *shown = of_guard(self, guard);

    observe(&shown->batch_size, &metrics_sizes, (int64_t)count);
    observe(&shown->queue_wait, &metrics_seconds, waited_ns);
    observe(&shown->batch_time, &metrics_seconds, ran_ns);
    if (batch_locks.has_locked) observe(&shown->lock_wait, &metrics_seconds, batch_locks.wait_ns);
    if (batch_locks.hold_ns > 0) observe(&shown->lock_hold, &metrics_seconds, batch_locks.hold_ns);
    batch_locks.wait_ns = batch_locks.hold_ns = 0;
    batch_locks.has_locked = false;
}

/* Acquire, script and release went in one round trip: the lock was held within it, no longer. */
static void note_run(const struct lk_event *event)
{
    int64_t held_ns = event->status == LK_OK ? batch_locks.round_trip_ns : 0;

    batch_locks.has_locked = true;
    batch_locks.hold_ns = held_ns;
    if (event->duration_ns > held_ns) batch_locks.wait_ns += event->duration_ns - held_ns;
}

static void note_acquire(const struct lk_event *event)
{
    batch_locks.has_locked = true;
    batch_locks.wait_ns += event->duration_ns;
    batch_locks.token[0] = '\0';
    if (event->status != LK_OK || !event->token || strlen(event->token) >= sizeof batch_locks.token)
        return;
    (void)stpcpy(batch_locks.token, event->token);
    batch_locks.acquired_at_ns = event->at_ns;
}

static void note_release(const struct lk_event *event)
{
    if (!batch_locks.token[0] || !event->token || strcmp(event->token, batch_locks.token) != 0)
        return;
    batch_locks.hold_ns = event->at_ns - batch_locks.acquired_at_ns;
    batch_locks.token[0] = '\0';
}

/* Other locks (of node numbers) belong to no batch. */
static bool is_of_sale(const struct lk_event *event)
{
    static const char prefix[] = "seckill:{";

    return event->key && strncmp(event->key, prefix, sizeof prefix - 1) == 0;
}

void metrics_on_event(const struct lk_event *event, void *arg)
{
    struct metrics *self = arg;
    struct metrics_by_status *of_event = NULL;

    switch (event->type) {
    case LK_EVENT_ACQUIRE:
        of_event = &self->acquires;
        if (is_of_sale(event)) note_acquire(event);
        break;
    case LK_EVENT_RUN:
        of_event = &self->acquires;
        if (is_of_sale(event)) note_run(event);
        break;
    case LK_EVENT_RELEASE:
        of_event = &self->releases;
        note_release(event);
        break;
    case LK_EVENT_RENEW:
        of_event = &self->renewals;
        break;
    case LK_EVENT_ROUND_TRIP:
        of_event = &self->round_trips;
        batch_locks.round_trip_ns = event->duration_ns;
        observe(&self->round_trip_time, &metrics_seconds, event->duration_ns);
        break;
    case LK_EVENT_CONNECT:
        of_event = &self->connects;
        break;
    case LK_EVENT_TOPOLOGY:
        metrics_count(self, METRICS_TOPOLOGY_CHANGES);
        return;
    case LK_EVENT_QUEUED:
    case LK_EVENT_LOST: /* its renewal or release has said so */
    case LK_EVENT_REFUSED:
    case LK_EVENT_COUNT:
        return;
    }
    add(&of_event->count[event->status], 1);
}
