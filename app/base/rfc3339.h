/*
 * Moments as text, in UTC (RFC 3339), and back. It uses libc's gmtime_r(), which takes a lock.
 */
#ifndef SECKILL_RFC3339_H
#define SECKILL_RFC3339_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RFC3339_SIZE = 25,  /* "2026-11-20T10:00:00.123Z" and NUL */
    HTTP_DATE_SIZE = 30 /* "Fri, 20 Nov 2026 10:00:00 GMT" and NUL */
};

/* Units    Unix milliseconds; years 1970 to 9999, what lies outside is moved to the edge. */
void rfc3339_format(int64_t at_ms, char out[RFC3339_SIZE]);

/*
 * Shape    "2026-11-20T10:00:00Z", with an optional fraction (cut to ms) and Z or +hh:mm.
 * Returns  false, and *out_ms untouched, for anything else.
 */
bool rfc3339_parse(const char *text, int64_t *out_ms);

/* The form of HTTP's Date header (RFC 9110 5.6.7). */
void rfc3339_format_http_date(int64_t at_s, char out[HTTP_DATE_SIZE]);

#endif
