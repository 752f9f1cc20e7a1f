/*
 * Macros for an X-macro list LIST(X) with rows X(value, name, ...): they expand it to the values of an enum, to
 * a table of the names, or to a table of other rows.
 */
#ifndef SECKILL_LIST_H
#define SECKILL_LIST_H

#define LIST_VALUE(value, ...) value,
#define LIST_NAME(value, ...)  [value] = LIST_FIRST(__VA_ARGS__, 0),
#define LIST_ROW(value, ...)   [value] = {__VA_ARGS__},
#define LIST_FIRST(first, ...) (first)

#endif
