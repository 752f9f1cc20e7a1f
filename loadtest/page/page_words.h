/*
 * What the report says in words and numbers: escaping, rounding, and which of two settings is told
 * to be better. Pure, but for the text going to a stream.
 */
#ifndef LOADTEST_PAGE_WORDS_H
#define LOADTEST_PAGE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

enum {
    PAGE_REPEATS_MAX = 100,
    PAGE_REPEATS_TO_TELL = 4, /* 2 of C(8, 4) = 70: so rarely would chance alone part two ranges */
    PAGE_NUMBER_MAX = 40,
    PAGE_LABEL_MAX = 80,
};

/* The repeats of one setting, in the order in which they were measured. */
struct page_sample {
    double values[PAGE_REPEATS_MAX];
    int count;
    double median, least, most;
};

/* false: not an array of numbers, or an empty one. */
bool page_sample_read(const json_t *array, struct page_sample *out_sample);
/* Add one, then sum up. */
void page_sample_add(struct page_sample *sample, double value);
void page_sample_sum_up(struct page_sample *sample);

typedef enum page_told {
    PAGE_TOLD_MORE, /* the first lies above the second, range and all */
    PAGE_TOLD_LESS,
    PAGE_TOLD_NOTHING, /* the ranges overlap */
    PAGE_TOLD_TOO_FEW, /* repeats, to tell */
} page_told;

page_told page_compare(const struct page_sample *one, const struct page_sample *other);

struct page_entry {
    char label[PAGE_LABEL_MAX];
    struct page_sample sample;
};

/*
 * A sentence about the first entry against each of the others, in HTML: "mutex (31,200; 29,000 ..
 * 33,000) is faster than fair (...); no difference can be told between it and script (...).". `more`
 * and `less` are what having the higher and the lower numbers is called: "faster", "slower".
 */
void page_write_comparison(FILE *to, const struct page_entry *entries, size_t count,
                           const char *more, const char *less);

/* For HTML text and attribute values. NULL is nothing. */
void page_escape(FILE *to, const char *text);
/* printf, escaped. */
void page_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For use in the same expression: page_number(x).text. */
struct page_figures {
    char text[3 * PAGE_NUMBER_MAX];
};

/* "1,234,567" */
struct page_figures page_count(long long count);
/* Three digits that count, four from 1,000 on, thousands apart: "0.0521", "5.87", "31,240". */
struct page_figures page_number(double value);
/* "31,200 (29,000 .. 33,000)"; one number when all are the same. */
struct page_figures page_spread(const struct page_sample *sample);

#endif
