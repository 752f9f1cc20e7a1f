/*
 * See expirer.h. Only its one thread talks to the server; sales are only ever added.
 */
#include "expirer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "sale/known.h"

enum {
    LOOK_MS = 1000, /* between two steps where no order is held: no hold is shorter (json.c) */
    LIST_MS = 1000, /* between two listings of sales by the leader */
    AGAIN_MS = 3,   /* between two steps, when very many are due: purchases go first */
    ASKED_MS = 50,  /* the same when another instance leads */
    RETRY_MS = 250, /* when the server does not answer */
    LEASE_MS = 5000,
};

static const char lock_key[] = "seckill:expirer";

struct watched {
    struct known_sale base;
    int64_t next_ms;      /* monotonic: something may be due then; the thread's own */
    atomic_bool is_asked; /* run a step at once, also without leadership */
};

struct expirer {
    struct expirer_options options;
    struct known sales;
    lk_lock *lock; /* owned, as the next; NULL until there is a sale */
    _Atomic(lk_leader *) leader;
    _Atomic int64_t list_ms; /* monotonic: when to list sales again */
    struct worker worker;    /* its mutex: for the list's growing */
};

/* ---- sales ------------------------------------------------------------------------------------- */

void expirer_add(struct expirer *self, const char *sale_id)
{
    if (!self || known_find(&self->sales, sale_id)) return;
    struct watched *sale = calloc(1, sizeof *sale);
    if (!sale) return; /* another instance leads, or it is found when sales are listed */
    (void)strncpy(sale->base.id, sale_id, sizeof sale->base.id - 1);
    (void)pthread_mutex_lock(&self->worker.mutex);
    bool is_new = !known_find(&self->sales, sale_id);
    if (is_new) known_add(&self->sales, sale);
    (void)pthread_mutex_unlock(&self->worker.mutex);
    if (is_new)
        worker_wake(&self->worker);
    else
        free(sale);
}

void expirer_wake(struct expirer *self, const char *sale_id)
{
    struct watched *sale = self && !expirer_leads(self) ? known_find(&self->sales, sale_id) : NULL;

    if (sale && !atomic_exchange(&sale->is_asked, true)) worker_wake(&self->worker);
}

/* Add all sales, also those that only other instances sell. */
static void list_sales(struct expirer *self)
{
    struct sale_id *ids = NULL;
    size_t count = 0;

    if (store_list_ids(self->options.store, &ids, &count, NULL) != STORE_OK) return;
    for (size_t i = 0; i < count; i++) {
        struct sale sale = {0};

        if (known_find(&self->sales, ids[i].text)) continue;
        if (store_load_sale(self->options.store, ids[i].text, &sale, NULL) != STORE_OK) continue;
        if (sale.payment.window_ms > 0) expirer_add(self, sale.id);
    }
    free(ids);
}

/* ---- who leads ----------------------------------------------------------------------------------- */

static void on_elected(lk_leader *leader, uint64_t fence, void *arg)
{
    struct expirer *self = arg;

    (void)leader;
    log_line(LOG_INFO, "expirer: leading, fence %llu", (unsigned long long)fence);
    atomic_store(&self->list_ms, 0);
    worker_wake(&self->worker);
}

static void on_trouble(lk_leader *leader, const struct lk_error *why, void *arg)
{
    (void)leader;
    (void)arg;
    log_line(LOG_WARN, "expirer: its lock: %s", why->text);
}

static void campaign(struct expirer *self)
{
    struct lk_error err = {0};

    if (!self->lock) self->lock = lk_fenced_new(self->options.client, lock_key, &err);
    if (self->lock)
        atomic_store(&self->leader, lk_leader_new(self->lock,
                                                  LK_OPTIONS(leader, .lease_ms = LEASE_MS,
                                                             .on_elected = on_elected,
                                                             .on_trouble = on_trouble, .arg = self),
                                                  &err));
    if (!atomic_load(&self->leader)) log_line(LOG_ERROR, "expirer: %s", err.text);
}

bool expirer_leads(struct expirer *self)
{
    lk_leader *leader = atomic_load(&self->leader);

    return leader && lk_leader_is_leading(leader);
}

static bool acts(struct expirer *self)
{
    return self->options.is_leaderless || expirer_leads(self);
}

/* ---- steps ----------------------------------------------------------------------------------------- */

/* When to run the next step, by the answer to this one. */
static int64_t pause_after(store_status status, const struct expiry *step)
{
    if (status != STORE_OK) return RETRY_MS;
    if (step->expired == EXPIRE_AT_ONCE_MAX) return AGAIN_MS;
    return step->next_ms >= 0 && step->next_ms < LOOK_MS ? step->next_ms + 1 : LOOK_MS;
}

static void step(struct expirer *self, struct watched *sale, uint64_t fence)
{
    struct expiry done = {.most = EXPIRE_AT_ONCE_MAX};
    store_status status =
        store_expire_orders(self->options.store, sale->base.id, fence, &done, NULL);

    sale->next_ms = clock_mono_ms() + pause_after(status, &done);
    if (self->options.on_step)
        self->options.on_step(sale->base.id, status, &done, self->options.on_step_arg);
}

/* Run a step for each sale that is due or was woken. Returns the earliest moment when the next may be due. */
static int64_t expire_all(struct expirer *self)
{
    uint64_t fence = expirer_leads(self) ? lk_leader_fence(atomic_load(&self->leader)) : 0;
    bool is_ours = acts(self);
    int64_t next_ms = clock_mono_ms() + LOOK_MS;

    KNOWN_EACH(watched, sale, &self->sales)
    {
        bool is_asked = atomic_exchange(&sale->is_asked, false);

        if (is_asked || (is_ours && clock_mono_ms() >= sale->next_ms)) step(self, sale, fence);
        if (is_asked && !is_ours) clock_pause_ms(ASKED_MS);
        if (is_ours && sale->next_ms < next_ms) next_ms = sale->next_ms;
    }
    return next_ms;
}

static void find_sales(struct expirer *self)
{
    if (clock_mono_ms() < atomic_load(&self->list_ms)) return;
    atomic_store(&self->list_ms, acts(self) ? clock_mono_ms() + LIST_MS : INT64_MAX);
    list_sales(self);
}

static int64_t run_round(void *arg)
{
    struct expirer *self = arg;

    find_sales(self);
    if (known_next(&self->sales, NULL) && !atomic_load(&self->leader) && !acts(self))
        campaign(self);
    return expire_all(self);
}

/* ---- life ------------------------------------------------------------------------------------------ */

struct expirer *expirer_new(const struct expirer_options *options)
{
    struct expirer *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    if (worker_start(&self->worker, run_round, self)) return self;
    free(self);
    return NULL;
}

void expirer_free(struct expirer *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    (void)lk_leader_close(atomic_load(&self->leader), NULL);
    lk_lock_free(self->lock);
    known_free(&self->sales, free);
    free(self);
}
