/*
 * What the service says of itself: alive, ready, which version of what. Runs on civetweb's threads.
 */
#include <stdio.h>
#include <string.h>

#include "handlers.h"

static void send_text(struct http_request *request, int status, const char *text)
{
    http_send(request, &(struct http_answer){.status = status,
                                             .type = "text/plain; charset=utf-8",
                                             .body = text,
                                             .body_len = strlen(text)});
}

void status_livez(struct service *service, struct http_request *request, const char *id)
{
    (void)service;
    (void)id;
    send_text(request, 200, "ok\n");
}

/* In a cluster the sales of the other servers go on. A balancer hears no more than whether it is ready. */
static void send_readiness(struct http_request *request, const struct readiness *now)
{
    bool is_any = now->serving > 0;
    char line[96] = "ready\n";

    if (!request->is_told_all) {
        if (!is_any) (void)snprintf(line, sizeof line, "not ready\n");
    } else if (now->serving < now->servers || !is_any) {
        if (now->refusal[0]) {
            (void)snprintf(line, sizeof line, "%s takes no writes: %s\n",
                           is_any ? "ready, but for the sales of a server that" : "store",
                           now->refusal);
        } else {
            (void)snprintf(line, sizeof line, "%s\n",
                           is_any ? "ready, but for the sales of a server that is away"
                                  : "store unavailable");
        }
    }
    send_text(request, is_any ? 200 : 503, line);
}

void status_readyz(struct service *service, struct http_request *request, const char *id)
{
    struct readiness now;

    (void)id;
    if (atomic_load_explicit(&service->is_draining, memory_order_relaxed)) {
        send_text(request, 503, request->is_told_all ? "stopping\n" : "not ready\n");
        return;
    }
    now = readiness_check(service->readiness);
    send_readiness(request, &now);
}

void status_version(struct service *service, struct http_request *request, const char *id)
{
    char buffer[768];
    struct text body = TEXT_OVER(buffer);
    struct startup_facts facts = startup_report_get(service->report);

    (void)id;
    TEXT_ADD(&body, "{");
    text_add_member(&body, "name", "seckilld");
    text_add_member(&body, "version", SECKILL_VERSION);
    text_add_member(&body, "instance", service->config->instance);
    text_add_member(&body, "redis", facts.version);
    text_add_member(&body, "durability", startup_durability_name(facts.durability));
    text_add_member(&body, "topology", deployment_name(service->deployment->kind));
    text_add_count(&body, "primaries", (long long)lk_client_primaries(service->client));
    text_add_count(&body, "syncReplicas", service->deployment->sync_replicas);
    text_add_member(&body, "promise", deployment_promise(service->deployment));
    text_add_name(&body, "lab");
    text_add_string(&body, service->config->lab ? "true" : "false");
    TEXT_ADD(&body, "}\n");
    http_send_json(request, 200, &body);
}
