/*
 * JSON by printf: every string in it is a verb, a checked name or a constant, so nothing needs
 * escaping. One thread.
 */
#include "proxy_history.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { HISTORY_LINE_MAX = 512 };

bool proxy_history_open(struct proxy_history *history, const char *path, struct failure *failure)
{
    history->fd = -1;
    if (!path) return true;
    history->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return history->fd >= 0 || failure_set(failure, "%s: %s", path, failure_errno_text());
}

void proxy_history_close(struct proxy_history *history)
{
    if (history->fd >= 0) (void)close(history->fd);
    history->fd = -1;
}

static void add_line(const struct proxy_history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_line(const struct proxy_history *history, const char *format, ...)
{
    char line[HISTORY_LINE_MAX];
    va_list values;

    if (history->fd < 0) return;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (length <= 0 || (size_t)length >= sizeof line) return;
    /* A full disk must not stop the faults. */
    ssize_t written = write(history->fd, line, (size_t)length);
    (void)written;
}

void proxy_history_start(const struct proxy_history *history, uint64_t seed)
{
    add_line(history, "{\"t\":%" PRId64 ",\"p\":\"proxy\",\"e\":\"start\",\"seed\":%" PRIu64 "}\n",
             clock_ns(), seed);
}

void proxy_history_fault(const struct proxy_history *history, const struct proxy_command *command,
                         const char *link, const char *by, uint64_t connections)
{
    char words[PROXY_LINE_MAX];

    proxy_command_words(command, words, sizeof words);
    add_line(history,
             "{\"t\":%" PRId64 ",\"p\":\"proxy\",\"e\":\"fault\",\"f\":\"%s\",\"target\":\"%s\","
             "\"by\":\"%s\",\"words\":\"%s\",\"connections\":%" PRIu64 "}\n",
             clock_ns(), proxy_verb_name(command->verb), link, by, words, connections);
}

void proxy_history_eaten(const struct proxy_history *history, const char *link, uint64_t connection,
                         uint64_t bytes)
{
    add_line(history,
             "{\"t\":%" PRId64 ",\"p\":\"proxy\",\"e\":\"effect\",\"f\":\"eat-reply\","
             "\"target\":\"%s\",\"connection\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
             clock_ns(), link, connection, bytes);
}

void proxy_history_reset(const struct proxy_history *history, const char *link,
                         uint64_t connections)
{
    add_line(history,
             "{\"t\":%" PRId64 ",\"p\":\"proxy\",\"e\":\"effect\",\"f\":\"pass\","
             "\"target\":\"%s\",\"reset\":%" PRIu64 "}\n",
             clock_ns(), link, connections);
}
