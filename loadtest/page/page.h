/*
 * The report: result files in, one HTML page out. The page is web/report/, built in as one text; its script draws what it
 * finds in it, and says of what is missing which command makes it.
 */
#ifndef LOADTEST_PAGE_H
#define LOADTEST_PAGE_H

#include <stdbool.h>

#include <jansson.h>

#include "common/failure.h"

/* One file of each kind. */
typedef enum page_kind {
    PAGE_VERIFY,
    PAGE_COMPARE,
    PAGE_SWEEP,
    PAGE_LOCKS,
    PAGE_WAYS,
    PAGE_BENCH,
    PAGE_SPEED,
    PAGE_AUDIT,
    PAGE_KIND_COUNT
} page_kind;

/* What there is to know of a kind. */
struct page_kind_text {
    const char *mode;    /* the file's member "mode" */
    const char *what;    /* "a verification run" */
    const char *command; /* that makes such a file */
};

extern const struct page_kind_text page_kinds[PAGE_KIND_COUNT];

struct page_results {
    json_t *roots[PAGE_KIND_COUNT];     /* owned; NULL: no such file */
    const char *files[PAGE_KIND_COUNT]; /* borrowed */
};

/*
 * Read a file and find out its kind.
 *
 * Owns     `path` must live as long as the results.
 * Returns  false   unreadable, no JSON, not ours, something missing, or the second of its kind;
 *                  `failure` names the file, what is wrong and the command that makes a good one.
 */
bool page_load(struct page_results *results, const char *path, struct failure *failure);
void page_unload(struct page_results *results);

/*
 * Write DIR/index.html, whole or not at all.
 *
 * Returns  false   DIR cannot be written.
 */
bool page_write(const char *dir, const struct page_results *results, struct failure *failure);

#endif
