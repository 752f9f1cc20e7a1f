/*
 * Prometheus' text format, judged: what a scraper needs, and the habits that `promtool check
 * metrics` asks for.
 */
#ifndef SECKILL_APP_PROMTEXT_H
#define SECKILL_APP_PROMTEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Shape    "# HELP name text", "# TYPE name kind", then the samples of that name and of no other,
 *          once per set of labels; histograms cumulative, with +Inf, _sum and _count.
 * Returns  false with the first fault and its line in `out`.
 */
bool app_promtext_is_good(const char *text, char *out, size_t size);

/* The value of a sample like `up{a="b"}`; -1 when it is not there. */
double app_promtext_value(const char *text, const char *sample);

#endif
