/*
 * Writing and reading histories. The writer is of any thread; the reader of one.
 */
#include "history.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096, TEXT_MAX = 1600, WORDS_MAX = 12 };

/* ---- writing ------------------------------------------------------------------------------------ */

bool history_open(struct history_writer *writer, const char *path)
{
    writer->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return writer->fd >= 0;
}

void history_close(struct history_writer *writer)
{
    (void)close(writer->fd);
    writer->fd = -1;
}

static int64_t now_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void put_line(const struct history_writer *writer, const char *line, int len)
{
    ssize_t done = write(writer->fd, line, (size_t)len);

    (void)done; /* a full disk shows in the check: it misses its activity */
}

/* A word of a line from any bytes. */
static const char *word_of(const char *text, char *out, size_t max)
{
    size_t used = 0;

    if (!text || !*text) return "-";
    for (const char *c = text; *c && used + 4 < max; c++) {
        if (isgraph((unsigned char)*c) && *c != '%' && *c != '=') {
            out[used++] = *c;
        } else {
            used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned char)*c);
        }
    }
    out[used] = '\0';
    return out;
}

void history_on_event(const struct lk_event *event, void *writer)
{
    char line[LINE_MAX_BYTES];
    char key[TEXT_MAX], token[TEXT_MAX / 4];

    if (!event->kind) return; /* a round trip, a connection */
    int len = snprintf(
        line, sizeof line,
        "%lld %ld %s %s %s %s %s took=%lld ends=%lld fence=%llu count=%lld renewed=%d\n",
        (long long)event->at_ns, (long)getpid(), lk_event_name(event->type), event->kind,
        word_of(event->key, key, sizeof key), word_of(event->token, token, sizeof token),
        lk_status_name(event->status), (long long)event->duration_ns, (long long)event->ends_ns,
        (unsigned long long)event->fence, (long long)event->count, event->is_renewed);
    put_line(writer, line, len);
}

void history_note(const struct history_writer *writer, long pid, const char *format, ...)
{
    char text[LINE_MAX_BYTES / 2];
    char line[LINE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_line(writer, line,
             snprintf(line, sizeof line, "%lld %ld %s\n", (long long)now_ns(), pid, text));
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

static const char *intern(struct history *history, const char *word)
{
    if (!word || strcmp(word, "-") == 0) return NULL;
    const char *const *found = tfind(word, &history->texts, by_text);
    if (found) return *found;
    char *copy = strdup(word);
    if (copy && tsearch(copy, &history->texts, by_text)) return copy;
    free(copy);
    return NULL;
}

/* A whole word as a decimal number. */
static bool read_number(const char *word, long long *out)
{
    char *end = NULL;

    if (!word) return false;
    errno = 0;
    *out = strtoll(word, &end, 10);
    return errno == 0 && end != word && *end == '\0';
}

/* name=NUMBER of a step's tail. */
static bool read_pair(struct history_line *line, const char *word)
{
    const char *number = strchr(word, '=');
    long long value = 0;

    if (!number || !read_number(number + 1, &value)) return false;
    if (strncmp(word, "took=", 5) == 0)
        line->took_ns = value;
    else if (strncmp(word, "ends=", 5) == 0)
        line->ends_ns = value;
    else if (strncmp(word, "fence=", 6) == 0)
        line->fence = (uint64_t)value;
    else if (strncmp(word, "count=", 6) == 0)
        line->count = value;
    else if (strncmp(word, "renewed=", 8) == 0)
        line->is_renewed = value != 0;
    else
        return false;
    return true;
}

enum shape { SHAPE_NONE, SHAPE_STEP, SHAPE_MARK, SHAPE_LIMIT, SHAPE_KEY, SHAPE_CHANNEL };

static enum shape shape_of(const char *step)
{
    static const struct {
        const char *name;
        enum shape shape;
    } rows[] = {{"mark", SHAPE_MARK}, {"limit", SHAPE_LIMIT},  {"look", SHAPE_STEP},
                {"seen", SHAPE_STEP}, {"left-key", SHAPE_KEY}, {"left-channel", SHAPE_CHANNEL}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, step) == 0) return rows[i].shape;
    }
    for (int i = 0; i < LK_EVENT_COUNT; i++) {
        if (strcmp(lk_event_name((lk_event_type)i), step) == 0) return SHAPE_STEP;
    }
    return SHAPE_NONE;
}

/* NULL, or what is wrong with the words. */
static const char *fill_line(struct history *history, struct history_line *line, char **words,
                             size_t count)
{
    long long at_ns = 0, pid = 0, number = 0;
    enum shape shape = count > 2 ? shape_of(words[2]) : SHAPE_NONE;
    static const size_t least[] = {[SHAPE_STEP] = 7,
                                   [SHAPE_MARK] = 4,
                                   [SHAPE_LIMIT] = 6,
                                   [SHAPE_KEY] = 6,
                                   [SHAPE_CHANNEL] = 5};

    if (count < 3 || !read_number(words[0], &at_ns) || !read_number(words[1], &pid)) {
        return "it does not begin with a time and a process";
    }
    if (shape == SHAPE_NONE) return "its step is not known";
    if (count < least[shape]) return "it has too few words";
    line->at_ns = at_ns;
    line->pid = (long)pid;
    line->step = intern(history, words[2]);
    bool has_kind = shape == SHAPE_STEP || shape == SHAPE_MARK || shape == SHAPE_LIMIT;
    size_t next = 3;
    if (has_kind) line->kind = intern(history, words[next++]);
    if (shape != SHAPE_MARK) line->key = intern(history, words[next++]);
    if (shape == SHAPE_STEP) line->token = intern(history, words[next++]);
    if (shape == SHAPE_STEP || shape == SHAPE_KEY) line->status = intern(history, words[next++]);
    if (shape == SHAPE_LIMIT || shape == SHAPE_KEY || shape == SHAPE_CHANNEL) {
        if (!read_number(words[next++], &number)) return "its number is none";
        line->count = number;
    }
    for (; next < count; next++) {
        if (!read_pair(line, words[next])) return "a word at its end is no name=number";
    }
    return NULL;
}

static struct history_line *add_line(struct history *history)
{
    if (history->count == history->room) {
        size_t room = history->room ? 2 * history->room : 1024;
        struct history_line *grown = reallocarray(history->lines, room, sizeof *history->lines);

        if (!grown) return NULL;
        history->lines = grown;
        history->room = room;
    }
    return memset(&history->lines[history->count++], 0, sizeof *history->lines);
}

unsigned long history_read(struct history *history, FILE *file, const char **out_why)
{
    char *text = NULL;
    size_t room = 0;
    unsigned long number = 0;
    const char *why = NULL;

    while (!why && getline(&text, &room, file) > 0) {
        char *words[WORDS_MAX] = {0};
        size_t count = 0;
        char *rest = NULL;

        number++;
        for (char *word = strtok_r(text, " \n", &rest); word && count < WORDS_MAX;
             word = strtok_r(NULL, " \n", &rest))
            words[count++] = word;
        if (count == 0) continue;
        struct history_line *line = add_line(history);
        why = line ? fill_line(history, line, words, count) : "out of memory";
        if (line) line->number = number;
    }
    free(text);
    *out_why = why;
    return why ? number : 0;
}

void history_done(struct history *history)
{
    tdestroy(history->texts, free);
    free(history->lines);
    *history = (struct history){0};
}
