/*
 * Answers on their way out, whatever they say: one write, or a stream. Runs on civetweb's worker
 * threads; one that is detached, on any. No lock, and an allocation only for what is long.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <civetweb.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "connection.h"
#include "http.h"
#include "net/served.h"

enum { HEAD_SIZE = 1024, ANSWER_SIZE = 2048 };

static const struct {
    int status;
    const char *line;
} status_lines[] = {
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {411, "HTTP/1.1 411 Length Required\r\n"},
    {412, "HTTP/1.1 412 Precondition Failed\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"}, /* last: what is not in the table */
};

/* ---- answers --------------------------------------------------------------------------------- */

#define SAFE_HEADERS                                                                               \
    "\r\nX-Content-Type-Options: nosniff\r\n"                                                      \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Content-Security-Policy: "
/* No browser may do anything with an answer but show it: no script, no frame, no guessing of types. */
#define POLICY "default-src 'none'; frame-ancestors 'none'"

/* What a page of another origin may read besides the body. */
#define EXPOSED                                                                                    \
    "Access-Control-Expose-Headers: ETag, Idempotency-Replayed, Retry-After, X-Request-Id\r\n"

static const char *status_line(int status)
{
    size_t last = sizeof status_lines / sizeof status_lines[0] - 1;

    for (size_t i = 0; i < last; i++) {
        if (status_lines[i].status == status) return status_lines[i].line;
    }
    return status_lines[last].line;
}

static void add_date(struct text *out)
{
    static _Thread_local struct {
        int64_t at_s;
        char text[HTTP_DATE_SIZE];
    } cached;
    int64_t now_s = clock_unix_ms() / 1000;

    if (now_s != cached.at_s) {
        rfc3339_format_http_date(now_s, cached.text);
        cached.at_s = now_s;
    }
    TEXT_ADD(out, "Date: ");
    text_add(out, cached.text, HTTP_DATE_SIZE - 1);
    TEXT_ADD(out, "\r\n");
}

/* All of the head but what says where the body ends. */
static void add_head(struct text *out, struct http_request *request,
                     const struct http_answer *answer)
{
    if (request->body_len > 0) request->must_close = true; /* a body nobody read is in the way */
    request->status = answer->status;
    text_add_string(out, status_line(answer->status));
    add_date(out);
    if (answer->type) {
        TEXT_ADD(out, "Content-Type: ");
        text_add_string(out, answer->type);
        TEXT_ADD(out, "\r\n");
    }
    TEXT_ADD(out, "Cache-Control: ");
    text_add_string(out, answer->caching ? answer->caching : "no-store");
    TEXT_ADD(out, SAFE_HEADERS);
    text_add_string(out, answer->policy ? answer->policy : POLICY);
    TEXT_ADD(out, "\r\n");
    if (request->request_id) {
        TEXT_ADD(out, "X-Request-Id: ");
        text_add_string(out, request->request_id);
        TEXT_ADD(out, "\r\n");
    }
    if (request->allowed_origin) {
        TEXT_ADD(out, "Access-Control-Allow-Origin: ");
        text_add_string(out, request->allowed_origin);
        TEXT_ADD(out, "\r\nVary: Origin\r\n" EXPOSED);
    }
    if (answer->headers) text_add_string(out, answer->headers);
    if (request->must_close) {
        if (!request->is_detached) mg_disable_connection_keep_alive(request->conn);
        TEXT_ADD(out, "Connection: close\r\n");
    } else {
        TEXT_ADD(out, "Connection: keep-alive\r\n");
        if (request->idle_ms > 0) {
            TEXT_ADD(out, "Keep-Alive: timeout=");
            text_add_number(out, request->idle_ms / 1000);
            TEXT_ADD(out, "\r\n");
        }
    }
}

/* Through civetweb, which waits for a client that does not read; who waits for a place does not. */
static bool write_out(const struct http_request *request, const char *data, size_t len)
{
    int fd = request->connection ? request->connection->fd : -1;
    int written = 0;

    served_set_turn(fd, CONN_CLIENT_READS);
    written = mg_write(request->conn, data, len);
    served_set_turn(fd, CONN_SERVER_WORKS);
    return written == (int)len;
}

static size_t room_for(const struct http_answer *answer)
{
    return HEAD_SIZE + (answer->headers ? strlen(answer->headers) : 0) +
           (answer->policy ? strlen(answer->policy) : 0) + answer->body_len;
}

/* Where the body ends, the end of the head, and the body. */
static void add_body(struct text *out, const struct http_request *request,
                     const struct http_answer *answer)
{
    assert(answer->type || answer->status == 304 || answer->status == 204);
    if (answer->type) {
        TEXT_ADD(out, "Content-Length: ");
        text_add_number(out, (long long)answer->body_len);
        TEXT_ADD(out, "\r\n");
    }
    TEXT_ADD(out, "\r\n");
    if (!request->is_head) text_add(out, answer->body, answer->body_len);
}

void http_send(struct http_request *request, const struct http_answer *answer)
{
    char small[ANSWER_SIZE];
    size_t size = room_for(answer);
    char *big = size > sizeof small ? malloc(size) : NULL;
    struct text out = big ? (struct text){.data = big, .size = size} : TEXT_OVER(small);

    assert(request->status == 0);
    if (size > sizeof small && !big) { /* no memory: say nothing rather than half of it */
        request->status = 500;
        mg_disable_connection_keep_alive(request->conn);
        return;
    }
    add_head(&out, request, answer);
    add_body(&out, request, answer);
    assert(!out.is_cut);
    if (request->is_detached) {
        connection_send(request->connection, out.data, out.len);
    } else {
        (void)write_out(request, out.data, out.len); /* a client that has gone gets no answer */
    }
    free(big);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void stream_write(struct http_stream *stream, const char *bytes, size_t len)
{
    if (stream->is_broken) return;
    if (!write_out(stream->request, bytes, len)) http_stream_break(stream);
}

void http_stream_begin(struct http_stream *stream, struct http_request *request, const char *type)
{
    char buffer[HEAD_SIZE];
    struct text out = TEXT_OVER(buffer);

    *stream = (struct http_stream){.request = request};
    if (request->is_http_1_0) request->must_close = true; /* the end of the body is the end */
    add_head(&out, request, &(struct http_answer){.status = 200, .type = type});
    if (!request->is_http_1_0) TEXT_ADD(&out, "Transfer-Encoding: chunked\r\n");
    TEXT_ADD(&out, "\r\n");
    assert(!out.is_cut);
    stream_write(stream, out.data, out.len);
}

bool http_stream_add(struct http_stream *stream, const char *bytes, size_t len)
{
    char buffer[24];
    int head_len = 0;

    if (len == 0 || stream->request->is_head) return !stream->is_broken;
    if (stream->request->is_http_1_0) {
        stream_write(stream, bytes, len);
        return !stream->is_broken;
    }
    head_len = snprintf(buffer, sizeof buffer, "%zx\r\n", len);
    stream_write(stream, buffer, (size_t)head_len);
    stream_write(stream, bytes, len);
    stream_write(stream, "\r\n", 2);
    return !stream->is_broken;
}

void http_begin_events(struct http_request *request)
{
    char buffer[HEAD_SIZE];
    struct text out = TEXT_OVER(buffer);

    request->must_close = true; /* the end of the connection is the end of the stream */
    add_head(&out, request,
             &(struct http_answer){.status = 200,
                                   .type = "text/event-stream",
                                   .caching = "no-cache, no-transform",
                                   .headers = "X-Accel-Buffering: no\r\n"});
    TEXT_ADD(&out, "\r\n");
    assert(!out.is_cut);
    (void)mg_write(request->conn, out.data, out.len); /* a client that has gone is seen later */
}

void http_stream_end(struct http_stream *stream)
{
    if (!stream->request->is_http_1_0 && !stream->request->is_head)
        stream_write(stream, "0\r\n\r\n", 5);
}

void http_stream_break(struct http_stream *stream)
{
    stream->is_broken = true;
    mg_disable_connection_keep_alive(stream->request->conn);
}
