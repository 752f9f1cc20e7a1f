/*
 * See service.h. Any thread.
 */
#include "service.h"

#include "base/clock.h"

/* Neither a token nor a buyer's name is in it. What no route fits is told as it was asked for. */
static void log_request(const struct http_request *request)
{
    struct log_fields fields = {
        .event = "request",
        .sale = request->trace.sale[0] ? request->trace.sale : NULL,
        .who = request->operator_name[0] ? request->operator_name : request->trace.client,
        .from = request->operator_name[0] ? request->trace.client : NULL,
        .method = request->trace.method ? request->trace.method : request->method,
        .path = request->trace.path ? request->trace.path : request->path,
        .status = request->status,
        .duration_ns = clock_mono_ns() - request->trace.began_ns};

    log_event(LOG_INFO, &fields, "%s %s%s%s: %d, %lld us, %s", fields.method ? fields.method : "-",
              fields.path ? fields.path : "-", fields.sale ? " " : "",
              fields.sale ? fields.sale : "", fields.status, (long long)(fields.duration_ns / 1000),
              fields.who);
}

void service_request_ends(struct service *service, const struct http_request *request)
{
    metrics_count_request(service->metrics, request->route, request->status);
    if (request->trace.began_ns > 0) log_request(request);
    atomic_fetch_sub(&service->requests, 1);
}
