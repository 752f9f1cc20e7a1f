/*
 * The handlers that the table of routes names: buyers' in buyers.c, operators' in operators.c and
 * operator_steps.c; what both use is in handlers.c.
 */
#ifndef SECKILL_HANDLERS_H
#define SECKILL_HANDLERS_H

#include "http/json.h"
#include "operators_log.h"
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

void operators_create_sale(struct service *service, struct http_request *request, const char *id);
void operators_list_sales(struct service *service, struct http_request *request, const char *id);
void operators_show_sale(struct service *service, struct http_request *request, const char *id);
void operators_list_orders(struct service *service, struct http_request *request, const char *id);

/* streams.c: events of a sale, until the client goes. */
void streams_watch_sale(struct service *service, struct http_request *request, const char *id);

/* lab_routes.c */
void lab_routes_list_scenarios(struct service *service, struct http_request *request,
                               const char *id);
void lab_routes_run_scenario(struct service *service, struct http_request *request, const char *id);
void lab_routes_list_guards(struct service *service, struct http_request *request, const char *id);
void lab_routes_show_guard_source(struct service *service, struct http_request *request,
                                  const char *id);
void lab_routes_switch_guard(struct service *service, struct http_request *request, const char *id);

/* operator_steps.c */
void operator_steps_end(struct service *service, struct http_request *request, const char *id);
void operator_steps_pause(struct service *service, struct http_request *request, const char *id);
void operator_steps_resume(struct service *service, struct http_request *request, const char *id);
void operator_steps_patch(struct service *service, struct http_request *request, const char *id);
void operator_steps_restock(struct service *service, struct http_request *request, const char *id);
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
/* Note in a sale whether this instance sells it by another guard than its own. */
void handlers_note_guard(struct service *service, struct sale *sale);
/* For both: answer with what the store said, when that was not OK, and log it. */
void handlers_send_store_failure(struct http_request *request, store_status status,
                                 const struct lk_error *err);
/* Whether it was not OK; then that is answered. */
bool handlers_has_failed(struct http_request *request, store_status status,
                         const struct lk_error *err);
/* Send a body made by json.h, and free it; NULL is answered as an internal error. */
void handlers_send_made(struct http_request *request, const struct http_answer *answer, char *body);
/* The sale as it is now. taken: the step that led here, and what a restock has said about its units;
   NULL: none. */
void handlers_send_sale(struct service *service, struct http_request *request, const char *id,
                        enum json_view view, const struct sale_step_end *taken);

#endif
