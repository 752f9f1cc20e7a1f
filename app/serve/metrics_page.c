/*
 * See metrics_page.h. The text, some 100 KB, is rendered for each who asks, but for a flood only ten
 * times a second; of the stock in it Redis is asked once a second. Runs on civetweb's threads.
 */
#include "metrics_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/clock.h"
#include "handlers.h"

enum {
    TEXT_AGE_MS = 100,
    TEXT_BURST = 10,
    STOCK_AGE_MS = 1000,
    STOCK_MAX = 200, /* sales that are not over for long, the first by id; what is wrong always */
    AT_ONCE = 100,   /* sales that Redis is asked for */
    OVER_MS = 3600000,
    STOCK_WAIT_MS = 250, /* each round trip */
    READINESS_SHOWN_MS = 15000,
};

struct metrics_page {
    struct service *service; /* borrowed */
    struct store *store;     /* that does not wait for Redis; owned, as is the next */
    struct cache *text;      /* struct rendered; who makes it, one at a time, has what is below */
    int64_t stock_due_ms;    /* monotonic: to be read again */
    bool is_store_up;        /* Redis told the stock */
    size_t stock_count;
    unsigned left_out; /* sales */
    struct metrics_stock stock[STOCK_MAX];
};

struct rendered {
    struct cache_entry base;
    char *text; /* owned */
    size_t len;
};

static bool is_over(const struct sale *sale)
{
    bool is_told = strcmp(sale->stored_state, "ended") == 0;

    return sale_state_of(sale) == SALE_ENDED &&
           sale->now_ms - (is_told ? sale->ended_ms : sale->ends_ms) > OVER_MS;
}

static struct metrics_stock row_of(const struct sale *sale, struct book *book)
{
    struct book_lag lag = book_lag_of(book, sale->id);
    struct metrics_stock row = {.initial = sale->initial + sale->restocked,
                                .left = sale->left + sale->cooling,
                                .orders = sale->orders,
                                .cooling = sale->cooling,
                                .paid = sale->payment.paid,
                                .book_entries = lag.entries,
                                .book_s = (lag.ms + 999) / 1000};

    if (sale->payment.window_ms > 0) row.held = sale->orders - row.paid;
    memcpy(row.sale_id, sale->id, sizeof row.sale_id);
    return row;
}

/* Units and orders that do not add up. */
static bool is_wrong(const struct metrics_stock *row)
{
    return row->initial - row->orders != row->left || row->left < 0;
}

/* Where there is no room, one that is wrong takes the last place. */
static void add_row(struct metrics_page *self, const struct metrics_stock *row)
{
    if (self->stock_count < STOCK_MAX) {
        self->stock[self->stock_count++] = *row;
    } else {
        self->left_out++;
        if (is_wrong(row)) self->stock[STOCK_MAX - 1] = *row;
    }
}

/* Some of them; false: Redis has not answered. When only some make no sense, the others are told of. */
static bool read_some(struct metrics_page *self, const struct sale_id *ids, size_t count,
                      struct sale *sales)
{
    memset(sales, 0, count * sizeof *sales);
    store_status status = store_load_sales(self->store, ids, count, sales, NULL);
    for (size_t i = 0; i < count; i++) {
        if (!sales[i].id[0]) continue;
        struct metrics_stock row = row_of(&sales[i], self->service->book);
        if (!is_over(&sales[i]) || is_wrong(&row)) add_row(self, &row);
    }
    return status == STORE_OK || status == STORE_FAILED;
}

static void read_stock(struct metrics_page *self)
{
    struct sale *sales = calloc(AT_ONCE, sizeof *sales);
    struct sale_id *ids = NULL;
    size_t count = 0;

    self->stock_count = self->left_out = 0;
    self->is_store_up = sales && store_list_ids(self->store, &ids, &count, NULL) == STORE_OK;
    for (size_t at = 0; at < count && self->is_store_up; at += AT_ONCE)
        self->is_store_up =
            read_some(self, ids + at, count - at < AT_ONCE ? count - at : AT_ONCE, sales);
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
                              .stock_count = self->stock_count,
                              .left_out = self->left_out};

    recall_readiness(service, &now);
    lk_client_pool_usage(service->client, &now.redis);
    if (made) made->text = metrics_render(service->metrics, &now, &made->len);
    return made;
}

void metrics_page_show(struct service *service, struct http_request *request, const char *id)
{
    struct cache *cache = service->metrics_page->text;
    struct rendered *rendered = cache_borrow(cache);

    (void)id;
    if (rendered && rendered->text) {
        http_send(request, &(struct http_answer){.status = 200,
                                                 .type = "text/plain; version=0.0.4; charset=utf-8",
                                                 .body = rendered->text,
                                                 .body_len = rendered->len});
    } else {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
    }
    cache_return(cache, rendered);
}

struct metrics_page *metrics_page_new(struct service *service, lk_client *client)
{
    struct metrics_page *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->service = service;
    self->store = store_new(client, "metrics", NULL);
    self->text = cache_new(&(struct cache_options){.make = render,
                                                   .free = free_rendered,
                                                   .arg = self,
                                                   .age_ms = TEXT_AGE_MS,
                                                   .burst = TEXT_BURST});
    if (self->store) store_set_wait(self->store, STOCK_WAIT_MS);
    if (self->store && self->text) return self;
    metrics_page_free(self);
    return NULL;
}

void metrics_page_free(struct metrics_page *self)
{
    if (!self) return;
    cache_free(self->text);
    store_free(self->store);
    free(self);
}
