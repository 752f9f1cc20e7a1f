/*
 * Facts made by hand, and whether the auditor says of them what it must.
 */
#ifndef LOADTEST_TEST_LT_FACTS_H
#define LOADTEST_TEST_LT_FACTS_H

#include "audit/audit.h"

#define CHECK(name) (1U << (unsigned)AUDIT_##name)
enum { LT_ALL_CHECKS = (1 << AUDIT_FIRST_OF_SEGMENTS) - 1 }; /* of a plain sale */

/* A sale of so many units that an operator has put up, and of which nothing is sold. */
void lt_facts_put_up(struct facts *facts, int64_t units);
/* An order in hash and ledger, after which so many units are left. */
void lt_facts_sell(struct facts *facts, struct row row, int64_t left);
/* The outcome follows from the answer; without `answered_ns` it is 5 ns later, unless there was none. */
void lt_facts_ask(struct facts *facts, struct ask ask);

/* The checks that ended so, as a set. */
unsigned lt_facts_checks(const struct audit_result *result, audit_verdict verdict);

/* What is changed about a sale, and exactly the checks that fail then; if none, those that are void. */
struct lt_facts_row {
    const char *name;
    void (*change)(struct facts *facts); /* NULL: nothing */
    unsigned failed, voids;
};

/* Make the sale, change it, judge it: each row. */
void lt_facts_judge(void (*make)(struct facts *facts), const struct audit_options *options,
                    const struct lt_facts_row *rows, size_t count);

#endif
