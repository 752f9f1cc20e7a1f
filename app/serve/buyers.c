/*
 * What buyers ask: the time, the sales, a purchase, their order. Runs on civetweb's threads.
 */
#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "handlers.h"
#include "http/connection.h"

void buyers_time(struct service *service, struct http_request *request, const char *id)
{
    char buffer[96];
    char moment[RFC3339_SIZE];
    struct text body = TEXT_OVER(buffer);
    struct lk_error err = {0};
    int64_t now_ms = 0;
    store_status status = store_time_ms(service->store, &now_ms, &err);

    (void)id;
    if (handlers_has_failed(request, status, &err)) return;
    rfc3339_format(now_ms, moment);
    TEXT_ADD(&body, "{");
    text_add_member(&body, "serverTime", moment);
    text_add_count(&body, "epochMs", now_ms);
    text_add_name(&body, "lab");
    text_add_string(&body, service->config->lab ? "true}\n" : "false}\n");
    http_send_json(request, 200, &body);
}

void buyers_list_sales(struct service *service, struct http_request *request, const char *id)
{
    (void)id;
    if (service->classroom)
        class_routes_list_sales(service, request);
    else
        sale_list_send(service->sales[JSON_FOR_BUYERS], request);
}

void buyers_show_sale(struct service *service, struct http_request *request, const char *id)
{
    handlers_send_sale(service, request, id, JSON_FOR_BUYERS, NULL);
}

/*
 * The buyer of a request, who is not over the rate. Before anything that costs: Redis, a place in
 * the queue, a body.
 *
 * Returns  false when it was answered (401, 429).
 */
bool buyers_let_in(struct service *service, struct http_request *request,
                   char out[BUYER_ID_MAX + 1])
{
    struct rate_verdict verdict = {.is_over = false};

    if (!identity_read_buyer(service->identity, request, out)) return false;
    if (service->rate) verdict = rate_take(service->rate, out);
    if (!verdict.is_over) return true;
    metrics_count(service->metrics, METRICS_RATE_LIMITED);
    handlers_send_over_rate(request, &verdict, "Nothing was executed. Ask again later.");
    return false;
}

static void send_outcome(struct service *service, struct http_request *request, const char *id,
                         const struct purchase *purchase)
{
    metrics_count_order(service->metrics, purchase->guard, purchase->outcome);
    http_send_outcome(request, id, purchase);
    metrics_time_purchase(service->metrics, clock_mono_ns() - request->began_ns);
}

/* Runs on the thread of the batch's leader. */
static void answer_purchase(struct purchase *purchase, void *arg)
{
    struct connection *connection = arg;
    struct service *service = connection->service;
    struct http_request answered;

    send_outcome(service, &connection->request, connection->sale_id, purchase);
    answered = connection->request;
    connection_answered(connection);
    service_request_ends(service, &answered);
}

/* The answer is written by whoever leads the batch, while this thread waits for the next request. */
static void buy_detached(struct service *service, struct http_request *request, const char *id)
{
    struct connection *connection = request->connection;

    connection->service = service;
    connection_begin(connection, request, id);
    connection->purchase.done = answer_purchase;
    connection->purchase.done_arg = connection;
    request->is_detached = true;
    group_commit_submit(service->commit, connection->sale_id, &connection->purchase);
}

static void buy_here(struct service *service, struct http_request *request, const char *id,
                     const char *buyer, const char *key)
{
    struct purchase purchase = {.buyer = buyer, .key = key};

    purchase.guard = group_commit_sell(service->commit, id, &purchase);
    send_outcome(service, request, id, &purchase);
}

void buyers_buy(struct service *service, struct http_request *request, const char *id)
{
    struct connection *connection = request->connection;
    char buyer[BUYER_ID_MAX + 1];
    char key[IDEMPOTENCY_KEY_MAX + 1];

    request->began_ns = clock_mono_ns();
    if (!buyers_let_in(service, request, buyer)) return;
    if (!http_read_idempotency_key(request, key)) return;
    if (request->body_len > 0 && !handlers_read_body(request, json_read_purchase, NULL)) return;
    if (!waiting_answers_may_buy(service, request,
                                 &(struct waiting_asker){id, buyer, request->waiting_ticket}))
        return;
    if (http_can_detach(request)) {
        memcpy(connection->buyer, buyer, sizeof buyer);
        memcpy(connection->key, key, sizeof key);
        buy_detached(service, request, id);
    } else {
        buy_here(service, request, id, buyer, key);
    }
}

void buyers_take_place(struct service *service, struct http_request *request, const char *id)
{
    char buyer[BUYER_ID_MAX + 1];
    char ticket[TICKET_SIZE];
    struct waiting_view view;
    struct lk_error err = {0};

    if (!buyers_let_in(service, request, buyer)) return;
    if (!handlers_read_body(request, json_read_nothing, NULL)) return;
    store_status status = waiting_rooms_join(
        service->waiting, &(struct waiting_asker){id, buyer, request->waiting_ticket}, ticket,
        &view, &err);
    if (status == STORE_NOT_FOUND) {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, NULL,
                          "No such sale, it has no waiting room, or it is over.");
        return;
    }
    if (handlers_has_failed(request, status, &err)) return;
    metrics_count(service->metrics, METRICS_WAITING_JOINED);
    waiting_answers_send(request, id, ticket, &view);
}

void buyers_show_place(struct service *service, struct http_request *request, const char *id)
{
    char buyer[BUYER_ID_MAX + 1];
    struct waiting_view view;
    struct lk_error err = {0};

    if (!buyers_let_in(service, request, buyer)) return;
    store_status status = waiting_rooms_view(
        service->waiting, &(struct waiting_asker){id, buyer, request->waiting_ticket}, &view, &err);
    if (!handlers_has_failed(request, status, &err)) waiting_answers_send(request, id, NULL, &view);
}

void buyers_show_order(struct service *service, struct http_request *request, const char *id)
{
    char buyer[BUYER_ID_MAX + 1];
    char buffer[512];
    struct text body = TEXT_OVER(buffer);
    struct order_standing standing = {.pay_by_ms = 0};
    struct lk_error err = {0};
    store_status status = STORE_OK;

    if (!buyers_let_in(service, request, buyer)) return;
    status = store_order_standing(service->store, id, buyer, &standing, &err);
    status = handlers_check_not_found(service, id, status);
    const struct order_refund *refund = &standing.refund;
    bool is_owed = refund->state[0] != '\0';
    if (status == STORE_OK &&
        (!handlers_is_booked(service, id, &standing.order) ||
         (is_owed && !book_has(service->book, id,
                               (struct book_fact){"0", refund->state, refund->payment, false}))))
        status = STORE_UNKNOWN;
    if (handlers_has_failed(request, status, &err)) return;
    http_add_order(&body, &(struct order_view){.id = standing.order.id,
                                               .sale_id = id,
                                               .buyer = buyer,
                                               .state = standing.order.state,
                                               .pay_by_ms = standing.pay_by_ms,
                                               .now_ms = standing.now_ms,
                                               .refund = is_owed ? refund->state : NULL,
                                               .refund_amount = refund->amount,
                                               .refund_currency = refund->currency});
    http_send_json(request, 200, &body);
}
