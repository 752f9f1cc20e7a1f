/*
 * One line of words for each thing that could not be done.
 */
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool failure_set(struct failure *failure, const char *format, ...)
{
    if (!failure) return false;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    failure->is_usage = false;
    return false;
}

const char *failure_errno_text(void)
{
    const char *text = strerrordesc_np(errno);
    return text ? text : "unknown error";
}
