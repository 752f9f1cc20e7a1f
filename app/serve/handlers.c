/*
 * What handlers of both ports share. Runs on civetweb's threads.
 */
#include "handlers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guards/base/guard.h"

enum { LOG_EVERY_MS = 1000 };

/* A store that is down is worth a line now and then, not one per request. */
static bool may_log_now(void)
{
    static atomic_llong next_ms;
    long long now_ms = clock_mono_ms();
    long long due_ms = atomic_load(&next_ms);

    return now_ms >= due_ms &&
           atomic_compare_exchange_strong(&next_ms, &due_ms, now_ms + LOG_EVERY_MS);
}

void handlers_send_store_failure(struct http_request *request, store_status status,
                                 const struct lk_error *err)
{
    static const struct {
        http_problem problem;
        struct http_detail detail;
    } answers[] = {
        [STORE_OK] = {PROBLEM_INTERNAL, {0}},
        [STORE_NOT_FOUND] = {PROBLEM_NOT_FOUND, {.detail = "No such sale, or no such order."}},
        [STORE_EXISTS] = {PROBLEM_CONFLICT, {.detail = "A sale of this id exists already."}},
        [STORE_UNAVAILABLE] = {PROBLEM_STORE_UNAVAILABLE, {.headers = "Retry-After: 1\r\n"}},
        [STORE_UNKNOWN] = {PROBLEM_OUTCOME_UNKNOWN, {.headers = "Retry-After: 1\r\n"}},
        [STORE_FAILED] = {PROBLEM_INTERNAL, {0}},
    };
    static const struct http_detail unsynced = {
        .detail =
            "It is there, but too few replicas have it yet, so it may be lost still. Ask again.",
        .headers = "Retry-After: 1\r\n"};
    bool is_failure = status != STORE_NOT_FOUND && status != STORE_EXISTS;
    bool is_unsynced = status == STORE_UNKNOWN && err->code == LK_UNSYNCED;

    assert(status != STORE_OK);
    if (is_failure && may_log_now())
        log_line(LOG_ERROR, "store: %s", err->text[0] ? err->text : lk_status_name(err->code));
    http_send_problem(request, answers[status].problem,
                      is_unsynced ? &unsynced : &answers[status].detail);
}

store_status handlers_check_not_found(struct service *service, const char *id, store_status status)
{
    struct sale sale;

    if (status == STORE_NOT_FOUND && book_keeps(service->book, id) &&
        store_load_sale(service->store, id, &sale, NULL) == STORE_NOT_FOUND)
        status = STORE_UNAVAILABLE;
    if (status == STORE_UNAVAILABLE) book_wake(service->book);
    return status;
}

bool handlers_has_failed(struct http_request *request, store_status status,
                         const struct lk_error *err)
{
    if (status != STORE_OK) handlers_send_store_failure(request, status, err);
    return status != STORE_OK;
}

bool handlers_is_booked(struct service *service, const char *id, const struct order *order)
{
    return book_has(service->book, id, (struct book_fact){order->id, order->state, "", false});
}

void handlers_send_made(struct http_request *request, const struct http_answer *answer, char *body)
{
    if (!body) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    http_send(request, &(struct http_answer){.status = answer->status,
                                             .type = HTTP_JSON,
                                             .headers = answer->headers,
                                             .body = body,
                                             .body_len = strlen(body)});
    free(body);
}

/* Its own function: its 4 KiB are on the stack of those alone whose clients send something. */
__attribute__((noinline)) bool handlers_read_body(struct http_request *request, json_reader *read,
                                                  void *out)
{
    struct http_body body;
    struct json_error error = {0};

    if (!http_read_body(request, &body)) return false;
    if (read(body.data, body.len, out, &error)) return true;
    return http_refuse(request, PROBLEM_INVALID_REQUEST, error.field, error.detail);
}

const char *handlers_client(const struct service *service, const struct http_request *request,
                            char out[CLIENT_TEXT_SIZE])
{
    struct client_address client;

    http_find_client(request, &service->config->trusted_proxies, &client);
    return client_address_show(&client, out);
}

void handlers_send_over_rate(struct http_request *request, const struct rate_verdict *verdict,
                             const char *detail)
{
    char buffer[40];
    struct text headers = TEXT_OVER(buffer);

    TEXT_ADD(&headers, "Retry-After: ");
    text_add_number(&headers, verdict->retry_s);
    TEXT_ADD(&headers, "\r\n");
    text_add(&headers, "", 1); /* NUL */
    http_send_problem(request, PROBLEM_QUOTA_EXCEEDED,
                      &(struct http_detail){.detail = detail, .headers = buffer});
}

void handlers_note_here(struct service *service, struct sale *sale)
{
    const struct guard *here = group_commit_guard(service->commit, sale->id);
    struct waiting_view view;

    sale->guard_here = here && strcmp(here->name, sale->guard) != 0 ? here->name : NULL;
    if (sale->waiting.admit == 0 ||
        waiting_rooms_view(service->waiting, &(struct waiting_asker){sale->id, "", NULL}, &view,
                           NULL) != STORE_OK)
        return;
    sale->waiting.admitted = view.admitted < view.given ? view.admitted : view.given;
    sale->waiting.waiting = view.given - sale->waiting.admitted;
}

void handlers_send_sale(struct service *service, struct http_request *request, const char *id,
                        enum json_view view, const struct sale_step_end *taken)
{
    struct http_answer answer = {.status = 200};
    struct lk_error err = {0};
    struct sale sale = {0};
    store_status status = store_load_sale(service->store, id, &sale, &err);

    if (handlers_has_failed(request, status, &err)) return;
    handlers_note_here(service, &sale);
    if (taken && sale.sellable_ms == 0) sale.sellable_ms = taken->sellable_ms;
    if (taken && taken->step == SALE_STEP_REPEATED)
        answer.headers = "Idempotency-Replayed: true\r\n";
    handlers_send_made(request, &answer, json_of_sale(&sale, view));
}

/* ---- lists ------------------------------------------------------------------------------------- */

void handlers_listing_open(struct handlers_listing *listing, struct http_request *request)
{
    listing->request = request;
    listing->has_begun = false;
    listing->page = TEXT_OVER(listing->buffer);
}

static void begin_listing(struct handlers_listing *listing)
{
    if (listing->has_begun) return;
    listing->has_begun = true;
    http_stream_begin(&listing->stream, listing->request, "application/x-ndjson");
}

static bool flush_page(struct handlers_listing *listing)
{
    bool sent = !listing->page.is_cut && /* by a value that no script of ours writes */
                http_stream_add(&listing->stream, listing->page.data, listing->page.len);

    listing->page.len = 0;
    return sent;
}

struct text *handlers_listing_line(struct handlers_listing *listing)
{
    struct text *page = &listing->page;

    begin_listing(listing);
    if (page->size - page->len < HANDLERS_LINE_MAX && !flush_page(listing)) return NULL;
    return page;
}

void handlers_listing_close(struct handlers_listing *listing, const char *id, store_status status,
                            const struct lk_error *err)
{
    if (status != STORE_OK && !listing->has_begun) {
        handlers_send_store_failure(listing->request, status, err);
        return;
    }
    begin_listing(listing);
    if (flush_page(listing) && status == STORE_OK) {
        http_stream_end(&listing->stream);
        return;
    }
    log_event(LOG_WARN, &(struct log_fields){.event = "list", .sale = id},
              "sale %s: a list was broken off", id);
    http_stream_break(&listing->stream);
}
