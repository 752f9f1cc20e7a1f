/*
 * Merge sort from the bottom up: whenever the right half gives its number first, everything that is
 * still in the left half is greater and stood before it. Pure.
 */
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

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

uint64_t audit_count_inversions(int64_t *numbers, int64_t *spare, size_t count)
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

uint64_t audit_count_pairs(size_t count)
{
    return count < 2 ? 0 : (uint64_t)count * (count - 1) / 2;
}

/* Ledgers of different segments have no order between them. */
bool audit_count_fairness(const struct audit_view *view, struct fairness *out_fairness)
{
    const struct facts *facts = view->facts;
    int64_t *arrivals = calloc(facts->sold_count + 1, sizeof *arrivals);
    int64_t *spare = calloc(facts->sold_count + 1, sizeof *spare);
    bool has_room = arrivals && spare;

    *out_fairness = (struct fairness){.orders = 0};
    for (size_t n = 0; has_room && n < view->piece_count; n++) {
        const struct range *sold = &view->pieces[n].sold;
        size_t orders = 0;

        for (size_t i = sold->from; i < sold->from + sold->count; i++) {
            struct ask_run run = audit_find_rid(view, facts->sold[i].rid); /* by time */
            if (run.count) arrivals[orders++] = run.asks[0]->invoked_ns;
        }
        out_fairness->orders += orders;
        out_fairness->pairs += audit_count_pairs(orders);
        out_fairness->inversions += audit_count_inversions(arrivals, spare, orders);
    }
    free(arrivals);
    free(spare);
    return has_room;
}

double fairness_share(const struct fairness *fairness)
{
    return fairness->pairs ? (double)fairness->inversions / (double)fairness->pairs : 0;
}
