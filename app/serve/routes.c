/*
 * The table of routes and what finds its way through it. Runs on civetweb's threads.
 */
#include "routes.h"

#include <stdio.h>
#include <string.h>

#include "handlers.h"
#include "lab/classroom.h"

struct route {
    const char *method;
    const char *path; /* {id}: one segment, a sale's id; others: one, that the handler judges */
    enum route_port ports;
    enum {
        FOR_ANYBODY,
        FOR_WHO_RUNS_IT, /* anybody on the operators' port; on the buyers' with --public-metrics alone */
        FOR_THE_LAB,     /* with --lab alone */
        FOR_THE_CLASS,   /* with --class alone */
        FOR_THE_TEACHER, /* likewise, and a token that operates is wanted */
        FOR_READERS, /* a token of any operator's is wanted; of the next two of one who may so much */
        FOR_OPERATORS,
        FOR_ADMINS
    } who;
    route_handler handler;
};

#define SALES       "/api/v1/sales"
#define ADMIN_SALES "/api/v1/admin/sales"
#define LAB         "/api/v1/lab"
#define CLASS       "/api/v1/admin/class/seats"

static const struct route routes[] = {
    {"GET", "/livez", PORT_BOTH, FOR_ANYBODY, status_livez},
    {"POST", SALES "/{id}/orders", PORT_BUYERS, FOR_ANYBODY, buyers_buy},
    {"GET", SALES "/{id}/orders/me", PORT_BUYERS, FOR_ANYBODY, buyers_show_order},
    {"DELETE", SALES "/{id}/orders/me", PORT_BUYERS, FOR_ANYBODY, payments_cancel},
    {"POST", SALES "/{id}/orders/me/payment", PORT_BUYERS, FOR_ANYBODY, payments_start},
    {"POST", "/api/v1/payments/events", PORT_BUYERS, FOR_ANYBODY, payments_take_event},
    {"GET", SALES "/{id}", PORT_BUYERS, FOR_ANYBODY, buyers_show_sale},
    {"GET", SALES "/{id}/events", PORT_BUYERS, FOR_ANYBODY, streams_watch_sale},
    {"POST", SALES "/{id}/waiting-room", PORT_BUYERS, FOR_ANYBODY, buyers_take_place},
    {"GET", SALES "/{id}/waiting-room", PORT_BUYERS, FOR_ANYBODY, buyers_show_place},
    {"GET", SALES, PORT_BUYERS, FOR_ANYBODY, buyers_list_sales},
    {"GET", "/api/v1/time", PORT_BUYERS, FOR_ANYBODY, buyers_time},
    {"POST", ADMIN_SALES, PORT_OPERATORS, FOR_OPERATORS, operators_create_sale},
    {"GET", ADMIN_SALES, PORT_OPERATORS, FOR_READERS, operators_list_sales},
    {"GET", ADMIN_SALES "/{id}", PORT_OPERATORS, FOR_READERS, operators_show_sale},
    {"PATCH", ADMIN_SALES "/{id}", PORT_OPERATORS, FOR_OPERATORS, operator_steps_patch},
    {"DELETE", ADMIN_SALES "/{id}", PORT_OPERATORS, FOR_ADMINS, operator_steps_remove},
    {"POST", ADMIN_SALES "/{id}/pause", PORT_OPERATORS, FOR_OPERATORS, operator_steps_pause},
    {"POST", ADMIN_SALES "/{id}/resume", PORT_OPERATORS, FOR_OPERATORS, operator_steps_resume},
    {"POST", ADMIN_SALES "/{id}/restock", PORT_OPERATORS, FOR_OPERATORS, operator_steps_restock},
    {"POST", ADMIN_SALES "/{id}/end", PORT_OPERATORS, FOR_ADMINS, operator_steps_end},
    {"POST", ADMIN_SALES "/{id}/archive", PORT_OPERATORS, FOR_ADMINS, operator_steps_archive},
    {"GET", ADMIN_SALES "/{id}/audit", PORT_OPERATORS, FOR_READERS, operator_steps_audit},
    {"GET", ADMIN_SALES "/{id}/orders", PORT_OPERATORS, FOR_OPERATORS, operators_list_orders},
    {"GET", ADMIN_SALES "/{id}/refunds", PORT_OPERATORS, FOR_READERS, payments_list_refunds},
    {"POST", ADMIN_SALES "/{id}/refunds", PORT_OPERATORS, FOR_OPERATORS, payments_note_refund},
    {"GET", "/api/v1/admin/operator", PORT_OPERATORS, FOR_READERS, operators_show_operator},
    {"GET", LAB "/scenarios", PORT_BUYERS, FOR_THE_LAB, lab_routes_list_scenarios},
    {"POST", LAB "/scenarios/{name}/runs", PORT_BUYERS, FOR_THE_LAB, lab_routes_run_scenario},
    {"POST", LAB "/plays", PORT_BUYERS, FOR_THE_LAB, lab_routes_play},
    {"POST", LAB "/explorations", PORT_BUYERS, FOR_THE_LAB, lab_routes_explore},
    {"GET", LAB "/guards", PORT_BUYERS, FOR_THE_LAB, lab_routes_list_guards},
    {"GET", LAB "/guards/{name}/source", PORT_BUYERS, FOR_THE_LAB, lab_routes_show_guard_source},
    {"GET", LAB "/ways", PORT_BUYERS, FOR_THE_LAB, lab_routes_show_ways},
    {"PUT", LAB "/sales/{id}/guard", PORT_BUYERS, FOR_THE_LAB, lab_routes_switch_guard},
    {"POST", LAB "/class/seats", PORT_BUYERS, FOR_THE_CLASS, class_routes_sit_down},
    {"GET", LAB "/class/seat", PORT_BUYERS, FOR_THE_CLASS, class_routes_show_seat},
    {"POST", LAB "/class/seat/sale", PORT_BUYERS, FOR_THE_CLASS, class_routes_renew_sale},
    {"GET", CLASS, PORT_OPERATORS, FOR_THE_TEACHER, class_routes_list_seats},
    {"DELETE", CLASS "/{seat}", PORT_OPERATORS, FOR_THE_TEACHER, class_routes_free_seat},
    {"GET", "/readyz", PORT_BOTH, FOR_ANYBODY, status_readyz},
    {"GET", "/version", PORT_BOTH, FOR_WHO_RUNS_IT, status_version},
    {"GET", "/metrics", PORT_BOTH, FOR_WHO_RUNS_IT, metrics_page_show},
    {"GET", "/openapi.json", PORT_BOTH, FOR_ANYBODY, documents_show_api},
    {"GET", "/problems/{name}", PORT_BOTH, FOR_ANYBODY, documents_show_problem},
    {"GET", "/", PORT_BUYERS, FOR_ANYBODY, pages_show},
    {"GET", "/lab", PORT_BUYERS, FOR_THE_LAB, pages_show},
    {"GET", "/lab/errata", PORT_BUYERS, FOR_THE_LAB, pages_show},
    {"GET", "/ways", PORT_BUYERS, FOR_THE_LAB, pages_show},
    {"GET", "/class", PORT_BUYERS, FOR_THE_CLASS, pages_show},
    {"GET", "/classroom", PORT_OPERATORS, FOR_THE_CLASS, pages_show},
    {"GET", "/dashboard", PORT_OPERATORS, FOR_ANYBODY, pages_show},
    {"GET", "/assets/{folder}/{file}", PORT_BOTH, FOR_ANYBODY, pages_show},
};

enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

static bool needs_token(const struct route *route)
{
    return route->who >= FOR_THE_TEACHER;
}

static operator_role role_of(const struct route *route)
{
    if (route->who == FOR_READERS) return OPERATOR_READS;
    return route->who == FOR_ADMINS ? OPERATOR_IS_ADMIN : OPERATOR_OPERATES;
}

static bool is_there(const struct route *route, const struct service *service,
                     const struct http_request *request)
{
    if (route->who == FOR_WHO_RUNS_IT) return request->is_told_all;
    if (route->who == FOR_THE_LAB) return service->config->lab;
    return service->classroom || (route->who != FOR_THE_CLASS && route->who != FOR_THE_TEACHER);
}

bool routes_at(size_t index, struct route_text *out)
{
    if (index >= ROUTE_COUNT) return false;
    *out = (struct route_text){.method = routes[index].method,
                               .path = routes[index].path,
                               .is_for_buyers = routes[index].ports & PORT_BUYERS,
                               .is_for_operators = routes[index].ports & PORT_OPERATORS,
                               .needs_token = needs_token(&routes[index])};
    return true;
}

bool routes_label(size_t index, const char **out_method, const char **out_path)
{
    if (index >= ROUTE_COUNT) return false;
    *out_method = routes[index].method;
    *out_path = routes[index].path;
    return true;
}

bool routes_path_fits(const char *pattern, const char *path, char id[SALE_ID_MAX + 1])
{
    id[0] = '\0';
    for (; *pattern; pattern++) {
        size_t len = 0;

        if (*pattern != '{') {
            if (*pattern != *path++) return false;
            continue;
        }
        pattern = strchr(pattern, '}');
        len = strcspn(path, "/");
        if (!pattern || len == 0) return false;
        if (len <= SALE_ID_MAX) {
            memcpy(id, path, len);
            id[len] = '\0';
            if (!sale_id_is_valid(id)) id[0] = '\0';
        }
        path += len;
    }
    return *path == '\0';
}

/* Not for health checks, pages and metrics. */
static bool counts_for_address(const struct route *route)
{
    return route->ports == PORT_BUYERS && strncmp(route->path, "/api/", 5) == 0;
}

/*
 * Before anything that costs, a signature too.
 *
 * Returns  false when the client's address was over its rate: answered (429).
 */
static bool let_address_in(struct service *service, struct http_request *request)
{
    struct client_address client;
    struct rate_verdict verdict;
    char group[CLIENT_TEXT_SIZE];

    http_find_client(request, &service->config->trusted_proxies, &client);
    (void)client_address_group(&client, group);
    if (request->seat) /* a class may share one address */
        (void)snprintf(group, sizeof group, "seat %u", request->seat);
    verdict = rate_take(service->address_rate, group);
    if (!verdict.is_over) return true;
    metrics_count(service->metrics, METRICS_ADDRESS_LIMITED);
    handlers_send_over_rate(request, &verdict,
                            "Too many from your address. Nothing was executed. Ask again later.");
    return false;
}

static void run(const struct route *route, struct service *service, struct http_request *request,
                const char *id)
{
    if (service->classroom && route->ports == PORT_BUYERS)
        request->seat = classroom_find(service->classroom, request->cookie);
    if (service->address_rate && counts_for_address(route) && !let_address_in(service, request))
        return;
    if (needs_token(route) && !identity_check_operator(service->identity, request, role_of(route)))
        return;
    if (!*id && strstr(route->path, "{id}")) {
        (void)http_refuse(request, PROBLEM_INVALID_REQUEST, "id",
                          "A sale's id is 1 to 40 of a-z 0-9 -.");
        return;
    }
    if (*id && route->ports == PORT_BUYERS && !class_routes_may_see(service, request, id)) {
        handlers_send_store_failure(request, STORE_NOT_FOUND, &(struct lk_error){0});
        return;
    }
    route->handler(service, request, id);
}

static bool method_fits(const struct route *route, const struct http_request *request)
{
    return strcmp(route->method, request->is_head ? "GET" : request->method) == 0;
}

static void add_allowed(struct text *allow, const struct route *route)
{
    text_add_string(allow, allow->len == 0 ? "Allow: " : ", ");
    text_add_string(allow, strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method);
}

static void send_not_allowed(struct http_request *request, struct text *allow)
{
    TEXT_ADD(allow, "\r\n");
    text_add(allow, "", 1); /* NUL */
    http_send_problem(request, PROBLEM_METHOD_NOT_ALLOWED,
                      &(struct http_detail){.headers = allow->data});
}

/* The browser asks before a page's request whether the page may make it. */
static void send_preflight(struct http_request *request, struct text *methods)
{
    char buffer[512];
    struct text headers = TEXT_OVER(buffer);

    TEXT_ADD(&headers, "Access-Control-Allow-Methods: ");
    text_add(&headers, methods->data + strlen("Allow: "), methods->len - strlen("Allow: "));
    TEXT_ADD(
        &headers,
        "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, If-Match, "
        "If-None-Match, Last-Event-ID, Waiting-Ticket, X-Request-Id, X-User-Id\r\n"
        "Access-Control-Max-Age: 7200\r\n");
    text_add(&headers, "", 1); /* NUL */
    http_send(request, &(struct http_answer){.status = 204, .headers = headers.data});
}

static void note_route(struct http_request *request, const struct route *route, const char *id)
{
    request->trace.method = request->is_head ? "HEAD" : route->method;
    request->trace.path = route->path;
    (void)stpcpy(request->trace.sale, id);
}

void routes_serve(struct service *service, enum route_port port, struct http_request *request)
{
    char id[SALE_ID_MAX + 1];
    char buffer[80];
    struct text allow = TEXT_OVER(buffer);

    if (port == PORT_BUYERS)
        request->allowed_origin = cors_allowed(&service->config->cors, request->origin);
    if (request->trace.began_ns > 0) (void)handlers_client(service, request, request->trace.client);
    request->is_told_all = port == PORT_OPERATORS || service->config->public_metrics;

    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!(routes[i].ports & port) || !routes_path_fits(routes[i].path, request->path, id))
            continue;
        if (!is_there(&routes[i], service, request)) continue;
        if (method_fits(&routes[i], request)) {
            request->route = (unsigned)i + 1;
            if (request->trace.began_ns > 0) note_route(request, &routes[i], id);
            run(&routes[i], service, request, id);
            return;
        }
        add_allowed(&allow, &routes[i]);
    }
    if (allow.len > 0 && request->allowed_origin && strcmp(request->method, "OPTIONS") == 0) {
        send_preflight(request, &allow);
    } else if (allow.len > 0) {
        send_not_allowed(request, &allow);
    } else {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, NULL, "Nothing is at this path.");
    }
}
