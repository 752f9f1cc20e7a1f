/*
 * See lanes.h. Threads: any; the mutex is held for additions alone, and while no other is.
 */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expirer.h"
#include "guards/guards.h"

bool lanes_init(struct lanes *self, const struct group_commit_options *options)
{
    self->options = options;
    (void)pthread_mutex_init(&self->mutex, NULL);
    self->sold_out = sold_out_new(options->store, options->deployment);
    return self->sold_out != NULL;
}

static void lane_free(void *sale)
{
    struct lane *lane = sale;

    (void)pthread_rwlock_destroy(&lane->runs);
    (void)pthread_mutex_destroy(&lane->mutex);
    free(lane->list);
    free(lane);
}

static void init_runs(pthread_rwlock_t *runs)
{
    pthread_rwlockattr_t attributes;

    (void)pthread_rwlockattr_init(&attributes); /* else a crowd would keep a switch out for ever */
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(runs, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
}

static struct lane *lane_new(const char *sale_id, const struct guard *guard, size_t batch)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane) return NULL;
    lane->whole = lane;
    (void)snprintf(lane->base.id, sizeof lane->base.id, "%s", sale_id);
    (void)pthread_mutex_init(&lane->mutex, NULL);
    init_runs(&lane->runs);
    lane->guard = guard;
    lane->list = calloc(batch, sizeof(struct purchase *));
    if (lane->list) return lane;
    lane_free(lane);
    return NULL;
}

/* Set a lane's guard and segments; the previous segments stay, as threads may still use them. False: no memory. */
static bool set_sale_locked(struct lanes *self, struct lane *lane, const struct guard *guard,
                            const struct sale *sale)
{
    struct segments *segments = NULL;
    struct segments **all = NULL;

    if (sale->segments.count > 0) {
        all = realloc(self->segments, (self->segments_count + 1) * sizeof(struct segments *));
        if (all) self->segments = all;
        segments = all ? segments_new(self->options->client, self->options->store,
                                      self->options->deployment, sale)
                       : NULL;
        if (!segments) return false;
        self->segments[self->segments_count++] = segments;
    }
    lane->segments = segments;
    if (!lane->is_switched) lane->guard = guard;
    if (guard->flaw || sale->payment.window_ms > 0) lane->sold_out = NULL; /* see lanes_add() */
    lane->is_gone = false;
    return true;
}

struct lane *lanes_add(struct lanes *self, const char *sale_id, const struct guard *guard,
                       const struct sale *sale)
{
    (void)pthread_mutex_lock(&self->mutex);
    struct lane *lane = known_find(&self->all, sale_id);
    struct lane *made = lane ? NULL : lane_new(sale_id, guard, self->options->batch);
    if (made) lane = made;
    if (made) lane->is_gone = true;
    bool is_known = !lane || !sale || !lane->is_gone || set_sale_locked(self, lane, guard, sale);
    /* What a flawed guard leaves in Redis is no order book to rely on; and what is paid for later may come back at any
       moment. */
    if (made && is_known && !guard->flaw && !(sale && sale->payment.window_ms > 0))
        made->sold_out = sold_out_register(self->sold_out, sale_id);
    if (made && is_known) known_add(&self->all, made);
    (void)pthread_mutex_unlock(&self->mutex);
    if (made && !is_known) lane_free(made);
    return is_known ? lane : NULL;
}

struct lane *lanes_open_home(struct lanes *self, struct lane *whole, const char *buyer)
{
    struct segments *segments = whole->segments;
    unsigned number = 0;
    const char *id = segments ? segments_home(segments, buyer, &number) : whole->base.id;
    struct lane *lane = segments ? known_find(&self->all, id) : whole;

    if (lane) return lane;
    (void)pthread_mutex_lock(&self->mutex);
    lane = known_find(&self->all, id);
    struct lane *made = lane ? NULL : lane_new(id, whole->guard, self->options->batch);
    if (made) {
        made->whole = whole;
        made->number = number;
        made->segments = segments;
        known_add(&self->all, made);
        lane = made;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return lane;
}

static bool may_run(const struct lanes *self, const struct guard *guard)
{
    if (!guard || (guard->flaw && !self->options->lab)) return false;
    return guard_servers_meet(self->options->servers, guard->needs);
}

/* An instance whose settings are weaker than those of the instance that created the sale must not move its units. */
static bool may_cut(const struct lanes *self, const struct sale *sale)
{
    return sale->segments.count == 0 ||
           (!self->options->book && deployment_may_cut(self->options->deployment));
}

struct lane *lanes_open(struct lanes *self, const char *sale_id, outcome *out_outcome)
{
    struct sale sale;
    struct lane *lane = known_find(&self->all, sale_id);

    if (lane && !lane->is_gone) return lane;
    switch (store_load_sale(self->options->store, sale_id, &sale, NULL)) {
    case STORE_OK:
        break;
    case STORE_NOT_FOUND:
        *out_outcome = OUTCOME_NO_SALE;
        return NULL;
    case STORE_EXISTS:
    case STORE_UNAVAILABLE:
    case STORE_UNKNOWN: /* a read: nothing was executed */
    case STORE_FAILED:
        *out_outcome = OUTCOME_STORE_UNAVAILABLE;
        return NULL;
    }
    if (lane && sale.segments.count > 0)
        lane->is_switched = false; /* another sale, which the lab leaves alone */
    const struct guard *guard = lane && lane->is_switched ? lane->guard : guards_find(sale.guard);
    if (!may_run(self, guard) || !may_cut(self, &sale)) {
        *out_outcome = OUTCOME_NO_GUARD;
        return NULL;
    }
    if (sale.payment.window_ms > 0) expirer_add(self->options->expirer, sale.id);
    lane = lanes_add(self, sale.id, guard, &sale);
    if (!lane) *out_outcome = OUTCOME_STORE_UNAVAILABLE; /* no memory */
    return lane;
}

void lanes_free(struct lanes *self)
{
    known_free(&self->all, lane_free);
    for (size_t i = 0; i < self->segments_count; i++)
        segments_free(self->segments[i]);
    free(self->segments);
    sold_out_free(self->sold_out);
    (void)pthread_mutex_destroy(&self->mutex);
}
