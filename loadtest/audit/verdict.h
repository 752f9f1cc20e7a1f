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
    const char *buyer; /* of the first; NULL: it is about none */
};

void audit_blame(struct offenders *offenders, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of what this buyer asked or has. */
void audit_blame_for(const char *buyer, struct offenders *offenders, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Write the verdict; the words follow printf. */
void audit_say(struct audit_check *check, audit_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fail when there are offenders ("COUNT WHAT; first: FIRST"), void when nothing was sold; false: it is
 * neither. */
bool audit_is_settled(const struct audit_view *view, struct audit_check *check,
                      const struct offenders *offenders, const char *what);

/* Of units between segments: is it one, and by how many units does the stock grow? audit_segments.c */
bool audit_is_move(const struct ledger_entry *entry);
int64_t audit_moved_in(const struct ledger_entry *entry);

/* Fill view->acts; false: out of memory. audit_steps.c */
bool audit_match_steps(struct audit_view *view);

/* What the first buyer who was wronged asked, was told, and has, into result->story. story.c */
void audit_fill_story(const struct facts *facts, struct audit_result *result);

/* For the report; audit_stock.c */
size_t audit_count_oversold(const struct audit_view *view);
size_t audit_count_undersold(const struct audit_view *view);
bool audit_has_stuck_lock(const struct audit_view *view);

/* How many orders gave their units back, by the ledger. */
size_t audit_count_returned(const struct audit_view *view);
/* audit_payment.c */
struct audit_payments audit_count_payments(const struct audit_view *view);

/* fairness.c; false: out of memory */
bool audit_count_fairness(const struct audit_view *view, struct fairness *out_fairness);
/* All pairs; and those whose earlier number is the greater one; equal numbers are none. O(n log n).
 * Sorts `numbers`; `spare` has room for as many. */
uint64_t audit_count_pairs(size_t count);
uint64_t audit_count_inversions(int64_t *numbers, int64_t *spare, size_t count);

/* The checks: audit_stock.c, audit_segments.c, audit_steps.c, audit_answers.c, audit_payment.c */
#define AUDIT_CHECK_JUDGE(value, name, ...)                                                        \
    void audit_##name(const struct audit_view *view, struct audit_check *check);
AUDIT_CHECK_LIST(AUDIT_CHECK_JUDGE)
#undef AUDIT_CHECK_JUDGE

#endif
