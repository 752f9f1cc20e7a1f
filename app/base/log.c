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

static void add_as_json(struct text *out, const char *stamp, log_level level, const char *words)
{
    TEXT_ADD(out, "{");
    text_add_member(out, "t", stamp);
    text_add_member(out, "level", log_level_name(level));
    text_add_member(out, "msg", words);
    TEXT_ADD(out, "}\n");
}

void log_line(log_level level, const char *format, ...)
{
    char raw[2 * LOG_TEXT_MAX];
    char escaped[LOG_TEXT_MAX + 1];
    char line[RFC3339_SIZE + 2 * LOG_TEXT_MAX + 64]; /* JSON doubles each backslash and quote */
    char stamp[RFC3339_SIZE];
    struct text out = TEXT_OVER(line);
    va_list args;

    if (level > log_state.level) return;
    va_start(args, format);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    log_escape(raw, escaped, sizeof escaped);
    rfc3339_format(clock_unix_ms(), stamp);
    (log_state.format == LOG_AS_JSON ? add_as_json : add_as_text)(&out, stamp, level, escaped);
    assert(!out.is_cut);
    if (write(STDERR_FILENO, line, out.len) < 0) return; /* nowhere left to say so */
}

bool log_would_wait(void)
{
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    const struct timespec at_once = {0};

    return ppoll(&log, 1, &at_once, NULL) != 1; /* poll() is civetweb's door (door/inside.c) */
}
