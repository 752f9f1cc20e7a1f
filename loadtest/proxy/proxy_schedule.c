/*
 * A handful of lines, each with its next moment; the earliest comes first. One thread.
 */
#include "proxy_schedule.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 256, TEXT_MAX = 64 * 1024, MOMENT_MAX_MS = 1000000000 };

struct line {
    struct proxy_command command;
    bool is_repeated;
    int64_t least_ms, most_ms; /* the gap, when it is repeated */
    int64_t next_ms;
    struct random random;
};

struct proxy_schedule {
    struct line lines[LINES_MAX];
    size_t count;
};

/* The number at *text, up to `end`; *text moves behind it. */
static bool read_number(const char **text, int64_t least, int64_t *out_number)
{
    char *end = NULL;

    if (**text < '0' || **text > '9') return false;
    errno = 0;
    long number = strtol(*text, &end, 10);
    if (errno || number < least || number > MOMENT_MAX_MS) return false;
    *text = end;
    *out_number = number;
    return true;
}

static bool take_blanks(const char **text)
{
    size_t count = strspn(*text, " \t");
    *text += count;
    return count > 0;
}

static void draw(struct line *line)
{
    line->next_ms += random_between(&line->random, line->least_ms, line->most_ms);
}

static bool read_when(struct line *line, const char **text, struct failure *failure)
{
    static const char every[] = "every ";

    line->is_repeated = strncmp(*text, every, strlen(every)) == 0;
    if (!line->is_repeated)
        return (read_number(text, 0, &line->next_ms) && take_blanks(text)) ||
               failure_set(failure, "does not begin with AFTER_MS or every MIN..MAX");
    *text += strlen(every);
    (void)take_blanks(text);
    bool is_read = read_number(text, 1, &line->least_ms) && strncmp(*text, "..", 2) == 0;
    if (is_read) *text += 2;
    return (is_read && read_number(text, line->least_ms, &line->most_ms) && take_blanks(text)) ||
           failure_set(failure, "every: MIN..MAX must be from 1 to %d ms", MOMENT_MAX_MS);
}

static bool add_line(struct proxy_schedule *schedule, const char *text, uint64_t seed,
                     struct failure *failure)
{
    struct line line = {.random = random_stream(seed, schedule->count)};

    (void)take_blanks(&text);
    if (!text[strspn(text, "\r")] || *text == '#') return true;
    if (schedule->count == LINES_MAX) return failure_set(failure, "more than %d", LINES_MAX);
    if (!read_when(&line, &text, failure) || !proxy_command_parse(&line.command, text, failure))
        return false;
    if (line.command.verb == PROXY_STATUS) return failure_set(failure, "status: nobody reads it");
    if (line.is_repeated) draw(&line);
    schedule->lines[schedule->count++] = line;
    return true;
}

/* Goes over the lines of `text`, which it cuts up. */
static bool add_lines(struct proxy_schedule *schedule, char *text, uint64_t seed,
                      struct failure *failure)
{
    struct failure why = {.text = ""};
    unsigned number = 1;

    for (char *line = text; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        if (!add_line(schedule, line, seed, &why))
            return failure_set(failure, "line %u: %.300s", number, why.text);
        line = end ? end + 1 : NULL;
    }
    return true;
}

struct proxy_schedule *proxy_schedule_new(const char *text, uint64_t seed, struct failure *failure)
{
    struct proxy_schedule *schedule = calloc(1, sizeof *schedule);
    char *copy = strdup(text);

    if (!schedule || !copy) {
        (void)failure_set(failure, "out of memory");
        goto fail;
    }
    if (!add_lines(schedule, copy, seed, failure)) goto fail;
    free(copy);
    return schedule;

fail:
    free(copy);
    proxy_schedule_free(schedule);
    return NULL;
}

struct proxy_schedule *proxy_schedule_read(const char *path, uint64_t seed, struct failure *failure)
{
    struct proxy_schedule *schedule = NULL;
    struct failure why = {.text = ""};
    size_t length = 0;
    char *text = calloc(1, TEXT_MAX);
    FILE *file = fopen(path, "re");

    if (!text || !file) {
        (void)failure_set(failure, "%s: %s", path, failure_errno_text());
        goto out;
    }
    length = fread(text, 1, TEXT_MAX - 1, file);
    if (ferror(file) || length == TEXT_MAX - 1 || strlen(text) != length) {
        (void)failure_set(failure, "%s: not a text of less than %d bytes", path, TEXT_MAX);
        goto out;
    }
    schedule = proxy_schedule_new(text, seed, &why);
    if (!schedule) (void)failure_set(failure, "%.80s: %.300s", path, why.text);
out:
    if (file) (void)fclose(file); /* read only */
    free(text);
    return schedule;
}

void proxy_schedule_free(struct proxy_schedule *schedule)
{
    free(schedule);
}

static const struct line *earliest(const struct proxy_schedule *schedule)
{
    const struct line *first = NULL;

    for (size_t i = 0; i < schedule->count; i++)
        if (!first || schedule->lines[i].next_ms < first->next_ms) first = &schedule->lines[i];
    return first;
}

int64_t proxy_schedule_next_ms(const struct proxy_schedule *schedule)
{
    const struct line *first = earliest(schedule);
    return first ? first->next_ms : INT64_MAX;
}

const struct proxy_command *proxy_schedule_take(struct proxy_schedule *schedule)
{
    const struct line *first = earliest(schedule);

    assert(first && first->next_ms != INT64_MAX);
    struct line *line = &schedule->lines[first - schedule->lines];
    if (line->is_repeated)
        draw(line);
    else
        line->next_ms = INT64_MAX;
    return &line->command;
}

const struct proxy_command *proxy_schedule_line(const struct proxy_schedule *schedule, size_t index)
{
    return index < schedule->count ? &schedule->lines[index].command : NULL;
}
