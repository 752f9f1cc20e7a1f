/*
 * How seckillctl complains. One thread.
 */
#include "ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/utf8.h"

int ctl_complain(const char *format, ...)
{
    char *words = NULL;
    char *shown = NULL;
    va_list args;

    va_start(args, format);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    if (vasprintf(&words, format, args) < 0) words = NULL;
    va_end(args);
    if (words) shown = utf8_show(words, "\n");
    (void)fprintf(stderr, "seckillctl: %s\n", shown ? shown : "out of memory");
    free(shown);
    free(words);
    return CTL_USAGE;
}
