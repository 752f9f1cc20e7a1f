/*
 * The service's own audit of one sale: do orders, stock and ledger agree? It is a quick check for operators; the proof
 * is loadtest's audit, which does not rely on the service. Judges the data that store_audit.c has read; no I/O.
 */
#ifndef SECKILL_SALE_AUDIT_H
#define SECKILL_SALE_AUDIT_H

#include "base/list.h"
#include "sale.h"

/* X(value, name) */
#define AUDIT_CHECK_LIST(X)                                                                        \
    X(AUDIT_STOCK, "stock-not-negative")                                                           \
    X(AUDIT_OVERSOLD, "not-oversold")        /* orders <= units put up */                          \
    X(AUDIT_UNITS, "units-add-up")           /* orders + left = units put up */                    \
    X(AUDIT_LEDGER_END, "ledger-ends-here")  /* its last entry has this stock and this epoch */    \
    X(AUDIT_LEDGER_CHAIN, "ledger-adds-up")  /* each entry follows from the one before it */       \
    X(AUDIT_LEDGER_ORDERS, "ledger-has-all") /* as many orders and units as the sale says */

enum audit_check { AUDIT_CHECK_LIST(LIST_VALUE) AUDIT_CHECK_COUNT };

/* What was read. A number that is not there, or is none, is AUDIT_NONE. */
#define AUDIT_NONE INT64_MIN

/* A summary of the ledger, from its start to the entry that was the last one when the numbers were read. */
struct audit_ledger {
    bool is_walked;       /* false: too long, or it could not be read; the rest means nothing */
    int64_t entries;      /* that were walked */
    int64_t initial;      /* of the entry "created" */
    int64_t restocked;    /* units of all entries "restocked" */
    int64_t moved;        /* units of all "moved-in", less those of "moved-out" */
    int64_t orders;       /* that stand after all its entries */
    int64_t left;         /* of the last one walked; AUDIT_NONE: nothing walked yet */
    int64_t breaks;       /* entries that do not follow from the one before */
    char first_break[48]; /* id of the first of these */
    bool has_ended;       /* nothing follows the entry "ended" */
};

struct audit_reading {
    int64_t now_ms; /* Redis' clock */
    int64_t orders;
    int64_t left;
    int64_t initial;
    int64_t restocked;
    int64_t moved; /* units that came in from other segments, less those that went out */
    int64_t epoch;
    int64_t entries; /* of the ledger */
    int64_t last_left;
    int64_t last_epoch;
    char last_id[48]; /* "" when a ledger is empty */
    unsigned parts;   /* that were added up */
    unsigned lost;    /* of a sale in segments, those that are not there */
    int64_t on_way;   /* units that left a segment and have not arrived */
    bool is_still;    /* no entry was added since the reading before */
    struct audit_ledger ledger;
};

enum audit_verdict { AUDIT_PASS, AUDIT_FAIL, AUDIT_UNKNOWN };

struct sale_audit {
    struct audit_reading reading;
    enum audit_verdict verdict; /* FAIL if any failed, else UNKNOWN if any is, else PASS */
    int64_t oversold;           /* units; AUDIT_NONE: not known */
    struct {
        enum audit_verdict verdict;
        char words[128];
    } checks[AUDIT_CHECK_COUNT];
};

/* One entry of the ledger. */
struct audit_entry {
    const char *id;
    const char *event;
    int64_t left, initial, units; /* AUDIT_NONE: no such field */
    int64_t orders;               /* by so many more stand after it, or less */
};
void sale_audit_walk(struct audit_ledger *ledger, const struct audit_entry *entry);

/* Add what was read of one more segment; *all is zeroed before the first. */
void sale_audit_add(struct audit_reading *all, const struct audit_reading *one);

/* Judge out->reading; fills the rest. */
void sale_audit_judge(struct sale_audit *out);

const char *sale_audit_check_name(enum audit_check check);
const char *sale_audit_verdict_name(enum audit_verdict verdict);

#endif
