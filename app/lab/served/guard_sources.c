/*
 * See guard_sources.h. Which file is a guard's own is found by the name that it gives itself; which
 * others it is made of, by following #include. So there is no list to keep. Any thread, reads a table.
 */
#include "guard_sources.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/script.h"

enum { FILES_MAX = 64, LINE_SIZE = 128 };

/* Made by embed.awk: the files below app/guards, headers too, and the guards of the lab alone. */
extern const struct lk_script_source guard_sources[];

static const struct lk_script_source *find_own(const char *guard)
{
    char line[LINE_SIZE];

    (void)snprintf(line, sizeof line, "    .name = \"%s\",\n", guard);
    for (const struct lk_script_source *file = guard_sources; file->name; file++) {
        if (strstr(file->source, line)) return file;
    }
    return NULL;
}

/* The file of this name, without a folder; NULL: it is none of ours. */
static const struct lk_script_source *find_file(const char *name, size_t len)
{
    for (const struct lk_script_source *file = guard_sources; file->name; file++) {
        if (strncmp(file->name, name, len) == 0 && file->name[len] == '\0') return file;
    }
    return NULL;
}

/* ---- following #include ---------------------------------------------------------------------------- */

struct walk {
    const struct lk_script_source *files[FILES_MAX];
    size_t count;
};

static void add(struct walk *walk, const struct lk_script_source *file)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (walk->files[i] == file) return;
    }
    if (file && walk->count < FILES_MAX) walk->files[walk->count++] = file;
}

/* A header, and the file that does what it promises. */
static void add_included(struct walk *walk, const char *name, size_t len)
{
    char source[LINE_SIZE];
    const char *slash = memrchr(name, '/', len);

    if (slash) {
        len -= (size_t)(slash + 1 - name);
        name = slash + 1;
    }
    if (len < 2 || len >= sizeof source) return;
    add(walk, find_file(name, len));
    memcpy(source, name, len);
    source[len - 1] = 'c';
    add(walk, find_file(source, len));
}

static void follow(struct walk *walk)
{
    static const char include[] = "\n#include \"";

    for (size_t i = 0; i < walk->count; i++) {
        const char *at = walk->files[i]->source;

        while ((at = strstr(at, include))) {
            at += sizeof include - 1;
            add_included(walk, at, strcspn(at, "\""));
        }
    }
}

/* ---- printing -------------------------------------------------------------------------------------- */

static bool is_shown(const struct lk_script_source *file)
{
    return strcmp(strrchr(file->name, '.'), ".c") == 0;
}

char *guard_sources_text(const char *guard, bool *out_is_known)
{
    const struct lk_script_source *own = find_own(guard);
    struct walk walk = {.count = 0};
    char *text = NULL;
    size_t len = 0;

    *out_is_known = own != NULL;
    if (!own) return NULL;
    add(&walk, own);
    follow(&walk);
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    for (size_t i = 0; i < walk.count; i++) {
        if (is_shown(walk.files[i]))
            (void)fprintf(out, "==> %s <==\n%s\n", walk.files[i]->name, walk.files[i]->source);
    }
    bool is_whole = !ferror(out);
    if (fclose(out) == 0 && is_whole) return text;
    free(text);
    return NULL;
}
