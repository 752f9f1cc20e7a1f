/*
 * On what, and of what, the files were made: a column for each. One thread.
 */
#include <string.h>

#include "page_section.h"

/* A property, and where a file may have it: MEMBER or OBJECT.MEMBER, the first that is there. */
static const struct property {
    const char *name;
    const char *places[3][3]; /* up to three members deep; NULL ends */
} properties[] = {
    {"processor", {{"machine", "cpu"}}},
    {"cores", {{"machine", "cores"}, {"versions", "cpus"}}},
    {"memory, MiB", {{"machine", "memory_mib"}}},
    {"kernel", {{"machine", "kernel"}, {"versions", "kernel"}}},
    {"commit", {{"machine", "commit"}}},
    {"seckilld", {{"machine", "versions", "seckilld"}, {"versions", "seckilld"}}},
    {"lockkit", {{"machine", "versions", "lockkit"}}},
    {"Redis", {{"machine", "versions", "redis"}, {"versions", "redis"}}},
    {"hiredis", {{"machine", "versions", "hiredis"}}},
    {"civetweb", {{"machine", "versions", "civetweb"}}},
    {"wrk", {{"machine", "versions", "wrk"}, {"machine", "wrk"}}},
    {"append and sync 4 KiB, ms", {{"machine", "append_ms"}}},
    {"load before", {{"machine", "load_before"}}},
    {"load after", {{"machine", "load_after"}}},
    {"rounds", {{"settings", "repeat"}}},
    {"seconds per round", {{"settings", "duration_s"}}},
    {"seed", {{"settings", "seed"}, {"comparison", "seed"}}},
};
enum { PROPERTY_COUNT = sizeof properties / sizeof *properties, TEXT_MAX = 200 };

/* "" when the file does not say. */
static void read_property(const json_t *root, const struct property *property, char out[TEXT_MAX])
{
    const json_t *value = NULL;

    for (size_t i = 0; i < 3 && !value && property->places[i][0]; i++) {
        value = root;
        for (size_t deep = 0; deep < 3 && property->places[i][deep]; deep++)
            value = json_object_get(value, property->places[i][deep]);
    }
    out[0] = '\0';
    if (json_is_string(value))
        (void)snprintf(out, TEXT_MAX, "%s", json_string_value(value));
    else if (json_is_integer(value))
        (void)snprintf(out, TEXT_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(out, TEXT_MAX, "%.3g", json_real_value(value));
}

static const struct property *find_property(const char *name)
{
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(properties[i].name, name) == 0) return &properties[i];
    return NULL;
}

/* Do all files that say it say the same? */
static bool is_same(const struct page_results *results, const char *name, char first[TEXT_MAX])
{
    const struct property *property = find_property(name);
    char text[TEXT_MAX];

    first[0] = '\0';
    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++) {
        read_property(results->roots[kind], property, text);
        if (!text[0]) continue;
        if (first[0] && strcmp(first, text) != 0) return false;
        memcpy(first, text, sizeof text);
    }
    return true;
}

static void write_summary(struct page *page)
{
    char cpu[TEXT_MAX], cores[TEXT_MAX], commit[TEXT_MAX];
    bool is_one_machine = is_same(page->results, "processor", cpu);

    is_one_machine = is_same(page->results, "cores", cores) && is_one_machine;
    bool is_one_commit = is_same(page->results, "commit", commit);
    (void)fputs("<p>", page->to);
    if (is_one_machine && cpu[0]) page_print(page->to, "%s, %s cores. ", cpu, cores);
    if (is_one_commit && commit[0] && strcmp(commit, "?") != 0)
        page_print(page->to, "Commit %s.", commit);
    else if (is_one_commit)
        page_print(page->to, "Version %s, outside of its repository.", SECKILL_VERSION);
    (void)fputs("</p>\n", page->to);
    if (is_one_machine && is_one_commit) return;
    (void)fputs("<p><span class=\"open\">? not one and the same</span>", page->to);
    page_print(page->to,
               " The files differ in their %s%s%s: do not compare numbers of one with those of "
               "another.",
               is_one_machine ? "" : "machine", is_one_machine || is_one_commit ? "" : " and ",
               is_one_commit ? "" : "commit");
    (void)fputs("</p>\n", page->to);
}

void page_section_machine(struct page *page, const json_t *root)
{
    const char *heads[PAGE_KIND_COUNT + 2] = {"", NULL};
    size_t columns = 1;

    (void)root;
    write_summary(page);
    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        if (page->results->roots[kind]) heads[columns++] = page->results->files[kind];
    page_table_begin(page, "each file", heads);
    for (size_t i = 0; i < PROPERTY_COUNT; i++) {
        page_row_begin(page, properties[i].name);
        for (int kind = 0; kind < PAGE_KIND_COUNT; kind++) {
            char text[TEXT_MAX];
            if (!page->results->roots[kind]) continue;
            read_property(page->results->roots[kind], &properties[i], text);
            page_cell(page, "%s", text);
        }
        page_row_end(page);
    }
    page_table_end(page);
}
