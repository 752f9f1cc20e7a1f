/*
 * Telling text from other bytes.
 */
#ifndef LOCKCTL_UTF8_H
#define LOCKCTL_UTF8_H

#include <stddef.h>

/* How many bytes the printable character at `text` has; 0: it is none (control, or no UTF-8). */
size_t utf8_printable(const char *text);

/* The same, controls included. */
size_t utf8_valid(const char *text);

#endif
