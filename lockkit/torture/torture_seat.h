/*
 * How one thread takes one of a kind and gives it back, and what may be seen then.
 */
#ifndef LK_TORTURE_SEAT_H
#define LK_TORTURE_SEAT_H

#include "lockkit/lockkit.h"

#include "history/finding.h"
#include "torture_board.h"

enum { TORTURE_KEYS = 6, TORTURE_PARTS_MAX = 3, TORTURE_KEY_MAX = 160 };

struct torture_kind;

/* What all processes of a round go by. */
struct torture_plan {
    const struct torture_kind *kind;
    const char *url;          /* of the server */
    const char *links;        /* folder of the links, one per process; NULL: there are none */
    const char *history_path; /* all processes write to it */
    char prefix[64];          /* of all keys */
    uint32_t seed;
    int64_t run_ms;
    int64_t quiet_ms; /* at the begin, without faults */
    int64_t stuck_ms; /* as histories are judged */
    int64_t calm_ms;
    int64_t look_ms; /* between two looks of the observer */
    unsigned processes;
    unsigned threads;
    unsigned keys;
};

/* One thread's handle of one key, or of several. */
struct torture_seat {
    const struct torture_kind *kind;
    const struct torture_plan *plan;
    const struct torture_place *place;
    struct history_writer *writer;
    lk_client *client;
    uint32_t *seed;
    unsigned key;                      /* number from 1 */
    lk_lock *lock;                     /* of this turn; NULL: the kind is no lock */
    struct torture_claim claim;        /* of this turn */
    void *thing;                       /* the kind's */
    lk_lock *parts[TORTURE_PARTS_MAX]; /* the kind's */
    struct lk_permit permits[TORTURE_PARTS_MAX];
};

/* What is NULL is done as with any lk_lock, or not at all. */
struct torture_kind {
    const char *name;
    unsigned keys;               /* that are fought for */
    unsigned watched;            /* keys from 1 that name their holders in Redis */
    unsigned limit;              /* weights of holds side by side on one key */
    int64_t waiter_ms;           /* so long a dead waiter holds up those behind it */
    bool gives_up;               /* a wait ends when too few servers can be reached */
    bool is_reentrant;           /* a second acquire by the holder nests */
    bool is_leased;              /* holds end by themselves */
    bool has_holds;              /* what is taken is given back */
    bool is_spared;              /* nobody is killed, so that in the end nothing may be missing */
    bool is_flawed;              /* on purpose: torture must find it out */
    enum history_check_id shows; /* of what its histories must have something to check */

    const char *limited_as; /* the limit's kind in histories; NULL: it is not told */
    /* Once per key, before anybody comes: false with err filled. */
    bool (*set_up)(lk_client *client, const char *key, unsigned limit, struct lk_error *err);
    /* Once per key, when all are gone. */
    void (*check)(const struct torture_plan *plan, lk_client *client, const char *key,
                  struct torture_board *board);
    /* Whether a key without TTL that is left behind is there to stay. */
    bool (*stays)(const char *key);

    lk_lock *(*make_lock)(lk_client *client, const char *key, struct lk_error *err);
    bool (*make)(struct torture_seat *seat, struct lk_error *err); /* instead of make_lock */
    void (*done)(struct torture_seat *seat);
    void (*choose)(struct torture_seat *seat); /* the lock and the claim of a turn */
    lk_status (*acquire)(struct torture_seat *seat, const struct lk_lock_options *options,
                         struct lk_error *err);
    lk_status (*release)(struct torture_seat *seat, struct lk_error *err);
    lk_status (*renew)(struct torture_seat *seat, struct lk_error *err);
    int64_t (*remaining_ms)(const struct torture_seat *seat); /* INT64_MAX: no lease */
    void (*cancel)(struct torture_seat *seat);
    /* A lock of the same owner that admits others and may be taken besides; NULL: not now. */
    lk_lock *(*soften)(struct torture_seat *seat);
    /* A lock that admits nobody and may be made of the hold; NULL: not now. And that, with the claim. */
    lk_lock *(*harden)(struct torture_seat *seat);
    lk_status (*upgrade)(struct torture_seat *seat, const struct lk_lock_options *options,
                         struct lk_error *err);
    /* A holder died: give back what has no lease. */
    void (*restore)(struct torture_seat *seat, unsigned weight);
};

/* A seat filled in up to the key is made ready; false with err filled. End it in any case. */
bool torture_seat_make(struct torture_seat *seat, struct lk_error *err);
void torture_seat_done(struct torture_seat *seat);

/* These ask the kind, or the turn's lock. */
void torture_seat_choose(struct torture_seat *seat);
lk_status torture_seat_acquire(struct torture_seat *seat, const struct lk_lock_options *options,
                               struct lk_error *err);
lk_status torture_seat_release(struct torture_seat *seat, struct lk_error *err);
/* Prolong the hold by hand; OK where that cannot be done. */
lk_status torture_seat_renew(struct torture_seat *seat, struct lk_error *err);
int64_t torture_seat_remaining_ms(const struct torture_seat *seat);
void torture_seat_cancel(struct torture_seat *seat);

/* The name of a plan's key: prefix, kind and number. */
void torture_key_name(const struct torture_plan *plan, unsigned key, char out[TORTURE_KEY_MAX]);

/* Whether a key of a semaphore or latch is the number itself, which has no TTL. */
bool torture_is_counter(const char *key);

#endif
