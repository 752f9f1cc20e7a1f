/*
 * What buyers, the payment provider and operators do about an order that is held: pay, cancel, owe back.
 * Runs on civetweb's threads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/signature.h"
#include "base/clock.h"
#include "base/rfc3339.h"
#include "handlers.h"
#include "http/connection.h"

enum {
    MARGIN_MS = 30000, /* a payment is begun no later than so long before the hold ends... */
    MARGIN_PART = 2,   /* ...or half of the window, if that is less */
    URL_SIZE = 1024,
};

/* ---- the provider ---------------------------------------------------------------------------------- */

/* An event whose bytes are the provider's; else it was answered. Its own function: the body is large. */
__attribute__((noinline)) static bool
read_event(struct service *service, struct http_request *request, struct json_event *out)
{
    static const http_problem problems[] = {
        [SIGNATURE_BAD] = PROBLEM_WEBHOOK_SIGNATURE, [SIGNATURE_STALE] = PROBLEM_WEBHOOK_STALE};
    struct http_body body;
    struct json_error error = {0};

    if (!http_read_body(request, &body)) return false;
    signature_status status = signature_check(&service->payment_keys, request->payment_signature,
                                              body.data, body.len, clock_unix_ms() / 1000);
    if (status != SIGNATURE_GOOD) {
        metrics_count(service->metrics, METRICS_WEBHOOK_REFUSED);
        http_send_problem(request, problems[status], NULL);
        return false;
    }
    if (json_read_event(body.data, body.len, out, &error)) return true;
    return http_refuse(request, PROBLEM_INVALID_REQUEST, error.field, error.detail);
}

static bool has_keys(struct service *service, struct http_request *request)
{
    if (service->payment_keys.count > 0) return true;
    return http_refuse(request, PROBLEM_PAYMENT_UNAVAILABLE, NULL,
                       "This instance was started without --payment-key.");
}

/* An event that is in the batch, or was. */
struct said {
    struct json_event words;
    struct pay_wish wish;
    struct service *service;
    struct connection *connection; /* whose room this is, and whose request is answered */
};

static void send_result(struct service *service, struct http_request *request,
                        const struct said *said)
{
    const struct pay_wish *wish = &said->wish;
    char buffer[64];
    struct text body = TEXT_OVER(buffer);

    if (handlers_has_failed(
            request, handlers_check_not_found(service, said->words.sale, wish->status), &wish->err))
        return;
    metrics_count_payment(service->metrics, wish->event.result);
    if (wish->event.result != PAY_PAID && wish->event.result != PAY_REPEATED &&
        wish->event.result != PAY_NOTED)
        log_event(LOG_WARN, &(struct log_fields){.event = "owed", .sale = said->words.sale},
                  "sale %s: payment %s: %s, owed back", said->words.sale, said->words.payment,
                  store_pay_result_name(wish->event.result));
    TEXT_ADD(&body, "{");
    text_add_member(&body, "result", store_pay_result_name(wish->event.result));
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}

/* Runs on the batch's thread. */
static void answer_result(struct pay_wish *wish, void *arg)
{
    struct said *said = arg;
    struct connection *connection = said->connection;
    struct service *service = said->service; /* said is the next request's, once it is answered */
    struct http_request answered;

    (void)wish;
    send_result(service, &connection->request, said);
    answered = connection->request;
    connection_answered(connection);
    service_request_ends(service, &answered);
}

/* The answer is written by the batch's thread, while this one waits for the next request. */
static void submit_detached(struct service *service, struct http_request *request,
                            struct said *said)
{
    said->connection = request->connection;
    connection_begin(said->connection, request, said->words.sale);
    said->wish.done = answer_result;
    said->wish.arg = said;
    request->is_detached = true;
    pay_batch_submit(service->payments, &said->wish);
}

static void submit(struct service *service, struct http_request *request, struct said *said)
{
    const struct json_event *words = &said->words;

    said->service = service;
    said->wish = (struct pay_wish){.sale_id = words->sale,
                                   .event = {.id = words->id,
                                             .kind = words->kind,
                                             .buyer = words->buyer,
                                             .order = words->order,
                                             .payment = words->payment,
                                             .amount = words->amount,
                                             .currency = words->currency}};
    if (http_can_detach(request)) {
        submit_detached(service, request, said);
    } else {
        pay_batch_take(service->payments, &said->wish);
        send_result(service, request, said);
    }
}

/* Of a connection, which has one event at a time. NULL: out of memory. */
static struct said *room_for(struct connection *connection)
{
    if (connection && !connection->room) connection->room = calloc(1, sizeof(struct said));
    return connection ? connection->room : NULL;
}

void payments_take_event(struct service *service, struct http_request *request, const char *id)
{
    struct said *said = NULL;

    (void)id;
    if (!has_keys(service, request)) return;
    said = room_for(request->connection);
    if (!said) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
    } else if (read_event(service, request, &said->words)) {
        if (sale_id_is_valid(said->words.sale))
            submit(service, request, said);
        else
            (void)http_refuse(request, PROBLEM_INVALID_REQUEST, "sale",
                              "A sale's id is 1 to 40 of a-z 0-9 -.");
    }
}

/* ---- buyers ---------------------------------------------------------------------------------------- */

/* Why an order that is there is not held any more; false: it is. */
static bool is_over(struct http_request *request, const char *state)
{
    if (strcmp(state, "cancelled") == 0) {
        http_refuse_order(request, OUTCOME_WAS_CANCELLED);
    } else if (strcmp(state, "expired") == 0) {
        http_refuse_order(request, OUTCOME_HAS_EXPIRED);
    } else if (strcmp(state, "paid") == 0) {
        http_send_problem(request, PROBLEM_ORDER_PAID, NULL);
    } else {
        return false;
    }
    return true;
}

/* The address where it is paid, with all that is to be paid, signed. */
static bool add_pay_url(const struct service *service, const struct sale *sale,
                        const struct order_standing *standing, struct text *out)
{
    char query[URL_SIZE];
    char mac[SIGNATURE_HEX_SIZE];
    int len = snprintf(query, sizeof query,
                       "sale=%s&order=%s&buyer=%s&amount=%" PRId64 "&currency=%s&payBy=%" PRId64,
                       sale->id, standing->order.id, standing->order.buyer, sale->payment.amount,
                       sale->payment.currency, standing->pay_by_ms);

    if (!signature_make(&service->payment_keys, query, (size_t)len, mac)) return false;
    text_add_string(out, service->config->pay_url);
    TEXT_ADD(out, "?");
    text_add(out, query, (size_t)len);
    TEXT_ADD(out, "&sig=");
    text_add_string(out, mac);
    text_add(out, "", 1); /* NUL */
    return !out->is_cut;
}

static void send_pay_url(struct service *service, struct http_request *request,
                         const struct sale *sale, const struct order_standing *standing)
{
    char url_buffer[URL_SIZE];
    char buffer[URL_SIZE + 128];
    char moment[RFC3339_SIZE];
    struct text url = TEXT_OVER(url_buffer);
    struct text body = TEXT_OVER(buffer);

    if (!add_pay_url(service, sale, standing, &url)) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    rfc3339_format(standing->pay_by_ms, moment);
    TEXT_ADD(&body, "{");
    text_add_member(&body, "url", url.data);
    text_add_member(&body, "payBy", moment);
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}

void payments_start(struct service *service, struct http_request *request, const char *id)
{
    char buyer[BUYER_ID_MAX + 1];
    struct order_standing standing = {.pay_by_ms = 0};
    struct sale sale = {0};
    struct lk_error err = {0};

    if (!buyers_let_in(service, request, buyer) || !has_keys(service, request)) return;
    if (!service->config->pay_url) {
        (void)http_refuse(request, PROBLEM_PAYMENT_UNAVAILABLE, NULL,
                          "This instance was started without --pay-url.");
        return;
    }
    if (!handlers_read_body(request, json_read_nothing, NULL)) return;
    store_status status = store_order_standing(service->store, id, buyer, &standing, &err);
    if (status == STORE_OK) status = store_load_sale(service->store, id, &sale, &err);
    if (status == STORE_OK && !handlers_is_booked(service, id, &standing.order))
        status = STORE_UNKNOWN;
    status = handlers_check_not_found(service, id, status);
    if (handlers_has_failed(request, status, &err) || is_over(request, standing.order.state))
        return;
    int64_t margin_ms = sale.payment.window_ms / MARGIN_PART;
    if (margin_ms > MARGIN_MS) margin_ms = MARGIN_MS;
    if (sale.payment.window_ms == 0) { /* held for ever: nothing is to be paid */
        http_send_problem(request, PROBLEM_ORDER_PAID, NULL);
    } else if (standing.pay_by_ms - standing.now_ms < margin_ms) {
        http_send_problem(request, PROBLEM_TOO_LATE_TO_PAY, NULL);
    } else {
        send_pay_url(service, request, &sale, &standing);
    }
}

/* Whether it is the order that the buyer names, if he does; else that was answered. */
static bool is_meant(struct http_request *request, const char *order)
{
    char named[IDEMPOTENCY_KEY_MAX + 1] = "";

    if (!request->match || strcmp(request->match, "*") == 0) return true;
    if (!http_unquote_key(request->match, named))
        return http_refuse(request, PROBLEM_INVALID_REQUEST, "If-Match",
                           "If-Match is * or an order's id in double quotes.");
    if (strcmp(named, order) == 0) return true;
    return http_refuse(request, PROBLEM_PRECONDITION_FAILED, "If-Match",
                       "Your order is another one. Nothing was cancelled.");
}

void payments_cancel(struct service *service, struct http_request *request, const char *id)
{
    static const char *const states[] = {[CANCEL_DONE] = "cancelled",
                                         [CANCEL_BEFORE] = "cancelled",
                                         [CANCEL_IS_PAID] = "paid",
                                         [CANCEL_HAS_EXPIRED] = "expired",
                                         [CANCEL_NO_ORDER] = ""};
    char buyer[BUYER_ID_MAX + 1];
    char buffer[512];
    struct text body = TEXT_OVER(buffer);
    struct order order = {0};
    struct lk_error err = {0};
    cancel_end end = CANCEL_NO_ORDER;

    if (!buyers_let_in(service, request, buyer)) return;
    if (!handlers_read_body(request, json_read_nothing, NULL)) return;
    store_status status = store_find_order(service->store, id, buyer, &order, &err);
    if (status == STORE_OK && !is_meant(request, order.id)) return;
    if (status == STORE_OK) status = store_cancel_order(service->store, id, &order, &end, &err);
    if (status == STORE_OK && end == CANCEL_NO_ORDER) status = STORE_NOT_FOUND;
    status = handlers_check_not_found(service, id, status);
    if (end == CANCEL_DONE) metrics_count(service->metrics, METRICS_CANCELLED);
    (void)stpcpy(order.state, states[end]);
    if (status == STORE_OK && !handlers_is_booked(service, id, &order)) status = STORE_UNKNOWN;
    if (handlers_has_failed(request, status, &err)) return;
    if (end == CANCEL_IS_PAID || end == CANCEL_HAS_EXPIRED) {
        (void)is_over(request, order.state);
        return;
    }
    http_add_order(&body, &(struct order_view){
                              .id = order.id, .sale_id = id, .buyer = buyer, .state = "cancelled"});
    http_send_json(request, 200, &body);
}

/* ---- operators ------------------------------------------------------------------------------------- */

/* "ORDER:BUYER:AMOUNT:CURRENCY:REASON:STATE:MS" as a line. */
static bool list_refund(const char *payment, const char *row, void *arg)
{
    static const char *const names[] = {"order", "buyer", "amount", "currency", "reason", "state"};
    struct handlers_listing *listing = arg;
    struct text *page = handlers_listing_line(listing);
    char part[BUYER_ID_MAX + 1];

    if (!page) return false;
    TEXT_ADD(page, "{");
    text_add_member(page, "payment", payment);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strcspn(row, ":");

        (void)snprintf(part, sizeof part, "%.*s", (int)len, row);
        if (i == 2)
            text_add_count(page, names[i], strtoll(part, NULL, 10));
        else
            text_add_member(page, names[i], part);
        row += len + (row[len] == ':');
    }
    TEXT_ADD(page, "}\n");
    return true;
}

void payments_list_refunds(struct service *service, struct http_request *request, const char *id)
{
    struct handlers_listing listing;
    struct sale sale = {0};
    struct lk_error err = {0};

    handlers_listing_open(&listing, request);
    store_status status = store_load_sale(service->store, id, &sale, &err);
    if (status == STORE_OK)
        status = store_scan_refunds(service->store, id, list_refund, &listing, &err);
    handlers_listing_close(&listing, id, status, &err);
}

void payments_note_refund(struct service *service, struct http_request *request, const char *id)
{
    struct json_event said = {.kind = NULL};
    struct lk_error err = {0};
    struct operator_step step = {.sale = id, .what = "refund"};
    struct refund_note note = {.payment = said.payment};
    char buffer[160];
    struct text body = TEXT_OVER(buffer);

    if (!handlers_read_body(request, json_read_refund, &said)) return;
    step.key = said.payment;
    note.state = said.kind;
    if (!operator_steps_begin(service, request, &step)) return;
    store_status status = store_refund(service->store, id, &note, &err);
    if (status == STORE_OK && note.done == 0) status = STORE_NOT_FOUND;
    status = handlers_check_not_found(service, id, status);
    if (status == STORE_OK && note.done > 0 &&
        !book_has(service->book, id, (struct book_fact){"0", said.kind, said.payment, false}))
        status = STORE_UNKNOWN;
    operator_steps_note_end(service, &step, status, &(struct sale_step_end){.epoch = 0});
    if (handlers_has_failed(request, status, &err)) return;
    if (note.done < 0) {
        (void)http_refuse(request, PROBLEM_CONFLICT, "state", "This refund is done.");
        return;
    }
    TEXT_ADD(&body, "{");
    text_add_member(&body, "payment", said.payment);
    text_add_member(&body, "state", said.kind);
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}
