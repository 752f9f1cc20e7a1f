/*
 * The handlers that the table of routes names: buyers' in buyers.c, operators' in operators.c and
 * operator_steps.c; what both use is in handlers.c.
 */
#ifndef SECKILL_HANDLERS_H
#define SECKILL_HANDLERS_H

#include "auth/operators_log.h"
#include "http/json.h"
#include "service.h"

/* id: the {id} of the path, a valid sale id; "" when the path has none. */
typedef void (*route_handler)(struct service *service, struct http_request *request,
                              const char *id);

/* status.c */
void status_livez(struct service *service, struct http_request *request, const char *id);
void status_readyz(struct service *service, struct http_request *request, const char *id);
void status_version(struct service *service, struct http_request *request, const char *id);

void buyers_time(struct service *service, struct http_request *request, const char *id);
void buyers_list_sales(struct service *service, struct http_request *request, const char *id);
void buyers_show_sale(struct service *service, struct http_request *request, const char *id);
void buyers_buy(struct service *service, struct http_request *request, const char *id);
void buyers_show_order(struct service *service, struct http_request *request, const char *id);
void buyers_take_place(struct service *service, struct http_request *request, const char *id);
void buyers_show_place(struct service *service, struct http_request *request, const char *id);

/* payments.c */
void payments_take_event(struct service *service, struct http_request *request, const char *id);
void payments_start(struct service *service, struct http_request *request, const char *id);
void payments_cancel(struct service *service, struct http_request *request, const char *id);
void payments_list_refunds(struct service *service, struct http_request *request, const char *id);
void payments_note_refund(struct service *service, struct http_request *request, const char *id);

/* Who asks, if not too often; else it was answered (401, 429). */
bool buyers_let_in(struct service *service, struct http_request *request,
                   char out[BUYER_ID_MAX + 1]);

void operators_create_sale(struct service *service, struct http_request *request, const char *id);
void operators_list_sales(struct service *service, struct http_request *request, const char *id);
void operators_show_sale(struct service *service, struct http_request *request, const char *id);
void operators_show_operator(struct service *service, struct http_request *request, const char *id);
void operators_list_orders(struct service *service, struct http_request *request, const char *id);

/* Whether a sale may be sold by that guard here; "": the service's. False: answered. */
bool operators_allow_guard(const struct service *service, struct http_request *request,
                           const char *name);
/* Create a sale, written down and logged; guard "": the service's. False: answered. */
bool operators_put_up(struct service *service, struct http_request *request, struct sale *sale);

/* waiting_answers.c */
void waiting_answers_send(struct http_request *request, const char *id, const char *ticket,
                          const struct waiting_view *view);
/* Whether the sale's waiting room lets this buyer buy; else that was answered. */
bool waiting_answers_may_buy(struct service *service, struct http_request *request,
                             const struct waiting_asker *who);

/* streams.c: events of a sale, until the client goes. */
void streams_watch_sale(struct service *service, struct http_request *request, const char *id);

/* lab/class_routes.c */
void class_routes_sit_down(struct service *service, struct http_request *request, const char *id);
void class_routes_show_seat(struct service *service, struct http_request *request, const char *id);
void class_routes_renew_sale(struct service *service, struct http_request *request, const char *id);
void class_routes_list_seats(struct service *service, struct http_request *request, const char *id);
void class_routes_free_seat(struct service *service, struct http_request *request, const char *id);
/* Whether the class lets this request see that sale. */
bool class_routes_may_see(const struct service *service, const struct http_request *request,
                          const char *id);
/* In a class the list of sales is one's own alone. */
void class_routes_list_sales(struct service *service, struct http_request *request);

/* lab/lab_routes.c */
void lab_routes_list_scenarios(struct service *service, struct http_request *request,
                               const char *id);
void lab_routes_run_scenario(struct service *service, struct http_request *request, const char *id);
void lab_routes_play(struct service *service, struct http_request *request, const char *id);
void lab_routes_explore(struct service *service, struct http_request *request, const char *id);
void lab_routes_list_guards(struct service *service, struct http_request *request, const char *id);
void lab_routes_show_guard_source(struct service *service, struct http_request *request,
                                  const char *id);
void lab_routes_show_ways(struct service *service, struct http_request *request, const char *id);
void lab_routes_switch_guard(struct service *service, struct http_request *request, const char *id);

/* operator_steps.c */
void operator_steps_end(struct service *service, struct http_request *request, const char *id);
void operator_steps_pause(struct service *service, struct http_request *request, const char *id);
void operator_steps_resume(struct service *service, struct http_request *request, const char *id);
void operator_steps_patch(struct service *service, struct http_request *request, const char *id);
void operator_steps_restock(struct service *service, struct http_request *request, const char *id);
void operator_steps_remove(struct service *service, struct http_request *request, const char *id);
void operator_steps_archive(struct service *service, struct http_request *request, const char *id);
void operator_steps_audit(struct service *service, struct http_request *request, const char *id);

/* The operators' log, around each step: what is not written down is not done (503, already sent), and
   nobody is told what is not written down, if it can be. */
bool operator_steps_begin(struct service *service, struct http_request *request,
                          struct operator_step *step);
void operator_steps_note_end(struct service *service, struct operator_step *step,
                             store_status status, const struct sale_step_end *taken);

/* documents.c: what does not depend on any sale. */
void documents_show_api(struct service *service, struct http_request *request, const char *id);
void documents_show_problem(struct service *service, struct http_request *request, const char *id);

/* metrics_page.c */
void metrics_page_show(struct service *service, struct http_request *request, const char *id);

/* pages.c: the files of web/. */
void pages_show(struct service *service, struct http_request *request, const char *id);

/* Read and judge the body. Returns  false when that was answered: 400, 408, 415. */
bool handlers_read_body(struct http_request *request, json_reader *read, void *out);
/* The client's address, for logs. Returns out. */
const char *handlers_client(const struct service *service, const struct http_request *request,
                            char out[CLIENT_TEXT_SIZE]);
/* Answer that somebody asks too often: 429. */
void handlers_send_over_rate(struct http_request *request, const struct rate_verdict *verdict,
                             const char *detail);
/* Note in a sale whether this instance sells it by another guard than its own, and how far its waiting room is. */
void handlers_note_here(struct service *service, struct sale *sale);
/* For both: answer with what the store said, when that was not OK, and log it. */
void handlers_send_store_failure(struct http_request *request, store_status status,
                                 const struct lk_error *err);
/* What the store said of an order: a sale that the book has is not "no such sale", but forgotten by Redis, and made
   again; that is hurried. */
store_status handlers_check_not_found(struct service *service, const char *id, store_status status);
/* Whether it was not OK; then that is answered. */
bool handlers_has_failed(struct http_request *request, store_status status,
                         const struct lk_error *err);
/* Whether an order, as it is told of, is in the book where that is waited for. */
bool handlers_is_booked(struct service *service, const char *id, const struct order *order);
/* Lines on their way out, as NDJSON; the answer begins with the first, so that 404 can still be said before. */
enum { HANDLERS_LINE_MAX = 512 };
struct handlers_listing {
    struct http_request *request;
    struct http_stream stream;
    struct text page;
    char buffer[4096];
    bool has_begun;
};
void handlers_listing_open(struct handlers_listing *listing, struct http_request *request);
/* Where the next line is added to; NULL: the client has gone. */
struct text *handlers_listing_line(struct handlers_listing *listing);
/* Answer with what the store said, or end what has begun. */
void handlers_listing_close(struct handlers_listing *listing, const char *id, store_status status,
                            const struct lk_error *err);
/* Send a body made by json.h, and free it; NULL is answered as an internal error. */
void handlers_send_made(struct http_request *request, const struct http_answer *answer, char *body);
/* The sale as it is now. taken: the step that led here, and what a restock has said about its units;
   NULL: none. */
void handlers_send_sale(struct service *service, struct http_request *request, const char *id,
                        enum json_view view, const struct sale_step_end *taken);

#endif
