/*
 * Bytes as two lower-case digits each, and back.
 */
#ifndef SECKILL_HEX_H
#define SECKILL_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* out: 2 * size digits and a NUL. */
void hex_write(const unsigned char *bytes, size_t size, char *out);
/* As many digits as there are bytes for, whatever follows; false at the first that is none. */
bool hex_read(const char *text, unsigned char *out, size_t size);

#endif
