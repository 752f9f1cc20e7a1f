/*
 * The report: result files in, one HTML page out. A section that has no data says so, and which
 * command makes it.
 */
#ifndef LOADTEST_PAGE_H
#define LOADTEST_PAGE_H

#include "page_load.h"

/*
 * Write DIR/index.html, whole or not at all.
 *
 * Returns  false   DIR cannot be written.
 */
bool page_write(const char *dir, const struct page_results *results, struct failure *failure);

#endif
