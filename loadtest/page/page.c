/*
 * Puts the results into the built-in page. One thread.
 */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/programs.h"

enum { DIR_MAX = 900, PATH_ROOM = DIR_MAX + 32 };

/* web/report/ as one text, in which this word stands where the results belong. */
extern const char page_template[];
static const char place[] = "RESULTS</script>";

static json_t *kinds_json(void)
{
    json_t *kinds = json_array();

    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        (void)json_array_append_new(kinds, json_pack("{s:s,s:s,s:s}", "mode", page_kinds[kind].mode,
                                                     "what", page_kinds[kind].what, "command",
                                                     page_kinds[kind].command));
    return kinds;
}

/* What web/report/main.js reads. Yours; NULL: a file's name is no UTF-8. */
static json_t *results_json(const struct page_results *results)
{
    json_t *files = json_array();
    char now[40];
    bool is_whole = true;

    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        if (results->roots[kind])
            is_whole &=
                json_array_append_new(
                    files, json_pack("{s:s,s:s,s:O}", "path", results->files[kind], "kind",
                                     page_kinds[kind].mode, "result", results->roots[kind])) == 0;
    clock_rfc3339(now, sizeof now);
    json_t *all = json_pack("{s:s,s:s,s:o,s:o}", "version", SECKILL_VERSION, "written", now,
                            "kinds", kinds_json(), "files", files);
    if (is_whole) return all;
    json_decref(all);
    return NULL;
}

/* JSON inside of a <script>: a "<" stands in strings alone, and there as an escape, so that nothing ends the element. */
static int write_escaped(const char *text, size_t length, void *arg)
{
    FILE *to = arg;

    for (size_t i = 0; i < length; i++)
        if ((text[i] == '<' ? fputs("\\u003c", to) : fputc((unsigned char)text[i], to)) == EOF)
            return -1;
    return 0;
}

static void write_page(FILE *to, const json_t *results)
{
    const char *at = strstr(page_template, place);

    (void)fwrite(page_template, 1, (size_t)(at - page_template), to);
    (void)json_dump_callback(results, write_escaped, to, JSON_COMPACT | JSON_ENSURE_ASCII);
    (void)fputs(at + strlen("RESULTS"), to);
}

static bool write_file(const char *path, const json_t *results, struct failure *failure)
{
    char part[PATH_ROOM + 8];

    (void)snprintf(part, sizeof part, "%s.part", path);
    FILE *to = fopen(part, "we");
    if (!to) return failure_set(failure, "%s: %s", part, failure_errno_text());
    write_page(to, results);
    bool is_good = !ferror(to);
    is_good = fclose(to) == 0 && is_good && rename(part, path) == 0;
    if (is_good) return true;
    (void)failure_set(failure, "%s: %s", path, failure_errno_text());
    (void)unlink(part);
    return false;
}

bool page_write(const char *dir, const struct page_results *results, struct failure *failure)
{
    char path[PATH_ROOM];

    if (strlen(dir) >= DIR_MAX) return failure_set(failure, "--out: the path is too long");
    json_t *all = results_json(results);
    if (!all) return failure_set(failure, "a file's name is no UTF-8");
    (void)snprintf(path, sizeof path, "%s/index.html", dir);
    bool is_written = programs_make_folders("", dir, failure) && write_file(path, all, failure);
    json_decref(all);
    return is_written;
}
