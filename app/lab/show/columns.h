/*
 * Text for a terminal: how wide UTF-8 is there, and where to break it. Knows nothing of the lab.
 */
#ifndef SECKILL_LAB_COLUMNS_H
#define SECKILL_LAB_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

/* Columns on a terminal: two for each Chinese character. */
size_t columns_of(const char *text, size_t len);

/* The text, and spaces behind it up to the width. */
void columns_print(FILE *out, const char *text, size_t len, size_t width);

/* The text in lines of that width, each behind `margin`. */
void columns_wrap(FILE *out, const char *text, const char *margin, size_t width);

#endif
