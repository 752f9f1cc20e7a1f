/*
 * What is known of one sale, in memory: what Redis holds, what the clients wrote down, and what the
 * operators did. Filled by ledger.c (Redis), client_log.c (clients' files) and operators_log.c, or by
 * hand in a test; judged by audit.c.
 * Knows no Redis, no files, no verdicts.
 *
 * Owns: every string lives in the facts' own arena and dies with facts_done().
 * A purchase is named by its `rid`: the Idempotency-Key it was sent with, or "~BUYER" for one
 * without a key (a buyer's requests without a key cannot be told apart, so they are one purchase;
 * '~' is in no key).
 */
#ifndef LOADTEST_FACTS_H
#define LOADTEST_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a client knows of one request. Only OK and FAIL are certain. */
typedef enum ask_outcome {
    ASK_UNANSWERED, /* sent, nothing came back: as unknown as INFO */
    ASK_OK,         /* 201: surely executed, now or earlier (replay) */
    ASK_FAIL,       /* refused: surely not executed by this request */
    ASK_INFO,       /* the service itself does not know, or the answer proves nothing */
} ask_outcome;

/* The words of an answer: problem types of the service, and the two kinds of 201. */
#define ANSWER_LIST(X)                                                                             \
    X(ANSWER_NONE, "none")                                                                         \
    X(ANSWER_CREATED, "created")                                                                   \
    X(ANSWER_REPLAYED, "replayed")                                                                 \
    X(ANSWER_ALREADY_ORDERED, "already-ordered")                                                   \
    X(ANSWER_SOLD_OUT, "sold-out")                                                                 \
    X(ANSWER_NOT_STARTED, "sale-not-started")                                                      \
    X(ANSWER_ENDED, "sale-ended")                                                                  \
    X(ANSWER_PAUSED, "sale-paused")                                                                \
    X(ANSWER_LOCK_TIMEOUT, "lock-timeout")                                                         \
    X(ANSWER_OVERLOADED, "overloaded")                                                             \
    X(ANSWER_STORE_UNAVAILABLE, "store-unavailable")                                               \
    X(ANSWER_OUTCOME_UNKNOWN, "outcome-unknown")                                                   \
    X(ANSWER_ORDER_CANCELLED, "order-cancelled")                                                   \
    X(ANSWER_ORDER_EXPIRED, "order-expired")                                                       \
    X(ANSWER_QUOTA_EXCEEDED, "quota-exceeded")                                                     \
    X(ANSWER_NOT_FOUND, "not-found")                                                               \
    X(ANSWER_UNAUTHENTICATED, "unauthenticated")                                                   \
    X(ANSWER_FORBIDDEN, "forbidden")                                                               \
    X(ANSWER_INVALID, "invalid-request")                                                           \
    X(ANSWER_INTERNAL, "internal")                                                                 \
    X(ANSWER_OTHER, "other")

typedef enum answer_kind {
#define ANSWER_VALUE(value, name) value,
    ANSWER_LIST(ANSWER_VALUE)
#undef ANSWER_VALUE
        ANSWER_COUNT
} answer_kind;

/* One HTTP request for a purchase, and its reply if one came. */
struct ask {
    int64_t invoked_ns;  /* CLOCK_MONOTONIC, before the first byte was sent */
    int64_t answered_ns; /* after the last byte was read; 0: never */
    const char *rid;
    const char *buyer;
    const char *order; /* order id in the answer, or NULL */
    ask_outcome outcome;
    answer_kind answer;
};

/* One order, as the orders hash or a "sold" entry of the ledger stream tells it. */
struct row {
    const char *order;
    const char *buyer;
    const char *rid;
};

/* One entry of the ledger stream. */
struct ledger_entry {
    const char *id;      /* stream id */
    const char *event;   /* created, sold, ended, ... */
    const char *key;     /* of "restocked": its idempotency key; else NULL */
    int64_t left;        /* units left after it */
    int64_t initial;     /* of "created"; else -1 */
    int64_t units;       /* of "restocked": put up by it; of "moved-out", "moved-in"; else 0 */
    int64_t sellable_ms; /* of "restocked": before it these were not for sale; else 0 */
    int64_t epoch;       /* of the sale, after it */
    int64_t ends_ms;     /* of "patched", when it changed the end; else -1 */
    int64_t pay_by_ms;   /* of "sold", when they are paid for later; else 0 */
    size_t sold;         /* orders it names */
    size_t returned;     /* orders it takes back, "cancelled" or "expired" */
    int64_t move, peer;  /* of "moved-out", "moved-in": its number; the segment at its other end */
};

/* One part of a sale, with a stock, orders and a ledger of its own: a segment, or the whole of a sale in one
 * piece. Its orders are among those of the facts, `count` of them from `from` on, likewise the other two. */
struct piece {
    struct range {
        size_t from, count;
    } orders, sold, log;
    int64_t initial, restocked, epoch, left; /* as in facts */
    const char *state;
    bool has_stock;
    int64_t moved; /* units that came in, less those that went out */
    int64_t moves; /* how many it has begun to move out */
    struct move_pending {
        int64_t number, units, target;
    } moving; /* number 0: none */
};

/* Of an order that is paid for later, and of the money for it: where it stands, and who says so. */
typedef enum pay_step {
    PAY_HELD,
    PAY_PAID,
    PAY_CANCELLED,
    PAY_EXPIRED,
    PAY_OWED, /* a refund, as the next two */
    PAY_SENT,
    PAY_DONE,
    PAY_CHARGED,
    PAY_FORGED, /* an event that the service must not take, and took */
} pay_step;

typedef enum pay_source {
    PAY_BY_LEDGER,   /* the stream: it came to that, in this entry */
    PAY_BY_KEYS,     /* orders and refunds: it stands there */
    PAY_BY_PROVIDER, /* its log: charged; or PAID: told so by the service */
    PAY_BY_BUYER,    /* told so by the service */
} pay_source;

struct pay_fact {
    pay_source source;
    pay_step step;
    const char *order, *buyer;
    const char *payment, *currency, *reason; /* NULL: not known, not said */
    int64_t amount;                          /* -1: not said */
    size_t entry;                            /* of the ledger */
};

/* What the service answered after the run to "what became of this?"; order NULL: no order. */
struct resolution {
    const char *rid;
    const char *buyer;
    const char *order;
};

/* The stock as the monitor saw it during the run. */
struct sample {
    int64_t at_ns;
    int64_t left;
};

/* What became of an operator's step, as far as the one who asked for it knows. */
typedef enum step_result {
    STEP_MAYBE,    /* asked for, and no answer: it was done or not */
    STEP_DONE,     /* the ledger has it */
    STEP_REPEATED, /* the ledger has an earlier one of the same key */
    STEP_REFUSED,  /* surely not done */
} step_result;

/* One step of an operator, as the operators' log tells it. Moments: Unix, of the one who wrote it. */
struct operator_step {
    const char *id;            /* unique in its file */
    const char *what;          /* "create", "restock", "pause", "resume", "patch", "end" */
    const char *key;           /* "" for none */
    int64_t units;             /* of create and restock; else 0 */
    int64_t asked_ms, told_ms; /* told: with DONE */
    int64_t epoch;             /* with DONE: that it left the sale in */
    step_result result;
};

/* What is left of the guard's lock after the run. */
typedef enum lock_left {
    LOCK_NOT_LOOKED,
    LOCK_NONE,     /* no such key */
    LOCK_LEASED,   /* somebody died or hung holding it, and its lease is still running */
    LOCK_OUTLIVES, /* its lease was waited for, and it is there all the same */
    LOCK_ENDLESS,  /* no lease: it never ends */
} lock_left;

struct arena; /* opaque */

struct facts {
    struct arena *arena; /* owned */
    bool is_alone;       /* no store was read: `orders` are those that the clients were told */
    bool has_clients;    /* client files were given, empty ones too */
    bool has_operators;  /* an operators' log was given, an empty one too */
    bool has_stock;      /* the stock key holds a number: `left` */
    int64_t left;        /* of segments those on their way between them, too */
    int64_t initial;     /* of the sale hash, as the next; -1: none there */
    int64_t restocked;   /* 0: none there */
    int64_t epoch, starts_ms, ends_ms;        /* -1: none there */
    int64_t window_ms;                        /* 0: not paid for later; else the next, too */
    int64_t amount, paid, cancelled, expired; /* of the sale hash */
    int64_t due; /* how many hold a unit, by the index of when they end */
    const char *currency;
    const char *state; /* NULL: none there */
    lock_left lock;
    int64_t lock_ms;                /* of its lease, when it was first seen; -1: none */
    const char *malformed;          /* first thing in Redis that has no meaning, or NULL */
    struct piece *segments;         /* owned; none: the sale is in one piece */
    struct row *orders;             /* owned: the orders hash */
    struct row *sold;               /* owned: the orders in the ledger stream */
    struct ledger_entry *log;       /* owned: the ledger stream */
    struct ask *asks;               /* owned */
    struct resolution *resolutions; /* owned */
    struct sample *samples;         /* owned, in any order */
    struct operator_step *steps;    /* owned */
    struct pay_fact *pays;          /* owned; those of the ledger in its order */
    bool has_charges;               /* the provider's log was given, an empty one too */
    size_t segment_count, order_count, sold_count, log_count, ask_count, resolution_count,
        sample_count, step_count, pay_count;
    size_t stray_count; /* answers to nobody knows which request */
};

void facts_init(struct facts *facts);
void facts_done(struct facts *facts);

/* A copy of `text` in the arena; NULL when out of memory. */
const char *facts_text(struct facts *facts, const char *text, size_t length);
/* The rid of a purchase: its key, or "~BUYER" when the key is empty; NULL when out of memory. */
const char *facts_rid(struct facts *facts, const char *key, size_t key_len, const char *buyer);

/* Append a copy. The strings in it are borrowed and must live as long as the facts. false: out of
 * memory. */
bool facts_add_segment(struct facts *facts, struct piece segment);
bool facts_add_order(struct facts *facts, struct row row);
bool facts_add_sold(struct facts *facts, struct row row);
bool facts_add_log(struct facts *facts, struct ledger_entry entry);
bool facts_add_ask(struct facts *facts, struct ask ask);
bool facts_add_resolution(struct facts *facts, struct resolution resolution);
bool facts_add_sample(struct facts *facts, struct sample sample);
bool facts_add_step(struct facts *facts, struct operator_step step);
bool facts_add_pay(struct facts *facts, struct pay_fact pay);

/* Forget orders that were read twice, of those from `from` on (HSCAN may repeat one while a hash is rehashed). */
void facts_drop_repeated_orders(struct facts *facts, size_t from);

/* The facts' own numbers, as they are, of all that was added since the last segment or since ever. */
struct piece facts_piece(const struct facts *facts);
/* The facts' own numbers become those of all segments together, its state that of the first. */
void facts_join_segments(struct facts *facts);

const char *facts_answer_name(answer_kind kind);
/* ANSWER_OTHER for a name that is not in the list. */
answer_kind facts_answer_from_name(const char *name);

#endif
