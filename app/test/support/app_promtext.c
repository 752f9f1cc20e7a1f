/*
 * Reads metrics line by line. Any thread, shares nothing.
 */
#include "app_promtext.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { NAME_SIZE = 128, LINE_SIZE = 512, SAMPLES_MAX = 8192, NAMES_MAX = 256 };

struct reader {
    char name[NAME_SIZE]; /* of the metric whose lines these are */
    char kind[16];        /* its type; "" until TYPE came */
    char names[NAMES_MAX][NAME_SIZE];
    size_t name_count;
    char samples[SAMPLES_MAX][LINE_SIZE / 2]; /* name and labels */
    size_t sample_count;
    /* The histogram series that is being read. */
    char labels[LINE_SIZE / 2]; /* without le */
    double last_le;
    double last_count;
    bool is_open; /* buckets came, _count did not yet */
    const char *fault;
};

static bool refuse(struct reader *self, const char *fault)
{
    self->fault = fault;
    return false;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++) {
        if (!islower((unsigned char)*c) && *c != '_' && !isdigit((unsigned char)*c)) return false;
    }
    return isalpha((unsigned char)name[0]);
}

static bool begin_metric(struct reader *self, const char *name, const char *help)
{
    if (self->is_open) return refuse(self, "the histogram before has no _count");
    if (!is_name(name)) return refuse(self, "not a name in small letters");
    if (!help || !*help) return refuse(self, "no help text");
    for (size_t i = 0; i < self->name_count; i++) {
        if (strcmp(self->names[i], name) == 0) return refuse(self, "HELP comes twice");
    }
    if (self->name_count == NAMES_MAX) return refuse(self, "too many names");
    (void)snprintf(self->names[self->name_count++], NAME_SIZE, "%s", name);
    (void)snprintf(self->name, sizeof self->name, "%s", name);
    self->kind[0] = '\0';
    return true;
}

static bool set_kind(struct reader *self, const char *name, const char *kind)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    static const char *const kept[] = {"_count", "_sum", "_bucket", "_info_total"};
    bool is_known = false;

    if (strcmp(name, self->name) != 0) return refuse(self, "TYPE without HELP just before");
    if (self->kind[0]) return refuse(self, "TYPE comes twice");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        is_known = is_known || strcmp(kind, kinds[i]) == 0;
    if (!is_known) return refuse(self, "no such type");
    if (strcmp(kind, "counter") == 0 && !ends_with(name, "_total"))
        return refuse(self, "a counter that does not end in _total");
    if (strcmp(kind, "counter") != 0 && ends_with(name, "_total"))
        return refuse(self, "no counter, and it ends in _total");
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (ends_with(name, kept[i])) return refuse(self, "an ending that histograms make");
    }
    (void)snprintf(self->kind, sizeof self->kind, "%s", kind);
    return true;
}

static bool read_comment(struct reader *self, char *line)
{
    char *rest = NULL;
    const char *hash = strtok_r(line, " ", &rest);
    const char *word = strtok_r(NULL, " ", &rest);
    const char *name = strtok_r(NULL, " ", &rest);

    if (!hash || !word || !name) return refuse(self, "a comment that says nothing");
    if (strcmp(word, "HELP") == 0) return begin_metric(self, name, rest);
    if (strcmp(word, "TYPE") == 0) return set_kind(self, name, rest);
    return refuse(self, "neither HELP nor TYPE");
}

/* One `name="value"`; gives what follows, or NULL. */
static const char *read_label(const char *at, char name[NAME_SIZE], char value[LINE_SIZE])
{
    size_t len = strcspn(at, "=");
    size_t used = 0;

    if (len == 0 || len >= NAME_SIZE || at[len] != '=' || at[len + 1] != '"') return NULL;
    memcpy(name, at, len);
    name[len] = '\0';
    for (at += len + 2; *at && *at != '"'; at++) {
        if (*at == '\\' && !strchr("\\\"n", at[1])) return NULL;
        if (*at == '\\') value[used++] = *at++;
        value[used++] = *at;
    }
    value[used] = '\0';
    return *at == '"' ? at + 1 : NULL;
}

/* `labels`: what stands between the braces. Splits le off. */
static bool read_labels(struct reader *self, const char *labels, char out_rest[LINE_SIZE],
                        char out_le[LINE_SIZE])
{
    char name[NAME_SIZE];
    char value[LINE_SIZE];
    struct text rest = {.data = out_rest, .size = LINE_SIZE - 1};

    *out_le = '\0';
    while (*labels) {
        labels = read_label(labels, name, value);
        if (!labels || !is_name(name) || starts_with(name, "__"))
            return refuse(self, "a label that is none");
        if (*labels == ',' && labels[1]) labels++;
        if (strcmp(name, "le") == 0) {
            (void)stpcpy(out_le, value);
        } else {
            text_add_string(&rest, name);
            TEXT_ADD(&rest, "=");
            text_add_string(&rest, value);
            TEXT_ADD(&rest, ",");
        }
    }
    out_rest[rest.len] = '\0';
    return true;
}

static bool read_bucket(struct reader *self, const char *labels, const char *le, double value)
{
    double bound = strtod(le, NULL);

    if (!*le) return refuse(self, "a bucket without le");
    if (!self->is_open) {
        self->is_open = true;
        self->last_le = -1;
        self->last_count = 0;
        (void)snprintf(self->labels, sizeof self->labels, "%.255s", labels);
    }
    if (strcmp(self->labels, labels) != 0) return refuse(self, "a bucket among others");
    if (bound <= self->last_le) return refuse(self, "bounds do not grow");
    if (value < self->last_count) return refuse(self, "counts of buckets shrink");
    self->last_le = bound;
    self->last_count = value;
    return true;
}

static bool read_histogram(struct reader *self, const char *ending, const char *labels,
                           const char *le, double value)
{
    if (strcmp(ending, "_bucket") == 0) return read_bucket(self, labels, le, value);
    if (*le) return refuse(self, "le where no bucket is");
    if (!self->is_open || strcmp(self->labels, labels) != 0)
        return refuse(self, "no buckets before it");
    if (strcmp(ending, "_sum") == 0) return true;
    if (strcmp(ending, "_count") != 0) return refuse(self, "a histogram has no such sample");
    self->is_open = false;
    if (self->last_le < 1e300) return refuse(self, "+Inf is missing");
    return value == self->last_count || refuse(self, "_count is not the last bucket");
}

static bool note_sample(struct reader *self, const char *sample)
{
    for (size_t i = 0; i < self->sample_count; i++) {
        if (strcmp(self->samples[i], sample) == 0) return refuse(self, "a sample comes twice");
    }
    if (self->sample_count == SAMPLES_MAX) return refuse(self, "too many samples");
    (void)snprintf(self->samples[self->sample_count++], sizeof self->samples[0], "%.255s", sample);
    return true;
}

/* NAME VALUE or NAME{LABELS} VALUE */
static bool read_sample(struct reader *self, char *line)
{
    char rest[LINE_SIZE];
    char le[LINE_SIZE];
    char *space = strrchr(line, ' ');
    char *end = NULL;
    double value = space ? strtod(space + 1, &end) : 0;

    if (!space || end == space + 1 || *end) return refuse(self, "no number at its end");
    *space = '\0';
    if (!note_sample(self, line)) return false;
    char *brace = strchr(line, '{');
    if (brace && line[strlen(line) - 1] != '}') return refuse(self, "a brace is not closed");
    if (brace) {
        line[strlen(line) - 1] = '\0';
        *brace = '\0';
    }
    if (!self->kind[0] || !starts_with(line, self->name))
        return refuse(self, "not below its own HELP and TYPE");
    if (!read_labels(self, brace ? brace + 1 : "", rest, le)) return false;
    if (strcmp(self->kind, "histogram") == 0)
        return read_histogram(self, line + strlen(self->name), rest, le, value);
    if (strcmp(line, self->name) != 0) return refuse(self, "not below its own HELP and TYPE");
    if (strcmp(self->kind, "counter") == 0 && value < 0) return refuse(self, "a counter below 0");
    return !*le || refuse(self, "le is for histograms");
}

bool app_promtext_is_good(const char *text, char *out, size_t size)
{
    struct reader *self = calloc(1, sizeof *self);
    char line[LINE_SIZE];
    bool good = self != NULL;

    if (!self) abort();
    while (good && *text) {
        size_t len = strcspn(text, "\n");

        (void)snprintf(out, size, "%.*s", (int)(len < 200 ? len : 200), text);
        good = (len < LINE_SIZE && text[len] == '\n') || refuse(self, "a line without end");
        if (!good) break;
        memcpy(line, text, len);
        line[len] = '\0';
        good = line[0] == '#' ? read_comment(self, line) : read_sample(self, line);
        text += len + 1;
    }
    if (good && self->is_open) good = refuse(self, "the last histogram has no _count");
    if (!good) (void)snprintf(out + strlen(out), size - strlen(out), ": %s", self->fault);
    free(self);
    return good;
}

double app_promtext_value(const char *text, const char *sample)
{
    size_t len = strlen(sample);

    for (const char *at = text; len > 0 && (at = strstr(at, sample)); at += len) {
        if ((at == text || at[-1] == '\n') && at[len] == ' ') return strtod(at + len, NULL);
    }
    return -1;
}
