/*
 * The numbers of one run, counted from the facts. No verdicts.
 */
#ifndef LOADTEST_SUMMARY_H
#define LOADTEST_SUMMARY_H

#include "common/failure.h"
#include "evidence/facts.h"

struct latency {
    size_t count;
    double p50_ms, p90_ms, p99_ms, p999_ms, most_ms;
};

enum { SERIES_SLICES_MAX = 120 };

/* The run over time: how many replies of each kind came in each slice of it, and when the last unit was
 * sold. */
struct series {
    int64_t slice_ms; /* 10, 20, 50, 100, ...: the shortest that is enough for the whole run */
    int count;        /* slices; the first begins with the first request. 0: no reply came */
    uint32_t replies[ANSWER_COUNT][SERIES_SLICES_MAX];
    double
        sold_out_ms; /* since the first request: the last unit's buyer was told; -1: units left */
};

struct summary {
    int64_t initial, left;
    size_t sold;   /* orders in the hash or in the ledger stream, whichever are more */
    size_t buyers; /* distinct buyers who asked */
    size_t requests, replies, unanswered;
    size_t strays;          /* answers to nobody knows which request, of a proxy */
    size_t accepted;        /* purchases that were told 201 for the first time */
    size_t replayed;        /* 201 again */
    double seconds;         /* first request .. last reply */
    double purchases_per_s; /* accepted, first request .. last acceptance */
    double replies_per_s;
    size_t refused[ANSWER_COUNT];   /* by reason: surely not executed */
    size_t uncertain[ANSWER_COUNT]; /* by reason: nobody knows */
    struct latency latency[ANSWER_COUNT];
    struct series series;
};

/* false: out of memory. */
bool summary_count(const struct facts *facts, struct summary *out_summary, struct failure *failure);

#endif
