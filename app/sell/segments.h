/*
 * One sale in segments, as this process sells it: where a buyer's home is, units fetched to it from the other segments,
 * and the certainty that none is left in any. The protocol, its proof and its wrong variants are in
 * lockkit/model/segments.pml; the steps in Redis in store_segments.h.
 *
 * Who is told "sold out" had no order when all units were sold, at one moment since he asked: all segments are looked
 * at twice, nothing was left in any nor on its way, no ledger had got an entry in between; and between the two his home
 * has refused him once more. The certainty counts for SALE_BELIEVED_MS, as a book of sold_out.h does, and for the same
 * reasons.
 */
#ifndef SECKILL_SEGMENTS_H
#define SECKILL_SEGMENTS_H

#include "store/store_segments.h"

struct segments; /* opaque; safe for any number of threads */

/* All are borrowed; sale->segments.count is not 0. NULL when out of memory. */
struct segments *segments_new(lk_client *client, struct store *store,
                              const struct deployment *deployment, const struct sale *sale);
void segments_free(struct segments *self);

/* The id of the segment where a buyer's order is, and which it is. Lives as long as *self. */
const char *segments_home(const struct segments *self, const char *buyer, unsigned *out_number);

/* The certainty that no unit is left anywhere: whom his home refuses after this was read, as long as it counts, is
   refused. (One that was read later says nothing of an earlier refusal: he may have got the last unit in between.) */
struct segments_proof {
    int64_t until_ms; /* monotonic */
    unsigned changes; /* of the servers */
};
struct segments_proof segments_proof(const struct segments *self);
bool segments_counts(const struct segments *self, struct segments_proof proof);

/*
 * Units for those whom their home has refused. One of all instances fetches at a time, by a lock, so that two homes do
 * not fetch from each other for ever; that lock ends by its lease when its owner dies, and nothing but patience depends
 * on it.
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
    FETCH_UNITS, /* there may be some at home now */
    FETCH_NONE,  /* no segment had any: to be confirmed */
    FETCH_BUSY,  /* others fetched for too long */
    FETCH_AWAY,  /* a server is out of reach */
} fetch_state;

/* What one look at all segments saw. */
struct segments_look {
    struct ledger_id last[SALE_SEGMENTS_MAX];
    int64_t sent_ms;  /* monotonic, before the first was asked */
    unsigned changes; /* of the servers, likewise */
    bool is_cooling;  /* units are to come */
};

struct fetch {
    struct segments *segments;
    unsigned home;
    lk_lock *turn; /* owned */
    struct segments_look before;
};

fetch_state segments_begin_fetch(struct fetch *self, struct segments *segments, unsigned home,
                                 int64_t limit_ms);
/* So many are wanted. More are taken, half of what the fullest segment has: homes differ by chance alone. */
fetch_state segments_fetch(struct fetch *self, size_t wanted);
/* After FETCH_NONE and one more refusal. */
bool segments_is_certain(struct fetch *self);
void segments_end_fetch(struct fetch *self);

#endif
