/*
 * JSON that somebody else wrote, parsed: the one door to jansson's parser.
 */
#ifndef SECKILL_STRICT_JSON_H
#define SECKILL_STRICT_JSON_H

#include <stddef.h>

#include <jansson.h>

enum { STRICT_JSON_DEPTH_MAX = 16 }; /* arrays and objects within each other */

/*
 * Parse one value and nothing behind it. Two members of one name are refused, and nesting deeper
 * than STRICT_JSON_DEPTH_MAX before jansson sees it: it calls itself for each level.
 *
 * Shape    text: any bytes; need not end with a NUL.
 * Owns     the result is yours (json_decref).
 * Returns  NULL with *error filled (NULL: do not); json_error_stack_overflow: too deep.
 * Threads  any.
 */
json_t *strict_json_load(const char *text, size_t len, json_error_t *error);

#endif
