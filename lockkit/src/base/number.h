/*
 * Decimal numbers as words of commands.
 */
#ifndef LKI_NUMBER_H
#define LKI_NUMBER_H

#include "lockkit/reply.h"

/* Borrows the buffer, which ends with NUL. */
enum { LKI_NUMBER_MAX = 24 };
struct lk_bytes lki_number(char buffer[LKI_NUMBER_MAX], long long value);

#endif
