/*
 * The routes of a class: a learner sits down and puts a sale up that is his own; the teacher sees who is
 * where. Runs on civetweb's threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "classroom.h"
#include "serve/handlers.h"

enum { UNITS = 20, SEAT_SIZE = 1024 };

/* ---- a learner ----------------------------------------------------------------------------------- */

static void send_seat(struct http_request *request, int status, const struct class_seat *seat,
                      const char *headers)
{
    char buffer[SEAT_SIZE];
    struct text body = TEXT_OVER(buffer);

    TEXT_ADD(&body, "{");
    text_add_count(&body, "seat", seat->number);
    text_add_member(&body, "name", seat->name);
    text_add_member(&body, "sale", seat->sale.text);
    TEXT_ADD(&body, "}\n");
    http_send(request, &(struct http_answer){.status = status,
                                             .type = "application/json",
                                             .headers = headers,
                                             .body = body.data,
                                             .body_len = body.len});
}

/* The seat that asks; false: answered. */
static bool find_seat(struct service *service, struct http_request *request, struct class_seat *out)
{
    if (classroom_look(service->classroom, request->seat, out)) return true;
    return http_refuse(request, PROBLEM_NOT_FOUND, "seat",
                       "You have no seat in this class; /class gives you one.");
}

/* A new sale of the seat's, sold by that guard; "": the service's. False: answered. */
static bool put_up(struct service *service, struct http_request *request, const char *guard,
                   struct class_seat *seat)
{
    struct sale sale = {.initial = UNITS};

    /* Before the seat has a new name, and loses the old one's sale. */
    if (!operators_allow_guard(service, request, guard)) return false;
    if (!classroom_next_sale(service->classroom, seat->number, &seat->sale))
        return http_refuse(request, PROBLEM_CONFLICT, "seat",
                           "A seat puts up 100 sales; the teacher can free it.");
    (void)stpcpy(sale.id, seat->sale.text);
    (void)stpncpy(sale.title, seat->name, SALE_TITLE_MAX);
    (void)stpncpy(sale.guard, guard, SALE_GUARD_MAX);
    return operators_put_up(service, request, &sale);
}

void class_routes_sit_down(struct service *service, struct http_request *request, const char *id)
{
    char name[CLASS_NAME_MAX + 1] = "";
    char token[CLASS_TOKEN_SIZE];
    char cookie[128];
    struct class_seat seat = {.number = 0};

    (void)id;
    if (!handlers_read_body(request, json_read_name, name)) return;
    if (classroom_look(service->classroom, request->seat, &seat)) {
        send_seat(request, 200, &seat, NULL);
        return;
    }
    if (!classroom_take(service->classroom, name, token, &seat)) {
        (void)http_refuse(request, PROBLEM_CONFLICT, "seat",
                          "Every seat of this class is taken; the teacher can free one.");
        return;
    }
    if (!put_up(service, request, "", &seat)) {
        (void)classroom_leave(service->classroom, seat.number);
        return;
    }
    (void)snprintf(cookie, sizeof cookie,
                   "Set-Cookie: seat=%s; Path=/; HttpOnly; SameSite=Strict\r\n", token);
    log_line(LOG_INFO, "class: seat %u is taken", seat.number);
    send_seat(request, 201, &seat, cookie);
}

void class_routes_show_seat(struct service *service, struct http_request *request, const char *id)
{
    struct class_seat seat = {.number = 0};

    (void)id;
    if (find_seat(service, request, &seat)) send_seat(request, 200, &seat, NULL);
}

void class_routes_renew_sale(struct service *service, struct http_request *request, const char *id)
{
    char guard[SALE_GUARD_MAX + 1] = "";
    struct class_seat seat = {.number = 0};

    (void)id;
    if (handlers_read_body(request, json_read_guard, guard) && find_seat(service, request, &seat) &&
        put_up(service, request, guard, &seat))
        send_seat(request, 201, &seat, NULL);
}

bool class_routes_may_see(const struct service *service, const struct http_request *request,
                          const char *id)
{
    return !service->classroom || classroom_may_see(service->classroom, request->seat, id);
}

void class_routes_list_sales(struct service *service, struct http_request *request)
{
    struct class_seat seat = {.number = 0};
    struct sale sale = {0};
    struct lk_error err = {0};
    char *json = NULL;
    char *all = NULL;

    if (classroom_look(service->classroom, request->seat, &seat)) {
        store_status status = store_load_sale(service->store, seat.sale.text, &sale, &err);

        if (handlers_has_failed(request, status, &err)) return;
        handlers_note_here(service, &sale);
        json = json_of_sale(&sale, JSON_FOR_BUYERS);
    }
    if (asprintf(&all, "{\"sales\":[%s]}", json ? json : "") < 0) all = NULL;
    free(json);
    handlers_send_made(request, &(struct http_answer){.status = 200}, all);
}

/* ---- the teacher --------------------------------------------------------------------------------- */

static void add_seat(struct text *body, const struct class_seat *seat, const struct sale *sale)
{
    TEXT_ADD(body, "{");
    text_add_count(body, "seat", seat->number);
    text_add_member(body, "name", seat->name);
    text_add_member(body, "run", seat->run);
    text_add_member(body, "schedule", seat->schedule);
    text_add_count(body, "plays", seat->plays);
    text_add_count(body, "broken", seat->broken);
    text_add_count(body, "seenMsAgo", clock_mono_ms() - seat->seen_ms);
    text_add_member(body, "sale", seat->sale.text);
    if (sale->id[0]) {
        text_add_member(body, "guard", sale->guard);
        text_add_count(body, "stock", sale->initial);
        text_add_count(body, "left", sale->left);
    }
    TEXT_ADD(body, "}");
}

/* All that somebody sits on, and their sales. */
struct taken {
    size_t count;
    struct class_seat seats[CLASS_SEATS_MAX];
    struct sale_id ids[CLASS_SEATS_MAX];
    struct sale sales[CLASS_SEATS_MAX];
};

/* Owned; NULL: no memory. */
static char *taken_json(const struct taken *taken, int64_t all)
{
    size_t size = SEAT_SIZE * (taken->count + 1);
    char *made = malloc(size);
    struct text body = {.data = made, .size = size};

    if (!made) return NULL;
    TEXT_ADD(&body, "{\"seats\":[");
    for (size_t i = 0; i < taken->count; i++) {
        if (i > 0) TEXT_ADD(&body, ",");
        add_seat(&body, &taken->seats[i], &taken->sales[i]);
    }
    TEXT_ADD(&body, "]");
    text_add_count(&body, "of", all);
    text_add(&body, "}\n", sizeof "}\n");
    if (!body.is_cut) return made;
    free(made);
    return NULL;
}

void class_routes_list_seats(struct service *service, struct http_request *request, const char *id)
{
    struct taken *taken = calloc(1, sizeof *taken);
    struct lk_error err = {0};
    store_status status = STORE_OK;

    (void)id;
    for (unsigned number = 1; taken && number <= CLASS_SEATS_MAX; number++) {
        struct class_seat *seat = &taken->seats[taken->count];

        if (classroom_look(service->classroom, number, seat))
            taken->ids[taken->count++] = seat->sale;
    }
    if (taken && taken->count > 0)
        status = store_load_sales(service->store, taken->ids, taken->count, taken->sales, &err);
    if (!handlers_has_failed(request, status, &err))
        handlers_send_made(request, &(struct http_answer){.status = 200},
                           taken ? taken_json(taken, service->config->class_seats) : NULL);
    free(taken);
}

void class_routes_free_seat(struct service *service, struct http_request *request, const char *id)
{
    unsigned number = (unsigned)strtoul(id, NULL, 10);

    if (!classroom_leave(service->classroom, number)) {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, "seat", "Nobody sits there.");
        return;
    }
    log_line(LOG_INFO, "class: seat %u was freed", number);
    class_routes_list_seats(service, request, id);
}
