/*
 * Text for a terminal: how wide UTF-8 is there, and where to break it. Knows nothing of the lab.
 */
#ifndef SECKILL_LAB_COLUMNS_H
#define SECKILL_LAB_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

/* Columns on a terminal: two for each Chinese character. */
size_t columns_of(const char *text, size_t len);

/*
 * How many bytes of the text fit into a line of that many columns: up to a space, between Chinese
 * characters (not before a closing mark) or behind a late colon if there is such a place, else cut. At
 * least one character.
 */
size_t columns_fit(const char *text, size_t width);

/* The text, and spaces behind it up to the width. */
void columns_print(FILE *out, const char *text, size_t len, size_t width);

/* The text in lines of that width, each behind `margin`. */
void columns_wrap(FILE *out, const char *text, const char *margin, size_t width);

#endif
