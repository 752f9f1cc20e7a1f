/*
 * See matrix.h. One thread.
 */
#include "matrix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 16, TEXT_ROOM = 2048 };

struct row {
    const char *kind; /* borrowed */
    char passed[TEXT_ROOM], failed[TEXT_ROOM], differences[TEXT_ROOM];
};

static struct row rows[ROWS_MAX];
static size_t row_count;
static struct {
    struct row *row;
    const char *what; /* borrowed; NULL: no check is running */
    bool is_different;
    char notes[256];
} now;

/* Append to a list; what does not fit is left out. */
static void append(char *list, size_t room, const char *separator, const char *text)
{
    size_t len = strlen(list);

    (void)snprintf(list + len, room - len, "%s%s", len > 0 ? separator : "", text);
}

static struct row *row_of(const char *kind)
{
    for (size_t i = 0; i < row_count; i++)
        if (strcmp(rows[i].kind, kind) == 0) return &rows[i];
    if (row_count == ROWS_MAX) abort();
    rows[row_count].kind = kind;
    return &rows[row_count++];
}

static bool fail_unfinished(void)
{
    bool has_failed = now.what != NULL;

    if (has_failed) append(now.row->failed, TEXT_ROOM, ", ", now.what);
    now.what = NULL;
    return has_failed;
}

bool matrix_begin(const char *kind, const char *what)
{
    bool has_failed = fail_unfinished();

    now.row = row_of(kind);
    now.what = what;
    now.notes[0] = '\0';
    now.is_different = false;
    return has_failed;
}

void matrix_pass(void)
{
    char text[sizeof now.notes + 128];

    (void)snprintf(text, sizeof text, now.notes[0] ? "%s (%s)" : "%s", now.what, now.notes);
    if (!now.is_different) append(now.row->passed, TEXT_ROOM, ", ", text);
    now.what = NULL;
}

void matrix_note(const char *format, ...)
{
    char note[128];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(note, sizeof note, format, args);
    va_end(args);
    append(now.notes, sizeof now.notes, ", ", note);
}

void matrix_differ(const char *how)
{
    now.is_different = true;
    if (!strstr(now.row->differences, how)) append(now.row->differences, TEXT_ROOM, "; ", how);
}

bool matrix_write(const char *path, const char *rival)
{
    FILE *file = fopen(path, "we");

    (void)fail_unfinished();
    if (!file) return false;
    for (const struct row *row = rows; row < rows + row_count; row++) {
        (void)fprintf(file, "| %s | %s | %s | %s%s%s%s |\n", row->kind, rival, row->passed,
                      row->failed[0] ? "**FAILED:** " : "", row->failed,
                      row->failed[0] && row->differences[0] ? "; " : "", row->differences);
    }
    return fclose(file) == 0;
}
