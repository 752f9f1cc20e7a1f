/*
 * Moments as text and back. Runs on any thread.
 */
#include "rfc3339.h"

#include <stdio.h>
#include <time.h>

static const int64_t last_ms = 253402300799999; /* 9999-12-31T23:59:59.999Z */

static int64_t clamp(int64_t at_ms)
{
    return at_ms < 0 ? 0 : at_ms > last_ms ? last_ms : at_ms;
}

static struct tm date_of(int64_t at_ms)
{
    struct tm out;
    time_t at_s = at_ms / 1000;

    (void)gmtime_r(&at_s, &out); /* such a year it can tell */
    return out;
}

void rfc3339_format(int64_t at_ms, char out[RFC3339_SIZE])
{
    struct tm date = date_of(clamp(at_ms));
    size_t len = strftime(out, RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &date);

    (void)snprintf(out + len, RFC3339_SIZE - len, ".%03uZ", (unsigned)(clamp(at_ms) % 1000));
}

/* No program of ours sets a locale: days and months are English. */
void rfc3339_format_http_date(int64_t at_s, char out[HTTP_DATE_SIZE])
{
    struct tm date = date_of(clamp(at_s * 1000));

    (void)strftime(out, HTTP_DATE_SIZE, "%a, %d %b %Y %H:%M:%S GMT", &date);
}

/* Take `width` digits, then the byte `after` (unless NUL); false when they are not there. */
static bool take(const char **at, int width, char after, int *out)
{
    int number = 0;

    for (int i = 0; i < width; i++) {
        if ((*at)[i] < '0' || (*at)[i] > '9') return false;
        number = number * 10 + ((*at)[i] - '0');
    }
    *at += width;
    if (after && *(*at)++ != after) return false;
    *out = number;
    return true;
}

static bool take_fraction(const char **at, int *out_ms)
{
    int ms = 0;
    int digits = 0;

    if (**at != '.') return true;
    for ((*at)++; **at >= '0' && **at <= '9'; (*at)++, digits++) {
        if (digits < 3) ms = ms * 10 + (**at - '0');
    }
    for (int i = digits; i < 3; i++)
        ms *= 10;
    *out_ms = ms;
    return digits > 0;
}

static bool take_offset(const char **at, int64_t *out_offset_s)
{
    int hours = 0;
    int minutes = 0;
    char sign = *(*at)++;

    if (sign == 'Z' || sign == 'z') return true;
    if (sign != '+' && sign != '-') return false;
    if (!take(at, 2, ':', &hours) || !take(at, 2, '\0', &minutes)) return false;
    if (hours > 23 || minutes > 59) return false;
    *out_offset_s = (sign == '-' ? -1 : 1) * ((int64_t)hours * 3600 + (int64_t)minutes * 60);
    return true;
}

/* timegm() normalizes a day that does not exist, such as 30 February, to another one. */
static bool date_is_real(const struct tm *date)
{
    struct tm real = *date;

    return date->tm_year >= 70 && timegm(&real) >= 0 && real.tm_mon == date->tm_mon &&
           real.tm_mday == date->tm_mday;
}

bool rfc3339_parse(const char *text, int64_t *out_ms)
{
    struct tm date = {0};
    int ms = 0;
    int64_t offset_s = 0;
    int64_t at_s = 0;
    const char *at = text;

    if (!take(&at, 4, '-', &date.tm_year) || !take(&at, 2, '-', &date.tm_mon)) return false;
    if (!take(&at, 2, '\0', &date.tm_mday) || (*at != 'T' && *at != 't')) return false;
    at++;
    if (!take(&at, 2, ':', &date.tm_hour) || !take(&at, 2, ':', &date.tm_min)) return false;
    if (!take(&at, 2, '\0', &date.tm_sec) || !take_fraction(&at, &ms)) return false;
    date.tm_year -= 1900;
    date.tm_mon--;
    if (!take_offset(&at, &offset_s) || *at != '\0' || !date_is_real(&date)) return false;
    if (date.tm_hour > 23 || date.tm_min > 59 || date.tm_sec > 59) return false;
    at_s = timegm(&date) - offset_s;
    if (at_s < 0) return false;
    *out_ms = at_s * 1000 + ms;
    return true;
}
