/*
 * A result goes to a file beside its place, then is moved there. One thread.
 */
#include "json_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum { LINE_TOO_LONG = 4096 };

void json_file_put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value); /* NULL is refused: the member is missing */
}

static json_t *number_or_null(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

json_t *json_file_numbers(const struct repeats *repeats)
{
    json_t *values = json_array();

    for (int i = 0; i < repeats->count; i++)
        (void)json_array_append_new(values, number_or_null(repeats->values[i]));
    return values;
}

json_t *json_file_repeats(const struct repeats *repeats)
{
    struct spread spread = spread_of_repeats(repeats);

    if (repeats->count == 0) return json_null();
    return json_pack("{s:o,s:o,s:o,s:o}", "median", number_or_null(spread.median), "least",
                     number_or_null(spread.least), "most", number_or_null(spread.most), "repeats",
                     json_file_numbers(repeats));
}

json_t *json_file_words_or_null(const char *words)
{
    return *words ? json_string(words) : json_null();
}

/* Lists of numbers on one line: in place, since nothing gets longer. */
static void join_numbers(char *text)
{
    char *to = text;
    bool is_text = false, is_list = false;

    for (const char *at = text; *at; at++) {
        if (is_text && *at == '\\')
            *to++ = *at++; /* what is escaped ends no text */
        else if (*at == '"')
            is_text = !is_text;
        if (!is_text && *at == '[')
            is_list =
                at[1 + strcspn(at + 1, "\"[{]")] == ']'; /* neither text nor anything nested */
        if (!is_text && *at == ']') is_list = false;
        bool is_blank = is_list && (*at == '\n' || *at == ' ');
        if (!is_blank) *to++ = *at;
    }
    *to = '\0';
}

bool json_file_write(const char *path, json_t *object, struct failure *failure)
{
    char part[RUN_PATH_MAX + 16];
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(6));

    (void)snprintf(part, sizeof part, "%.1000s.part", path);
    json_decref(object);
    FILE *file = text ? fopen(part, "we") : NULL;
    if (file) join_numbers(text);
    bool is_good = file && fputs(text, file) >= 0;
    if (file) is_good = fclose(file) == 0 && is_good;
    free(text);
    return (is_good && rename(part, path) == 0) ||
           failure_set(failure, "%s: %s", path, failure_errno_text());
}

/* ---- lines ---- */

const char *json_file_lines_text(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text && *text ? text : NULL;
}

static bool take_line(const char *text, size_t length, json_lines_take *take, void *arg,
                      struct failure *why)
{
    if (length > LINE_TOO_LONG) return failure_set(why, "longer than any line of this file");
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    bool is_good =
        json_is_object(line) ? take(arg, line, why) : failure_set(why, "not a JSON object");
    json_decref(line);
    return is_good;
}

bool json_file_read_lines(const char *path, json_lines_take *take, void *arg,
                          struct failure *failure)
{
    struct failure why = {.text = ""};
    char *text = NULL;
    size_t size = 0;
    size_t number = 0;
    bool is_good = true;

    FILE *file = fopen(path, "re");
    if (!file) return failure_set(failure, "%s: %s", path, failure_errno_text());
    while (is_good) {
        errno = 0;
        ssize_t length = getline(&text, &size, file);
        if (length < 0 && (ferror(file) || errno == ENOMEM))
            is_good = failure_set(failure, "%s: %s", path, failure_errno_text());
        if (length < 0 || text[length - 1] != '\n') break; /* the end, or a line cut short */
        number++;
        if (take_line(text, (size_t)length, take, arg, &why)) continue;
        is_good = failure_set(failure, "%s:%zu: %s", path, number, why.text);
    }
    free(text);
    (void)fclose(file); /* read only */
    return is_good;
}
