/*
 * The list of sales, page by page: however many ask for it, Redis is asked for each sale ten times a
 * second (twenty in the first second), and for the sales of one page at once.
 */
#ifndef SECKILL_SALE_LIST_H
#define SECKILL_SALE_LIST_H

#include "http/json.h"

struct sale_list;    /* opaque */
struct service;      /* routes.h */
struct http_request; /* http.h */

enum { SALE_LIST_PAGE = 100 /* sales at most */ };

/* service: borrowed; whole by the first request. NULL when out of memory. */
struct sale_list *sale_list_new(struct service *service, enum json_view view);
/* Nobody may be asking. */
void sale_list_free(struct sale_list *self);

/* Answer with the page that is asked for; "next" leads to the one behind it. */
void sale_list_send(struct sale_list *self, struct http_request *request);

/* ?limit=N&after=ID. Either may be missing; others are not looked at. */
struct sale_list_query {
    size_t limit;         /* from 1 to SALE_LIST_PAGE, which it is when missing */
    struct sale_id after; /* "": from the first */
};

/* query: as sent, or NULL. Gives NULL, or the name of what is wrong in it (static). */
const char *sale_list_query_read(const char *query, struct sale_list_query *out);

#endif
