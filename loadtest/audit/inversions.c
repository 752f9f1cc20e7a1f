/*
 * Merge sort from the bottom up: whenever the right half gives its number first, everything that is
 * still in the left half is greater and stood before it.
 */
#include "inversions.h"

#include <string.h>

/* Merge [from, middle) and [middle, end) into `out` at the same place. */
static uint64_t merge(const int64_t *numbers, size_t from, size_t middle, size_t end, int64_t *out)
{
    uint64_t inversions = 0;
    size_t left = from;
    size_t right = middle;

    for (size_t at = from; at < end; at++) {
        bool is_left = left < middle && (right == end || numbers[left] <= numbers[right]);
        if (!is_left) inversions += middle - left;
        out[at] = is_left ? numbers[left++] : numbers[right++];
    }
    return inversions;
}

uint64_t inversions_count(int64_t *numbers, int64_t *spare, size_t count)
{
    uint64_t inversions = 0;

    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from < count; from += 2 * width) {
            size_t middle = count - from < width ? count : from + width;
            size_t end = count - from < 2 * width ? count : from + 2 * width;
            inversions += merge(numbers, from, middle, end, spare);
        }
        memcpy(numbers, spare, count * sizeof *numbers);
    }
    return inversions;
}

uint64_t inversions_pairs(size_t count)
{
    uint64_t many = count;

    return many < 2 ? 0 : many * (many - 1) / 2;
}
