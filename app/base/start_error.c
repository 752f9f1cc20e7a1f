/*
 * Why a start was refused. Runs on the main thread.
 */
#include "start_error.h"

#include <stdarg.h>
#include <stdio.h>

bool start_error_say(struct start_error *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
    return false;
}
