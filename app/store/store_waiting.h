/*
 * The waiting room of a sale in Redis. The purchase script does not read it: a buyer's admission is checked before, by
 * the ticket (waiting/waiting_room.h).
 *
 * Layout (KEY is seckill:{ID}:...; the rest: store.h)
 *   :sale     hash  has admit, places that are let in a second, and draw: 1 or 0
 *   :waiting  hash  key seed (32 bytes in hex each); last, the last number that was given; admitted, thousandths
 *                   of places; at_ms, of Redis' clock, up to when that counts; drawn, how many took part in
 *                   the draw, from the start of the sale on
 *   :places   hash  buyer -> number; 53 MiB for a million
 */
#ifndef SECKILL_STORE_WAITING_H
#define SECKILL_STORE_WAITING_H

#include "store.h"

enum { WAITING_SECRET_SIZE = 32 };
enum { WAITING_TO_DRAW = -1, WAITING_NO_DRAW = -2 };

/* How far a waiting room is. */
struct waiting_step {
    int64_t admitted; /* places: these may buy */
    int64_t last;     /* number that was given; 0: none yet */
    int64_t drawn;    /* numbers that take part in the draw; or one of the above */
    int64_t admit;    /* places a second */
    int64_t starts_in_ms;
    bool is_over; /* the sale has ended */
    unsigned char key[WAITING_SECRET_SIZE];
    unsigned char seed[WAITING_SECRET_SIZE];
};

/* Advance the admissions. out->key and ->seed: in, chance for a room that has none yet; out, the room's.
   STORE_NOT_FOUND: no such sale, or it has no waiting room. Just to be repeated. */
store_status store_waiting_step(struct store *store, const char *id, struct waiting_step *out,
                                struct lk_error *err);
/* A buyer's number, the same however often it is asked for. NOT_FOUND: likewise, or the sale is over. */
store_status store_waiting_join(struct store *store, const char *id, const char *buyer,
                                int64_t *out_number, struct lk_error *err);

#endif
