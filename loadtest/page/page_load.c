/*
 * A file is known by its "mode" and must have what its sections read. One thread.
 */
#include <string.h>

#include "page.h"

const struct page_kind_text page_kinds[PAGE_KIND_COUNT] = {
    [PAGE_VERIFY] = {"verify", "a verification run",
                     "loadtest --stock 8000 --buyers 30000 --connections 1000 --repeat 5"},
    [PAGE_COMPARE] = {"compare", "a comparison of guards", "loadtest --guard all"},
    [PAGE_SWEEP] = {"sweep", "a sweep", "loadtest --sweep all"},
    [PAGE_LOCKS] = {"locks", "a lock bench", "lockbench --json FILE"},
    [PAGE_WAYS] = {"ways", "a comparison of locks", "lockcompare --json FILE"},
    [PAGE_BENCH] = {"bench", "a bench of the service", "loadtest --bench"},
    [PAGE_SPEED] = {"speed", "a speed run", "loadtest --against livez"},
    [PAGE_AUDIT] = {"audit", "an audit", "audit --json"},
};

/* What a section cannot do without: a path of members, and what stands there. */
static const struct need {
    const char *outer; /* member of the file */
    const char *inner; /* member of that, or of its first item */
    page_kind kind;
    json_type type;
} needs[] = {
    {"runs", "load", PAGE_VERIFY, JSON_OBJECT},
    {"runs", "series", PAGE_VERIFY, JSON_OBJECT},
    {"runs", "latency", PAGE_VERIFY, JSON_OBJECT},
    {"runs", "promises", PAGE_VERIFY, JSON_ARRAY},
    {"settings", "guard", PAGE_VERIFY, JSON_STRING},
    {"comparison", "guards", PAGE_COMPARE, JSON_ARRAY},
    {"points", "guard", PAGE_SWEEP, JSON_STRING},
    {"points", "purchases_per_s", PAGE_SWEEP, JSON_OBJECT},
    {"rows", "name", PAGE_LOCKS, JSON_STRING},
    {"rows", "repeats", PAGE_LOCKS, JSON_ARRAY},
    {"rows", "words", PAGE_WAYS, JSON_STRING},
    {"settings", "seed", PAGE_BENCH, JSON_INTEGER}, /* its rows may all be left out by --only */
    {"steps", "rounds", PAGE_SPEED, JSON_ARRAY},
    {"story", "events", PAGE_AUDIT, JSON_ARRAY},
};

static page_kind kind_of(const json_t *root)
{
    const char *mode = json_string_value(json_object_get(root, "mode"));

    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        if (mode && strcmp(mode, page_kinds[kind].mode) == 0) return (page_kind)kind;
    return PAGE_KIND_COUNT;
}

static bool is_met(const json_t *root, const struct need *need)
{
    const json_t *outer = json_object_get(root, need->outer);
    const json_t *place = json_is_array(outer) ? json_array_get(outer, 0) : outer;
    const json_t *inner = json_object_get(place, need->inner);

    return inner && json_typeof(inner) == need->type;
}

static bool check(const json_t *root, page_kind kind, const char *path, struct failure *failure)
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const struct need *need = &needs[i];
        if (need->kind != kind || is_met(root, need)) continue;
        return failure_set(failure,
                           "%s: is %s without \"%s\" in \"%s\": made by another version, or cut "
                           "short; make it anew: %s",
                           path, page_kinds[kind].what, need->inner, need->outer,
                           page_kinds[kind].command);
    }
    return true;
}

static bool take(struct page_results *results, json_t *root, const char *path,
                 struct failure *failure)
{
    page_kind kind = kind_of(root);

    if (kind == PAGE_KIND_COUNT)
        return failure_set(failure,
                           "%s: is no result of loadtest or lockbench: its \"mode\" is none of "
                           "verify, compare, sweep, bench, speed, locks, ways, audit",
                           path);
    if (!check(root, kind, path, failure)) return false;
    if (results->roots[kind])
        return failure_set(failure, "%s: is %s, and so is %s: give one of them", path,
                           page_kinds[kind].what, results->files[kind]);
    results->roots[kind] = root;
    results->files[kind] = path;
    return true;
}

bool page_load(struct page_results *results, const char *path, struct failure *failure)
{
    json_error_t error = {.line = 0};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    if (!root && error.line <= 0) return failure_set(failure, "%s: %s", path, error.text);
    if (!root)
        return failure_set(failure, "%s:%d: is no JSON: %s; make it anew", path, error.line,
                           error.text);
    if (take(results, root, path, failure)) return true;
    json_decref(root);
    return false;
}

void page_unload(struct page_results *results)
{
    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        json_decref(results->roots[kind]);
    *results = (struct page_results){.roots = {NULL}};
}
