/*
 * The auditor's desk: the facts, sorted the ways the checks need them. Internal to audit*.c.
 */
#ifndef LOADTEST_AUDIT_VIEW_H
#define LOADTEST_AUDIT_VIEW_H

#include "audit.h"

/* One order of L. */
struct audit_row {
    const char *order;
    const char *buyer;
    const char *rid;
    bool in_orders; /* the orders hash has exactly this row */
    bool in_ledger; /* the ledger stream has exactly this row */
};

/* One entry of the ledger that an operator's step makes. */
struct audit_act {
    const struct ledger_entry *entry;
    const char *what; /* the step */
    int64_t units;    /* put up by it: of "created" in all segments */
    bool is_asked;    /* an operator asked for it; without an operators' log it is believed */
};

struct audit_view {
    const struct facts *facts;  /* borrowed */
    struct piece whole;         /* of a sale in one piece */
    const struct piece *pieces; /* borrowed: the segments, or the whole */
    size_t piece_count;
    struct audit_row *rows;                  /* owned: L, by order id */
    const struct audit_row **by_buyer;       /* owned: L, by buyer */
    const struct audit_row **by_rid;         /* owned: L, by rid */
    const struct ask **asks_by_rid;          /* owned: by rid, then time */
    const struct ask **asks_by_buyer;        /* owned: by buyer, then time */
    const struct resolution **resolutions;   /* owned: by rid */
    struct sample *samples;                  /* owned: by time */
    const struct ask **lost;                 /* owned: who was told first, by order id */
    struct audit_act *acts;                  /* owned: in the ledger's order */
    const struct pay_fact **pays_by_order;   /* owned: by order, then source, then entry */
    const struct pay_fact **pays_by_payment; /* owned: by payment, then as above; those with one */
    size_t payment_count;                    /* of the latter */
    size_t row_count, lost_count, act_count;
    size_t accepted; /* orders that somebody was told by 201 */
    bool allow_lost;
};

/* false: out of memory; call done either way. */
bool audit_view_init(struct audit_view *view, const struct facts *facts);
void audit_view_done(struct audit_view *view);

/* All asks of one rid, or of one buyer: a run of neighbours in one of the sorted arrays. */
struct ask_run {
    const struct ask *const *asks;
    size_t count;
};

/* The run that starts at `from`. */
struct ask_run audit_rid_run(const struct audit_view *view, size_t from);
struct ask_run audit_buyer_run(const struct audit_view *view, size_t from);
/* The run of that rid; empty when nobody asked for it. */
struct ask_run audit_find_rid(const struct audit_view *view, const char *rid);

/* First row of that rid, or buyer; NULL when there is none. Further ones follow at +1. */
const struct audit_row *const *audit_row_of_rid(const struct audit_view *view, const char *rid);
const struct audit_row *const *audit_row_of_buyer(const struct audit_view *view, const char *buyer);

bool audit_has_resolution(const struct audit_view *view, const char *rid);

/* Is the order of this 201 lost, and may it be? Not when another buyer was told it first. */
bool audit_is_excused(const struct audit_view *view, const struct ask *ask);
/* ... of any of these. */
bool audit_has_excused(const struct audit_view *view, struct ask_run run);
/* The most units that lost orders can have given back: `unheard` of them were told to nobody. */
size_t audit_given_back(const struct audit_view *view, size_t unheard);
/* Does any row of L have that order id? */
bool audit_has_order(const struct audit_view *view, const char *order);

bool audit_run_has(struct ask_run run, ask_outcome outcome);
/* An answer is missing or says nothing. */
bool audit_is_doubtful(struct ask_run run);
/* No answer was ok, and one is missing or says nothing. */
bool audit_is_unknown(struct ask_run run);

#endif
