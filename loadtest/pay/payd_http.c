/*
 * civetweb's threads run answer(). Nothing of a query is shown before its signature was checked.
 */
#include "payd_http.h"

#include <stdlib.h>
#include <string.h>

#include <civetweb.h>

#include "base/clock.h"
#include "payd_sign.h"

enum { BODY_MAX = 256, AMOUNT_MAX = 24, TEXT_MAX = 2048 };

struct payd_http {
    struct mg_context *context; /* owned */
    const char *key;
    struct payd_charges *charges;
};

static int send_answer(struct mg_connection *conn, int status, const char *type, const char *text)
{
    (void)mg_printf(conn,
                    "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                    status, mg_get_response_code_text(conn, status), type, strlen(text), text);
    return status;
}

static int refuse(struct mg_connection *conn, int status, const char *why)
{
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof text, "{\"error\":\"%s\"}\n", why);
    return send_answer(conn, status, "application/json", text);
}

/* Only what may stand in ids, so that it may stand anywhere. */
static bool take_word(const char *query, const char *name, char *out, size_t size)
{
    int length = mg_get_var(query, strlen(query), name, out, size);

    return length > 0 &&
           strspn(out, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
               (size_t)length;
}

static bool read_wish(const char *query, struct payd_wish *out_wish)
{
    char amount[AMOUNT_MAX];
    char *end = amount;

    if (!take_word(query, "sale", out_wish->sale, sizeof out_wish->sale) ||
        !take_word(query, "order", out_wish->order, sizeof out_wish->order) ||
        !take_word(query, "buyer", out_wish->buyer, sizeof out_wish->buyer) ||
        !take_word(query, "currency", out_wish->currency, sizeof out_wish->currency) ||
        !take_word(query, "amount", amount, sizeof amount))
        return false;
    out_wish->amount = strtoll(amount, &end, 10);
    return !*end && out_wish->amount > 0;
}

static int show_page(struct mg_connection *conn, const struct payd_wish *wish)
{
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof text,
                   "<!doctype html><html lang=en><meta charset=utf-8><title>Pay</title>"
                   "<h1>Pay</h1><p>Order %s of sale %s: %lld.%02lld %s</p><form method=post>"
                   "<button name=do value=pay>Pay</button> "
                   "<button name=do value=refuse>Refuse</button></form></html>\n",
                   wish->order, wish->sale, wish->amount / 100, wish->amount % 100, wish->currency);
    return send_answer(conn, 200, "text/html", text);
}

static int charge(const struct payd_http *http, struct mg_connection *conn, struct payd_wish *wish)
{
    struct payd_charge charge;
    char body[BODY_MAX], wanted[16], text[TEXT_MAX];
    int length = mg_read(conn, body, sizeof body);

    wish->is_refused = length > 0 &&
                       mg_get_var(body, (size_t)length, "do", wanted, sizeof wanted) > 0 &&
                       strcmp(wanted, "refuse") == 0;
    if (!payd_charges_take(http->charges, wish, &charge)) return refuse(conn, 503, "out of memory");
    clock_sleep_ms(charge.slow_ms);
    (void)snprintf(text, sizeof text,
                   "{\"payment\":\"%s\",\"charged\":%s,\"amount\":%lld,\"currency\":\"%s\"}\n",
                   charge.payment, charge.is_declined ? "false" : "true", charge.amount,
                   wish->currency);
    return send_answer(conn, 200, "application/json", text);
}

static int answer(struct mg_connection *conn)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    const struct payd_http *http = info->user_data;
    struct payd_wish wish = {.amount = 0};
    bool is_post = strcmp(info->request_method, "POST") == 0;

    if (strcmp(info->local_uri, "/pay") != 0) return refuse(conn, 404, "there is only /pay");
    if (!is_post && strcmp(info->request_method, "GET") != 0)
        return refuse(conn, 405, "only GET and POST");
    if (!payd_sign_is_ours(http->key, info->query_string))
        return refuse(conn, 403, "sig is not of our key");
    if (!read_wish(info->query_string, &wish))
        return refuse(conn, 400, "sale, order, buyer, amount and currency must be there");
    return is_post ? charge(http, conn, &wish) : show_page(conn, &wish);
}

struct payd_http *payd_http_open(const char *listen, const char *key, struct payd_charges *charges,
                                 struct failure *failure)
{
    const char *options[] = {"listening_ports", listen, "num_threads", "32", NULL};
    struct mg_callbacks callbacks = {.begin_request = answer};
    struct payd_http *http = calloc(1, sizeof *http);

    if (http) *http = (struct payd_http){.key = key, .charges = charges};
    if (http) http->context = mg_start(&callbacks, http, options);
    if (http && http->context) return http;
    free(http);
    (void)failure_set(failure, "--listen: cannot listen on %s", listen);
    return NULL;
}

void payd_http_url(const struct payd_http *http, const char *listen, char out[PAYD_URL_MAX])
{
    struct mg_server_port port = {.port = 0};

    (void)mg_get_server_ports(http->context, 1, &port);
    (void)snprintf(out, PAYD_URL_MAX, "http://%.*s:%d/pay", (int)strcspn(listen, ":"), listen,
                   port.port);
}

void payd_http_close(struct payd_http *http)
{
    if (!http) return;
    mg_stop(http->context);
    free(http);
}
