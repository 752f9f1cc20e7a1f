/*
 * What is checked, and what was found.
 */
#ifndef LK_HISTORY_FINDING_H
#define LK_HISTORY_FINDING_H

#include "history.h"

#define HISTORY_CHECK_LIST(X)                                                                      \
    X(CHECK_EXCLUSION, "exclusion", "certain holds of one key overlap only where kinds allow it")  \
    X(CHECK_PERMITS, "permits", "never more permits out than the limit")                           \
    X(CHECK_FENCE, "fence", "a later holder has a greater fencing token, no less the counter")     \
    X(CHECK_DEPTH, "depth", "re-entry counts up and down by one")                                  \
    X(CHECK_FAIRNESS, "fairness", "who was queued first is served first")                          \
    X(CHECK_RENEWAL, "renewal", "no hold is lost that is renewed or new, without a disturbance")   \
    X(CHECK_LIVENESS, "liveness", "nobody waits in vain beside a free lock")                       \
    X(CHECK_LATCH, "latch", "nobody passes a latch before its last count-down began")              \
    X(CHECK_LEFTOVERS, "leftovers", "no key without TTL and no subscription is left")              \
    X(CHECK_NAMED, "named", "while a hold is certain, the key in Redis names its holder")          \
    X(CHECK_GONE, "gone", "after a release, the key names its holder no more")                     \
    X(CHECK_ORPHANS, "orphans", "a key names who was told of no hold until the lease ends at most")

enum history_check_id {
#define HISTORY_CHECK_VALUE(id, name, claim) id,
    HISTORY_CHECK_LIST(HISTORY_CHECK_VALUE)
#undef HISTORY_CHECK_VALUE
        CHECK_COUNT
};

struct history_check_options {
    int64_t stuck_ms; /* a lock must be taken by a waiter within this time... */
    int64_t calm_ms;  /* ...or within this, as long as nothing troubled anybody; 0: that, too */
    FILE *findings;   /* one line each; NULL: none */
    FILE *drawing;    /* of the first finding: what led to it, as text... */
    FILE *picture;    /* ...and as SVG; NULL: none */
};

struct history_report {
    size_t examined[CHECK_COUNT]; /* 0: there was nothing of that kind in the history */
    size_t found[CHECK_COUNT];
    unsigned long first; /* line of the first finding; 0: none */
    size_t lines;
    size_t holds;
    size_t keys;
    size_t owners;  /* different holders */
    size_t unknown; /* acquires without an answer */
    size_t lost;    /* holds that ended before their release, excused or not */
    size_t beliefs; /* pairs of holders who both believed, for want of a look at the clock */
};

struct checking {
    const struct history *history;
    const struct history_check_options *options;
    struct history_report *report;
    struct hold *holds; /* owned; by key, then begin */
    size_t hold_count;
    struct trouble *troubles; /* owned; by process, then begin */
    size_t trouble_count;
};

/* A finding, told where the options say. */
__attribute__((format(printf, 4, 5))) void history_finding(struct checking *checking,
                                                           enum history_check_id id,
                                                           unsigned long line, const char *format,
                                                           ...);

/* Findings of all checks together. */
size_t history_found(const struct history_report *report);

/* A name ("exclusion") and what is claimed; static. */
const char *history_check_name(enum history_check_id id);
const char *history_check_claim(enum history_check_id id);

#endif
