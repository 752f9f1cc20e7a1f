/*
 * UTF-8 as RFC 3629 has it, where somebody else wrote it: cut between characters, and shown.
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
 * Whether a terminal or an editor would obey the character instead of showing it: controls (C0, DEL,
 * C1), ends of lines and paragraphs, and what turns the direction of what is around it.
 */
bool utf8_is_obeyed(uint32_t code);

/* How many bytes the character at `text` has when it is neither obeyed nor NUL; 0: it is, or it is no UTF-8. */
size_t utf8_printable(const char *text);

/*
 * The text with what would be obeyed as \uXXXX, also within JSON, and bytes that are no UTF-8 as \ufffd.
 *
 * Shape    kept: control characters to be left as they are, "\n" for a text of lines.
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *utf8_show(const char *text, const char *kept);

#endif
