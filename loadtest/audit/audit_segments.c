/*
 * Checks on a sale in segments: each a sale by itself, between which units move. Pure.
 *
 * A move is numbered by the segment it leaves (source: 1, 2, ... ), which has one pending at a time; so those from
 * one source to one target stand in the same order in the ledgers of both.
 */
#include <inttypes.h>
#include <string.h>

#include "verdict.h"

static bool is_event(const struct ledger_entry *entry, const char *event)
{
    return strcmp(entry->event, event) == 0;
}

bool audit_is_move(const struct ledger_entry *entry)
{
    return is_event(entry, "moved-out") || is_event(entry, "moved-in");
}

int64_t audit_moved_in(const struct ledger_entry *entry)
{
    if (is_event(entry, "moved-out")) return -entry->units;
    return is_event(entry, "moved-in") ? entry->units : 0;
}

/* ---- each by itself ---- */

static void segment_offenders(const struct audit_view *view, size_t number, struct offenders *bad)
{
    const struct piece *piece = &view->pieces[number];
    const struct ledger_entry *log = view->facts->log + piece->log.from;
    int64_t orders = (int64_t)piece->orders.count;
    int64_t put_up = piece->initial + piece->restocked;
    int64_t moved = 0;

    for (size_t i = 0; i < piece->log.count; i++)
        moved += audit_moved_in(&log[i]);
    if (piece->left < 0)
        audit_blame(bad, "segment %zu: %" PRId64 " units left", number, piece->left);
    if (piece->moved != moved)
        audit_blame(bad, "segment %zu: %" PRId64 " moved, by its ledger %" PRId64, number,
                    piece->moved, moved);
    if (orders + piece->left != put_up + moved)
        audit_blame(bad,
                    "segment %zu: %" PRId64 " orders + %" PRId64 " left is not %" PRId64
                    " put up + %" PRId64 " moved",
                    number, orders, piece->left, put_up, moved);
    if (piece->state && view->pieces[0].state && strcmp(piece->state, view->pieces[0].state) != 0)
        audit_blame(bad, "segment %zu is %s, the first one %s", number, piece->state,
                    view->pieces[0].state);
}

void audit_segments_add_up(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->piece_count; i++)
        segment_offenders(view, i, &bad);
    if (!audit_is_settled(view, check, &bad, "contradictions"))
        audit_say(check, AUDIT_PASS, "%zu segments, of one state", view->piece_count);
}

/* ---- moves ---- */

struct moves {
    size_t count;
    int64_t on_way;   /* units */
    char pending[64]; /* words about the first */
    struct offenders bad;
};

/* The next entry of that event whose other end is `peer`, from *at on; NULL: there is none. */
static const struct ledger_entry *next_move(const struct audit_view *view, size_t number,
                                            const char *event, size_t peer, size_t *at)
{
    const struct piece *piece = &view->pieces[number];
    const struct ledger_entry *log = view->facts->log + piece->log.from;

    for (; *at < piece->log.count; (*at)++)
        if (is_event(&log[*at], event) && log[*at].peer == (int64_t)peer) return &log[(*at)++];
    return NULL;
}

/* A move that did not arrive is on its way when it is what its source says is pending. */
static void not_arrived(const struct audit_view *view, size_t source,
                        const struct ledger_entry *out, struct moves *moves)
{
    const struct piece *piece = &view->pieces[source];

    if (piece->moving.number != out->move || piece->moving.units != out->units ||
        piece->moving.target != out->peer) {
        audit_blame(&moves->bad,
                    "%" PRId64 " units, move %" PRId64 " of segment %zu, never arrived in %" PRId64,
                    out->units, out->move, source, out->peer);
        return;
    }
    if (moves->on_way == 0)
        (void)snprintf(moves->pending, sizeof moves->pending,
                       ", first: move %" PRId64 " of segment %zu", out->move, source);
    moves->on_way += out->units;
}

static void match_pair(const struct audit_view *view, size_t source, size_t target,
                       struct moves *moves)
{
    size_t at_source = 0;
    size_t at_target = 0;
    const struct ledger_entry *out = next_move(view, source, "moved-out", target, &at_source);
    const struct ledger_entry *in = next_move(view, target, "moved-in", source, &at_target);

    while (out || in) {
        bool is_same = out && in && out->move == in->move && out->units == in->units;
        bool is_out = is_same || (out && (!in || out->move < in->move));
        bool is_in = is_same || !is_out;

        if (is_out && !is_in) not_arrived(view, source, out, moves);
        if (is_in && !is_out)
            audit_blame(&moves->bad,
                        "ledger %s: %" PRId64 " units came to segment %zu by move %" PRId64
                        " of %zu, which left them out",
                        in->id, in->units, target, in->move, source);
        if (is_out) out = next_move(view, source, "moved-out", target, &at_source);
        if (is_in) in = next_move(view, target, "moved-in", source, &at_target);
    }
}

/* Its moves out are numbered from 1 and go to other segments, and the pending one is the last of them. */
static void count_moves(const struct audit_view *view, size_t source, struct moves *moves)
{
    const struct piece *piece = &view->pieces[source];
    const struct ledger_entry *log = view->facts->log + piece->log.from;
    const struct ledger_entry *last = NULL;
    int64_t number = 0;

    for (size_t i = 0; i < piece->log.count; i++) {
        const struct ledger_entry *entry = &log[i];

        if (!audit_is_move(entry)) continue;
        if (entry->peer < 0 || entry->peer >= (int64_t)view->piece_count ||
            entry->peer == (int64_t)source)
            audit_blame(&moves->bad, "ledger %s: %s, but segment %" PRId64 " is none for that",
                        entry->id, entry->event, entry->peer);
        if (is_event(entry, "moved-in")) continue;
        last = entry;
        if (entry->move != ++number)
            audit_blame(&moves->bad, "ledger %s: move %" PRId64 ", not %" PRId64, entry->id,
                        entry->move, number);
    }
    moves->count += (size_t)number;
    if (piece->moves != number)
        audit_blame(&moves->bad, "segment %zu: %" PRId64 " moves, in its ledger %" PRId64, source,
                    piece->moves, number);
    if (piece->moving.number &&
        (!last || piece->moving.number != last->move || piece->moving.units != last->units ||
         piece->moving.target != last->peer))
        audit_blame(&moves->bad, "segment %zu: move %" PRId64 " is pending, and is not its last",
                    source, piece->moving.number);
}

void audit_moves_arrive(const struct audit_view *view, struct audit_check *check)
{
    struct moves moves = {.count = 0};
    int64_t missing = 0;

    for (size_t source = 0; source < view->piece_count; source++) {
        count_moves(view, source, &moves);
        missing -= view->pieces[source].moved;
        for (size_t target = 0; target < view->piece_count; target++)
            match_pair(view, source, target, &moves);
    }
    if (missing != moves.on_way)
        audit_blame(&moves.bad, "%" PRId64 " units are in no segment, %" PRId64 " on their way",
                    missing, moves.on_way);
    if (!audit_is_settled(view, check, &moves.bad,
                          "units that came without leaving, or left alone"))
        audit_say(check, AUDIT_PASS, "%zu moves, %" PRId64 " units on their way%s", moves.count,
                  moves.on_way, moves.pending);
}

/* ---- homes ---- */

/* A buyer's segment: FNV-1a of the name, mixed as MurmurHash3 ends, modulo their number. */
static size_t home_of(const char *buyer, size_t count)
{
    uint32_t mix = 0x811c9dc5U;

    while (*buyer)
        mix = (mix ^ (unsigned char)*buyer++) * 0x01000193U;
    mix ^= mix >> 16;
    mix *= 0x85ebca6bU;
    mix ^= mix >> 13;
    mix *= 0xc2b2ae35U;
    mix ^= mix >> 16;
    return mix % count;
}

static void away_from_home(const struct audit_view *view, const struct row *rows,
                           const struct range *range, size_t number, struct offenders *bad)
{
    for (size_t i = range->from; i < range->from + range->count; i++) {
        size_t home = home_of(rows[i].buyer, view->piece_count);
        if (home != number)
            audit_blame_for(rows[i].buyer, bad, "order %s of %s is in segment %zu, not in %zu",
                            rows[i].order, rows[i].buyer, number, home);
    }
}

void audit_orders_at_home(const struct audit_view *view, struct audit_check *check)
{
    struct offenders bad = {.count = 0};

    for (size_t i = 0; i < view->piece_count; i++) {
        away_from_home(view, view->facts->orders, &view->pieces[i].orders, i, &bad);
        away_from_home(view, view->facts->sold, &view->pieces[i].sold, i, &bad);
    }
    if (!audit_is_settled(view, check, &bad, "orders elsewhere"))
        audit_say(check, AUDIT_PASS, "%zu orders in %zu segments", view->row_count,
                  view->piece_count);
}
