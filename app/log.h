/*
 * Log lines on stderr, as text, one write each: "2026-11-20T10:00:00.123Z warn redis: gone".
 */
#ifndef SECKILL_LOG_H
#define SECKILL_LOG_H

#include <stddef.h>

/* X(value, name in flags and lines) */
#define LOG_LEVEL_LIST(X)                                                                          \
    X(LOG_ERROR, "error") X(LOG_WARN, "warn") X(LOG_INFO, "info") X(LOG_DEBUG, "debug")

typedef enum log_level {
#define LOG_LEVEL_VALUE(value, name) value,
    LOG_LEVEL_LIST(LOG_LEVEL_VALUE)
#undef LOG_LEVEL_VALUE
        LOG_LEVEL_COUNT
} log_level;

enum { LOG_TEXT_MAX = 256 }; /* bytes of a line's text, escapes included */

const char *log_level_name(log_level level);

/* Lines above this level are dropped [LOG_INFO]. Call before other threads exist. */
void log_set_level(log_level level);

/*
 * Shape    no newline at the end. Control bytes and bytes above 0x7e are written as \xNN: nothing a
 *          client sent can forge a line or drive a terminal.
 * Threads  any.
 */
void log_line(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What log_line() does to its text; the result is NUL-terminated, at most size - 1 bytes. */
void log_escape(const char *text, char *out, size_t size);

#endif
