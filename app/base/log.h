/*
 * Log lines on stderr, one write each, as text or as JSON:
 *   2026-11-20T10:00:00.123Z warn redis: gone
 *   {"t":"2026-11-20T10:00:00.123Z","level":"warn","event":"redis","msg":"redis: gone"}
 */
#ifndef SECKILL_LOG_H
#define SECKILL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"

/* X(value, name in flags and lines) */
#define LOG_LEVEL_LIST(X)                                                                          \
    X(LOG_ERROR, "error") X(LOG_WARN, "warn") X(LOG_INFO, "info") X(LOG_DEBUG, "debug")

typedef enum log_level { LOG_LEVEL_LIST(LIST_VALUE) LOG_LEVEL_COUNT } log_level;

/* X(value, name in flags) */
#define LOG_FORMAT_LIST(X) X(LOG_AS_TEXT, "text") X(LOG_AS_JSON, "json")

typedef enum log_format { LOG_FORMAT_LIST(LIST_VALUE) LOG_FORMAT_COUNT } log_format;

enum { LOG_TEXT_MAX = 256 }; /* bytes of a line's text, escapes included */

const char *log_level_name(log_level level);

/* Lines above this level are dropped [LOG_INFO]. Call before other threads exist. */
void log_set_level(log_level level);
/* [LOG_AS_TEXT] Likewise. */
const char *log_format_name(log_format format);
void log_set_format(log_format format);
bool log_is_json(void);

/*
 * Shape    no newline at the end. Control bytes and bytes above 0x7e are written as \xNN: nothing a
 *          client sent can forge a line or drive a terminal.
 * Threads  any.
 */
void log_line(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a line is about, for machines: members of the JSON, besides the words. Of none 0 or NULL, which is left out. */
struct log_fields {
    const char *event; /* "restock", "request"; that of log_line() is "note" */
    const char *sale;
    const char *who;    /* an operator's name, or a client's address */
    const char *from;   /* the operator's address */
    const char *method; /* these three: of a request */
    const char *path;
    int status;
    int64_t units;
    int64_t duration_ns; /* shown as duration_ms */
};
void log_event(log_level level, const struct log_fields *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The one line on stdout: that it serves, and where. As text it has no stamp. */
void log_announce(const char *words);

/* Whether the next line would wait for somebody who reads them: for who must not. */
bool log_would_wait(void);

/* What log_line() does to its text, before JSON's own escapes; the result is NUL-terminated, at most size - 1 bytes. */
void log_escape(const char *text, char *out, size_t size);

#endif
