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

/* The checks: audit_stock.c, audit_steps.c, audit_answers.c */
void audit_conservation(const struct audit_view *view, struct audit_check *check);
void audit_restocks_add_up(const struct audit_view *view, struct audit_check *check);
void audit_nothing_after_end(const struct audit_view *view, struct audit_check *check);
void audit_operators_agree(const struct audit_view *view, struct audit_check *check);
void audit_one_per_buyer(const struct audit_view *view, struct audit_check *check);
void audit_one_per_request(const struct audit_view *view, struct audit_check *check);
void audit_no_undersell(const struct audit_view *view, struct audit_check *check);
void audit_no_stuck_lock(const struct audit_view *view, struct audit_check *check);
void audit_acknowledged_kept(const struct audit_view *view, struct audit_check *check);
void audit_no_unaccounted(const struct audit_view *view, struct audit_check *check);
void audit_refused_not_executed(const struct audit_view *view, struct audit_check *check);
void audit_unknown_resolved(const struct audit_view *view, struct audit_check *check);
void audit_no_phantom(const struct audit_view *view, struct audit_check *check);
void audit_honest_answers(const struct audit_view *view, struct audit_check *check);

#endif
