/*
 * Columns are the members of all rows, in the order in which they come first. One thread.
 */
#include "csv.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

enum { NAME_MAX_LEN = 120 };

static const struct {
    const char *mode, *outer, *rows;
} tables[] = {
    {"verify", NULL, "runs"},  {"compare", "comparison", "guards"},
    {"sweep", NULL, "points"}, {"bench", NULL, "rows"},
    {"speed", NULL, "steps"},
};

static const json_t *rows_of(const json_t *root)
{
    const char *mode = json_string_value(json_object_get(root, "mode"));

    for (size_t i = 0; mode && i < sizeof tables / sizeof *tables; i++)
        if (strcmp(mode, tables[i].mode) == 0)
            return json_object_get(tables[i].outer ? json_object_get(root, tables[i].outer) : root,
                                   tables[i].rows);
    return NULL;
}

/* Each value that is no list into `flat`, under its whole name; what is there stays. */
static void flatten(const char *prefix, json_t *object, json_t *flat)
{
    const char *name = NULL;
    json_t *value = NULL;
    char whole[NAME_MAX_LEN];

    json_object_foreach(object, name, value)
    {
        (void)snprintf(whole, sizeof whole, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (json_is_object(value))
            flatten(whole, value, flat);
        else if (!json_is_array(value) && !json_object_get(flat, whole))
            (void)json_object_set(flat, whole, value);
    }
}

static void print_text(FILE *to, const char *text)
{
    (void)fputc('"', to);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', to);
        (void)fputc(*text, to);
    }
    (void)fputc('"', to);
}

static void print_value(FILE *to, const json_t *value)
{
    if (json_is_string(value)) print_text(to, json_string_value(value));
    if (json_is_integer(value))
        (void)fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value)) (void)fprintf(to, "%.6g", json_real_value(value));
    if (json_is_boolean(value)) (void)fputs(json_is_true(value) ? "true" : "false", to);
}

static void print(FILE *to, const json_t *rows)
{
    json_t *columns = json_object();
    const char *name = NULL;
    json_t *value = NULL;
    int count = 0;

    for (size_t i = 0; i < json_array_size(rows); i++)
        flatten("", json_array_get(rows, i), columns);
    json_object_foreach(columns, name, value)
    {
        (void)fprintf(to, "%s%s", count++ ? "," : "", name);
    }
    (void)fputc('\n', to);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *flat = json_object();
        flatten("", json_array_get(rows, i), flat);
        count = 0;
        json_object_foreach(columns, name, value)
        {
            if (count++) (void)fputc(',', to);
            print_value(to, json_object_get(flat, name));
        }
        (void)fputc('\n', to);
        json_decref(flat);
    }
    json_decref(columns);
}

bool csv_write(const char *path, const char *result_path, struct failure *failure)
{
    json_error_t error;
    json_t *root = json_load_file(result_path, 0, &error);
    FILE *to = root ? fopen(path, "we") : NULL;
    bool is_good = to != NULL;

    if (to) print(to, rows_of(root));
    is_good = is_good && !ferror(to);
    if (to) is_good = fclose(to) == 0 && is_good;
    json_decref(root);
    return is_good || failure_set(failure, "%s: %s", path,
                                  root ? failure_errno_text() : "its result cannot be read");
}
