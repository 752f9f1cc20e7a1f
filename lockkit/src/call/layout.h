/*
 * The formats of tokens, owners and numbers. No server is asked.
 */
#ifndef LKI_LAYOUT_H
#define LKI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/reply.h"

/* 32 lower-case hex digits: the tokens of lockkit, redis-py and node-redlock. */
bool lki_layout_is_hex_token(struct lk_bytes value);

/* 16 to 64 letters, digits and + / = _ : -, including a digit: the tokens of other libraries. */
bool lki_layout_is_token(struct lk_bytes value);

/* "<uuid>:<n>". is_writer: not NULL: ":write" may follow, which sets *is_writer. */
bool lki_layout_is_owner(struct lk_bytes field, bool *is_writer);

/* A decimal number as Redis writes one; false leaves *out alone. */
bool lki_layout_read_number(struct lk_bytes value, int64_t *out);

/* Copy as a string: bytes beyond size - 1 are cut off. */
void lki_layout_copy(struct lk_bytes value, char *out, size_t size);

/* The same in hex digits. */
void lki_layout_copy_hex(struct lk_bytes value, char *out, size_t size);

#endif
