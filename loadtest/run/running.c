/*
 * One request after the other. One thread.
 */
#include "running.h"

#include <stdio.h>
#include <string.h>

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

bool running_ask(struct service *service, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 16];

    (void)snprintf(url, sizeof url, "%s/version", service->admin_url);
    if (!http_client_send(service->http, &(struct http_request){.url = url}, &reply, failure))
        return blame(failure);
    json_t *said = reply.status == 200 ? json_loads(reply.body, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(said, "name"));
    const char *version = json_string_value(json_object_get(said, "version"));
    const char *durability = json_string_value(json_object_get(said, "durability"));
    bool is_ours = name && version && strcmp(name, "seckilld") == 0;
    (void)snprintf(service->version, sizeof service->version, "%.60s", version ? version : "?");
    (void)snprintf(service->durability, sizeof service->durability, "%.30s",
                   durability ? durability : "?");
    json_decref(said);
    if (is_ours) return true;
    (void)failure_set(failure, "--admin-url: %s is not the admin port of a seckilld (status %ld)",
                      service->admin_url, reply.status);
    return blame(failure);
}

bool running_check(const struct service *service, const char *sale, struct failure *failure)
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
    bool is_there = ledger && ledger_sale_stock(ledger, sale, &left, NULL);
    if (ledger && !is_there)
        (void)failure_set(failure, "--redis: the sale that was put up at --admin-url is not there: "
                                   "another Redis than that of --url?");
    ledger_close(ledger);
    return is_there || blame(failure);
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

bool running_remove(const struct service *service, const char *sale, const char *path,
                    struct failure *failure)
{
    return step(service, sale, "/end", NULL, failure) &&
           (!path || save(service, sale, path, failure)) && step(service, sale, "", NULL, failure);
}
