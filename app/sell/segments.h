/*
 * The selling side of one sharded sale: it maps buyers to home segments, fetches units to a home from other segments,
 * and proves that no segment has any left. The protocol, its proof and its wrong variants are in
 * lockkit/model/segments.pml; the steps in Redis are in store_segments.h.
 *
 * A buyer is told "sold out" only if at one moment after his request all units were sold and he had no order. To prove
 * that, all segments are read twice: none has units, none has units in transit, and no ledger got an entry in between;
 * and between the two readings the home refuses the purchase once more. The proof is valid for SALE_BELIEVED_MS, as a
 * book of sold_out.h is, and for the same reasons.
 */
#ifndef SECKILL_SEGMENTS_H
#define SECKILL_SEGMENTS_H

#include "store/store_segments.h"

struct segments; /* opaque; safe for any number of threads */

/* All are borrowed; sale->segments.count is not 0. NULL when out of memory. */
struct segments *segments_new(lk_client *client, struct store *store,
                              const struct deployment *deployment, const struct sale *sale);
void segments_free(struct segments *self);

/* The id and the number of a buyer's home segment. The id lives as long as *self. */
const char *segments_home(const struct segments *self, const char *buyer, unsigned *out_number);

/* The proof that no segment has units left: a purchase that its home refuses after the proof was read, while the proof
   is valid, is refused. (A proof read after the refusal is not enough: he may have got the last unit in between.) */
struct segments_proof {
    int64_t until_ms; /* monotonic */
    unsigned changes; /* of the servers */
};
struct segments_proof segments_proof(const struct segments *self);
bool segments_counts(const struct segments *self, struct segments_proof proof);

/*
 * Fetch units for purchases that their home has refused. A lock lets one instance fetch at a time, so that two homes
 * do not fetch from each other for ever; when its owner dies the lock expires. Safety does not depend on it.
 *
 *     state = segments_begin_fetch(&fetch, segments, home, limit_ms);
 *     while (state == FETCH_UNITS || state == FETCH_NONE) {
 *         state = segments_fetch(&fetch, how many were refused);
 *         ...sell to them again; that is all when there is none that is refused...
 *         if (state == FETCH_NONE && segments_is_certain(&fetch)) ...they are, for good...
 *     }
 *     segments_end_fetch(&fetch);
 */
typedef enum fetch_state {
    FETCH_UNITS, /* the home may have units now */
    FETCH_NONE,  /* no segment had units; this has to be confirmed */
    FETCH_BUSY,  /* another instance had the lock for too long */
    FETCH_AWAY,  /* a server is out of reach */
} fetch_state;

/* The result of one reading of all segments. */
struct segments_look {
    struct ledger_id last[SALE_SEGMENTS_MAX];
    int64_t sent_ms;  /* monotonic, before the first was asked */
    unsigned changes; /* of the servers, likewise */
    bool is_cooling;  /* returned units cool */
};

struct fetch {
    struct segments *segments;
    unsigned home;
    lk_lock *turn; /* owned */
    struct segments_look before;
};

fetch_state segments_begin_fetch(struct fetch *self, struct segments *segments, unsigned home,
                                 int64_t limit_ms);
/* Fetch `wanted` units or more: half of what the fullest segment has, because demand differs little between homes. */
fetch_state segments_fetch(struct fetch *self, size_t wanted);
/* Call it after FETCH_NONE and one more refusal. */
bool segments_is_certain(struct fetch *self);
void segments_end_fetch(struct fetch *self);

#endif
