/*
 * How seckillctl complains. One thread.
 */
#include "ctl.h"

#include <stdarg.h>
#include <stdio.h>

int ctl_complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fputs("seckillctl: ", stderr);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vfprintf(stderr, format, args);
    (void)fputs("\n", stderr);
    va_end(args);
    return CTL_USAGE;
}
