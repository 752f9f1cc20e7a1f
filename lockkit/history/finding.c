/*
 * Names the checks, and tells what they find.
 */
#include "finding.h"

#include <stdarg.h>

static const struct {
    const char *name;
    const char *claim;
} checks[] = {
#define HISTORY_CHECK_ROW(id, name, claim) [id] = {name, claim},
    HISTORY_CHECK_LIST(HISTORY_CHECK_ROW)
#undef HISTORY_CHECK_ROW
};

const char *history_check_name(enum history_check_id id)
{
    return checks[id].name;
}

const char *history_check_claim(enum history_check_id id)
{
    return checks[id].claim;
}

void history_finding(struct checking *checking, enum history_check_id id, unsigned long line,
                     const char *format, ...)
{
    FILE *out = checking->options->findings;
    va_list args;

    checking->report->found[id]++;
    if (checking->report->first == 0) checking->report->first = line;
    if (!out) return;
    (void)fprintf(out, "line %lu: %s: ", line, checks[id].name);
    va_start(args, format);
    (void)vfprintf(out, format, args);
    va_end(args);
    (void)fputc('\n', out);
}

size_t history_found(const struct history_report *report)
{
    size_t found = 0;

    for (int id = 0; id < CHECK_COUNT; id++)
        found += report->found[id];
    return found;
}
