/*
 * What operators ask: create and show sales, list orders (what they do to a sale that is there:
 * operator_steps.c). The table of routes has checked the token. Runs on civetweb's threads.
 */
#include <string.h>

#include "guards/guards.h"
#include "handlers.h"

static bool guard_is_allowed(const struct service *service, struct http_request *request,
                             const char *name)
{
    const struct guard *guard = guards_find(name);
    bool lacks_servers = guard && guard->needs_redlock && !service->config->redlock;

    if (guard && !lacks_servers && (!guard->flaw || service->config->lab)) return true;
    return http_refuse(request, PROBLEM_FORBIDDEN, "guard",
                       lacks_servers ? "This guard runs only with the servers of --redlock."
                                     : "A flawed guard runs only with --lab.");
}

static void send_created(struct service *service, struct http_request *request, const char *id)
{
    char buffer[128];
    struct text headers = TEXT_OVER(buffer);
    struct sale sale = {0};
    struct lk_error err = {0};
    store_status status = store_load_sale(service->store, id, &sale, &err);

    if (handlers_has_failed(request, status, &err)) return;
    TEXT_ADD(&headers, "Location: /api/v1/admin/sales/");
    text_add_string(&headers, id);
    TEXT_ADD(&headers, "\r\n");
    text_add(&headers, "", 1); /* NUL */
    handlers_send_made(request, &(struct http_answer){.status = 201, .headers = buffer},
                       json_of_sale(&sale, JSON_FOR_OPERATORS));
}

void operators_create_sale(struct service *service, struct http_request *request, const char *id)
{
    struct sale sale = {0};
    struct lk_error err = {0};
    struct operator_step step = {.sale = sale.id, .what = "create"};

    (void)id;
    if (!handlers_read_body(request, json_read_sale, &sale)) return;
    if (!sale.guard[0]) (void)stpncpy(sale.guard, service->config->guard, SALE_GUARD_MAX);
    if (!guard_is_allowed(service, request, sale.guard)) return;
    step.units = sale.initial;
    if (!operator_steps_begin(service, request, &step)) return;
    store_status status = store_create_sale(service->store, &sale, &err);
    operator_steps_note_end(service, &step, status, &(struct sale_step_end){.epoch = 1});
    if (handlers_has_failed(request, status, &err)) return;
    log_line(LOG_INFO, "sale %s: created, %lld units, guard %s, by %s", sale.id,
             (long long)sale.initial, sale.guard, step.client);
    send_created(service, request, sale.id);
}

void operators_list_sales(struct service *service, struct http_request *request, const char *id)
{
    (void)id;
    sale_list_send(service->sales[JSON_FOR_OPERATORS], request);
}

void operators_show_sale(struct service *service, struct http_request *request, const char *id)
{
    handlers_send_sale(service, request, id, JSON_FOR_OPERATORS, NULL);
}

/* Orders on their way out; the answer begins with the first, so that 404 can still be said before. */
struct order_listing {
    struct http_request *request;
    struct http_stream stream;
    struct text page;
    char buffer[4096];
    bool has_begun;
};

static void begin_listing(struct order_listing *listing)
{
    if (listing->has_begun) return;
    listing->has_begun = true;
    http_stream_begin(&listing->stream, listing->request, "application/x-ndjson");
}

static bool flush_page(struct order_listing *listing)
{
    bool sent = http_stream_add(&listing->stream, listing->page.data, listing->page.len);

    listing->page.len = 0;
    return sent;
}

static bool list_order(const struct order *order, void *arg)
{
    enum { LINE_MAX_LEN = 512 };
    struct order_listing *listing = arg;
    struct text *page = &listing->page;

    begin_listing(listing);
    if (page->size - page->len < LINE_MAX_LEN && !flush_page(listing)) return false;
    TEXT_ADD(page, "{");
    text_add_member(page, "id", order->id);
    text_add_member(page, "buyer", order->buyer);
    text_add_member(page, "state", order->state);
    text_add_member(page, "key", order->key);
    TEXT_ADD(page, "}\n");
    return true;
}

void operators_list_orders(struct service *service, struct http_request *request, const char *id)
{
    struct order_listing listing = {.request = request};
    struct sale sale = {0};
    struct lk_error err = {0};
    store_status status = STORE_OK;

    listing.page = TEXT_OVER(listing.buffer);
    status = store_load_sale(service->store, id, &sale, &err); /* no orders is not no sale */
    if (status == STORE_OK)
        status = store_scan_orders(service->store, id, list_order, &listing, &err);
    if (status != STORE_OK && !listing.has_begun) {
        handlers_send_store_failure(request, status, &err);
        return;
    }
    begin_listing(&listing);
    if (flush_page(&listing) && status == STORE_OK) {
        http_stream_end(&listing.stream);
        return;
    }
    log_line(LOG_WARN, "sale %s: the list of orders was broken off", id);
    http_stream_break(&listing.stream);
}
