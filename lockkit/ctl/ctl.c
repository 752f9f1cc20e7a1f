/*
 * What lockctl says: on stderr, one line each, and never a password. One thread.
 */
#include "ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/utf8.h"

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* One write for one line: others write there too. */
static void say(const char *format, va_list args)
{
    char line[1024];

    (void)vsnprintf(line, sizeof line, format, args);
    (void)fprintf(stderr, "lockctl: %s\n", line);
}

int64_t ctl_now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* it always is there */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int ctl_complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return CTL_USAGE;
}

void ctl_tell(const struct ctl_request *request, const char *format, ...)
{
    va_list args;

    if (!request->is_verbose) return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

static int status_of(lk_status status)
{
    switch (status) {
    case LK_OK:
        return CTL_OK;
    case LK_BUSY:
    case LK_LOST: /* won, but the answer came too late; given back */
    case LK_DEADLOCK:
    case LK_CANCELLED:
    case LK_UNSYNCED:
    case LK_EXHAUSTED:
        return CTL_BUSY;
    case LK_NOT_OWNER:
        return CTL_NOTHING;
    case LK_INVALID:
        return CTL_USAGE;
    case LK_UNKNOWN:
    case LK_UNREACHABLE:
        return CTL_UNREACHABLE;
    case LK_SERVER:
        return CTL_REFUSED;
    case LK_NO_MEMORY:
    case LK_STATUS_COUNT:
        break;
    }
    return CTL_SYSTEM;
}

static const char *way_out(lk_status status)
{
    switch (status) {
    case LK_UNREACHABLE:
        return " (--redis, --on or LOCKCTL_REDIS says which server)";
    case LK_UNKNOWN:
        return " (no answer came: what may have been taken ends with its lease)";
    case LK_OK:
    case LK_BUSY:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_CANCELLED:
    case LK_UNSYNCED:
    case LK_NOT_OWNER:
    case LK_INVALID:
    case LK_SERVER:
    case LK_EXHAUSTED:
    case LK_NO_MEMORY:
    case LK_STATUS_COUNT:
        break;
    }
    return "";
}

int ctl_complain_of(const char *about, const struct lk_error *err)
{
    char shown[256];
    char text[256];

    ctl_escape(err->text, text, sizeof text);
    ctl_escape(strncmp(err->text, about, strlen(about)) == 0 ? "" : about, shown, sizeof shown);
    (void)ctl_complain("%s%s%s%s", shown, *shown ? ": " : "",
                       *text ? text : lk_status_meaning(err->code), way_out(err->code));
    return status_of(err->code);
}

void ctl_escape(const char *text, char *out, size_t size)
{
    size_t len = 0;

    while (*text && len + 5 < size) {
        size_t good = *text == '\\' ? 0 : utf8_printable(text);

        if (good > 0) {
            memcpy(out + len, text, good);
            len += good;
            text += good;
        } else {
            (void)snprintf(out + len, size - len, "\\x%02x", (unsigned)(unsigned char)*text);
            len += 4;
            text++;
        }
    }
    out[len] = '\0';
}

/* Whatever stands before the last "@" may be a secret, also when it is no proper URL. */
void ctl_url_label(const char *url, char *out, size_t size)
{
    const char *rest = strstr(url, "://");
    const char *at = strrchr(url, '@');
    char whole[1024];

    if (strncmp(url, "unix:", 5) == 0) at = NULL;
    if (at && rest && at > rest) {
        (void)snprintf(whole, sizeof whole, "%.*s%s", (int)(rest + 3 - url), url, at + 1);
    } else {
        (void)snprintf(whole, sizeof whole, "%s", at ? at + 1 : url);
    }
    ctl_escape(whole, out, size);
}
