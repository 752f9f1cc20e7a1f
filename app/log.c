/*
 * Log lines on stderr. Runs on any thread; a line is one write(2), so that lines do not mix.
 */
#include "log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "rfc3339.h"
#include "text.h"

static struct {
    log_level level;
} log_state = {.level = LOG_INFO};

const char *log_level_name(log_level level)
{
    static const char *const names[] = {
#define LOG_LEVEL_NAME(value, name) [value] = (name),
        LOG_LEVEL_LIST(LOG_LEVEL_NAME)
#undef LOG_LEVEL_NAME
    };

    assert(level < LOG_LEVEL_COUNT);
    return names[level];
}

void log_set_level(log_level level)
{
    log_state.level = level;
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
        unsigned char byte = (unsigned char)*text;
        size_t need = is_plain(byte) ? 1 : 4;

        if (used + need + sizeof more > size) { /* keep room for the dots */
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

void log_line(log_level level, const char *format, ...)
{
    char raw[2 * LOG_TEXT_MAX];
    char escaped[LOG_TEXT_MAX + 1];
    char line[RFC3339_SIZE + LOG_TEXT_MAX + 16];
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
    text_add_string(&out, stamp);
    TEXT_ADD(&out, " ");
    text_add_string(&out, log_level_name(level));
    TEXT_ADD(&out, " ");
    text_add_string(&out, escaped);
    TEXT_ADD(&out, "\n");
    if (write(STDERR_FILENO, line, out.len) < 0) return; /* nowhere left to say so */
}
