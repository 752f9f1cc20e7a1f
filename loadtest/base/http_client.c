/*
 * Only includer of libcurl in loadtest. One thread.
 */
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

enum { LIMIT_MS = 10000, HEADER_MAX = 512 };

struct http_client {
    CURL *curl; /* owned */
};

struct http_client *http_client_new(void)
{
    struct http_client *client = calloc(1, sizeof *client);
    if (!client || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) goto fail;
    client->curl = curl_easy_init();
    if (!client->curl) goto fail;
    return client;

fail:
    http_client_free(client);
    return NULL;
}

void http_client_free(struct http_client *client)
{
    if (!client) return;
    if (client->curl) curl_easy_cleanup(client->curl);
    free(client);
}

/* Where an answer goes. */
struct taker {
    struct http_reply *reply;
    FILE *save; /* or NULL */
};

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    const struct taker *taker = arg;
    struct http_reply *reply = taker->reply;
    size_t length = size * count;
    size_t room = sizeof reply->body - 1 - reply->body_len;
    size_t kept = length < room ? length : room;

    memcpy(reply->body + reply->body_len, bytes, kept);
    reply->body_len += kept;
    reply->body[reply->body_len] = '\0';
    if (taker->save && fwrite(bytes, 1, length, taker->save) != length) return 0;
    return length;
}

static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[HEADER_MAX];

    (void)snprintf(line, sizeof line, "%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (!longer) return false;
    *headers = longer;
    return true;
}

static bool set_headers(const struct http_request *request, struct curl_slist **headers)
{
    if (request->token && !add_header(headers, "Authorization: Bearer ", request->token))
        return false;
    if (request->buyer && !add_header(headers, "X-User-Id: ", request->buyer)) return false;
    if (request->key && !add_header(headers, "Idempotency-Key: ", request->key)) return false;
    if (request->header && !add_header(headers, "", request->header)) return false;
    return !request->json || add_header(headers, "Content-Type: ", "application/json");
}

static bool set_options(CURL *curl, const struct http_request *request,
                        const struct curl_slist *headers, struct taker *taker)
{
    curl_easy_reset(curl); /* keeps the connections */
    return curl_easy_setopt(curl, CURLOPT_URL, request->url) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)LIMIT_MS) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, (void *)taker) == CURLE_OK &&
           (!request->json ||
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->json) == CURLE_OK) &&
           (!request->method ||
            curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK);
}

bool http_client_send(struct http_client *client, const struct http_request *request,
                      struct http_reply *out_reply, struct failure *failure)
{
    struct curl_slist *headers = NULL;
    struct taker taker = {out_reply, request->save};
    CURLcode code = CURLE_OUT_OF_MEMORY;
    curl_off_t retry_after_s = 0;

    out_reply->status = 0;
    out_reply->body_len = 0;
    out_reply->body[0] = '\0';
    if (set_headers(request, &headers) && set_options(client->curl, request, headers, &taker))
        code = curl_easy_perform(client->curl);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        return failure_set(failure, "%s: %s", request->url, curl_easy_strerror(code));
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &out_reply->status);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    out_reply->retry_after_s = (long)retry_after_s;
    return true;
}
