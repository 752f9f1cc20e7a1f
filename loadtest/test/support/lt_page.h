/*
 * Is a page of HTML, written as XML may be, whole by itself?
 */
#ifndef LOADTEST_ITEST_LT_PAGE_H
#define LOADTEST_ITEST_LT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The whole file; yours to free. NULL: cannot be read. */
char *lt_page_read(const char *path);

/* What is wrong with a page. */
struct lt_page_fault {
    char words[200];
};

/*
 * Every element is closed in order, attributes are quoted and entities known, names are there once,
 * and what is referred to is there. Nothing is loaded from anywhere, and no script runs.
 *
 * Returns  false   it is not; `fault` tells the first thing that is wrong.
 */
bool lt_page_is_sound(const char *page, struct lt_page_fault *fault);

#endif
