/*
 * The numbers of one run, counted from the facts. No verdicts.
 */
#ifndef LOADTEST_SUMMARY_H
#define LOADTEST_SUMMARY_H

#include "base/failure.h"
#include "evidence/facts.h"

struct latency {
    size_t count;
    double p50_ms, p90_ms, p99_ms, p999_ms, most_ms;
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
};

/* false: out of memory. */
bool summary_count(const struct facts *facts, struct summary *out_summary, struct failure *failure);

#endif
