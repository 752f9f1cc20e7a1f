/*
 * What a check says: its offenders, and its verdict in words. And the checks.
 */
#ifndef LOADTEST_VERDICT_H
#define LOADTEST_VERDICT_H

#include "audit_view.h"

/* Offenders of one check: counts them and keeps words about the first. */
struct offenders {
    size_t count;
    char first[160];
};

void audit_blame(struct offenders *offenders, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write the verdict; the words follow printf. */
void audit_say(struct audit_check *check, audit_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fail when there are offenders ("COUNT WHAT; first: FIRST"), void when nothing was sold; false: it is
 * neither. */
bool audit_is_settled(const struct audit_view *view, struct audit_check *check,
                      const struct offenders *offenders, const char *what);

/* Fill view->acts; false: out of memory. audit_steps.c */
bool audit_match_steps(struct audit_view *view);

/* For the report; audit_stock.c */
size_t audit_count_oversold(const struct audit_view *view);
size_t audit_count_undersold(const struct audit_view *view);
bool audit_has_stuck_lock(const struct audit_view *view);

/* fairness.c; false: out of memory */
bool audit_count_fairness(const struct audit_view *view, struct fairness *out_fairness);
/* All pairs; and those whose earlier number is the greater one; equal numbers are none. O(n log n).
 * Sorts `numbers`; `spare` has room for as many. */
uint64_t audit_count_pairs(size_t count);
uint64_t audit_count_inversions(int64_t *numbers, int64_t *spare, size_t count);

/* The checks: audit_stock.c, audit_steps.c, audit_answers.c */
#define AUDIT_CHECK_JUDGE(value, name, ...)                                                        \
    void audit_##name(const struct audit_view *view, struct audit_check *check);
AUDIT_CHECK_LIST(AUDIT_CHECK_JUDGE)
#undef AUDIT_CHECK_JUDGE

#endif
