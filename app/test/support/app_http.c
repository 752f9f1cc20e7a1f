/*
 * HTTP for the service's tests, through libcurl or byte by byte. Any thread; each has a handle.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>
#include <jansson.h>

#include "app_support.h"
#include "base/clock.h"

enum { LIMIT_MS = 10000, TOKEN_SIZE = 300 };

static pthread_key_t handle_key;
static pthread_once_t handle_once = PTHREAD_ONCE_INIT;

static void end_handle(void *handle)
{
    curl_easy_cleanup(handle);
}

static void make_key(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) abort();
    if (pthread_key_create(&handle_key, end_handle) != 0) abort();
}

/* This thread's handle, reset. */
static CURL *thread_handle(void)
{
    CURL *handle = NULL;

    (void)pthread_once(&handle_once, make_key);
    handle = pthread_getspecific(handle_key);
    if (!handle) handle = curl_easy_init();
    if (!handle || pthread_setspecific(handle_key, handle) != 0) abort();
    curl_easy_reset(handle);
    return handle;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct app_reply *reply = arg;
    size_t room = sizeof reply->body - 1 - reply->len;
    size_t len = size * count < room ? size * count : room;

    memcpy(reply->body + reply->len, bytes, len);
    reply->len += len;
    reply->body[reply->len] = '\0';
    return size * count;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct app_reply *reply = arg;
    size_t used = strlen(reply->headers);
    size_t len = size * count;

    if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0) used = 0; /* after a 100 Continue */
    if (used + len + 1 > sizeof reply->headers) return len;
    memcpy(reply->headers + used, bytes, len);
    reply->headers[used + len] = '\0';
    return len;
}

static struct curl_slist *headers_of(const struct app_call *call)
{
    char line[TOKEN_SIZE + 64];
    struct curl_slist *list = NULL;

    if (call->user) {
        (void)snprintf(line, sizeof line, "X-User-Id: %.200s", call->user);
        list = curl_slist_append(list, line);
    }
    if (call->token) {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %.280s", call->token);
        list = curl_slist_append(list, line);
    }
    if (call->body && !call->headers[0])
        list = curl_slist_append(list, "Content-Type: application/json");
    for (size_t i = 0; i < 4 && call->headers[i]; i++)
        list = curl_slist_append(list, call->headers[i]);
    return list;
}

long app_http(const struct app_call *call, struct app_reply *out)
{
    char url[APP_URL_SIZE + 256];
    CURL *handle = thread_handle();
    struct curl_slist *headers = headers_of(call);

    out->status = 0;
    out->len = 0;
    out->headers[0] = out->body[0] = '\0';
    (void)snprintf(url, sizeof url, "%s%s", call->base, call->path);
    (void)curl_easy_setopt(handle, CURLOPT_URL, url);
    (void)curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                           (long)(call->limit_ms ? call->limit_ms : LIMIT_MS));
    (void)curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEDATA, out);
    (void)curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(handle, CURLOPT_HEADERDATA, out);
    if (call->body) (void)curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call->body);
    if (call->method && strcmp(call->method, "HEAD") == 0)
        (void)curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    if (call->method) (void)curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
    if (curl_easy_perform(handle) == CURLE_OK)
        (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &out->status);
    curl_slist_free_all(headers);
    return out->status;
}

long app_status(const struct app_call *call)
{
    struct app_reply *reply = malloc(sizeof *reply);
    long status = 0;

    if (!reply) abort();
    status = app_http(call, reply);
    free(reply);
    return status;
}

long app_buy(const char *base, const char *sale, const char *user, const char *key,
             struct app_reply *out)
{
    char path[128];
    char header[128];
    struct app_call call = {.method = "POST", .base = base, .path = path, .user = user};

    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders", sale);
    if (key) {
        (void)snprintf(header, sizeof header, "Idempotency-Key: %s", key);
        call.headers[0] = header;
    }
    return app_http(&call, out);
}

const char *app_token(const char *dir)
{
    static _Thread_local char token[TOKEN_SIZE];
    const char *line = app_file(dir, "admin.token");

    (void)snprintf(token, sizeof token, "%.*s", (int)strcspn(line, "\n"), line);
    return token;
}

bool app_create_sale(const struct app_process *process, const char *dir, const char *body)
{
    return app_status(&(struct app_call){.base = process->admin,
                                         .path = "/api/v1/admin/sales",
                                         .token = app_token(dir),
                                         .body = body}) == 201;
}

const char *app_member(const struct app_reply *reply, const char *name)
{
    static _Thread_local char text[512];
    json_t *root = json_loads(reply->body, 0, NULL);
    const char *value = json_string_value(json_object_get(root, name));

    (void)snprintf(text, sizeof text, "%s", value ? value : "");
    json_decref(root);
    return text;
}

long long app_number(const struct app_reply *reply, const char *name)
{
    json_t *root = json_loads(reply->body, 0, NULL);
    const json_t *value = json_object_get(root, name);
    long long number = json_is_integer(value) ? json_integer_value(value) : -1;

    json_decref(root);
    return number;
}

bool app_is_problem(const struct app_reply *reply, long status, const char *name)
{
    static const char *const headers[] = {"Content-Type: application/problem+json\r\n",
                                          "Cache-Control: no-store\r\n",
                                          "X-Content-Type-Options: nosniff\r\n"};
    char type[64];

    (void)snprintf(type, sizeof type, "/problems/%s", name);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        if (!strstr(reply->headers, headers[i])) return false;
    }
    return reply->status == status && app_number(reply, "status") == status &&
           strcmp(app_member(reply, "type"), type) == 0 && app_member(reply, "title")[0];
}

int app_connect(const char *base)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const char *colon = strrchr(base, ':');
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    where.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&where, sizeof where) == 0) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

int app_receive_answer(int fd, char *out, size_t size)
{
    size_t len = 0;
    size_t whole = 0;
    int status = 0;

    while (whole == 0 || len < whole) {
        ssize_t got = recv(fd, out + len, size - 1 - len, 0);

        if (got <= 0) return 0;
        len += (size_t)got;
        out[len] = '\0';
        const char *end = whole == 0 ? strstr(out, "\r\n\r\n") : NULL;
        if (!end) continue;
        const char *length = strstr(out, "Content-Length: ");
        if (!length || length > end || strncmp(out, "HTTP/1.1 ", 9) != 0) return 0;
        status = (int)strtol(out + 9, NULL, 10);
        whole = (size_t)(end + 4 - out) + strtoul(length + 16, NULL, 10);
    }
    return status;
}

bool app_send(int fd, const char *bytes, size_t len)
{
    return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

size_t app_receive(int fd, char *out, size_t size, const char *enough, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    size_t len = 0;

    out[0] = '\0';
    while (len + 1 < size && !(enough && strstr(out, enough))) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ms - clock_mono_ms();
        ssize_t got = 0;

        if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) != 1) break;
        got = recv(fd, out + len, size - len - 1, 0);
        if (got <= 0) break;
        len += (size_t)got;
        out[len] = '\0';
    }
    return len;
}

bool app_exchange(const char *base, const char *bytes, char *out, size_t size)
{
    int fd = app_connect(base);
    char rest[16];
    bool is_closed = false;

    if (fd < 0) return false;
    out[0] = '\0';
    if (app_send(fd, bytes, strlen(bytes))) (void)app_receive(fd, out, size, NULL, LIMIT_MS);
    is_closed = recv(fd, rest, sizeof rest, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
    (void)close(fd);
    return is_closed;
}
