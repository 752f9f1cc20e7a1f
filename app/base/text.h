/*
 * Text built into a buffer of fixed size: heads and bodies of answers are made of it, without
 * malloc and without printf. What does not fit is dropped and remembered (is_cut).
 */
#ifndef SECKILL_TEXT_H
#define SECKILL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* borrowed; not NUL-terminated */
    size_t size;
    size_t len;
    bool is_cut; /* something did not fit */
};

#define TEXT_OVER(buffer) ((struct text){.data = (buffer), .size = sizeof(buffer)})

/* `bytes` may be NULL where len is 0. */
void text_add(struct text *text, const char *bytes, size_t len);
#define TEXT_ADD(text, literal) text_add((text), (literal), sizeof(literal) - 1)
void text_add_string(struct text *text, const char *string);
void text_add_number(struct text *text, long long number);
/* In double quotes, escaped as JSON wants it and as utf8_show() does; what is no UTF-8 is U+FFFD. */
void text_add_json(struct text *text, const char *string);
/* "name": of a JSON object; behind what is no "{", after a comma. */
void text_add_name(struct text *text, const char *name);
void text_add_member(struct text *text, const char *name, const char *value);
void text_add_count(struct text *text, const char *name, long long value);

#endif
