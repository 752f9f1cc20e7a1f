/*
 * See sale_list.h. The ids are read and kept for a moment, cut into groups; of each group the sales are
 * read when the first asks for one of them, and stay what they are as long as those ids. A page that
 * begins within a group is made of two. Runs on civetweb's threads.
 */
#include "sale_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "handlers.h"

enum { AGE_MS = 100, BURST = 10, GROUP = SALE_LIST_PAGE };

struct sale_list {
    struct service *service; /* borrowed */
    enum json_view view;
    struct cache *ids; /* struct ids; owned */
};

struct group {
    const struct sale_list *list; /* borrowed, as are the ids */
    const struct sale_id *ids;
    size_t count;        /* at most GROUP */
    struct cache *sales; /* struct sales; owned */
};

struct ids {
    struct cache_entry base;
    store_status status;
    struct lk_error err;
    size_t count;
    struct sale_id *ids;   /* owned; by id */
    struct group groups[]; /* of GROUP each, but for the last */
};

struct sales {
    struct cache_entry base;
    store_status status;
    struct lk_error err;
    char *json[GROUP]; /* owned; NULL: there is no such sale */
};

/* ---- what is kept ---------------------------------------------------------------------------- */

static void free_sales(void *thing)
{
    struct sales *self = thing;

    for (size_t i = 0; i < GROUP; i++)
        free(self->json[i]);
    free(self);
}

static void *read_sales(void *arg)
{
    const struct group *group = arg;
    struct service *service = group->list->service;
    struct sales *self = calloc(1, sizeof *self);
    struct sale *sales = calloc(group->count, sizeof *sales);

    if (self)
        self->status =
            sales ? store_load_sales(service->store, group->ids, group->count, sales, &self->err)
                  : STORE_FAILED;
    for (size_t i = 0; self && i < group->count && self->status == STORE_OK; i++) {
        if (!sales[i].id[0]) continue; /* listed, never created */
        handlers_note_here(service, &sales[i]);
        self->json[i] = json_of_sale(&sales[i], group->list->view);
        if (!self->json[i]) self->status = STORE_FAILED;
    }
    free(sales);
    return self;
}

static void free_ids(void *thing)
{
    struct ids *self = thing;

    for (size_t at = 0; at < self->count; at += GROUP)
        cache_free(self->groups[at / GROUP].sales);
    free(self->ids);
    free(self);
}

static void *read_ids(void *arg)
{
    const struct sale_list *list = arg;
    struct ids read = {.count = 0};

    read.status = store_list_ids(list->service->store, &read.ids, &read.count, &read.err);
    struct ids *self =
        calloc(1, sizeof *self + (read.count + GROUP - 1) / GROUP * sizeof self->groups[0]);
    if (!self) {
        free(read.ids);
        return NULL;
    }
    *self = read;
    for (size_t at = 0; at < self->count; at += GROUP) {
        struct group *group = &self->groups[at / GROUP];

        *group = (struct group){.list = list,
                                .ids = &self->ids[at],
                                .count = self->count - at < GROUP ? self->count - at : GROUP};
        group->sales = cache_new(&(struct cache_options){
            .make = read_sales, .free = free_sales, .arg = group, .age_ms = INT32_MAX});
        if (!group->sales) self->status = STORE_FAILED;
    }
    return self;
}

struct sale_list *sale_list_new(struct service *service, enum json_view view)
{
    struct sale_list *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->service = service;
    self->view = view;
    self->ids = cache_new(&(struct cache_options){
        .make = read_ids, .free = free_ids, .arg = self, .age_ms = AGE_MS, .burst = BURST});
    if (self->ids) return self;
    sale_list_free(self);
    return NULL;
}

void sale_list_free(struct sale_list *self)
{
    if (!self) return;
    cache_free(self->ids);
    free(self);
}

/* ---- a page ---------------------------------------------------------------------------------- */

const char *sale_list_query_read(const char *query, struct sale_list_query *out)
{
    char digits[4] = "";

    _Static_assert(SALE_LIST_PAGE < 1000 && SALE_ID_MAX == 40, "the formats below say so");
    *out = (struct sale_list_query){.limit = SALE_LIST_PAGE};
    for (const char *at = query ? query : ""; *at; at += strspn(at, "&")) {
        size_t len = strcspn(at, "&");
        int used = 0;

        if (strncmp(at, "limit=", 6) == 0) {
            if (sscanf(at, "limit=%3[0-9]%n", digits, &used) != 1 || (size_t)used != len)
                return "limit";
            out->limit = strtoul(digits, NULL, 10);
            if (out->limit < 1 || out->limit > SALE_LIST_PAGE) return "limit";
        } else if (strncmp(at, "after=", 6) == 0) {
            if (sscanf(at, "after=%40[a-z0-9-]%n", out->after.text, &used) != 1 ||
                (size_t)used != len)
                return "after";
        }
        at += len;
    }
    return NULL;
}

/* Add the sales from one place in the list to another. */
static store_status add_sales(FILE *out, const struct ids *ids, size_t at, size_t end,
                              struct lk_error *err)
{
    const char *comma = "";
    store_status status = STORE_OK;

    while (at < end && status == STORE_OK) {
        struct cache *cache = ids->groups[at / GROUP].sales;
        struct sales *sales = cache_borrow(cache);
        size_t end_here = (at / GROUP + 1) * GROUP < end ? (at / GROUP + 1) * GROUP : end;

        status = sales ? sales->status : STORE_FAILED;
        if (sales) *err = sales->err;
        for (; at < end_here && status == STORE_OK; at++) {
            if (!sales->json[at % GROUP]) continue;
            (void)fputs(comma, out); /* fclose() tells */
            (void)fputs(sales->json[at % GROUP], out);
            comma = ",";
        }
        cache_return(cache, sales);
    }
    return status;
}

static void send_page(struct http_request *request, const struct ids *ids,
                      const struct sale_list_query *query)
{
    size_t from = 0;
    struct lk_error err = {0};
    store_status status = STORE_FAILED;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    while (from < ids->count && strcmp(ids->ids[from].text, query->after.text) <= 0)
        from++;
    size_t end = ids->count - from > query->limit ? from + query->limit : ids->count;
    if (out) {
        (void)fputs("{\"sales\":[", out);
        status = add_sales(out, ids, from, end, &err);
        (void)fputs("]", out);
        if (end < ids->count)
            (void)fprintf(out, ",\"next\":\"%s?limit=%zu&after=%s\"", request->path, query->limit,
                          ids->ids[end - 1].text);
        (void)fputs("}", out);
        if (fclose(out) != 0) status = STORE_FAILED;
    }
    if (status == STORE_OK) {
        handlers_send_made(request, &(struct http_answer){.status = 200}, text);
    } else {
        free(text);
        handlers_send_store_failure(request, status, &err);
    }
}

void sale_list_send(struct sale_list *self, struct http_request *request)
{
    struct sale_list_query query;
    const char *wrong = sale_list_query_read(request->query, &query);
    struct ids *ids = NULL;

    if (wrong) {
        (void)http_refuse(request, PROBLEM_INVALID_REQUEST, wrong,
                          "limit is from 1 to 100, after a sale's id.");
        return;
    }
    ids = cache_borrow(self->ids);
    if (ids && ids->status == STORE_OK)
        send_page(request, ids, &query);
    else
        handlers_send_store_failure(request, ids ? ids->status : STORE_FAILED,
                                    ids ? &ids->err : &(struct lk_error){0});
    cache_return(self->ids, ids);
}
