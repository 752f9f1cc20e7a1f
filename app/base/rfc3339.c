/*
 * Moments as text and back. The calendar is the proleptic Gregorian one, counted in eras of 400
 * years that begin on 1 March, so that leap days come last. Runs on any thread.
 */
#include "rfc3339.h"

#include <stddef.h>
#include <string.h>

enum { DAY_S = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 /* 0000-03-01 to 1970-01-01 */ };

static const int64_t last_ms = 253402300799999; /* 9999-12-31T23:59:59.999Z */

struct moment {
    int year, month, day, hour, minute, second, ms;
    int weekday; /* 0: Sunday */
};

static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           EPOCH_DAYS;
}

static void set_date(struct moment *out, int64_t days)
{
    int64_t shifted = days + EPOCH_DAYS;
    int64_t era = shifted / ERA_DAYS;
    int64_t day_of_era = shifted - era * ERA_DAYS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;

    out->day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
    out->month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    out->year = (int)(year_of_era + era * 400 + (out->month <= 2 ? 1 : 0));
    out->weekday = (int)((days + 4) % 7); /* 1970-01-01 was a Thursday */
}

static struct moment moment_of(int64_t at_ms)
{
    struct moment out = {0};
    int64_t second = 0;

    if (at_ms < 0) at_ms = 0;
    if (at_ms > last_ms) at_ms = last_ms;
    out.ms = (int)(at_ms % 1000);
    second = at_ms / 1000 % DAY_S;
    out.hour = (int)(second / 3600);
    out.minute = (int)(second / 60 % 60);
    out.second = (int)(second % 60);
    set_date(&out, at_ms / 1000 / DAY_S);
    return out;
}

static char *put_digits(char *at, int number, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        at[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return at + width;
}

static char *put_clock(char *at, const struct moment *moment)
{
    at = put_digits(at, moment->hour, 2);
    *at++ = ':';
    at = put_digits(at, moment->minute, 2);
    *at++ = ':';
    return put_digits(at, moment->second, 2);
}

void rfc3339_format(int64_t at_ms, char out[RFC3339_SIZE])
{
    struct moment moment = moment_of(at_ms);
    char *at = put_digits(out, moment.year, 4);

    *at++ = '-';
    at = put_digits(at, moment.month, 2);
    *at++ = '-';
    at = put_digits(at, moment.day, 2);
    *at++ = 'T';
    at = put_clock(at, &moment);
    *at++ = '.';
    at = put_digits(at, moment.ms, 3);
    *at++ = 'Z';
    *at = '\0';
}

void rfc3339_format_http_date(int64_t at_s, char out[HTTP_DATE_SIZE])
{
    static const char weekdays[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct moment moment = moment_of(at_s * 1000);
    char *at = out;

    memcpy(at, weekdays + (size_t)moment.weekday * 3, 3);
    at[3] = ',';
    at[4] = ' ';
    at = put_digits(at + 5, moment.day, 2);
    *at++ = ' ';
    memcpy(at, months + (size_t)(moment.month - 1) * 3, 3);
    at[3] = ' ';
    at = put_digits(at + 4, moment.year, 4);
    *at++ = ' ';
    at = put_clock(at, &moment);
    (void)stpcpy(at, " GMT");
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

static bool date_is_real(const struct moment *moment)
{
    static const int longest[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (moment->year % 4 == 0 && moment->year % 100 != 0) || moment->year % 400 == 0;

    if (moment->year < 1970 || moment->month < 1 || moment->month > 12) return false;
    if (moment->day < 1 || moment->day > longest[moment->month - 1]) return false;
    return moment->month != 2 || moment->day <= 28 || is_leap;
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

bool rfc3339_parse(const char *text, int64_t *out_ms)
{
    struct moment moment = {0};
    int64_t offset_s = 0;
    int64_t at_s = 0;
    const char *at = text;

    if (!take(&at, 4, '-', &moment.year) || !take(&at, 2, '-', &moment.month)) return false;
    if (!take(&at, 2, '\0', &moment.day) || (*at != 'T' && *at != 't')) return false;
    at++;
    if (!take(&at, 2, ':', &moment.hour) || !take(&at, 2, ':', &moment.minute)) return false;
    if (!take(&at, 2, '\0', &moment.second) || !take_fraction(&at, &moment.ms)) return false;
    if (!take_offset(&at, &offset_s) || *at != '\0' || !date_is_real(&moment)) return false;
    if (moment.hour > 23 || moment.minute > 59 || moment.second > 59) return false;
    at_s = days_of(moment.year, moment.month, moment.day) * DAY_S + (int64_t)moment.hour * 3600 +
           (int64_t)moment.minute * 60 + moment.second - offset_s;
    if (at_s < 0) return false;
    *out_ms = at_s * 1000 + moment.ms;
    return true;
}
