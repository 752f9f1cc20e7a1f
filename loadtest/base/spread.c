/*
 * One sort. Pure.
 */
#include "spread.h"

#include <math.h>
#include <stdio.h>
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

void spread_add(struct repeats *repeats, double value)
{
    if (repeats->count < ROUNDS_MAX) repeats->values[repeats->count++] = value;
}

struct spread spread_of_repeats(const struct repeats *repeats)
{
    double known[ROUNDS_MAX] = {(double)NAN};
    int count = 0;

    for (int i = 0; i < repeats->count; i++)
        if (!isnan(repeats->values[i])) known[count++] = repeats->values[i];
    return spread_of(known, count ? count : 1);
}

const char *spread_text(const struct repeats *repeats, int digits, char out[SPREAD_TEXT_MAX])
{
    struct spread spread = spread_of_repeats(repeats);

    if (isnan(spread.median))
        (void)snprintf(out, SPREAD_TEXT_MAX, "?");
    else if (spread.least < spread.most)
        (void)snprintf(out, SPREAD_TEXT_MAX, "%.*f (%.*f .. %.*f)", digits, spread.median, digits,
                       spread.least, digits, spread.most);
    else
        (void)snprintf(out, SPREAD_TEXT_MAX, "%.*f", digits, spread.median);
    return out;
}
