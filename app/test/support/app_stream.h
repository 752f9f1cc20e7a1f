/*
 * A client of GET /api/v1/sales/{id}/events for the tests, event by event.
 */
#ifndef SECKILL_APP_STREAM_H
#define SECKILL_APP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APP_STREAM_ROOM = 32768 };

struct app_stream {
    int fd; /* owned; -1: not open */
    int status;
    char head[1024];
    size_t len; /* bytes that came and were not taken yet */
    char bytes[APP_STREAM_ROOM];
};

struct app_event {
    char kind[16]; /* of the event; "retry"; ":" for a comment */
    char data[1024];
};

/* Connect and read the head. False unless the answer is 200. */
bool app_stream_open(struct app_stream *out, const char *base, const char *sale);
/* The same of any request, whole. */
bool app_stream_ask(struct app_stream *out, const char *base, const char *request);
void app_stream_close(struct app_stream *stream);

/* The next event; false when none came in time, or the stream has ended. */
bool app_stream_next(struct app_stream *stream, struct app_event *out, int64_t limit_ms);

/* The next event of this kind; others before it are passed over. */
bool app_stream_find(struct app_stream *stream, const char *kind, struct app_event *out,
                     int64_t limit_ms);

/* Whether the server ends it in time; what still comes is passed over. */
bool app_stream_ends(struct app_stream *stream, int64_t limit_ms);

/* The number after "name": in the data; -1 when there is none. */
long long app_event_number(const struct app_event *event, const char *name);

#endif
