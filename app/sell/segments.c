/*
 * See segments.h. Any thread; each fetch is used by one thread.
 */
#include "segments.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sale/sale_keys.h"
#include "store/store_flaw.h"

enum { TURN_LEASE_MS = 5000 };

struct segments {
    lk_client *client; /* borrowed, as the next two */
    struct store *store;
    const struct deployment *deployment; /* may be NULL */
    unsigned count;
    struct sale_id ids[SALE_SEGMENTS_MAX];
    char turn_key[SALE_KEY_ROOM];
    _Atomic int64_t out_until_ms; /* monotonic */
    atomic_uint out_changes;      /* of the servers, when that was seen */
};

struct segments *segments_new(lk_client *client, struct store *store,
                              const struct deployment *deployment, const struct sale *sale)
{
    struct segments *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->client = client;
    self->store = store;
    self->deployment = deployment;
    self->count = sale->segments.count;
    for (unsigned i = 0; i < self->count; i++)
        segment_id(sale->id, sale->segments.generation, i, &self->ids[i]);
    (void)snprintf(self->turn_key, sizeof self->turn_key, "seckill:{%s}:turn", self->ids[0].text);
    return self;
}

void segments_free(struct segments *self)
{
    free(self);
}

const char *segments_home(const struct segments *self, const char *buyer, unsigned *out_number)
{
    *out_number = segment_home(buyer, self->count);
    return self->ids[*out_number].text;
}

struct segments_proof segments_proof(const struct segments *self)
{
    return (struct segments_proof){atomic_load(&self->out_until_ms),
                                   atomic_load(&self->out_changes)};
}

bool segments_counts(const struct segments *self, struct segments_proof proof)
{
    return clock_awake_or_not_ms() < proof.until_ms &&
           proof.changes == deployment_changes(self->deployment);
}

/* ---- the turn --------------------------------------------------------------------------------------- */

fetch_state segments_begin_fetch(struct fetch *self, struct segments *segments, unsigned home,
                                 int64_t limit_ms)
{
    *self = (struct fetch){.segments = segments, .home = home};
    if (store_flaw_is(segments->store, FLAW_PUT_IN_FIRST)) return FETCH_UNITS; /* no lock */
    self->turn = lk_mutex_new(segments->client, segments->turn_key, NULL);
    if (!self->turn) return FETCH_AWAY;
    lk_status status = lk_lock_acquire(
        self->turn, LK_OPTIONS(lock, .wait_ms = limit_ms, .lease_ms = TURN_LEASE_MS), NULL);
    if (status == LK_OK) return FETCH_UNITS;
    segments_end_fetch(self);
    return status == LK_BUSY ? FETCH_BUSY : FETCH_AWAY;
}

void segments_end_fetch(struct fetch *self)
{
    if (self->turn) (void)lk_lock_release(self->turn, NULL);
    lk_lock_free(self->turn);
    self->turn = NULL;
}

/* ---- moves -------------------------------------------------------------------------------------------- */

/* Units of one segment for the home; or of whatever move is pending there, so with most 0 of none else: they arrive
   once, whoever completes it. What is sent first waits for replicas also when it changes nothing, so no unit arrives of
   a move that a failover may forget. */
static bool take_from(const struct fetch *self, unsigned source, int64_t most)
{
    struct segments *segments = self->segments;
    const char *home = segments->ids[self->home].text;
    struct sale_move move = {.units = most, .target = self->home};

    if (store_flaw_is(segments->store, FLAW_PUT_IN_FIRST))
        return store_flaw_take_units(segments->store, segments->ids[source].text, home, most,
                                     NULL) == STORE_OK;
    if (store_withdraw_units(segments->store, segments->ids[source].text, &move, NULL) != STORE_OK)
        return false;
    if (move.units == 0) return true;
    return move.target < segments->count &&
           store_deposit_units(segments->store, segments->ids[move.target].text, source, &move,
                               NULL) == STORE_OK &&
           store_settle_move(segments->store, segments->ids[source].text, move.number, NULL) ==
               STORE_OK;
}

/* ---- looking --------------------------------------------------------------------------------------------- */

/* The result of one reading of all segments; moves that are pending are completed meanwhile. */
struct found {
    struct segments_look look;
    unsigned fullest; /* but the home */
    int64_t most, at_home;
    bool has_moved;
};

static bool check_segment(struct fetch *self, unsigned number, const struct sale_moment *moment,
                          struct found *found)
{
    found->look.last[number] = moment->last;
    found->look.is_cooling |= moment->sale.cooling > 0;
    if (number == self->home) found->at_home = moment->sale.left;
    if (number != self->home && moment->sale.left > found->most) {
        found->fullest = number;
        found->most = moment->sale.left;
    }
    if (moment->sale.moving.units == 0) return true;
    found->has_moved = true;
    return take_from(self, number, 0);
}

static bool check_all(struct fetch *self, struct found *found)
{
    struct segments *segments = self->segments;
    struct sale_moment *moments = calloc(segments->count, sizeof *moments);

    *found = (struct found){.look = {.changes = deployment_changes(segments->deployment),
                                     .sent_ms = clock_awake_or_not_ms()}};
    bool is_seen = moments && store_load_moments(segments->store, segments->ids, segments->count,
                                                 moments, NULL) == STORE_OK;
    for (unsigned i = 0; i < segments->count && is_seen; i++)
        is_seen = check_segment(self, i, &moments[i], found);
    free(moments);
    return is_seen;
}

static bool has_none(const struct found *found)
{
    return !found->has_moved && found->most <= 0 && found->at_home <= 0;
}

fetch_state segments_fetch(struct fetch *self, size_t wanted)
{
    struct found found;

    if (!check_all(self, &found)) return FETCH_AWAY;
    self->before = found.look;
    if (has_none(&found)) return FETCH_NONE;
    if (found.has_moved || found.at_home > 0) return FETCH_UNITS;
    int64_t half = (found.most + 1) / 2;
    int64_t units = half > (int64_t)wanted ? half : (int64_t)wanted;
    return take_from(self, found.fullest, units) ? FETCH_UNITS : FETCH_AWAY;
}

bool segments_is_certain(struct fetch *self)
{
    struct segments *segments = self->segments;
    struct found found;
    size_t size = segments->count * sizeof self->before.last[0];

    if (!check_all(self, &found) || !has_none(&found) ||
        found.look.changes != self->before.changes ||
        memcmp(found.look.last, self->before.last, size) != 0)
        return false;
    if (!self->before.is_cooling && !found.look.is_cooling) {
        atomic_store(&segments->out_changes, self->before.changes);
        atomic_store(&segments->out_until_ms, self->before.sent_ms + SALE_BELIEVED_MS);
    }
    return true;
}
