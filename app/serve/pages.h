/*
 * The pages: the files of web/ and what they use, embedded at build and served from memory. Their
 * handler is in handlers.h.
 */
#ifndef SECKILL_PAGES_H
#define SECKILL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* One file. Static. */
struct page {
    const char *path; /* "/", "/assets/shared/api.js" */
    const char *type; /* Content-Type */
    const char *etag; /* with its quotes; of the bytes */
    const char *bytes;
    size_t len;
};

/* Made by web/embed.sh; path NULL: the end. */
extern const struct page pages[];

/* The file at exactly this path; NULL: none. */
const struct page *pages_find(const char *path);

/* Whether an If-None-Match (NULL: there was none) lists this tag, "*" or its weak form. */
bool pages_tag_matches(const char *none_match, const char *etag);

#endif
