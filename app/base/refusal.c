/*
 * Why a start was refused. Runs on the main thread.
 */
#include "refusal.h"

#include <stdarg.h>
#include <stdio.h>

bool refusal_say(struct refusal *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
    return false;
}
