/*
 * The auditor: was the sale kept honest? Judges facts (facts.h), trusts no word of the service
 * about itself. Pure functions over memory; O(n log n).
 *
 * Two-sided and closed on failure: a check that had nothing to look at is void, never pass, and a
 * sale in which nothing was sold proves nothing.
 *
 * The clients' ledger; for writers of other tools, with an example: ../GUIDE.md
 *   Shape   JSON lines, UTF-8, at most 4 KiB each, one file per writer. `t` is CLOCK_MONOTONIC in
 *           nanoseconds, so files of one machine compare without any skew.
 *     {"t":T,"e":"invoke","req":Q,"rid":R,"buyer":B,"key":K}   before the first byte is sent
 *     {"t":T,"e":"ok","req":Q,"rid":R,"status":201,"order":O}  created; replays: "replayed":true
 *     {"t":T,"e":"fail","req":Q,"rid":R,"status":S,"type":P}   refused; already-ordered: "order":O
 *     {"t":T,"e":"info","req":Q,"rid":R,"status":S,"type":P}   nobody knows
 *     {"t":T,"e":"resolve","rid":R,"buyer":B,"order":O}        asked again after the run: order O,
 *                                                              or null for none
 *     {"t":T,"e":"sample","left":N}                            the stock, seen by the monitor
 *     {"t":T,"e":"told","buyer":B,"order":O,"state":"paid"}    or "cancelled": of a sale that is
 *                                                              paid for later
 *     {"t":T,"e":"stray","status":S}                           an answer to nobody knows which
 *                                                              request: a proxy's own; counted
 *   req     names one HTTP request (its X-Request-Id), unique in its file; may be left out when no
 *           rid of the file is asked twice at a time
 *   rid     names one intended purchase: the Idempotency-Key (a retry repeats it). A request
 *           without a key has no "key", and its rid is "~" and the buyer
 *   ok      201 and nothing else.
 *   fail    surely not executed by this request: a 4xx, or 503 with lock-timeout, overloaded,
 *           store-unavailable, sale-paused
 *   info    everything else: outcome-unknown, other 5xx. No answer at all has no line; it counts
 *           the same
 *   P       last part of the problem's type: "sold-out"
 *   A last line without newline was cut short by a kill and counts as not written.
 *
 * The operators' log: operators_log.h. Without one nobody knows whether the units of a restock were
 * put up by an operator: operators_agree is void, and the ledger is believed. With it, units that no
 * operator put up are not counted as put up.
 *
 * Terms. L is every order there is: the rows of the ledger stream, and those of the orders hash
 * that have no equal in it. An rid is *unknown* when no answer to it was ok and one is missing or
 * info. An order is *lost* when somebody was told it by 201 and no row of L has its id.
 *
 * Lost orders. A failover to a replica that was behind takes the sale back to an earlier moment and
 * goes on from there; so does a Redis that comes back without its last second. Strictly, each order
 * lost that way fails acknowledged_kept. With `allow_lost` it is counted, and excuses what follows
 * from it and no more:
 *   - its buyer may be told no afterwards, may have been shown it (already-ordered), and may buy
 *     again: L holds the second order alone, so one_per_buyer judges as ever;
 *   - the units it gave back may be sold to late comers, or be left though somebody was told
 *     sold-out, and the stock may be seen rising by as many. Purchases that are unknown, and have
 *     no order, count too: they may have been executed before and lost unheard.
 * Everything else is judged as ever: Redis must agree with itself, and L come from those who asked.
 */
#ifndef LOADTEST_AUDIT_H
#define LOADTEST_AUDIT_H

#include <stdio.h>

#include <jansson.h>

#include "common/failure.h"
#include "evidence/facts.h"

typedef enum audit_verdict {
    AUDIT_PASS,
    AUDIT_FAIL,
    AUDIT_VOID, /* nothing to judge by; not a pass */
} audit_verdict;

/* Name, whether it is judged by what clients wrote down, and what it claims. */
#define AUDIT_CHECK_LIST(X)                                                                        \
    X(AUDIT_CONSERVATION, conservation, false,                                                     \
      "orders + left = initial; hash, ledger, stock agree")                                        \
    X(AUDIT_RESTOCKS_ADD_UP, restocks_add_up, false,                                               \
      "restocked and epoch of sale and ledger agree")                                              \
    X(AUDIT_NOTHING_AFTER_END, nothing_after_end, false,                                           \
      "sold in its time alone, open and not ended")                                                \
    X(AUDIT_OPERATORS_AGREE, operators_agree, false, "operators asked for all steps, and got all") \
    X(AUDIT_ONE_PER_BUYER, one_per_buyer, false, "no buyer has two orders")                        \
    X(AUDIT_ONE_PER_REQUEST, one_per_request, false, "no purchase was executed twice")             \
    X(AUDIT_ACKNOWLEDGED_KEPT, acknowledged_kept, true,                                            \
      "every 201 is in the orders, same order id")                                                 \
    X(AUDIT_NO_UNACCOUNTED, no_unaccounted, true, "every order was told 201 or is unknown")        \
    X(AUDIT_REFUSED_NOT_EXECUTED, refused_not_executed, true,                                      \
      "only refused: no order, and no replay")                                                     \
    X(AUDIT_UNKNOWN_RESOLVED, unknown_resolved, true, "asked again, every unknown got the truth")  \
    X(AUDIT_NO_PHANTOM, no_phantom, true, "every order was asked for, by its buyer")               \
    X(AUDIT_NO_UNDERSELL, no_undersell, true, "no unit kept from buyers who wanted it")            \
    X(AUDIT_NO_STUCK_LOCK, no_stuck_lock, false, "no lock is left that does not end by itself")    \
    X(AUDIT_HONEST_ANSWERS, honest_answers, true,                                                  \
      "no winner is told no; no 'already' without order")                                          \
    X(AUDIT_SEGMENTS_ADD_UP, segments_add_up, false,                                               \
      "each segment by itself: orders + left = put up + moved; all of one state")                  \
    X(AUDIT_MOVES_ARRIVE, moves_arrive, false,                                                     \
      "units moved between segments arrive once, or are on their way")                             \
    X(AUDIT_ORDERS_AT_HOME, orders_at_home, false,                                                 \
      "each order is in the one segment that its buyer's name leads to")                           \
    X(AUDIT_UNIT_CONSERVATION, unit_conservation, false,                                           \
      "at every entry: left + held + paid = put up")                                               \
    X(AUDIT_ONE_FINAL_STATE, one_final_state, false,                                               \
      "each order is paid, cancelled or expired once, or held")                                    \
    X(AUDIT_RETURN_MATCHES_HOLD, return_matches_hold, false,                                       \
      "each unit that came back was held then, and came once")                                     \
    X(AUDIT_NO_EARLY_EXPIRY, no_early_expiry, false, "no order expired before its time to pay")    \
    X(AUDIT_PAYMENT_EXPLAINED, payment_explained, false,                                           \
      "each charge paid an order or is owed back, and nothing else was")                           \
    X(AUDIT_REFUND_ONCE, refund_once, false, "each refund is owed once, none for what is paid")    \
    X(AUDIT_TOLD_PAID_IS_PAID, told_paid_is_paid, false,                                           \
      "who was told paid, or cancelled, is that at the end")

typedef enum audit_check_id {
#define AUDIT_CHECK_VALUE(value, ...) value,
    AUDIT_CHECK_LIST(AUDIT_CHECK_VALUE)
#undef AUDIT_CHECK_VALUE
        AUDIT_CHECK_COUNT,
    AUDIT_FIRST_OF_SEGMENTS = AUDIT_SEGMENTS_ADD_UP, /* it and what follows: of sales in segments */
    AUDIT_FIRST_OF_PAYMENT =
        AUDIT_UNIT_CONSERVATION /* it and what follows: of sales paid for later */
} audit_check_id;

struct audit_check {
    const char *name; /* NULL: it is not judged, and passes; then nothing else is there */
    const char *claim;
    audit_verdict verdict;
    char words[256]; /* numbers, and the first offender */
    const char
        *buyer; /* borrowed of the facts: the first offender is about him; NULL: about none */
};

/* Who came first, was served first? Of all pairs of orders: how many were recorded in the ledger, and
 * within an entry in the order of its fields, in the other order than their buyers had asked first. An
 * order nobody is known to have asked for is in no pair. */
struct fairness {
    size_t orders; /* compared */
    uint64_t pairs, inversions;
};

/* How strict. Zero: nothing is excused. */
struct audit_options {
    bool allow_lost; /* accepted orders may be lost: see above */
};

/* Of a sale that is paid for later. */
struct audit_payments {
    size_t held; /* in all */
    size_t paid, cancelled, expired;
    size_t owed, refunds; /* refunds: not done yet, and in all */
};

/* What the first who was wronged asked, was told, and has in Redis, in this order. */
enum { AUDIT_STORY_ASKS = 12, AUDIT_STORY_MAX = 16 };

struct audit_story {
    char buyer[80];
    struct audit_event {
        char what[80]; /* rid; or where in Redis it stands */
        char words[128];
        double from_ms,
            to_ms; /* since the first; from < 0: it stands there; to < 0: never answered */
    } events[AUDIT_STORY_MAX];
    size_t count; /* 0: nobody was */
};

struct audit_result {
    struct audit_check checks[AUDIT_CHECK_COUNT];
    int check_count, promise_count; /* the first ones, that are judged, but checks without name */
    struct audit_payments payments;
    audit_verdict verdict;   /* fail if one failed, else void if one is void, else pass */
    size_t duplicate_buyers; /* buyers with more than one order */
    size_t unknown;          /* rids that are unknown */
    size_t accepted;         /* orders that somebody was told by 201 */
    size_t lost;             /* of these */
    size_t sold;             /* L */
    size_t oversold;         /* of L: more than were put up */
    size_t undersold;        /* units in no order, for which there were buyers without one */
    int64_t left;            /* units, by the stock key */
    bool has_stuck_lock;
    struct fairness fairness;
    struct audit_story story;
};

/* Judge all; options NULL: strictly. false: out of memory, nothing was judged. */
bool audit_run(const struct facts *facts, const struct audit_options *options,
               struct audit_result *out_result, struct failure *failure);

/* Call `each` with the first ask that was told of each lost order, by order id, until it returns
 * false. false: out of memory. */
bool audit_each_lost(const struct facts *facts, bool (*each)(const struct ask *ask, void *arg),
                     void *arg, struct failure *failure);

/* Call `each` with the first ask of every unknown rid, until it returns false. false: no memory. */
bool audit_each_unknown(const struct facts *facts, bool (*each)(const struct ask *ask, void *arg),
                        void *arg, struct failure *failure);

/* As lines; and {"buyer", "events": [{"what", "words", "from_ms", "to_ms"}]}, what is not there null: for page/. */
void audit_story_write(const struct audit_story *story, FILE *to);
json_t *audit_story_json(const struct audit_story *story);

const char *audit_verdict_name(audit_verdict verdict);

/* inversions / pairs, from 0 (first come, first served) to 1 (the other way round); 0 without. */
double fairness_share(const struct fairness *fairness);

/* The five promises of the design, one more of a sale that is paid for later, and which checks stand
 * behind each: every check behind one at least. */
enum { PROMISE_COUNT = 6, PROMISE_CHECKS_MAX = 8 };

struct promise {
    const char *text;
    audit_check_id checks[PROMISE_CHECKS_MAX];
    int check_count;
};

extern const struct promise promises[PROMISE_COUNT];

/* Fail when one of its checks failed, else void when one is void, else pass. */
audit_verdict audit_promise_verdict(const struct promise *promise,
                                    const struct audit_result *result);

#endif
