/*
 * A strict reader of answers. Any thread.
 */
#include "hostile_http.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

enum { HEAD_MAX = 4096, BODY_MAX = 4 * 1024 * 1024, NOT_WHOLE = -2 };

/* What a head may say; the first ones it has to, unless it has no body. */
static const struct {
    const char *name, *beginning; /* of its value; NULL: any */
} headers[] = {
    {"Date", NULL},
    {"Cache-Control", "no-"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Content-Security-Policy", "default-src 'none'; "},
    {"Connection", NULL},
    {"Content-Type", NULL},
    {"Content-Length", NULL},
    {"Transfer-Encoding", "chunked"},
    {"Allow", NULL},
    {"Location", "/api/v1/"},
    {"Retry-After", NULL},
    {"WWW-Authenticate", "Bearer"},
    {"X-Request-Id", NULL},
    {"Idempotency-Replayed", "true"},
    {"X-Accel-Buffering", "no"},
    {"ETag", "\""},
    {"Keep-Alive", "timeout="},
};

enum {
    CONNECTION = 5,
    TYPE,
    LENGTH,
    CODING,
    ALLOW,
    LOCATION,
    RETRY,
    CHALLENGE,
    REQUEST_ID,
    NEEDED = LENGTH, /* the first so many */
    HEADERS = sizeof headers / sizeof headers[0]
};

struct head {
    int status;
    const char *values[HEADERS]; /* into `text` */
    char text[HEAD_MAX];
};

__attribute__((format(printf, 2, 3))) static long wrong(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, HOSTILE_WHY_SIZE, format, args);
    va_end(args);
    return -1;
}

static long read_header(struct head *head, char *line, char *why)
{
    char *value = strstr(line, ": ");
    size_t which = 0;

    if (!value) return wrong(why, "no header: %.60s", line);
    *value = '\0';
    value += 2;
    while (which < HEADERS && strcmp(line, headers[which].name) != 0)
        which++;
    if (which == HEADERS) return wrong(why, "unknown header %.60s", line);
    if (head->values[which]) return wrong(why, "twice: %s", line);
    if (headers[which].beginning &&
        strncmp(value, headers[which].beginning, strlen(headers[which].beginning)) != 0)
        return wrong(why, "%s: %.60s", line, value);
    for (const char *at = value; *at; at++) {
        if (*at < ' ' || *at > '~') return wrong(why, "a byte %d in %s", *at, line);
    }
    head->values[which] = value;
    return 1;
}

/* What one status has to say, and no other has to say it. */
static bool says_the_rest(const struct head *head)
{
    if (head->status == 201 && !head->values[LOCATION]) return false;
    return (head->status == 405) == (head->values[ALLOW] != NULL) &&
           (head->status == 401) == (head->values[CHALLENGE] != NULL);
}

/* A 304 has no type, and an interim answer nothing at all. */
static long check_needed(const struct head *head, char *why)
{
    bool is_304 = head->status == 304;

    for (size_t i = 0; i < NEEDED; i++) {
        if (!head->values[i] && !(is_304 && i == TYPE))
            return wrong(why, "%d without %s", head->status, headers[i].name);
    }
    if (strstr(head->values[4], "unsafe") || strchr(head->values[4], '*'))
        return wrong(why, "a lax policy: %.80s", head->values[4]);
    if (strcmp(head->values[CONNECTION], "close") != 0 &&
        strcmp(head->values[CONNECTION], "keep-alive") != 0)
        return wrong(why, "Connection: %.40s", head->values[CONNECTION]);
    if (head->values[LENGTH] && head->values[CODING]) return wrong(why, "two ways to end");
    if (!says_the_rest(head))
        return wrong(why, "%d without, or not with, its header", head->status);
    return 1;
}

/* The head's length with its empty line; 0, -1 as hostile_read_answer(). */
static long read_head(const char *bytes, size_t len, struct head *head, char *why)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    size_t head_len = end ? (size_t)(end - bytes) + 2 : 0;
    char *line = head->text;
    char *rest = NULL;

    if (strncmp(bytes, "HTTP/1.1 ", len < 9 ? len : 9) != 0)
        return wrong(why, "no status line: %.40s", bytes);
    if (!end) return len < HEAD_MAX ? 0 : wrong(why, "a head without end");
    if (head_len >= HEAD_MAX || memchr(bytes, '\0', head_len)) return wrong(why, "not a head");
    memcpy(head->text, bytes, head_len);
    head->text[head_len] = '\0';
    for (char *next = NULL; *line; line = next + 2) {
        next = strstr(line, "\r\n");
        *next = '\0';
        if (line != head->text) {
            if (read_header(head, line, why) < 0) return -1;
        } else {
            head->status = (int)strtol(line + 9, &rest, 10);
            if (rest != line + 12 || *rest != ' ' || strlen(rest) < 3)
                return wrong(why, "no status: %.40s", line);
        }
    }
    return (long)head_len + 2;
}

/* The chunked body's length on the wire, or NOT_WHOLE; its bytes into `body`. */
static long read_chunks(const char *bytes, size_t len, char *body, char *why)
{
    size_t at = 0, used = 0;

    for (;;) {
        const char *end = memmem(bytes + at, len - at, "\r\n", 2);
        char *stop = NULL;
        unsigned long size = 0;

        if (!end) return NOT_WHOLE;
        size = strtoul(bytes + at, &stop, 16);
        if (stop != end || stop == bytes + at || size > BODY_MAX - used)
            return wrong(why, "no chunk: %.20s", bytes + at);
        at = (size_t)(end - bytes) + 2;
        if (len - at < size + 2) return NOT_WHOLE;
        if (memcmp(bytes + at + size, "\r\n", 2) != 0) return wrong(why, "a chunk too long");
        memcpy(body + used, bytes + at, size);
        at += size + 2;
        used += size;
        body[used] = '\0';
        if (size == 0) return (long)at;
    }
}

static bool closes(const struct head *head)
{
    return head->values[CONNECTION] && strcmp(head->values[CONNECTION], "close") == 0;
}

/* The body's length on the wire, or NOT_WHOLE; its bytes, with a NUL, into `body`, which has room. */
static long read_body(const struct head *head, const char *bytes, size_t len, char *body, char *why)
{
    char *end = NULL;
    size_t size = 0;

    if (head->values[CODING]) return read_chunks(bytes, len, body, why);
    if (head->values[LENGTH]) {
        size = strtoul(head->values[LENGTH], &end, 10);
        if (*end || end == head->values[LENGTH] || size > BODY_MAX)
            return wrong(why, "Content-Length: %.40s", head->values[LENGTH]);
        if (len < size) return NOT_WHOLE;
    } else if (head->status == 304) {
        size = 0;
    } else if (closes(head)) {
        size = len;
    } else {
        return wrong(why, "no end");
    }
    memcpy(body, bytes, size);
    body[size] = '\0';
    return (long)size;
}

static void take_member(const json_t *root, const char *name, char out[HOSTILE_NAME_SIZE])
{
    const char *value = json_string_value(json_object_get(root, name));

    (void)snprintf(out, HOSTILE_NAME_SIZE, "%s", value ? value : "");
}

static long check_json(const struct head *head, const char *body, struct hostile_answer *out,
                       char *why)
{
    static const char prefix[] = "/problems/";
    bool is_problem = head->status >= 400;
    json_t *root = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
    long result = 1;

    take_member(root, "type", out->problem);
    take_member(root, "field", out->field);
    take_member(root, "buyer", out->buyer);
    take_member(root, "id", out->id);
    take_member(root, "orderId", out->order_id);
    if (!root) result = wrong(why, "not JSON: %.80s", body);
    if (result > 0 && is_problem &&
        (strncmp(out->problem, prefix, strlen(prefix)) != 0 ||
         json_integer_value(json_object_get(root, "status")) != out->status ||
         !json_string_length(json_object_get(root, "title"))))
        result = wrong(why, "not a problem: %.80s", body);
    if (is_problem && result > 0)
        memmove(out->problem, out->problem + strlen(prefix),
                strlen(out->problem + strlen(prefix)) + 1);
    json_decref(root);
    return result;
}

/* What the whole answer says; a body that was not asked for says nothing. */
static long check_answer(const struct head *head, const char *body, bool is_head,
                         struct hostile_answer *out, char *why)
{
    const char *type = head->values[TYPE];
    bool is_problem = type && strcmp(type, "application/problem+json") == 0;

    out->closes = closes(head);
    if (head->values[REQUEST_ID])
        (void)snprintf(out->request_id, sizeof out->request_id, "%s", head->values[REQUEST_ID]);
    if (is_problem != (head->status >= 400) && !(type && strncmp(type, "text/plain", 10) == 0))
        return wrong(why, "%d is %s", head->status, type ? type : "nothing");
    if (is_head || !type || !strstr(type, "json") || strstr(type, "ndjson")) return 1;
    return check_json(head, body, out, why);
}

static long read_whole(const char *bytes, size_t len, bool is_head, struct hostile_answer *out,
                       struct head *head, char *body, char *why)
{
    long head_len = read_head(bytes, len, head, why);
    long body_len = 0;

    out->status = head->status;
    if (head_len <= 0 || head->status == 100) return head_len;
    if (check_needed(head, why) < 0) return -1;
    if (!is_head) body_len = read_body(head, bytes + head_len, len - (size_t)head_len, body, why);
    if (body_len == NOT_WHOLE) return 0;
    if (body_len < 0 || check_answer(head, body, is_head, out, why) < 0) return -1;
    return head_len + body_len;
}

long hostile_read_answer(const char *bytes, size_t len, bool is_head, struct hostile_answer *out,
                         char why[HOSTILE_WHY_SIZE])
{
    struct head *head = calloc(1, sizeof *head);
    char *body = calloc(1, len + 1);
    long result = 0;

    if (!head || !body) abort();
    *out = (struct hostile_answer){0};
    result = read_whole(bytes, len, is_head, out, head, body, why);
    free(body);
    free(head);
    return result;
}
