/*
 * The sale: its names, its window, its states. Knows no HTTP, no Redis, no threads.
 */
#ifndef SECKILL_SALE_H
#define SECKILL_SALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SALE_ID_MAX = 40,
    SALE_TITLE_MAX = 200, /* bytes of UTF-8 */
    SALE_GUARD_MAX = 32,
    SALE_STOCK_MAX = 100000000,
    BUYER_ID_MAX = 64,
    IDEMPOTENCY_KEY_MAX = 64,
    ORDER_ID_MAX = 20, /* digits of a 63-bit number, and room for the NUL */
};

/* What the operator last said (stored), and what a buyer sees (derived from it, clock and stock). */
#define SALE_STATE_LIST(X)                                                                         \
    X(SALE_UPCOMING, "upcoming") /* before starts_ms */                                            \
    X(SALE_ACTIVE, "active")     /* open, in its window, units left */                             \
    X(SALE_SOLD_OUT, "sold_out") /* open, in its window, no unit left */                           \
    X(SALE_PAUSED, "paused")     /* stored state "paused" */                                       \
    X(SALE_ENDED, "ended")       /* stored state "ended", or past ends_ms */

typedef enum sale_state {
#define SALE_STATE_VALUE(value, name) value,
    SALE_STATE_LIST(SALE_STATE_VALUE)
#undef SALE_STATE_VALUE
        SALE_STATE_COUNT
} sale_state;

struct sale {
    char id[SALE_ID_MAX + 1];
    char title[SALE_TITLE_MAX + 1];
    char guard[SALE_GUARD_MAX + 1];
    char stored_state[16];  /* "open", "paused" or "ended" */
    int64_t initial;        /* units put up for sale at first */
    int64_t restocked;      /* units put up later */
    int64_t left;           /* units left; a flawed guard can make it anything */
    int64_t starts_ms;      /* Unix epoch, by Redis' clock */
    int64_t ends_ms;        /* 0: open end */
    int64_t epoch;          /* grows with every restock */
    int64_t now_ms;         /* Redis' clock when this was read */
    const char *guard_here; /* by which this instance sells it instead; NULL: by its own */
};

sale_state sale_state_of(const struct sale *sale);
const char *sale_state_name(sale_state state);

/* [a-z0-9-]{1,40}; [A-Za-z0-9_-]{1,64}; [A-Za-z0-9_.-]{1,64} */
bool sale_id_is_valid(const char *id);
bool buyer_id_is_valid(const char *buyer);
bool idempotency_key_is_valid(const char *key);

#endif
