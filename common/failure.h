/*
 * Why something could not be done, in one line for a person. The first failure wins; upper layers
 * pass it on and do not reword it.
 */
#ifndef COMMON_FAILURE_H
#define COMMON_FAILURE_H

#include <stdbool.h>

struct failure {
    char text[400]; /* room for a path or two */
    bool is_usage;  /* the command line is at fault; failure_set() sets false */
};

/* Fill `failure` (NULL is allowed) and return false, so that failing is one line. */
bool failure_set(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* errno in words; a constant string. */
const char *failure_errno_text(void);

#endif
