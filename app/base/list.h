/*
 * What a list of rows, LIST(X) of X(value, name, ...), is made into: the values of an enum; their names
 * (whatever stands next to the value), or rows of their own, in a table.
 */
#ifndef SECKILL_LIST_H
#define SECKILL_LIST_H

#define LIST_VALUE(value, ...) value,
#define LIST_NAME(value, ...)  [value] = LIST_FIRST(__VA_ARGS__, 0),
#define LIST_ROW(value, ...)   [value] = {__VA_ARGS__},
#define LIST_FIRST(first, ...) (first)

#endif
