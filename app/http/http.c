/*
 * The edge: heads and bodies in, answers out; what the answers say is in http_answers.c. Runs on
 * civetweb's worker threads, one request each. The hot path (livez, purchases) makes no allocation,
 * takes no lock and writes once.
 *
 * civetweb reads heads leniently, and stops in their middle without a word; what two servers could read
 * differently is refused here.
 */
#include "http.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <civetweb.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "door/acceptor.h"
#include "door/connection.h"

enum { HEAD_SIZE = 704, ANSWER_SIZE = 2048, REQUEST_TARGET_MAX = 8000 };

static const struct {
    int status;
    const char *line;
} status_lines[] = {
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
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
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"}, /* last: what is not in the table */
};

/* ---- head ------------------------------------------------------------------------------------ */

/* Digits only; more than any body may have becomes HTTP_BODY_MAX + 1. */
static bool length_is_read(const char *value, size_t *out)
{
    size_t len = 0;

    if (!*value) return false;
    for (; *value; value++) {
        if (*value < '0' || *value > '9') return false;
        if (len <= HTTP_BODY_MAX) len = len * 10 + (size_t)(*value - '0');
    }
    *out = len;
    return true;
}

/* The path of "/a/b" or of "http://host/a/b". */
static const char *path_of(const char *uri)
{
    const char *slash = NULL;

    if (*uri == '/') return uri;
    slash = strstr(uri, "://");
    slash = slash ? strchr(slash + 3, '/') : NULL;
    return slash ? slash : uri;
}

/* Headers that say how a request is framed; each may come once. */
struct framing {
    const char *length;
    const char *host;
    const char *connection;
    bool is_chunked;
    bool is_doubled;
    bool is_said_twice; /* Connection: a list may come in pieces, but civetweb reads one */
};

static void note_once(const char **slot, const char *value, struct framing *framing)
{
    if (*slot) framing->is_doubled = true;
    *slot = value;
}

/* Into its slot, if it is the header of this name. */
static void note_named(const struct mg_header *header, const char *name, const char **slot,
                       struct framing *framing)
{
    if (strcasecmp(header->name, name) == 0) note_once(slot, header->value, framing);
}

static void note_header(const struct mg_header *header, struct http_request *out,
                        struct framing *framing)
{
    const char *name = header->name;
    const char *value = header->value;

    switch (name[0] | 0x20) { /* most headers of most clients are none of ours: be done quickly */
    case 'h':
        note_named(header, "Host", &framing->host, framing);
        break;
    case 'c':
        if (strcasecmp(name, "Content-Length") == 0) {
            note_once(&framing->length, value, framing);
        } else if (strcasecmp(name, "Content-Type") == 0) {
            note_once(&out->content_type, value, framing);
        } else if (strcasecmp(name, "Connection") == 0) {
            framing->is_said_twice = framing->connection != NULL;
            framing->connection = value;
        }
        break;
    case 't':
        if (strcasecmp(name, "Transfer-Encoding") == 0) framing->is_chunked = true;
        break;
    case 'x':
        if (strcasecmp(name, "X-User-Id") == 0) {
            note_once(&out->user_id, value, framing);
        } else if (strcasecmp(name, "X-Request-Id") == 0 && http_token_is_valid(value)) {
            out->request_id = value;
        }
        break;
    case 'i':
        note_named(header, "Idempotency-Key", &out->idempotency_key, framing);
        note_named(header, "If-None-Match", &out->none_match, framing);
        break;
    case 'a':
        note_named(header, "Authorization", &out->authorization, framing);
        break;
    case 'e':
        if (strcasecmp(name, "Expect") == 0 && strcasecmp(value, "100-continue") == 0)
            out->expects_continue = true;
        break;
    case 'l':
        note_named(header, "Last-Event-ID", &out->last_event_id, framing);
        break;
    default:
        break;
    }
}

/* Whether a list like "close, TE" has that token. */
static bool has_token(const char *list, const char *token)
{
    size_t len = strlen(token);

    for (;;) {
        list += strspn(list, " \t,");
        if (!*list) return false;
        size_t word = strcspn(list, ","); /* with the blanks behind it */

        if (strncasecmp(list, token, len) == 0 && len + strspn(list + len, " \t") == word)
            return true;
        list += word;
    }
}

/* When in doubt, yes: it is said in the answer, and done. civetweb closes where it sees no "keep-alive". */
static bool client_closes(const struct http_request *request, const struct framing *framing)
{
    if (!framing->connection) return request->is_http_1_0;
    return framing->is_said_twice || has_token(framing->connection, "close") ||
           has_token(framing->connection, "upgrade") ||
           !has_token(framing->connection, "keep-alive");
}

/* Answer and end the connection: what follows on it cannot be trusted. */
static bool refuse_head(struct http_request *request, http_problem problem, const char *detail)
{
    request->must_close = true;
    http_send_problem(request, problem, &(struct http_detail){.detail = detail, .field = "header"});
    return false;
}

static bool check_framing(struct http_request *out, const struct framing *framing)
{
    if (framing->is_doubled)
        return refuse_head(out, PROBLEM_INVALID_REQUEST, "A header came twice that may come once.");
    if (!out->is_http_1_0 && !framing->host)
        return refuse_head(out, PROBLEM_INVALID_REQUEST, "Host is missing.");
    if (framing->is_chunked && framing->length)
        return refuse_head(out, PROBLEM_INVALID_REQUEST,
                           "Content-Length and Transfer-Encoding exclude each other.");
    if (framing->is_chunked)
        return refuse_head(out, PROBLEM_LENGTH_REQUIRED, "Chunked bodies are not taken.");
    if (framing->length && !length_is_read(framing->length, &out->body_len))
        return refuse_head(out, PROBLEM_INVALID_REQUEST, "Content-Length is no number.");
    if (out->body_len > HTTP_BODY_MAX)
        return refuse_head(out, PROBLEM_PAYLOAD_TOO_LARGE, "A body has 4096 bytes at most.");
    return true;
}

/* RFC 9110 5.6.2; at least one byte. */
static bool is_token(const char *name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    const char *at = name;

    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
           (*at && strchr(marks, *at)))
        at++;
    return *at == '\0' && at != name;
}

/* Where this string's line ended with CR LF, the begin of the next line; else NULL. */
static const char *next_line(const char *text)
{
    const char *end = text + strlen(text);

    return end[1] == '\0' ? end + 2 : NULL;
}

/* The line of a header is "name:", blanks, value, CR LF, and nothing else. */
static bool line_is_whole(const struct mg_header *header)
{
    const char *at = header->name + strlen(header->name) + 1; /* behind the colon */

    if (!is_token(header->name)) return false;
    while (at < header->value && (*at == ' ' || *at == '\t'))
        at++;
    return at == header->value;
}

/*
 * civetweb cuts a head into strings where it lies, by writing NULs over what stood between them: one
 * for each byte. So it can be told whether its strings are all that came: where one ends and how far
 * away the next begins, and that behind the last one there is the empty line. Where it stopped early
 * (at a line that begins with a blank, a colon, or a byte from 0x80) something else is there.
 *
 * Source   RFC 9112 sections 2.2, 3, 5; civetweb 1.15 and 1.16, parse_http_request().
 */
static bool head_is_whole(const struct mg_request_info *info)
{
    const char *uri = info->request_uri;
    const char *target_end =
        info->query_string ? info->query_string + strlen(info->query_string) : uri + strlen(uri);
    const char *next = NULL;

    if (target_end - uri > REQUEST_TARGET_MAX) return false;
    if (!is_token(info->request_method) ||
        info->request_method + strlen(info->request_method) + 1 != uri)
        return false;
    if (target_end + sizeof "HTTP/" != info->http_version) return false;
    next = next_line(info->http_version);
    for (int i = 0; i < info->num_headers; i++) {
        if (!next || info->http_headers[i].name != next || !line_is_whole(&info->http_headers[i]))
            return false;
        next = next_line(info->http_headers[i].value);
    }
    if (info->num_headers == 0) return next && next[0] == '\0' && next[1] == '\0';
    return next && next[0] == '\r' && next[1] == '\0'; /* it writes over the last byte, too */
}

bool http_read_head(struct mg_connection *conn, struct http_request *out)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    struct framing framing = {0};

    out->conn = conn;
    out->method = info->request_method;
    out->path = path_of(info->request_uri);
    out->query = info->query_string;
    out->is_http_1_0 = strcmp(info->http_version, "1.0") == 0;
    out->is_head = strcmp(info->request_method, "HEAD") == 0;
    for (int i = 0; i < info->num_headers; i++)
        note_header(&info->http_headers[i], out, &framing);
    if (client_closes(out, &framing)) out->must_close = true;
    if (*info->request_uri != '/') out->must_close = true; /* see http_answer_unheard() */
    if (info->num_headers >= MG_MAX_HEADERS)               /* civetweb drops the rest silently */
        return refuse_head(out, PROBLEM_INVALID_REQUEST, "Too many headers.");
    if (!head_is_whole(info))
        return refuse_head(
            out, PROBLEM_INVALID_REQUEST,
            "The head has a line that is none, or one that does not end with CR LF.");
    return check_framing(out, &framing);
}

/* After a request that came to a handler its connection was kept only if it began with "/". */
int http_answer_unheard(int fd, const struct mg_connection *conn)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    struct connection connection = {.fd = fd};
    struct http_request request = {.connection = &connection, .is_detached = true};

    if (!info || !info->request_uri || *info->request_uri == '/') return 0;
    request.is_head = strcmp(info->request_method, "HEAD") == 0;
    (void)refuse_head(&request, PROBLEM_INVALID_REQUEST, "This server has nothing of that name.");
    return request.status;
}

void http_refuse_socket(int fd, http_problem problem)
{
    struct connection connection = {.fd = fd};
    struct http_request request = {
        .connection = &connection, .is_detached = true, .must_close = true};

    http_send_problem(&request, problem, NULL);
}

void http_find_client(const struct http_request *request, const struct networks *trusted,
                      struct client_address *out)
{
    const struct mg_request_info *info = mg_get_request_info(request->conn);
    struct client_walk walk;

    client_walk_begin(&walk, trusted, info->remote_addr);
    for (int i = info->num_headers - 1; i >= 0 && !walk.is_over; i--) {
        if (strcasecmp(info->http_headers[i].name, "X-Forwarded-For") == 0)
            client_walk_list(&walk, info->http_headers[i].value);
    }
    *out = walk.found;
}

bool http_read_idempotency_key(struct http_request *request, char out[IDEMPOTENCY_KEY_MAX + 1])
{
    out[0] = '\0';
    if (!request->idempotency_key || http_unquote_key(request->idempotency_key, out)) return true;
    http_send_problem(request, PROBLEM_INVALID_REQUEST,
                      &(struct http_detail){.detail = "Idempotency-Key is 1 to 64 of A-Z a-z 0-9 "
                                                      "_ . - and may stand in double quotes.",
                                            .field = "Idempotency-Key"});
    return false;
}

/* ---- body ------------------------------------------------------------------------------------ */

/*
 * Byte by byte: a longer mg_read() waits until all of it has come, however slowly it drips. Bytes
 * that came along with the head, and that is nearly always all of them, cost a copy each.
 */
static bool body_arrives(struct http_request *request, char *out)
{
    int64_t deadline_ms = 0;

    if (request->expects_continue &&
        mg_write(request->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25) < 0)
        return false;
    deadline_ms = clock_mono_ms() + HTTP_BODY_WAIT_MS;
    for (size_t i = 0; i < request->body_len; i++) {
        if (mg_read(request->conn, out + i, 1) != 1) return false;
        if (clock_mono_ms() > deadline_ms) return false;
    }
    return true;
}

static bool body_arrives_in_time(struct http_request *request, char *out)
{
    bool has_arrived = false;

    if (request->connection) acceptor_set_turn(request->connection->fd, ACCEPTOR_CLIENT_SPEAKS);
    has_arrived = body_arrives(request, out);
    if (request->connection) acceptor_set_turn(request->connection->fd, ACCEPTOR_OURS);
    return has_arrived;
}

bool http_read_body(struct http_request *request, struct http_body *out)
{
    bool is_typed = request->content_type && http_type_is_json(request->content_type);

    out->len = 0;
    if ((request->content_type || request->body_len > 0) && !is_typed) {
        http_send_problem(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                          &(struct http_detail){.field = "Content-Type"});
        return false;
    }
    assert(request->body_len <= sizeof out->data);
    if (request->body_len > 0 && !body_arrives_in_time(request, out->data)) {
        request->must_close = true;
        http_send_problem(request, PROBLEM_REQUEST_TIMEOUT, NULL);
        return false;
    }
    out->len = request->body_len;
    request->body_len = 0;
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

#define SAFE_HEADERS                                                                               \
    "\r\nX-Content-Type-Options: nosniff\r\n"                                                      \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Content-Security-Policy: "
/* No browser may do anything with an answer but show it: no script, no frame, no guessing of types. */
#define POLICY "default-src 'none'; frame-ancestors 'none'"

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
        http_date_format(now_s, cached.text);
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
    if (answer->headers) text_add_string(out, answer->headers);
    if (request->must_close) {
        if (!request->is_detached) mg_disable_connection_keep_alive(request->conn);
        TEXT_ADD(out, "Connection: close\r\n");
    } else {
        TEXT_ADD(out, "Connection: keep-alive\r\n");
    }
}

bool http_has_socket(const struct http_request *request)
{
    return request->connection && request->connection->fd >= 0;
}

bool http_can_detach(const struct http_request *request)
{
    return !request->must_close && request->body_len == 0 && http_has_socket(request);
}

/* Through civetweb, which waits for a client that does not read; who waits for a place does not. */
static bool write_out(const struct http_request *request, const char *data, size_t len)
{
    int fd = request->connection ? request->connection->fd : -1;
    int written = 0;

    acceptor_set_turn(fd, ACCEPTOR_CLIENT_READS);
    written = mg_write(request->conn, data, len);
    acceptor_set_turn(fd, ACCEPTOR_OURS);
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
    assert(answer->type || answer->status == 304);
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

void http_send_json(struct http_request *request, int status, const struct text *body)
{
    assert(!body->is_cut);
    http_send(request,
              &(struct http_answer){
                  .status = status, .type = HTTP_JSON, .body = body->data, .body_len = body->len});
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
