/*
 * See page_words.h. One thread.
 */
#include "page_words.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/spread.h"

enum { TEXT_MAX = 2000 };

/* ---- samples ---- */

void page_sample_add(struct page_sample *sample, double value)
{
    if (sample->count < PAGE_REPEATS_MAX && isfinite(value))
        sample->values[sample->count++] = value;
}

void page_sample_sum_up(struct page_sample *sample)
{
    double sorted[PAGE_REPEATS_MAX];

    if (sample->count == 0) return;
    memcpy(sorted, sample->values, sizeof sorted);
    struct spread spread = spread_of(sorted, sample->count);
    sample->least = spread.least;
    sample->most = spread.most;
    sample->median = spread.median;
}

bool page_sample_read(const json_t *array, struct page_sample *out_sample)
{
    struct page_sample sample = {.count = 0};

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        if (json_is_number(value)) page_sample_add(&sample, json_number_value(value));
    }
    if (sample.count == 0) return false;
    page_sample_sum_up(&sample);
    *out_sample = sample;
    return true;
}

page_told page_compare(const struct page_sample *one, const struct page_sample *other)
{
    if (one->count < PAGE_REPEATS_TO_TELL || other->count < PAGE_REPEATS_TO_TELL)
        return PAGE_TOLD_TOO_FEW;
    if (one->least > other->most) return PAGE_TOLD_MORE;
    if (one->most < other->least) return PAGE_TOLD_LESS;
    return PAGE_TOLD_NOTHING;
}

/* ---- sentences ---- */

/* "mutex (31,200; 29,000 .. 33,000)" */
static void write_entry(FILE *to, const struct page_entry *entry)
{
    const struct page_sample *sample = &entry->sample;

    (void)fputs("<b>", to);
    page_escape(to, entry->label);
    (void)fputs("</b>", to);
    if (sample->count > 1)
        page_print(to, " (%s; %s .. %s)", page_number(sample->median).text,
                   page_number(sample->least).text, page_number(sample->most).text);
    else
        page_print(to, " (%s)", page_number(sample->median).text);
}

/* How what is told of some begins: when it comes first, and behind something else. */
static const struct beginning {
    page_told told;
    const char *first, *later;
} beginnings[] = {
    {PAGE_TOLD_MORE, " is ", "; it is "},
    {PAGE_TOLD_LESS, " is ", "; it is "},
    {PAGE_TOLD_NOTHING, ": no difference can be told between it and",
     "; no difference can be told between it and"},
    {PAGE_TOLD_TOO_FEW, ": too few repeats (at least 4 are needed) to tell it from",
     "; too few repeats (at least 4 are needed) to tell it from"},
};
enum { BEGINNING_COUNT = sizeof beginnings / sizeof *beginnings };

static size_t count_told(const struct page_entry *entries, size_t count, page_told told)
{
    size_t all = 0;

    for (size_t i = 1; i < count; i++)
        if (page_compare(&entries[0].sample, &entries[i].sample) == told) all++;
    return all;
}

/* " A, B and C": those of which this is told. */
static void write_told(FILE *to, const struct page_entry *entries, size_t count, page_told told)
{
    size_t all = count_told(entries, count, told);
    size_t listed = 0;

    for (size_t i = 1; i < count; i++) {
        if (page_compare(&entries[0].sample, &entries[i].sample) != told) continue;
        (void)fputs(listed == 0 ? " " : listed + 1 == all ? " and " : ", ", to);
        listed++;
        write_entry(to, &entries[i]);
    }
}

void page_write_comparison(FILE *to, const struct page_entry *entries, size_t count,
                           const char *more, const char *less)
{
    bool is_first = true;

    if (count < 2) return;
    write_entry(to, &entries[0]);
    for (size_t i = 0; i < BEGINNING_COUNT; i++) {
        const struct beginning *beginning = &beginnings[i];
        if (count_told(entries, count, beginning->told) == 0) continue;
        page_escape(to, is_first ? beginning->first : beginning->later);
        if (beginning->told == PAGE_TOLD_MORE) page_print(to, "%s than", more);
        if (beginning->told == PAGE_TOLD_LESS) page_print(to, "%s than", less);
        write_told(to, entries, count, beginning->told);
        is_first = false;
    }
    (void)fputs(".\n", to);
}

/* ---- text ---- */

void page_escape(FILE *to, const char *text)
{
    for (const char *at = text; at && *at; at++) {
        switch (*at) {
        case '&':
            (void)fputs("&amp;", to);
            break;
        case '<':
            (void)fputs("&lt;", to);
            break;
        case '>':
            (void)fputs("&gt;", to);
            break;
        case '"':
            (void)fputs("&quot;", to);
            break;
        case '\'':
            (void)fputs("&#39;", to);
            break;
        default: /* control characters are in no HTML text */
            (void)fputc((unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at, to);
        }
    }
}

void page_print(FILE *to, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    page_escape(to, text);
}

/* "1234567" becomes "1,234,567". */
static struct page_figures part_thousands(const char *digits)
{
    struct page_figures figures;
    size_t length = strlen(digits);
    size_t sign = digits[0] == '-';
    size_t used = 0;

    for (size_t i = 0; i < length && used < sizeof figures.text - 2; i++) {
        if (i > sign && (length - i) % 3 == 0) figures.text[used++] = ',';
        figures.text[used++] = digits[i];
    }
    figures.text[used] = '\0';
    return figures;
}

struct page_figures page_count(long long count)
{
    char plain[PAGE_NUMBER_MAX];

    (void)snprintf(plain, sizeof plain, "%lld", count);
    return part_thousands(plain);
}

struct page_figures page_number(double value)
{
    struct page_figures figures = {"?"};
    char plain[PAGE_NUMBER_MAX];
    double size = fabs(value);

    if (!isfinite(value) || size >= 1e15) return figures;
    if (size < 1e-6 || (size < 10000 && fabs(value - round(value)) < 1e-9))
        return page_count(size < 1e-6 ? 0 : (long long)round(value));
    int whole = (int)floor(log10(size)) + 1; /* digits before the point; <= 0: zeros behind it */
    if (whole < 3) {
        (void)snprintf(figures.text, sizeof figures.text, "%.*f", 3 - whole, value);
        return figures;
    }
    double unit = whole > 4 ? pow(10, whole - 4) : 1;
    (void)snprintf(plain, sizeof plain, "%.0f", round(value / unit) * unit);
    return part_thousands(plain);
}

struct page_figures page_spread(const struct page_sample *sample)
{
    struct page_figures figures = {"–"};

    if (sample->count == 0) return figures;
    if (sample->least >= sample->most) return page_number(sample->median);
    (void)snprintf(figures.text, sizeof figures.text, "%.36s (%.36s .. %.36s)",
                   page_number(sample->median).text, page_number(sample->least).text,
                   page_number(sample->most).text);
    return figures;
}
