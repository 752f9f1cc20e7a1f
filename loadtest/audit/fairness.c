/*
 * One sort of the asks by purchase and time, one search per order, one merge count.
 */
#include "fairness.h"

#include <stdlib.h>
#include <string.h>

#include "inversions.h"

static int by_rid_and_time(const void *left, const void *right)
{
    const struct ask *a = *(const struct ask *const *)left;
    const struct ask *b = *(const struct ask *const *)right;
    int order = strcmp(a->rid, b->rid);

    return order ? order : (a->invoked_ns > b->invoked_ns) - (a->invoked_ns < b->invoked_ns);
}

/* The first ask of that rid; NULL: nobody asked. */
static const struct ask *find_first(const struct ask *const *sorted, size_t count, const char *rid)
{
    size_t from = 0;
    size_t end = count;

    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (strcmp(sorted[middle]->rid, rid) < 0)
            from = middle + 1;
        else
            end = middle;
    }
    return from < count && strcmp(sorted[from]->rid, rid) == 0 ? sorted[from] : NULL;
}

/* When each recorded purchase was asked for, in recorded order. Returns how many. */
static size_t list_arrivals(const struct facts *facts, const struct ask *const *sorted,
                            int64_t *out_arrivals)
{
    size_t count = 0;

    for (size_t i = 0; i < facts->sold_count; i++) {
        const struct ask *first = find_first(sorted, facts->ask_count, facts->sold[i].rid);
        if (first) out_arrivals[count++] = first->invoked_ns;
    }
    return count;
}

bool fairness_count(const struct facts *facts, struct fairness *out_fairness,
                    struct failure *failure)
{
    const struct ask **sorted = calloc(facts->ask_count + 1, sizeof(const struct ask *));
    int64_t *arrivals = calloc(facts->sold_count + 1, sizeof *arrivals);
    int64_t *spare = calloc(facts->sold_count + 1, sizeof *spare);
    bool has_room = sorted && arrivals && spare;

    *out_fairness = (struct fairness){.orders = 0};
    if (has_room) {
        for (size_t i = 0; i < facts->ask_count; i++)
            sorted[i] = &facts->asks[i];
        qsort(sorted, facts->ask_count, sizeof(const struct ask *), by_rid_and_time);
        size_t orders = list_arrivals(facts, sorted, arrivals);
        *out_fairness = (struct fairness){.orders = orders,
                                          .pairs = inversions_pairs(orders),
                                          .inversions = inversions_count(arrivals, spare, orders)};
    }
    free(sorted);
    free(arrivals);
    free(spare);
    return has_room || failure_set(failure, "out of memory");
}

double fairness_share(const struct fairness *fairness)
{
    return fairness->pairs ? (double)fairness->inversions / (double)fairness->pairs : 0;
}
