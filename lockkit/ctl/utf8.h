/*
 * Telling text from other bytes.
 */
#ifndef LOCKCTL_UTF8_H
#define LOCKCTL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the printable character at `text` has; 0: it is none (control, or no UTF-8). */
size_t utf8_printable(const char *text);

/* The character at `text`, a control included, of which *out_len bytes are; 0 bytes: none. */
uint32_t utf8_decode(const char *text, size_t *out_len);

#endif
