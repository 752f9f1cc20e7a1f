/*
 * What a stream of events says (server-sent events, GET /api/v1/sales/{id}/events), and when. Words
 * and rules only: broadcast.h knows what happens, streams.c writes it to clients.
 *
 *   snapshot  the sale, as GET shows it, and orders behind it: at the start, and whenever a client may
 *             have missed something
 *   stock     {"remaining":37}
 *   orders    {"orders":13}
 *   state     {"state":"paused","because":"paused"}; because: the ledger's event, or "clock"
 *
 * What is written together is a group: the states, then orders, then stock. Each event says how things
 * are, not by how much they changed: a client that comes back gets a snapshot and needs no history, so
 * events have no id and nothing is resumed.
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

/* An entry of the ledger that says something about the sale's state. */
struct events_change {
    struct ledger_id id;
    sale_state state;                /* from then on */
    char because[LEDGER_EVENT_SIZE]; /* the entry's event */
};

/*
 * Go on by one entry of the ledger.
 *
 * Returns  with true, *out: the state has changed, or an operator has touched the sale.
 */
bool events_follow(struct sale_moment *moment, const struct ledger_entry *entry,
                   struct events_change *out);

/* Go on in time: units that cooled are for sale. Clocks that go back are ignored. */
void events_tick(struct sale_moment *moment, int64_t now_ms);

/* ---- telling --------------------------------------------------------------------------------- */

/* What there is to tell, as of one place of the ledger. */
struct events_news {
    struct events_change changes[EVENTS_KEPT]; /* the oldest first */
    size_t change_count;
    struct ledger_id last;
    int64_t left;
    int64_t orders;
    int64_t now_ms;
    sale_state state;
    bool is_gap;  /* more has changed than was kept: a snapshot is due */
    bool is_lost; /* the store is out of reach */
};

/* What one client has been told. */
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

/* The sale as it is, with its JSON, and its orders. */
void events_add_snapshot(struct events_group *group, const struct sale_moment *moment,
                         const char *json, struct events_told *told);

/* What is new to this client; perhaps nothing. (is_gap is the caller's.) */
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
