/*
 * What operators ask: create and show sales, list orders (what they do to a sale that is there:
 * operator_steps.c). The table of routes has checked the token. Runs on civetweb's threads.
 */
#include <string.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "handlers.h"

bool operators_allow_guard(const struct service *service, struct http_request *request,
                           const char *name)
{
    const struct guard *guard = guards_find(name[0] ? name : service->config->guard);
    bool lacks_servers = guard && guard->needs && !service->config->servers[guard->needs];

    if (guard && !lacks_servers && (!guard->flaw || service->config->lab)) return true;
    return http_refuse(request, PROBLEM_FORBIDDEN, "guard",
                       lacks_servers ? guard_servers_refusal(guard->needs)
                                     : "A flawed guard runs only with --lab.");
}

static bool holds_orders(const struct guard *guard)
{
    return !guard->flaw && !guard->is_final;
}

/* Units that move between servers must not be forgotten by one of them, nor told of twice. Else it was answered. */
static bool allow_segments(struct service *service, struct http_request *request,
                           const struct sale *sale)
{
    const char *why = NULL;

    if (sale->segments.count == 0) return true;
    if (!holds_orders(guards_find(sale->guard)))
        why = "This guard keeps no orders that a segment could have.";
    else if (service->book)
        why = "The book keeps sales in one piece alone.";
    else if (!deployment_may_cut(service->deployment))
        why = "Units that move between servers need replicas that have them: start the service "
              "with --sync-replicas 1.";
    return !why || http_refuse(request, PROBLEM_INVALID_REQUEST, "segments", why);
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

bool operators_put_up(struct service *service, struct http_request *request, struct sale *sale)
{
    struct lk_error err = {0};
    struct operator_step step = {.sale = sale->id, .what = "create", .units = sale->initial};

    if (!sale->guard[0]) (void)stpncpy(sale->guard, service->config->guard, SALE_GUARD_MAX);
    if (sale->waiting.admit < 0) sale->waiting.admit = service->config->admit;
    if (!operators_allow_guard(service, request, sale->guard)) return false;
    if (sale->payment.window_ms > 0 && !holds_orders(guards_find(sale->guard)))
        return http_refuse(request, PROBLEM_INVALID_REQUEST, "guard",
                           "This guard's orders are final: it cannot sell what is paid for later.");
    if (!allow_segments(service, request, sale) || !operator_steps_begin(service, request, &step))
        return false;
    store_status status = store_create_sale(service->store, sale, &err);
    operator_steps_note_end(service, &step, status, &(struct sale_step_end){.epoch = 1});
    if (handlers_has_failed(request, status, &err)) return false;
    log_event(LOG_INFO,
              &(struct log_fields){.event = step.what,
                                   .sale = sale->id,
                                   .who = step.who,
                                   .from = step.client,
                                   .units = sale->initial,
                                   .duration_ns = clock_mono_ns() - step.began_ns},
              "sale %s: created, %lld units, guard %s, by %s at %s", sale->id,
              (long long)sale->initial, sale->guard, step.who, step.client);
    return true;
}

void operators_create_sale(struct service *service, struct http_request *request, const char *id)
{
    struct sale sale = {0};

    (void)id;
    if (handlers_read_body(request, json_read_sale, &sale) &&
        operators_put_up(service, request, &sale))
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

void operators_show_operator(struct service *service, struct http_request *request, const char *id)
{
    char buffer[128];
    struct text body = TEXT_OVER(buffer);

    (void)service, (void)id;
    TEXT_ADD(&body, "{");
    text_add_member(&body, "name", request->operator_name);
    text_add_member(&body, "role", request->operator_role);
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}

static bool list_order(const struct order *order, void *arg)
{
    struct text *page = handlers_listing_line(arg);

    if (!page) return false;
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
    struct handlers_listing listing;
    struct sale sale = {0};
    struct lk_error err = {0};

    handlers_listing_open(&listing, request);
    store_status status =
        store_load_sale(service->store, id, &sale, &err); /* no orders is not no sale */
    if (status == STORE_OK)
        status = store_scan_orders(service->store, id, list_order, &listing, &err);
    handlers_listing_close(&listing, id, status, &err);
}
