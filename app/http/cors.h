/*
 * Which pages of other origins may read what buyers are told (CORS, as fetch.spec.whatwg.org has it). Buyers show
 * themselves by a header, never by a cookie, so no answer ever says Access-Control-Allow-Credentials.
 */
#ifndef SECKILL_CORS_H
#define SECKILL_CORS_H

#include <stdbool.h>
#include <stddef.h>

enum { CORS_ORIGINS_MAX = 16, CORS_ORIGIN_SIZE = 128 };

/* All zero: none. */
struct cors {
    bool allows_any;
    size_t count;
    char origin[CORS_ORIGINS_MAX][CORS_ORIGIN_SIZE];
};

/* "https://shop.example,http://localhost:3000", or "*". False: it is neither; *out is as it was. */
bool cors_read(const char *text, struct cors *out);

/*
 * What Access-Control-Allow-Origin says to a page of this origin (NULL: none was named); it lives as long as self.
 * NULL: nothing is said, and the browser keeps the answer from the page.
 */
const char *cors_allowed(const struct cors *self, const char *origin);

#endif
