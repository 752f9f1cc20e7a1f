/*
 * UTF-8 (RFC 3629) from untrusted input: it is cut between characters, and made safe to show.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, which is *out_code; 0: no UTF-8 begins there, or the text ends. */
size_t utf8_read(const char *text, uint32_t *out_code);

/* How many bytes, at most `max`, are left of `text` when it is cut between characters. */
size_t utf8_cut(const char *text, size_t max);

/*
 * Whether the character controls a terminal or an editor instead of being shown: control characters (C0, DEL, C1),
 * line and paragraph separators, and bidirectional formatting.
 */
bool utf8_is_obeyed(uint32_t code);

/* The number of bytes of the character at `text`; 0: it is a control character (as above), NUL, or no UTF-8. */
size_t utf8_printable(const char *text);

/*
 * A copy of the text with control characters as \uXXXX, as in JSON, and bytes that are no UTF-8 as \ufffd.
 *
 * Shape    kept: control characters to be left as they are, "\n" for a text of lines.
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *utf8_show(const char *text, const char *kept);

#endif
