/*
 * One sort. Pure.
 */
#include "spread.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

struct spread spread_of(double *numbers, int count)
{
    size_t size = (size_t)count;
    qsort(numbers, size, sizeof *numbers, by_value);
    double middle = size % 2 ? numbers[size / 2] : (numbers[size / 2 - 1] + numbers[size / 2]) / 2;
    return (struct spread){.median = middle, .least = numbers[0], .most = numbers[size - 1]};
}
