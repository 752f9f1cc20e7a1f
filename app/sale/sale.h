/*
 * The sale: its names, its window, its states. Knows no HTTP, no Redis, no threads.
 */
#ifndef SECKILL_SALE_H
#define SECKILL_SALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum {
    SALE_ID_MAX = 40,
    SALE_TITLE_MAX = 200, /* bytes of UTF-8 */
    SALE_GUARD_MAX = 32,
    SALE_STOCK_MAX = 100000000,
    SALE_ADMIT_MAX = 1000000,
    SALE_SEGMENTS_MAX = 32,
    BUYER_ID_MAX = 64,
    IDEMPOTENCY_KEY_MAX = 64,
    ORDER_ID_MAX = 20, /* digits of a 63-bit number, and room for the NUL */
};

/* The state that an operator last set (stored), and the state that a buyer sees (derived from it, clock and stock). */
#define SALE_STATE_LIST(X)                                                                         \
    X(SALE_UPCOMING, "upcoming") /* before starts_ms */                                            \
    X(SALE_ACTIVE, "active")     /* open, in its window, units left */                             \
    X(SALE_SOLD_OUT, "sold_out") /* open, in its window, no unit left */                           \
    X(SALE_PAUSED, "paused")     /* stored state "paused" */                                       \
    X(SALE_ENDED, "ended")       /* stored state "ended", or past ends_ms */

typedef enum sale_state { SALE_STATE_LIST(LIST_VALUE) SALE_STATE_COUNT } sale_state;

/* For how long an instance's cached "sold out" is valid after it asked Redis; and for how long returned units are
   not for sale ("cool"): until no instance's cache can be valid any more (twice that time, for clock rates and for
   pauses between two readings of a clock, and a margin). A unit that seems to cool for longer than the maximum has
   cooled, and Redis' clock was set back since (purchase.lua has the same limit). */
enum {
    SALE_BELIEVED_MS = 100,
    SALE_COOL_MS = 2 * SALE_BELIEVED_MS + 50,
    SALE_COOL_MAX_MS = 10049,
    SALE_LOTS_MAX = 16,
};

/* Units that were returned together. */
struct sale_lot {
    int64_t sellable_ms; /* Unix epoch, by Redis' clock: from then on */
    int64_t units;       /* 0: no lot */
};

struct sale_id {
    char text[SALE_ID_MAX + 1];
};

enum { CURRENCY_SIZE = 4 };

/* Payment after the order; and how many orders are in which state. */
struct sale_payment {
    int64_t window_ms; /* an order is held for so long; 0: it is final at once, and all here is 0 */
    int64_t amount;    /* of one unit, in the currency's minor unit */
    char currency[CURRENCY_SIZE];
    int64_t paid, cancelled, expired; /* the others are held */
};

/* The waiting room: buyers are admitted in the order of arrival; those who came before the start, by a draw. */
struct sale_waiting {
    int64_t admit; /* places that are let in a second; 0: there is no waiting room */
    bool is_drawn;
    int64_t admitted, waiting; /* buyers, as far as this instance knows */
};

/* Units on their way from one segment to another: units 0, none. */
struct sale_move {
    int64_t number, units; /* of the moves of where they come from */
    unsigned target;
};

/* A sale in segments is one sale to everybody outside, and each segment is one in Redis (segment.h). */
struct sale_segments {
    unsigned count;      /* 0: it is in one piece */
    char generation[17]; /* hexadecimal digits; no other sale of this id has the same */
    struct sale_segment {
        int64_t left, orders;
        struct sale_move moving; /* from it */
    } each[SALE_SEGMENTS_MAX];
};

struct sale {
    char id[SALE_ID_MAX + 1];
    char title[SALE_TITLE_MAX + 1];
    char guard[SALE_GUARD_MAX + 1];
    char stored_state[16]; /* "open", "paused" or "ended" */
    int64_t initial;       /* units put up for sale at first */
    int64_t restocked;     /* units put up later */
    int64_t left;          /* units for sale now; a flawed guard can make it anything */
    int64_t cooling;       /* units that will be: sale_set_stock() */
    int64_t orders;        /* at that moment; not those that were cancelled or have expired */
    struct sale_payment payment;
    struct sale_waiting waiting;
    struct sale_segments segments;
    struct sale_move moving; /* of a segment, from it */
    int64_t sellable_ms;     /* from when the last of them are for sale; 0: none cool */
    int64_t starts_ms;       /* Unix epoch, by Redis' clock */
    int64_t ends_ms;         /* 0: open end */
    int64_t ended_ms;        /* when an operator ended it; 0: none did, or it is not known */
    int64_t epoch;           /* grows with every restock */
    int64_t now_ms;          /* Redis' clock when this was read */
    struct sale_lot lots[SALE_LOTS_MAX]; /* also those that have cooled */
    const char *guard_here; /* the guard that this instance uses instead; NULL: the sale's own */
};

/* "SELLABLE_MS:UNITS SELLABLE_MS:UNITS ..." -> lots. What is not of that form ends it. */
void sale_read_lots(struct sale *sale, const char *text);
void sale_add_lot(struct sale *sale, struct sale_lot lot);
/* Split the stock into the units that cool at now_ms and those that are for sale (left). */
void sale_set_stock(struct sale *sale, int64_t stock);

sale_state sale_state_of(const struct sale *sale);
const char *sale_state_name(sale_state state);

/* [a-z0-9-]{1,40}; [A-Za-z0-9_-]{1,64}; [A-Za-z0-9_.-]{1,64} */
bool sale_id_is_valid(const char *id);
bool sale_buyer_id_is_valid(const char *buyer);
bool sale_key_is_valid(const char *key);

#endif
