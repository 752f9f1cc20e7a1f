/*
 * Names of statuses and events, and the one function that fills struct lk_error. Threads: any.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lockkit/event.h"

const char *lk_status_name(lk_status status)
{
    static const char *const names[] = {
#define STATUS_NAME(value, name, meaning) [value] = (name),
        LK_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    };

    return (unsigned)status < LK_STATUS_COUNT ? names[status] : "?";
}

const char *lk_status_meaning(lk_status status)
{
    static const char *const meanings[] = {
#define STATUS_MEANING(value, name, meaning) [value] = (meaning),
        LK_STATUS_LIST(STATUS_MEANING)
#undef STATUS_MEANING
    };

    return (unsigned)status < LK_STATUS_COUNT ? meanings[status] : "?";
}

const char *lk_event_name(lk_event_type type)
{
    static const char *const names[] = {
#define EVENT_NAME(value, name) [value] = (name),
        LK_EVENT_LIST(EVENT_NAME)
#undef EVENT_NAME
    };

    return (unsigned)type < LK_EVENT_COUNT ? names[type] : "?";
}

/* A text that is too long loses its middle: it begins with what failed, and ends with why. */
static void fill_text(char *out, size_t size, const char *text)
{
    enum { HEAD = 60 };
    size_t len = strlen(text);
    size_t head = HEAD, tail = len + HEAD + strlen("...") + 1 - size;

    if (len < size) {
        memcpy(out, text, len + 1);
        return;
    }
    while (head > 0 && (text[head] & 0xc0) == 0x80) /* between two characters of UTF-8 */
        head--;
    while ((text[tail] & 0xc0) == 0x80)
        tail++;
    (void)snprintf(out, size, "%.*s...%s", (int)head, text, text + tail);
}

lk_status lki_error_fill(struct lk_error *err, lk_status code, int sys_errno, const char *where,
                         const char *format, ...)
{
    char text[1024]; /* the longest key, and words */
    va_list args;

    if (!err) return code;
    *err = (struct lk_error){.code = code, .sys_errno = sys_errno, .where = where};
    va_start(args, format);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (sys_errno != 0) {
        char words[80];
        size_t len = strlen(text);

        (void)snprintf(text + len, sizeof text - len, ": %s",
                       strerror_r(sys_errno, words, sizeof words));
    }
    fill_text(err->text, sizeof err->text, text);
    return code;
}
