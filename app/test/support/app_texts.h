/*
 * Many short texts as one, for tables: "|" is between them; in them "~" stands for CRLF and "`" for a
 * quotation mark.
 */
#ifndef SECKILL_APP_TEXTS_H
#define SECKILL_APP_TEXTS_H

#include <stddef.h>

size_t texts_count(const char *texts);
/* The i-th, NULL past the last; good for the next seven calls of its thread. */
const char *texts_at(const char *texts, size_t i);

#endif
