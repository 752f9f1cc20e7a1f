/*
 * See service.h. Any thread.
 */
#include "service.h"

void service_request_ends(struct service *service, const struct http_request *request)
{
    metrics_count_request(service->metrics, request->route, request->status);
    atomic_fetch_sub(&service->requests, 1);
}
