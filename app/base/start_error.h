/*
 * Why the program refused to start: one line for the operator.
 */
#ifndef SECKILL_START_ERROR_H
#define SECKILL_START_ERROR_H

#include <stdbool.h>

enum { START_ERROR_SIZE = 512 };

struct start_error {
    char text[START_ERROR_SIZE]; /* cut when too long */
};

/* Set the text. Returns false, so that a failure is one statement. */
bool start_error_say(struct start_error *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
