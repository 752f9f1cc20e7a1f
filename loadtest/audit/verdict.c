/*
 * Counting offenders, wording a verdict. Pure.
 */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void
blame(struct offenders *offenders, const char *buyer, const char *format, va_list arguments)
{
    if (offenders->count++ > 0) return;
    offenders->buyer = buyer;
    (void)vsnprintf(offenders->first, sizeof offenders->first, format, arguments);
}

void audit_blame(struct offenders *offenders, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    blame(offenders, NULL, format, arguments);
    va_end(arguments);
}

void audit_blame_for(const char *buyer, struct offenders *offenders, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    blame(offenders, buyer, format, arguments);
    va_end(arguments);
}

void audit_say(struct audit_check *check, audit_verdict verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check->words, sizeof check->words, format, arguments);
    va_end(arguments);
    for (char *at = check->words; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?'; /* what Redis holds may be hostile */
    check->verdict = verdict;
}

bool audit_is_settled(const struct audit_view *view, struct audit_check *check,
                      const struct offenders *offenders, const char *what)
{
    check->buyer = offenders->buyer;
    if (offenders->count)
        audit_say(check, AUDIT_FAIL, "%zu %s; first: %s", offenders->count, what, offenders->first);
    else if (view->row_count == 0)
        audit_say(check, AUDIT_VOID, "nothing was sold");
    return offenders->count || view->row_count == 0;
}
