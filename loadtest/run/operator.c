/*
 * One request after the other. One thread.
 */
#include "operator.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/http_client.h"
#include "evidence/ledger.h"
#include "service.h"

/* What a flag says is at fault. */
static bool blame(struct failure *failure)
{
    if (failure) failure->is_usage = true;
    return false;
}

/* Is the sale that was just put up there, at each URL and in that Redis? false: not; `failure` names the flag. */
static bool is_there(const struct service *service, const char *sale, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 64];
    int64_t left = 0;

    for (int i = 0; i < service->count; i++) {
        (void)snprintf(url, sizeof url, "%s/api/v1/sales/%s", service->instances[i].url, sale);
        if (!http_client_send(service->http, &(struct http_request){.url = url}, &reply, failure))
            return blame(failure);
        if (reply.status == 200) continue;
        (void)failure_set(failure,
                          "--url: %s does not sell what was put up at --admin-url (status %ld): "
                          "another service?",
                          service->instances[i].url, reply.status);
        return blame(failure);
    }
    struct ledger *ledger = service_open_ledger(service, failure);
    bool is_found = ledger && ledger_sale_stock(ledger, sale, &left, NULL);
    if (ledger && !is_found)
        (void)failure_set(failure, "--redis: the sale that was put up at --admin-url is not there: "
                                   "another Redis than that of --url?");
    ledger_close(ledger);
    return is_found || blame(failure);
}

/* 200 to this step, or `failure` says what else. */
static bool step(const struct service *service, const char *sale, const char *what, FILE *save,
                 struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 80];

    (void)snprintf(url, sizeof url, "%s/api/v1/admin/sales/%s%s", service->admin_url, sale, what);
    struct http_request request = {
        .url = url, .method = *what ? "POST" : "DELETE", .token = service->token, .save = save};
    return http_client_send(service->http, &request, &reply, failure) &&
           (reply.status == 200 ||
            failure_set(failure, "%s%s: %ld %.120s", sale, what, reply.status, reply.body));
}

static bool save(const struct service *service, const char *sale, const char *path,
                 struct failure *failure)
{
    FILE *file = fopen(path, "we");

    if (!file) return failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_saved = step(service, sale, "/archive", file, failure);
    return (fclose(file) == 0 && is_saved) ||
           (is_saved && failure_set(failure, "%s: %s", path, failure_errno_text()));
}

bool operator_remove_sale(const struct service *service, const char *sale, const char *path,
                          struct failure *failure)
{
    return step(service, sale, "/end", NULL, failure) &&
           (!path || save(service, sale, path, failure)) && step(service, sale, "", NULL, failure);
}

/* "There is no guard of this name. (guard)" of a problem; of what is none only the status. */
static bool tell_refusal(const struct http_reply *reply, struct failure *failure)
{
    json_t *said = json_loads(reply->body, 0, NULL);
    const char *title = json_string_value(json_object_get(said, "title"));
    const char *detail = json_string_value(json_object_get(said, "detail"));
    const char *field = json_string_value(json_object_get(said, "field"));

    (void)failure_set(failure, "the sale was not created: status %ld%s%.200s%s%.40s", reply->status,
                      title ? ": " : "",
                      detail  ? detail
                      : title ? title
                              : "",
                      field ? " --" : "", field ? field : "");
    if (failure) failure->is_usage = reply->status >= 400 && reply->status < 405;
    json_decref(said);
    return false;
}

bool operator_create_sale(const struct service *service, const char *sale, const char *guard,
                          long stock, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 64];

    (void)snprintf(url, sizeof url, "%s/api/v1/admin/sales", service->admin_url);
    json_t *payment = service->window_ms
                          ? json_pack("{s:I,s:i,s:s}", "windowMs", (json_int_t)service->window_ms,
                                      "amount", 199900, "currency", "CNY")
                          : NULL;
    json_t *segments = service->segments ? json_integer(service->segments) : NULL;
    json_t *wish =
        json_pack("{s:s,s:s,s:I,s:s,s:o*,s:o*}", "id", sale, "title", "Load test", "stock",
                  (json_int_t)stock, "guard", guard, "payment", payment, "segments", segments);
    char *json = wish ? json_dumps(wish, JSON_COMPACT) : NULL;
    json_decref(wish);
    if (!json) return failure_set(failure, "out of memory");
    struct http_request request = {.url = url, .json = json, .token = service->token};
    bool is_answered = http_client_send(service->http, &request, &reply, failure);
    free(json);
    if (!is_answered) return false;
    if (reply.status != 201) return tell_refusal(&reply, failure);
    if (service->is_ours || is_there(service, sale, failure)) return true;
    (void)operator_remove_sale(service, sale, NULL,
                               NULL); /* it was put up where it should not be */
    return false;
}
