/*
 * See app_stream.h. Any thread; each stream has one.
 */
#include "app_stream.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app_support.h"
#include "base/clock.h"

enum { HEAD_LIMIT_MS = 5000 };

/* Read what is there, waiting until the deadline; false at the end, or in time. */
static bool fill(struct app_stream *stream, int64_t deadline_ms)
{
    struct pollfd wait = {.fd = stream->fd, .events = POLLIN};
    int64_t left_ms = deadline_ms - clock_mono_ms();
    ssize_t got = 0;

    if (stream->fd < 0 || stream->len + 1 >= sizeof stream->bytes) return false;
    if (poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0) != 1) return false;
    got = recv(stream->fd, stream->bytes + stream->len, sizeof stream->bytes - 1 - stream->len, 0);
    if (got <= 0) return false;
    stream->len += (size_t)got;
    stream->bytes[stream->len] = '\0';
    return true;
}

static void take(struct app_stream *stream, size_t len)
{
    stream->len -= len;
    memmove(stream->bytes, stream->bytes + len, stream->len + 1);
}

static bool read_head(struct app_stream *stream)
{
    int64_t deadline_ms = clock_mono_ms() + HEAD_LIMIT_MS;
    const char *end = NULL;

    while (!(end = strstr(stream->bytes, "\r\n\r\n"))) {
        if (!fill(stream, deadline_ms)) return false;
    }
    (void)snprintf(stream->head, sizeof stream->head, "%.*s", (int)(end + 2 - stream->bytes),
                   stream->bytes);
    stream->status = (int)strtol(stream->head + 9, NULL, 10);
    take(stream, (size_t)(end + 4 - stream->bytes));
    return true;
}

bool app_stream_open(struct app_stream *out, const char *base, const char *sale)
{
    char bytes[512];

    (void)snprintf(bytes, sizeof bytes,
                   "GET /api/v1/sales/%s/events HTTP/1.1\r\nHost: here\r\n\r\n", sale);
    return app_stream_ask(out, base, bytes);
}

bool app_stream_ask(struct app_stream *out, const char *base, const char *request)
{
    out->len = 0;
    out->bytes[0] = out->head[0] = '\0';
    out->status = 0;
    out->fd = app_connect(base);
    if (out->fd >= 0 && app_send(out->fd, request, strlen(request)) && read_head(out) &&
        out->status == 200)
        return true;
    app_stream_close(out);
    return false;
}

void app_stream_close(struct app_stream *stream)
{
    if (stream->fd >= 0) (void)close(stream->fd);
    stream->fd = -1;
}

static void read_line(const char *line, size_t len, struct app_event *out)
{
    static const struct {
        const char *field;
        size_t offset, size;
    } fields[] = {
        {"event: ", offsetof(struct app_event, kind), sizeof out->kind},
        {"data: ", offsetof(struct app_event, data), sizeof out->data},
        {"retry: ", offsetof(struct app_event, data), sizeof out->data},
        {": ", offsetof(struct app_event, data), sizeof out->data},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        size_t name_len = strlen(fields[i].field);

        if (len < name_len || memcmp(line, fields[i].field, name_len) != 0) continue;
        (void)snprintf((char *)out + fields[i].offset, fields[i].size, "%.*s",
                       (int)(len - name_len), line + name_len);
    }
    if (line[0] == ':') (void)stpcpy(out->kind, ":");
    if (line[0] == 'r') (void)stpcpy(out->kind, "retry");
}

bool app_stream_next(struct app_stream *stream, struct app_event *out, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    const char *end = NULL;
    const char *line = stream->bytes;

    while (!(end = strstr(stream->bytes, "\n\n"))) {
        if (!fill(stream, deadline_ms)) return false;
    }
    *out = (struct app_event){0};
    while (line <= end) {
        size_t len = strcspn(line, "\n");

        read_line(line, len, out);
        line += len + 1;
    }
    take(stream, (size_t)(end + 2 - stream->bytes));
    return true;
}

bool app_stream_find(struct app_stream *stream, const char *kind, struct app_event *out,
                     int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;

    while (app_stream_next(stream, out, deadline_ms - clock_mono_ms())) {
        if (strcmp(out->kind, kind) == 0) return true;
    }
    return false;
}

bool app_stream_ends(struct app_stream *stream, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    char byte = 0;

    while (fill(stream, deadline_ms))
        take(stream, stream->len);
    return recv(stream->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

long long app_event_number(const struct app_event *event, const char *name)
{
    char member[64];
    const char *at = NULL;

    (void)snprintf(member, sizeof member, "\"%s\":", name);
    at = strstr(event->data, member);
    return at ? strtoll(at + strlen(member), NULL, 10) : -1;
}
