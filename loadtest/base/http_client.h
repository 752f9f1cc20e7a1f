/*
 * The runner's HTTP: one request at a time over kept-alive connections. libcurl behind it.
 */
#ifndef LOADTEST_HTTP_CLIENT_H
#define LOADTEST_HTTP_CLIENT_H

#include <stddef.h>
#include <stdio.h>

#include "common/failure.h"

struct http_client; /* opaque; one thread */

struct http_request {
    const char *url;
    const char *json;   /* body of a POST; NULL: GET */
    const char *method; /* another one than these; or NULL */
    const char *header; /* one more, "NAME: VALUE"; or NULL */
    const char *token;  /* bearer token, or NULL */
    const char *buyer;  /* X-User-Id, or NULL */
    const char *key;    /* Idempotency-Key, or NULL */
    FILE *save;         /* gets the whole body, however long; or NULL */
};

struct http_reply {
    long status;
    long retry_after_s; /* 0: it does not say */
    char body[16384];   /* cut there */
    size_t body_len;
};

struct http_client *http_client_new(void);
void http_client_free(struct http_client *client);

/* false: no reply (refused, reset, no answer in 10 s). */
bool http_client_send(struct http_client *client, const struct http_request *request,
                      struct http_reply *out_reply, struct failure *failure);

#endif
