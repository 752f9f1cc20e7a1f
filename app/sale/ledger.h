/*
 * The ledger of a sale as its readers see it: entries in order, each with an id that Redis gave it and
 * that stays. (How it is written: app/scripts; the layout: store.h.)
 */
#ifndef SECKILL_LEDGER_H
#define SECKILL_LEDGER_H

#include "lockkit/reply.h"

#include "sale.h"

enum {
    LEDGER_ID_SIZE = 42,    /* two numbers of 20 digits, the dash and the NUL */
    LEDGER_EVENT_SIZE = 17, /* longer names of events are cut */
};

/* "MS-SEQ": when it was written, by Redis' clock, and its place within that millisecond. */
struct ledger_id {
    uint64_t ms;
    uint64_t seq;
};

struct ledger_entry {
    struct ledger_id id;
    char event[LEDGER_EVENT_SIZE]; /* "created", "sold", "paused"... */
    int64_t left;                  /* units left after it, those that cool too */
    int64_t orders;                /* by how many the number of orders changes; may be negative */
    int64_t units;                 /* that it put up later */
    int64_t sellable_ms;           /* from when these are for sale; 0: at once */
    int64_t starts_ms;             /* the new values; negative: unchanged */
    int64_t ends_ms;
    bool has_left;
};

/* A sale's state as of one entry of its ledger. */
struct sale_moment {
    struct sale sale;
    int64_t orders;        /* sold so far */
    struct ledger_id last; /* the ledger's last entry then; 0-0: it was empty */
};

/* Digits, a dash, digits, each number within 64 bits, and nothing else; else false and untouched. */
bool ledger_id_parse(const char *text, struct ledger_id *out);
void ledger_id_format(struct ledger_id id, char out[LEDGER_ID_SIZE]);
/* Negative, 0 or positive, as strcmp(). */
int ledger_id_compare(struct ledger_id left, struct ledger_id right);

/* By how much an entry of this event changes the number of orders, for each order that it names: 1, -1 or 0. */
int ledger_event_adds(const char *event);
/* Whether an entry of this event may follow the sale's end: events of orders, of moving units, or of Redis. */
bool ledger_event_is_of_payment(const char *event);

/* One entry of XRANGE's or XREAD's answer; false when it is none. */
bool ledger_entry_read(const lk_reply *reply, struct ledger_entry *out);

#endif
