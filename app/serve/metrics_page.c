/*
 * See metrics_page.h. The text, some 100 KB, is rendered for each who asks, but for a flood only ten
 * times a second; of the stock in it Redis is asked once a second. Runs on civetweb's threads.
 */
#include "metrics_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/kept.h"
#include "handlers.h"

enum {
    TEXT_AGE_MS = 100,
    TEXT_SPARE = 10,
    STOCK_AGE_MS = 1000,
    STOCK_MAX = 50,      /* sales, the first by id */
    STOCK_WAIT_MS = 250, /* each of two round trips */
    READINESS_SHOWN_MS = 15000,
};

struct metrics_page {
    struct service *service; /* borrowed */
    struct store *store;     /* that does not wait for Redis; owned, as is the next */
    struct kept *text;       /* struct rendered; who makes it, one at a time, has what is below */
    int64_t stock_due_ms;    /* monotonic: to be read again */
    bool is_store_up;        /* Redis told the stock */
    size_t stock_count;
    struct metrics_stock stock[STOCK_MAX];
};

struct rendered {
    struct kept_base base;
    char *text; /* owned */
    size_t len;
};

static void read_stock(struct metrics_page *self)
{
    struct sale *sales = calloc(STOCK_MAX, sizeof *sales);
    struct sale_id *ids = NULL;
    size_t count = 0;

    self->stock_count = 0;
    self->is_store_up = sales && store_list_ids(self->store, &ids, &count, NULL) == STORE_OK;
    if (count > STOCK_MAX) count = STOCK_MAX;
    if (count > 0)
        self->is_store_up = store_load_sales(self->store, ids, count, sales, NULL) == STORE_OK;
    for (size_t i = 0; i < count; i++) {
        struct metrics_stock *row = &self->stock[self->stock_count];

        if (!sales[i].id[0]) continue;
        *row = (struct metrics_stock){.initial = sales[i].initial + sales[i].restocked,
                                      .left = sales[i].left + sales[i].cooling,
                                      .orders = sales[i].orders,
                                      .cooling = sales[i].cooling,
                                      .paid = sales[i].payment.paid};
        if (sales[i].payment.window_ms > 0) row->held = sales[i].orders - row->paid;
        struct book_lag lag = book_lag_of(self->service->book, sales[i].id);
        row->book_entries = lag.entries;
        row->book_s = (lag.ms + 999) / 1000;
        memcpy(row->sale_id, sales[i].id, sizeof row->sale_id);
        self->stock_count++;
        self->is_store_up = true;
    }
    free(ids);
    free(sales);
    self->stock_due_ms = clock_mono_ms() + STOCK_AGE_MS;
}

/* Somebody asks /readyz all the time, where it matters. */
static void recall_readiness(struct service *service, struct metrics_now *out)
{
    struct readiness found;

    out->is_readiness_known = readiness_recall(service->readiness, READINESS_SHOWN_MS, &found);
    out->is_ready = out->is_readiness_known && found.serving > 0;
    if (atomic_load_explicit(&service->is_draining, memory_order_relaxed)) {
        out->is_readiness_known = true;
        out->is_ready = false;
    }
}

static void free_rendered(void *thing)
{
    free(((struct rendered *)thing)->text);
    free(thing);
}

static void *render(void *arg)
{
    struct metrics_page *self = arg;
    struct service *service = self->service;
    struct rendered *made = calloc(1, sizeof *made);

    if (clock_mono_ms() >= self->stock_due_ms) read_stock(self);
    struct metrics_now now = {.queue_depth = group_commit_depth(service->commit),
                              .requests = atomic_load(&service->requests),
                              .streams = atomic_load(&service->streams),
                              .buyer_connections = atomic_load(&service->buyer_connections),
                              .operator_connections = atomic_load(&service->operator_connections),
                              .is_store_up = self->is_store_up,
                              .stock = self->stock,
                              .stock_count = self->stock_count};

    recall_readiness(service, &now);
    lk_client_pool_usage(service->client, &now.redis);
    if (made) made->text = metrics_render(service->metrics, &now, &made->len);
    return made;
}

void metrics_page_show(struct service *service, struct http_request *request, const char *id)
{
    struct kept *kept = service->metrics_page->text;
    struct rendered *rendered = kept_borrow(kept);

    (void)id;
    if (rendered && rendered->text) {
        http_send(request, &(struct http_answer){.status = 200,
                                                 .type = "text/plain; version=0.0.4; charset=utf-8",
                                                 .body = rendered->text,
                                                 .body_len = rendered->len});
    } else {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
    }
    kept_return(kept, rendered);
}

struct metrics_page *metrics_page_new(struct service *service, lk_client *client)
{
    struct metrics_page *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->service = service;
    self->store = store_new(client, "metrics", NULL);
    self->text = kept_new(&(struct kept_options){.make = render,
                                                 .free = free_rendered,
                                                 .arg = self,
                                                 .age_ms = TEXT_AGE_MS,
                                                 .spare = TEXT_SPARE});
    if (self->store) store_set_wait(self->store, STOCK_WAIT_MS);
    if (self->store && self->text) return self;
    metrics_page_free(self);
    return NULL;
}

void metrics_page_free(struct metrics_page *self)
{
    if (!self) return;
    kept_free(self->text);
    store_free(self->store);
    free(self);
}
