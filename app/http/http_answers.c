/*
 * What the edge says: the tables of problems and outcomes, the only place that turns either into an
 * HTTP code, and the bodies made of them. Runs on civetweb's threads.
 */
#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/rfc3339.h"
#include "http.h"
#include "sale/order_id.h"

enum { PROBLEM_SIZE = 1024, RETRY_AFTER_S = 1 };

static const struct http_problem_text problems[PROBLEM_COUNT] = {PROBLEM_LIST(LIST_ROW)};

struct outcome_row {
    struct http_problem_text problem; /* name NULL: no problem, but an order */
    const char *detail;
    bool may_retry; /* says Retry-After */
};

#define NOT_EXECUTED "The purchase was not executed. Ask again."

static const struct outcome_row outcomes[OUTCOME_COUNT] = {
    [OUTCOME_CREATED] = {.problem = {201, NULL, NULL}},
    [OUTCOME_REPLAYED] = {.problem = {201, NULL, NULL}},
    [OUTCOME_ALREADY_ORDERED] = {{409, "already-ordered", "You already have an order"},
                                 NULL,
                                 false},
    [OUTCOME_SOLD_OUT] = {{409, "sold-out", "Sold out"}, NULL, false},
    [OUTCOME_WAS_CANCELLED] = {{409, "order-cancelled", "Your order was cancelled"},
                               "This sale has no second order for you.",
                               false},
    [OUTCOME_HAS_EXPIRED] = {{409, "order-expired", "Your order was not paid in time"},
                             "This sale has no second order for you.",
                             false},
    [OUTCOME_NOT_STARTED] = {{409, "sale-not-started", "The sale has not started"}, NULL, true},
    [OUTCOME_ENDED] = {{410, "sale-ended", "The sale has ended"}, NULL, false},
    [OUTCOME_PAUSED] = {{503, "sale-paused", "The sale is paused"}, NULL, true},
    [OUTCOME_NO_SALE] = {{404, "not-found", "There is no such thing"},
                         "No sale of this id.",
                         false},
    [OUTCOME_LOCK_TIMEOUT] = {{503, "lock-timeout", "The lock was not passed in time"},
                              NOT_EXECUTED,
                              true},
    [OUTCOME_OVERLOADED] = {{503, "overloaded", "Too much is going on here"}, NOT_EXECUTED, true},
    [OUTCOME_STORE_UNAVAILABLE] = {{503, "store-unavailable", "The store is out of reach"},
                                   NOT_EXECUTED,
                                   true},
    [OUTCOME_NO_GUARD] =
        {{503, "store-unavailable", "The store is out of reach"},
         "This instance cannot run the guard of the sale (--redlock, --postgres or --lab is "
         "missing). The purchase was not executed. Ask another instance.",
         true},
    [OUTCOME_UNKNOWN] = {{503, "outcome-unknown", "Whether it was executed is not known"},
                         "Look your order up, or ask again with the same idempotency key.",
                         true},
    [OUTCOME_UNSYNCED] =
        {{503, "outcome-unknown", "Whether it was executed is not known"},
         "Decided, but too few replicas have it yet, so it may be lost still. Look "
         "your order up, or ask again with the same idempotency key.",
         true},
};

/* ---- problems -------------------------------------------------------------------------------- */

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < PROBLEM_COUNT; i++) {
        if (strcmp(problems[i].name, name) == 0) return true;
    }
    return false;
}

bool http_problem_at(size_t index, struct http_problem_text *out)
{
    size_t at = PROBLEM_COUNT; /* outcomes that are problems of their own follow */

    if (index < PROBLEM_COUNT) {
        *out = problems[index];
        return true;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (!outcomes[i].problem.name || is_listed(outcomes[i].problem.name)) continue;
        if (at++ != index) continue;
        *out = outcomes[i].problem;
        return true;
    }
    return false;
}

/* Everything but the closing brace. */
static void add_problem(struct text *out, const struct http_problem_text *row, const char *detail)
{
    TEXT_ADD(out, "{\"type\":\"/problems/");
    text_add_string(out, row->name);
    TEXT_ADD(out, "\"");
    text_add_member(out, "title", row->title);
    text_add_count(out, "status", row->status);
    if (detail) text_add_member(out, "detail", detail);
}

static void send_problem_body(struct http_request *request, int status, struct text *body,
                              const char *headers)
{
    TEXT_ADD(body, "}\n");
    assert(!body->is_cut);
    http_send(request, &(struct http_answer){.status = status,
                                             .type = "application/problem+json",
                                             .headers = headers,
                                             .body = body->data,
                                             .body_len = body->len});
}

void http_send_problem(struct http_request *request, http_problem problem,
                       const struct http_detail *detail)
{
    char buffer[PROBLEM_SIZE];
    struct text body = TEXT_OVER(buffer);

    add_problem(&body, &problems[problem], detail ? detail->detail : NULL);
    if (detail && detail->field) text_add_member(&body, "field", detail->field);
    if (detail && detail->more) text_add_string(&body, detail->more);
    send_problem_body(request, problems[problem].status, &body, detail ? detail->headers : NULL);
}

bool http_refuse(struct http_request *request, http_problem problem, const char *field,
                 const char *detail)
{
    http_send_problem(request, problem, &(struct http_detail){.detail = detail, .field = field});
    return false;
}

void http_send_json(struct http_request *request, int status, const struct text *body)
{
    if (body->is_cut) { /* by what is in Redis: no value that a script of ours writes is too long */
        log_line(LOG_ERROR, "%s: the answer does not fit: a value in Redis is too long",
                 request->path);
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    http_send(request,
              &(struct http_answer){
                  .status = status, .type = HTTP_JSON, .body = body->data, .body_len = body->len});
}

void http_send_library_error(struct mg_connection *conn, int status)
{
    struct http_request request = {.conn = conn, .must_close = true};
    const http_problem usual = status >= 500 ? PROBLEM_INTERNAL : PROBLEM_INVALID_REQUEST;
    http_problem found = usual;

    for (int i = 0; i < PROBLEM_COUNT; i++) {
        if (problems[i].status == status && problems[usual].status != status)
            found = (http_problem)i;
    }
    http_send_problem(&request, found, NULL);
}

void http_refuse_order(struct http_request *request, outcome which)
{
    char buffer[PROBLEM_SIZE];
    struct text body = TEXT_OVER(buffer);

    add_problem(&body, &outcomes[which].problem, NULL);
    send_problem_body(request, outcomes[which].problem.status, &body, NULL);
}

/* ---- purchases ------------------------------------------------------------------------------- */

void http_add_order(struct text *out, const struct order_view *order)
{
    char created[RFC3339_SIZE];

    rfc3339_format(order_id_ms(order->id), created);
    TEXT_ADD(out, "{");
    text_add_member(out, "id", order->id);
    text_add_member(out, "saleId", order->sale_id);
    text_add_member(out, "buyer", order->buyer);
    text_add_member(out, "state", order->state);
    text_add_member(out, "createdAt", created);
    if (order->pay_by_ms > 0) {
        rfc3339_format(order->pay_by_ms, created);
        text_add_member(out, "payBy", created);
    }
    if (order->now_ms > 0 && order->pay_by_ms > 0) {
        int64_t left_ms = order->pay_by_ms - order->now_ms;

        text_add_count(out, "secondsLeft", left_ms > 0 ? (left_ms + 999) / 1000 : 0);
    }
    if (order->refund) {
        text_add_member(out, "refund", order->refund);
        text_add_count(out, "refundAmount", order->refund_amount);
        text_add_member(out, "refundCurrency", order->refund_currency);
    }
    TEXT_ADD(out, "}\n");
}

static void add_link(struct text *out, const char *sale_id)
{
    TEXT_ADD(out, "/api/v1/sales/");
    text_add_string(out, sale_id);
    TEXT_ADD(out, "/orders/me");
}

static void send_order(struct http_request *request, const char *sale_id,
                       const struct purchase *purchase)
{
    char body_buffer[512];
    char headers_buffer[160];
    struct text body = TEXT_OVER(body_buffer);
    struct text headers = TEXT_OVER(headers_buffer);

    http_add_order(&body, &(struct order_view){.id = purchase->order_id,
                                               .sale_id = sale_id,
                                               .buyer = purchase->buyer,
                                               .state = "held",
                                               .pay_by_ms = purchase->pay_by_ms});
    TEXT_ADD(&headers, "Location: ");
    add_link(&headers, sale_id);
    TEXT_ADD(&headers, "\r\n");
    if (purchase->outcome == OUTCOME_REPLAYED) TEXT_ADD(&headers, "Idempotency-Replayed: true\r\n");
    text_add(&headers, "", 1); /* NUL */
    assert(!headers.is_cut && !body.is_cut);
    http_send(request, &(struct http_answer){.status = outcomes[purchase->outcome].problem.status,
                                             .type = HTTP_JSON,
                                             .headers = headers_buffer,
                                             .body = body.data,
                                             .body_len = body.len});
}

/* Nothing is left, but what others hold may come back. */
static bool is_waited_for(const struct purchase *purchase)
{
    return purchase->outcome == OUTCOME_SOLD_OUT && purchase->retry_ms > 0;
}

/* What only one kind of outcome says. */
static void add_extension(struct text *body, const char *sale_id, const struct purchase *purchase)
{
    if (purchase->outcome == OUTCOME_ALREADY_ORDERED) {
        TEXT_ADD(body, ",\"order\":\"");
        add_link(body, sale_id);
        TEXT_ADD(body, "\"");
        text_add_member(body, "orderId", purchase->order_id);
    } else if (purchase->outcome == OUTCOME_WAS_CANCELLED ||
               purchase->outcome == OUTCOME_HAS_EXPIRED) {
        text_add_member(body, "orderId", purchase->order_id);
    } else if (purchase->outcome == OUTCOME_NOT_STARTED || is_waited_for(purchase)) {
        text_add_count(body, "retryAfterMs", purchase->retry_ms);
    } else if (purchase->outcome == OUTCOME_UNKNOWN || purchase->outcome == OUTCOME_UNSYNCED) {
        TEXT_ADD(body, ",\"lookup\":\"");
        add_link(body, sale_id);
        TEXT_ADD(body, "\"");
    }
}

void http_send_outcome(struct http_request *request, const char *sale_id,
                       const struct purchase *purchase)
{
    const struct outcome_row *row = &outcomes[purchase->outcome];
    char body_buffer[PROBLEM_SIZE];
    char headers_buffer[40];
    struct text body = TEXT_OVER(body_buffer);
    struct text headers = TEXT_OVER(headers_buffer);
    int64_t retry_s = RETRY_AFTER_S;

    if (!row->problem.name) {
        send_order(request, sale_id, purchase);
        return;
    }
    add_problem(&body, &row->problem, row->detail);
    add_extension(&body, sale_id, purchase);
    if (purchase->retry_ms > 0) retry_s = (purchase->retry_ms + 999) / 1000;
    if (row->may_retry || is_waited_for(purchase)) {
        TEXT_ADD(&headers, "Retry-After: ");
        text_add_number(&headers, retry_s);
        TEXT_ADD(&headers, "\r\n");
    }
    text_add(&headers, "", 1); /* NUL */
    send_problem_body(request, row->problem.status, &body, headers_buffer);
}
