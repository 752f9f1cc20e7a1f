/*
 * A small HTTP proxy for tests, as stands in front of a deployment: each request goes to the next
 * instance, and what cannot be had from it is answered with a page of the proxy's own, like any proxy
 * does: 503 nobody listens, 502 cut off, 504 no answer in time. It tries nothing twice.
 *
 * Shape    requests without a body; answers with Content-Length, or up to the end of the connection.
 */
#ifndef LOADTEST_ITEST_LT_HTTP_PROXY_H
#define LOADTEST_ITEST_LT_HTTP_PROXY_H

#include <stddef.h>

enum { LT_HTTP_PROXY_INSTANCES = 2 };

struct lt_http_proxy;

/* Listen on a free port of 127.0.0.1, with threads of its own. NULL: no. */
struct lt_http_proxy *lt_http_proxy_start(int *out_port);
/* Close all connections, join the threads. NULL is fine. */
void lt_http_proxy_stop(struct lt_http_proxy *proxy);

/* Where instance 0 or 1 is from now on: a port of 127.0.0.1. */
void lt_http_proxy_set(struct lt_http_proxy *proxy, int instance, int port);

/* Answers of the proxy's own so far. */
unsigned lt_http_proxy_own_answers(const struct lt_http_proxy *proxy);

#endif
