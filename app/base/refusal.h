/*
 * Why a start was refused: one line for whoever started the program.
 */
#ifndef SECKILL_REFUSAL_H
#define SECKILL_REFUSAL_H

#include <stdbool.h>

enum { REFUSAL_SIZE = 512 };

struct refusal {
    char text[REFUSAL_SIZE]; /* cut when too long */
};

/* Fill it; gives false, so that failing is one line. */
bool refusal_say(struct refusal *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
