/*
 * The content and the pace of an event stream (server-sent events, GET /api/v1/sales/{id}/events). No I/O:
 * broadcast.h reads the changes, streams.c writes to clients.
 *
 *   snapshot  the sale, as GET shows it, and orders behind it: at the start, and whenever a client may
 *             have missed something
 *   stock     {"remaining":37}
 *   orders    {"orders":13}
 *   state     {"state":"paused","because":"paused"}; because: the ledger's event, or "clock"
 *
 * Events that are written together are a group: the states, then orders, then stock. Each event has absolute
 * values, no differences: a client that reconnects gets a snapshot and needs no history, so events have no id
 * and streams are not resumed.
 */
#ifndef SECKILL_EVENTS_H
#define SECKILL_EVENTS_H

#include "base/list.h"
#include "base/text.h"
#include "sale/ledger.h"

enum {
    EVENTS_KEPT = 64,        /* changes of state kept for streams that lag */
    EVENTS_GAP_MS = 100,     /* from one group to the next: 10 in a second at most */
    EVENTS_BEAT_MS = 15000,  /* of silence, then a comment */
    EVENTS_GROUP_MAX = 12288 /* bytes: 64 states, or the longest snapshot, and more */
};

/* X(value, name on the wire and in metrics) */
#define EVENT_KIND_LIST(X)                                                                         \
    X(EVENT_SNAPSHOT, "snapshot")                                                                  \
    X(EVENT_STOCK, "stock") X(EVENT_ORDERS, "orders") X(EVENT_STATE, "state")

typedef enum event_kind { EVENT_KIND_LIST(LIST_VALUE) EVENT_KIND_COUNT } event_kind;

const char *events_kind_name(event_kind kind);

/* ---- following a ledger ---------------------------------------------------------------------- */

/* An entry of the ledger that changes the sale's state, or is an operator's step. */
struct events_change {
    struct ledger_id id;
    sale_state state;                /* from then on */
    char because[LEDGER_EVENT_SIZE]; /* the entry's event */
};

/*
 * Apply one entry of the ledger.
 *
 * Returns  true with *out, if the state has changed or the entry is an operator's step.
 */
bool events_follow(struct sale_moment *moment, const struct ledger_entry *entry,
                   struct events_change *out);

/* Advance the time: units that have cooled become for sale. A clock that goes back is ignored. */
void events_tick(struct sale_moment *moment, int64_t now_ms);

/* ---- telling --------------------------------------------------------------------------------- */

/* Everything new, as of one entry of the ledger. */
struct events_news {
    struct events_change changes[EVENTS_KEPT]; /* the oldest first */
    size_t change_count;
    struct ledger_id last;
    int64_t left;
    int64_t orders;
    int64_t now_ms;
    sale_state state;
    bool is_gap;  /* changes were dropped: a snapshot is due */
    bool is_lost; /* the store is out of reach */
};

/* The values that one client was sent last. */
struct events_told {
    struct ledger_id last;
    int64_t left;
    int64_t orders;
    int64_t now_ms;
    sale_state state;
    bool is_lost; /* that the store is out of reach */
};

struct events_group {
    struct text text;
    unsigned count[EVENT_KIND_COUNT];
};

/* One event. Data of several lines becomes several data fields. */
void events_add(struct events_group *group, event_kind kind, const char *data, size_t data_len);

/* A snapshot: the sale, as JSON, and its orders. */
void events_add_snapshot(struct events_group *group, const struct sale_moment *moment,
                         const char *json, struct events_told *told);

/* Add the events that are new to this client, if any. (The caller handles is_gap.) */
void events_add_news(struct events_group *group, const struct events_news *news,
                     struct events_told *told);

void events_add_comment(struct events_group *group, const char *words);

/* ---- when ------------------------------------------------------------------------------------ */

/* Monotonic moments; zeroed: everything is due. */
struct events_pace {
    int64_t next_group_ms;
    int64_t next_beat_ms;
};

/* How long to wait before something is due; 0: now. */
int64_t events_wait_ms(const struct events_pace *pace, bool has_news, int64_t now_ms);
void events_wrote(struct events_pace *pace, int64_t now_ms);

#endif
