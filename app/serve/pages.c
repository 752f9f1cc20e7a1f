/*
 * Serves the pages of web/ out of a fixed table: no path ever reaches the file system. Any thread,
 * reads tables only.
 *
 * A page may load scripts, styles, pictures and answers from here and from nowhere else, may not be
 * framed, and sends no form. It is asked for anew each time (no-cache), and told 304 while its tag is
 * the same, so that after an upgrade nobody runs half of an old page.
 */
#include "pages.h"

#include <assert.h>
#include <string.h>

#include "handlers.h"

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const struct page *pages_find(const char *path)
{
    for (const struct page *page = pages; page->path; page++) {
        if (strcmp(page->path, path) == 0) return page;
    }
    return NULL;
}

bool pages_tag_matches(const char *none_match, const char *etag)
{
    size_t len = strlen(etag);

    if (!none_match) return false;
    if (strcmp(none_match, "*") == 0) return true;
    while (*none_match) {
        none_match += strspn(none_match, " \t,");
        if (strncmp(none_match, "W/", 2) == 0) none_match += 2;
        if (strncmp(none_match, etag, len) == 0 && strchr(" \t,", none_match[len])) return true;
        none_match += strcspn(none_match, ",");
    }
    return false;
}

void pages_show(struct service *service, struct http_request *request, const char *id)
{
    const struct page *page = pages_find(request->path);
    char buffer[64];
    struct text headers = TEXT_OVER(buffer);
    struct http_answer answer = {.status = 304, .caching = "no-cache", .policy = POLICY};

    (void)service;
    (void)id;
    if (!page) {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, NULL, "Nothing is at this path.");
        return;
    }
    TEXT_ADD(&headers, "ETag: ");
    text_add_string(&headers, page->etag);
    TEXT_ADD(&headers, "\r\n");
    text_add(&headers, "", 1); /* NUL */
    assert(!headers.is_cut);
    answer.headers = buffer;
    if (!pages_tag_matches(request->none_match, page->etag)) {
        answer.status = 200;
        answer.type = page->type;
        answer.body = page->bytes;
        answer.body_len = page->len;
    }
    http_send(request, &answer);
}
