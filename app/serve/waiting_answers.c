/*
 * What is said of the waiting room of a sale, and to whom it has to be said instead of a purchase. Runs on
 * civetweb's threads.
 */
#include "base/hex.h"
#include "handlers.h"

/* Asked again after a part of the wait: a crowd that has hours to wait asks seldom, and who is next often. At the draw all
   would ask at once: the more there are, the later. */
enum { ASK_PART = 4, ASK_LEAST_MS = 500, ASK_MOST_MS = 60000, ASK_OTHERS_MS = 10000, PER_MS = 20 };

static int64_t ask_again_ms(const struct waiting_view *view)
{
    bool has_to_wait = view->turn == WAITING_IN_LINE || view->turn == WAITING_FOR_DRAW;
    int64_t part_ms = has_to_wait ? view->wait_ms / ASK_PART : ASK_OTHERS_MS;
    int64_t least_ms = ASK_LEAST_MS + (view->turn == WAITING_FOR_DRAW ? view->given / PER_MS : 0);

    if (part_ms < least_ms) part_ms = least_ms;
    return part_ms < ASK_MOST_MS ? part_ms : ASK_MOST_MS;
}

static void add_hex(struct text *out, const char *name, const unsigned char bytes[TOKEN_MAC_SIZE])
{
    char hex[2 * TOKEN_MAC_SIZE + 1];

    hex_write(bytes, TOKEN_MAC_SIZE, hex);
    text_add_member(out, name, hex);
}

static void add_place(struct text *out, const struct waiting_view *view)
{
    int64_t ahead = view->place - view->admitted - 1;

    text_add_count(out, "number", view->number);
    text_add_count(out, "waitMs", view->wait_ms);
    if (view->place == 0) return;
    text_add_count(out, "place", view->place);
    text_add_count(out, "ahead", ahead > 0 ? ahead : 0);
}

static void add_view(struct text *out, const char *id, const struct waiting_view *view)
{
    int64_t waiting = view->given - view->admitted;

    text_add_member(out, "saleId", id);
    text_add_member(out, "turn", waiting_turn_name(view->turn));
    if (view->turn == WAITING_NOT_KEPT || view->turn == WAITING_OVER) return;
    if (view->number > 0) add_place(out, view);
    text_add_count(out, "waiting", waiting > 0 ? waiting : 0);
    text_add_count(out, "admitted", view->admitted < view->given ? view->admitted : view->given);
    text_add_count(out, "admitPerSecond", view->admit);
    if (view->starts_in_ms > 0) text_add_count(out, "startsInMs", view->starts_in_ms);
    text_add_count(out, "askAgainMs", ask_again_ms(view));
    if (view->drawn == WAITING_NO_DRAW) return;
    add_hex(out, "commitment", view->commitment);
    if (view->drawn < 0) return;
    add_hex(out, "seed", view->seed);
    text_add_count(out, "drawn", view->drawn);
}

void waiting_answers_send(struct http_request *request, const char *id, const char *ticket,
                          const struct waiting_view *view)
{
    char buffer[768];
    struct text body = TEXT_OVER(buffer);

    TEXT_ADD(&body, "{");
    if (ticket) text_add_member(&body, "ticket", ticket);
    add_view(&body, id, view);
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}

static bool refuse(struct http_request *request, const struct waiting_view *view)
{
    char headers_buffer[40];
    char more_buffer[160];
    struct text headers = TEXT_OVER(headers_buffer);
    struct text more = TEXT_OVER(more_buffer);
    int64_t again_ms = ask_again_ms(view);

    TEXT_ADD(&headers, "Retry-After: ");
    text_add_number(&headers, (again_ms + 999) / 1000);
    TEXT_ADD(&headers, "\r\n");
    text_add(&headers, "", 1); /* NUL */
    TEXT_ADD(&more, ",\"retryAfterMs\":");
    text_add_number(&more, again_ms);
    if (view->number > 0) add_place(&more, view);
    text_add(&more, "", 1);
    http_send_problem(
        request, view->turn == WAITING_NO_TICKET ? PROBLEM_TICKET_REQUIRED : PROBLEM_NOT_YOUR_TURN,
        &(struct http_detail){.headers = headers_buffer, .more = more_buffer});
    return false;
}

/* Whoever has an order is told of it, with a ticket or without: this one read costs who has none. */
static store_status find_order(struct service *service, const struct waiting_asker *who,
                               struct lk_error *err)
{
    struct order order;
    store_status status = store_find_order(service->store, who->sale_id, who->buyer, &order, err);

    return status == STORE_UNKNOWN ? STORE_UNAVAILABLE
                                   : status; /* of the purchase nothing was sent */
}

bool waiting_answers_may_buy(struct service *service, struct http_request *request,
                             const struct waiting_asker *who)
{
    struct waiting_view view;
    struct lk_error err = {0};
    store_status status = waiting_rooms_view(service->waiting, who, &view, &err);

    if (status == STORE_NOT_FOUND) return true;              /* whoever sells says so */
    if (status == STORE_UNKNOWN) status = STORE_UNAVAILABLE; /* of the purchase nothing was sent */
    if (handlers_has_failed(request, status, &err)) return false;
    if (view.turn >= WAITING_LET_IN) return true; /* or it is over, or nobody has to wait */
    if (view.turn == WAITING_NO_TICKET) {
        status = find_order(service, who, &err);
        if (status == STORE_OK) return true;
        if (status != STORE_NOT_FOUND && handlers_has_failed(request, status, &err)) return false;
    }
    metrics_count(service->metrics, METRICS_WAITING_REFUSED);
    return refuse(request, &view);
}
