/*
 * Why a start was refused: one line for whoever started the program.
 */
#ifndef SECKILL_START_ERROR_H
#define SECKILL_START_ERROR_H

#include <stdbool.h>

enum { START_ERROR_SIZE = 512 };

struct start_error {
    char text[START_ERROR_SIZE]; /* cut when too long */
};

/* Fill it; gives false, so that failing is one line. */
bool start_error_say(struct start_error *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
