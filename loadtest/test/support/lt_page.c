/*
 * A small reader of tags. One thread.
 */
#include "lt_page.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 64, NAME_MAX_LEN = 32 };

struct reading {
    const char *page;
    char stack[DEPTH_MAX][NAME_MAX_LEN];
    int depth;
    struct lt_page_fault *fault; /* borrowed */
};

char *lt_page_read(const char *path)
{
    FILE *file = fopen(path, "re");
    struct stat about;
    char *text = NULL;

    if (file && fstat(fileno(file), &about) == 0) text = calloc(1, (size_t)about.st_size + 1);
    if (text) text[fread(text, 1, (size_t)about.st_size, file)] = '\0';
    if (file) (void)fclose(file); /* read only */
    return text;
}

/* NULL, and so false. */
static const char *complain(struct reading *reading, const char *what, const char *at)
{
    (void)snprintf(reading->fault->words, sizeof reading->fault->words, "%s: %.60s", what, at);
    return NULL;
}

/* ---- names ---- */

static int count_ids(const char *page, const char *name, size_t length)
{
    int count = 0;

    for (const char *at = page; (at = strstr(at, " id=")); at++) {
        const char *value = at + 5;
        if (strncmp(value, name, length) == 0 && (value[length] == '"' || value[length] == '\''))
            count++;
    }
    return count;
}

/* Each of the words of an attribute names one element. */
static bool check_references(struct reading *reading, const char *value, size_t length)
{
    while (length > 0) {
        size_t word = strcspn(value, " \"'");
        if (word > length) word = length;
        if (count_ids(reading->page, value, word) != 1)
            return complain(reading, "is not there once", value);
        size_t step = word < length ? word + 1 : word;
        value += step;
        length -= step;
    }
    return true;
}

/* ---- tags ---- */

static bool check_attribute(struct reading *reading, const char *name, size_t name_len,
                            const char *value, size_t length)
{
    if (memchr(value, '<', length)) return complain(reading, "a < in an attribute", value);
    if (name_len == 2 && strncmp(name, "id", 2) == 0)
        return check_references(reading, value, length);
    if (name_len == 15 && strncmp(name, "aria-labelledby", 15) == 0)
        return check_references(reading, value, length);
    if (name_len == 4 && strncmp(name, "href", 4) == 0)
        return value[0] == '#' ? check_references(reading, value + 1, length - 1)
                               : complain(reading, "leaves the page", value) != NULL;
    if ((name_len == 3 && strncmp(name, "src", 3) == 0) || strncmp(name, "on", 2) == 0)
        return complain(reading, "loads or runs something", name);
    return true;
}

/* From behind a tag's name to its '>'; NULL when an attribute is bad. */
static const char *check_attributes(struct reading *reading, const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at == '>' || (at[0] == '/' && at[1] == '>')) return at;
        const char *name = at;
        size_t name_len = strcspn(at, " =>\t\r\n");
        at += name_len;
        at += strspn(at, " ");
        if (*at != '=') return complain(reading, "an attribute without a value", name);
        at++;
        at += strspn(at, " ");
        const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;
        if (!end) return complain(reading, "an attribute without quotes", name);
        if (!check_attribute(reading, name, name_len, at + 1, (size_t)(end - at - 1))) return NULL;
        at = end + 1;
    }
}

static bool is_forbidden(const char *name)
{
    static const char *const names[] = {"script", "link", "img",   "iframe", "object",
                                        "embed",  "base", "image", "video",  "audio"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static const char *take_end(struct reading *reading, const char *at)
{
    char name[NAME_MAX_LEN] = "";

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 2, ">"), at + 2);
    if (reading->depth == 0 || strcmp(reading->stack[reading->depth - 1], name) != 0)
        return complain(reading, "closes what is not open", at);
    reading->depth--;
    return strchr(at, '>') + 1;
}

static const char *take_tag(struct reading *reading, const char *at)
{
    if (strncmp(at, "<!DOCTYPE html>", 15) == 0) return at + 15;
    if (at[1] == '/') return take_end(reading, at);
    size_t length = strcspn(at + 1, " />\t\r\n");
    if (!isalpha((unsigned char)at[1]) || length >= NAME_MAX_LEN || reading->depth == DEPTH_MAX)
        return complain(reading, "is no tag", at);
    char *name = reading->stack[reading->depth];
    (void)snprintf(name, NAME_MAX_LEN, "%.*s", (int)length, at + 1);
    if (is_forbidden(name)) return complain(reading, "does not belong here", at);
    const char *end = check_attributes(reading, at + 1 + length);
    if (!end) return NULL;
    if (*end == '/') return end + 2;
    reading->depth++;
    return end + 1;
}

static const char *take_entity(struct reading *reading, const char *at)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0) return at + strlen(names[i]);
    return complain(reading, "an unknown entity", at);
}

bool lt_page_is_sound(const char *page, struct lt_page_fault *fault)
{
    static const char *const loads[] = {"http:", "https:", "url(", "@import", "javascript:"};
    struct reading reading = {.page = page, .fault = fault};

    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (strstr(page, loads[i])) return complain(&reading, "loads", strstr(page, loads[i]));
    for (const char *at = page; *at;) {
        if (*at == '<')
            at = take_tag(&reading, at);
        else if (*at == '&')
            at = take_entity(&reading, at);
        else
            at++;
        if (!at) return false;
    }
    return reading.depth == 0 || complain(&reading, "is not closed", reading.stack[0]);
}
