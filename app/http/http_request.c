/*
 * What comes in: heads and bodies; what is wrong with one is answered here, in the words of
 * http_answers.c. Runs on civetweb's worker threads, one request each. The hot path (livez, purchases)
 * makes no allocation and takes no lock.
 *
 * civetweb reads heads leniently, and stops in their middle without a word; what two servers could read
 * differently is refused here.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include <civetweb.h>

#include "base/clock.h"
#include "connection.h"
#include "http.h"
#include "net/served.h"

enum { REQUEST_TARGET_MAX = 8000 };

/* ---- head ------------------------------------------------------------------------------------ */

/* Digits only; more than any body may have becomes HTTP_BODY_MAX + 1. */
static bool read_length(const char *value, size_t *out)
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

/* Into its slot, if it is the header of this name. */
static void note_named(const struct mg_header *header, const char *name, const char **slot,
                       struct framing *framing)
{
    if (strcasecmp(header->name, name) != 0) return;
    if (*slot) framing->is_doubled = true;
    *slot = header->value;
}

/* whole: a flat switch */
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
        note_named(header, "Content-Length", &framing->length, framing);
        note_named(header, "Content-Type", &out->content_type, framing);
        note_named(header, "Cookie", &out->cookie, framing);
        if (strcasecmp(name, "Connection") == 0) {
            framing->is_said_twice = framing->connection != NULL;
            framing->connection = value;
        }
        break;
    case 't':
        if (strcasecmp(name, "Transfer-Encoding") == 0) framing->is_chunked = true;
        break;
    case 'x':
        note_named(header, "X-User-Id", &out->user_id, framing);
        if (strcasecmp(name, "X-Request-Id") == 0 && http_token_is_valid(value))
            out->request_id = value;
        break;
    case 'i':
        note_named(header, "Idempotency-Key", &out->idempotency_key, framing);
        note_named(header, "If-Match", &out->match, framing);
        note_named(header, "If-None-Match", &out->none_match, framing);
        break;
    case 'a':
        note_named(header, "Authorization", &out->authorization, framing);
        break;
    case 'p':
        note_named(header, "Payment-Signature", &out->payment_signature, framing);
        break;
    case 'o':
        note_named(header, "Origin", &out->origin, framing);
        break;
    case 'e':
        if (strcasecmp(name, "Expect") == 0 && strcasecmp(value, "100-continue") == 0)
            out->expects_continue = true;
        break;
    case 'w':
        note_named(header, "Waiting-Ticket", &out->waiting_ticket, framing);
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
    return http_refuse(request, problem, "header", detail);
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
    if (framing->length && !read_length(framing->length, &out->body_len))
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
    if (*info->request_uri != '/') out->must_close = true; /* see http_answer_unserved() */
    if (info->num_headers >= MG_MAX_HEADERS)               /* civetweb drops the rest silently */
        return refuse_head(out, PROBLEM_INVALID_REQUEST, "Too many headers.");
    if (!head_is_whole(info))
        return refuse_head(
            out, PROBLEM_INVALID_REQUEST,
            "The head has a line that is none, or one that does not end with CR LF.");
    return check_framing(out, &framing);
}

/* After a request that came to a handler its connection was kept only if it began with "/". */
int http_answer_unserved(int fd, const struct mg_connection *conn)
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

    client_address_walk_begin(&walk, trusted, served_peer(info->remote_port));
    for (int i = info->num_headers - 1; i >= 0 && !walk.is_over; i--) {
        if (strcasecmp(info->http_headers[i].name, "X-Forwarded-For") == 0)
            client_address_walk_list(&walk, info->http_headers[i].value);
    }
    *out = walk.found;
}

bool http_has_socket(const struct http_request *request)
{
    return request->connection && request->connection->fd >= 0;
}

bool http_can_detach(const struct http_request *request)
{
    return !request->must_close && request->body_len == 0 && http_has_socket(request);
}

bool http_read_idempotency_key(struct http_request *request, char out[IDEMPOTENCY_KEY_MAX + 1])
{
    out[0] = '\0';
    if (!request->idempotency_key || http_unquote_key(request->idempotency_key, out)) return true;
    return http_refuse(
        request, PROBLEM_INVALID_REQUEST, "Idempotency-Key",
        "Idempotency-Key is 1 to 64 of A-Z a-z 0-9 _ . - and may stand in double quotes.");
}

/* ---- body ------------------------------------------------------------------------------------ */

/* By itself mg_read() would wait until all of it has come, however slowly it drips. */
static bool receive_body(struct http_request *request, char *out)
{
    if (request->expects_continue &&
        mg_write(request->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25) < 0)
        return false;
    served_set_read_deadline(clock_mono_ms() + HTTP_BODY_WAIT_MS);
    int read = mg_read(request->conn, out, request->body_len);
    served_set_read_deadline(0);
    return read == (int)request->body_len;
}

static bool receive_body_in_time(struct http_request *request, char *out)
{
    bool has_arrived = false;

    if (request->connection) served_set_turn(request->connection->fd, CONN_CLIENT_SENDS);
    has_arrived = receive_body(request, out);
    if (request->connection) served_set_turn(request->connection->fd, CONN_SERVER_WORKS);
    return has_arrived;
}

bool http_read_body(struct http_request *request, struct http_body *out)
{
    bool is_typed = request->content_type && http_type_is_json(request->content_type);

    out->len = 0;
    if (request->body_len > 0 && !is_typed) {
        return http_refuse(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Content-Type", NULL);
    }
    assert(request->body_len <= sizeof out->data);
    if (request->body_len > 0 && !receive_body_in_time(request, out->data)) {
        request->must_close = true;
        http_send_problem(request, PROBLEM_REQUEST_TIMEOUT, NULL);
        return false;
    }
    out->len = request->body_len;
    request->body_len = 0;
    return true;
}
