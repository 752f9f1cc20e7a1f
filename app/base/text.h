/*
 * Text built into a buffer of fixed size: heads and bodies of answers are made of it, without
 * malloc and without printf. Text that does not fit is dropped, and is_cut is set.
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
/* A JSON string in double quotes, escaped as by utf8_show(); bytes that are no UTF-8 become U+FFFD. */
void text_add_json(struct text *text, const char *string);
/* Adds "name": of a JSON object's member, with a comma before it unless the text ends in "{". */
void text_add_name(struct text *text, const char *name);
void text_add_member(struct text *text, const char *name, const char *value);
void text_add_count(struct text *text, const char *name, long long value);

#endif
