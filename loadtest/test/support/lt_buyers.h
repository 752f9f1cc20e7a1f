/*
 * A crowd of buyers who do not give up: each asks, with one key, until told for sure (created,
 * sold-out, ...), trying the instances in turn; some ask again with another key, winners with the
 * same. Every request and answer goes to a clients' ledger (../audit.h), so that the whole run can be
 * audited. A sampler watches the stock meanwhile. Crowds of different sales may share a place.
 *
 * Threads  one per concurrent buyer; the main thread starts, watches and joins them. The threads
 *          assert nothing.
 */
#ifndef LOADTEST_ITEST_LT_BUYERS_H
#define LOADTEST_ITEST_LT_BUYERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "audit/audit.h"
#include "lt_sandbox.h"
#include "run/service.h"

enum { LT_CROWD_MAX = 128 };

/* Counted while it runs; any thread may look. */
struct lt_buyers_counts {
    atomic_uint in_flight;   /* sent, no answer yet */
    atomic_uint answers;     /* of any kind */
    atomic_uint sold;        /* 201, not a replay */
    atomic_uint replayed;    /* 201 again */
    atomic_uint refused;     /* for good: sold-out, already-ordered... */
    atomic_uint unavailable; /* 503 that promises: not executed */
    atomic_uint unknown;     /* 503 outcome-unknown, other 5xx */
    atomic_uint unanswered;  /* the connection broke, or nothing came */
    atomic_uint broken;      /* first told "not executed" each time, then that it had been */
    atomic_uint slowest_ms;  /* answer */
};

struct lt_buyers_options {
    const struct service *service;    /* borrowed: whom to ask, where Redis is */
    const struct lt_sandbox *sandbox; /* borrowed: where the ledgers go */
    const char *sale;                 /* borrowed */
    unsigned threads;
    unsigned buyers;  /* who want one unit each */
    int64_t think_ms; /* between two requests of a thread, until lt_buyers_finish(); 0: full load */
    bool allow_lost;  /* accepted orders, by a failover: lt_buyers_judge() counts and names them */
};

struct lt_buyers {
    struct lt_buyers_options options;
    atomic_uint next_buyer;
    atomic_uint busy;        /* threads that have not ended */
    atomic_bool is_in_haste; /* nobody thinks any more */
    atomic_bool is_over;
    struct lt_buyers_counts counts;
    struct lt_shopper *shoppers; /* owned */
    pthread_t sampler;
    int64_t began_ms;
};

/* Let them loose on a sale. false: no threads. */
bool lt_buyers_start(struct lt_buyers *self, const struct lt_buyers_options *options);

/* Wait until each buyer was told for sure; false when that takes longer: they are sent home then. */
bool lt_buyers_finish(struct lt_buyers *self, int64_t limit_ms);

/*
 * Audit: read what they wrote, ask about what is unknown, read Redis, judge. After lt_buyers_finish().
 * Lost orders go to lost-SALE.jsonl in the place (resolve.h).
 *
 * Returns  false   it could not be done; `failure` says why.
 */
bool lt_buyers_judge(struct lt_buyers *self, struct audit_result *out_result,
                     struct failure *failure);

/* Answers per second since the start. */
double lt_buyers_rate(const struct lt_buyers *self);

#endif
