/*
 * Log lines on stderr. Runs on any thread; a line is one write(2), so that lines do not mix.
 */
#include "log.h"

#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "common/utf8.h"
#include "rfc3339.h"
#include "text.h"

/* JSON doubles each backslash and quote. */
enum { PATH_MAX_SHOWN = 130, LINE_MAX_BYTES = 2 * (LOG_TEXT_MAX + 5 * PATH_MAX_SHOWN) + 256 };

static struct {
    log_level level;
    log_format format;
} log_state = {.level = LOG_INFO, .format = LOG_AS_TEXT};

const char *log_level_name(log_level level)
{
    static const char *const names[] = {LOG_LEVEL_LIST(LIST_NAME)};

    assert(level < LOG_LEVEL_COUNT);
    return names[level];
}

void log_set_level(log_level level)
{
    log_state.level = level;
}

const char *log_format_name(log_format format)
{
    static const char *const names[] = {LOG_FORMAT_LIST(LIST_NAME)};

    assert(format < LOG_FORMAT_COUNT);
    return names[format];
}

void log_set_format(log_format format)
{
    log_state.format = format;
}

bool log_is_json(void)
{
    return log_state.format == LOG_AS_JSON;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte <= 0x7e && byte != '\\';
}

void log_escape(const char *text, char *out, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    static const char more[] = "...";
    size_t used = 0;

    for (; *text; text++) {
        uint32_t code = 0;
        unsigned char byte = (unsigned char)*text;
        size_t need = is_plain(byte) ? 1 : 4;
        size_t whole =
            need > 1 ? 4 * utf8_read(text, &code) : 1; /* the character's; 0: inside it */

        if (used + (whole > need ? whole : need) + sizeof more > size) { /* room for the dots */
            memcpy(out + used, more, sizeof more);
            return;
        }
        if (need == 1) {
            out[used] = (char)byte;
        } else {
            const char escape[4] = {'\\', 'x', hex[byte >> 4], hex[byte & 15]};

            memcpy(out + used, escape, sizeof escape);
        }
        used += need;
    }
    out[used] = '\0';
}

static void add_as_text(struct text *out, const char *stamp, log_level level, const char *words)
{
    text_add_string(out, stamp);
    TEXT_ADD(out, " ");
    text_add_string(out, log_level_name(level));
    TEXT_ADD(out, " ");
    text_add_string(out, words);
    TEXT_ADD(out, "\n");
}

static void add_as_json(struct text *out, const char *stamp, log_level level, const char *words,
                        const struct log_fields *fields)
{
    const char *const members[] = {"event",  fields->event ? fields->event : "note",
                                   "sale",   fields->sale,
                                   "who",    fields->who,
                                   "from",   fields->from,
                                   "method", fields->method,
                                   "path",   fields->path};

    TEXT_ADD(out, "{");
    text_add_member(out, "t", stamp);
    text_add_member(out, "level", log_level_name(level));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i += 2) {
        char escaped[PATH_MAX_SHOWN];

        if (!members[i + 1]) continue;
        log_escape(members[i + 1], escaped, sizeof escaped);
        text_add_member(out, members[i], escaped);
    }
    if (fields->status > 0) text_add_count(out, "status", fields->status);
    if (fields->units > 0) text_add_count(out, "units", fields->units);
    if (fields->duration_ns > 0) {
        char ms[32];

        (void)snprintf(ms, sizeof ms, "%.3f", (double)fields->duration_ns / 1e6);
        text_add_name(out, "duration_ms");
        text_add_string(out, ms);
    }
    text_add_member(out, "msg", words);
    TEXT_ADD(out, "}\n");
}

static void write_line(int fd, log_level level, const struct log_fields *fields, const char *words)
{
    char escaped[LOG_TEXT_MAX + 1];
    char line[LINE_MAX_BYTES];
    char stamp[RFC3339_SIZE];
    struct text out = TEXT_OVER(line);

    log_escape(words, escaped, sizeof escaped);
    rfc3339_format(clock_unix_ms(), stamp);
    if (log_is_json())
        add_as_json(&out, stamp, level, escaped, fields);
    else
        add_as_text(&out, stamp, level, escaped);
    assert(!out.is_cut);
    if (write(fd, line, out.len) < 0) return; /* nowhere left to say so */
}

__attribute__((format(printf, 3, 0))) static void
write_formatted(log_level level, const struct log_fields *fields, const char *format, va_list args)
{
    char raw[2 * LOG_TEXT_MAX];

    if (level > log_state.level) return;
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(raw, sizeof raw, format, args);
    write_line(STDERR_FILENO, level, fields, raw);
}

void log_line(log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_formatted(level, &(struct log_fields){0}, format, args);
    va_end(args);
}

void log_event(log_level level, const struct log_fields *fields, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_formatted(level, fields, format, args);
    va_end(args);
}

void log_announce(const char *words)
{
    if (log_is_json()) {
        write_line(STDOUT_FILENO, LOG_INFO, &(struct log_fields){.event = "start"}, words);
    } else {
        (void)printf("%s\n", words);
        (void)fflush(stdout);
    }
}

bool log_would_wait(void)
{
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    const struct timespec at_once = {0};

    return ppoll(&log, 1, &at_once, NULL) != 1; /* poll() is overridden: net/served.c */
}
