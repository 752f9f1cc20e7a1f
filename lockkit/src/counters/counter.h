/*
 * What semaphore, permits and latch share: a number at a key, a channel on which its changes are
 * published, and a waiter.
 */
#ifndef LKI_COUNTER_H
#define LKI_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lockkit/error.h"
#include "lockkit/event.h"

#include "call/eval.h"
#include "wait/wait.h"

struct lki_counter {
    const char *kind;
    bool is_served;            /* by a backend, not by Redis */
    lk_client *client;         /* a reference */
    char *key;                 /* owned */
    char *channel;             /* owned */
    char *claim;               /* owned: the claim key; NULL: it has no steps */
    struct lki_waiter waiter;  /* one: a handle is for one thread at a time */
    atomic_ulong user;         /* the thread that is inside a verb; 0: none */
    _Atomic bool is_cancelled; /* the wait under way, or the next one, is to end */
    uint64_t step;             /* the number of the next step */
    bool is_unsettled;         /* that step was sent, and its outcome is unknown */
    int64_t sent_at;           /* when it was first sent */
};

/*
 * Fill a counter that has kind, channel (NULL: out of memory) and the waiter's rule already.
 *
 * Returns  OK; INVALID (no client, or a key of a wrong length); NO_MEMORY. Undone by
 *          lki_counter_done(), also half-way.
 */
LK_MUST_CHECK lk_status lki_counter_init(struct lki_counter *counter, lk_client *client,
                                         const char *key, struct lk_error *err);
void lki_counter_done(struct lki_counter *counter);

/* Name the claim key, for a counter with steps. OK, NO_MEMORY. */
LK_MUST_CHECK lk_status lki_counter_name_claim(struct lki_counter *counter, struct lk_error *err);

/* A verb begins: INVALID when there is none (NULL), its client is closed, this process was forked, or a
   thread is inside a verb of it. Every verb ends by lki_counter_leave(), which passes the status on,
   whether it had come in or not. */
LK_MUST_CHECK lk_status lki_counter_enter(struct lki_counter *counter, struct lk_error *err);
lk_status lki_counter_leave(struct lki_counter *counter, lk_status status);

/* INVALID unless the number is one of least...INT32_MAX, as Java's clients count. */
LK_MUST_CHECK lk_status lki_counter_check_number(int64_t number, int64_t least, const char *what,
                                                 struct lk_error *err);

/* A change of the number that is done exactly once. */
struct lki_step {
    const char *script; /* KEYS: counter, claim, channel. ARGV: number, step, ttl of the claim.
                           Answers { 1, n }: taken; { 0, n }: not taken, and it may be sent again */
    int64_t number;
    int64_t limit_ms; /* of each attempt; 0: command_ms */
    bool is_undoing; /* without confirmation it becomes a pending undo, while the claim may exist */
    bool is_to_sync; /* enough replicas must confirm it (else UNSYNCED) */
    bool is_taken;   /* out */
    long long n;     /* out */
};

/*
 * Do a step. It is repeated after a lost answer; the claim on the server makes that idempotent.
 *
 * Returns  OK; UNKNOWN: it was done, or may still be, and is_unsettled is true until a repetition or an undo
 *          settles it; LOST: it was repeated after the claim had expired: it was done once or never, which
 *          cannot be known, and it is settled; UNREACHABLE, EXHAUSTED, SERVER, NO_MEMORY: it was not done.
 */
LK_MUST_CHECK lk_status lki_counter_step(struct lki_counter *counter, struct lki_step *step,
                                         struct lk_error *err);

/* Read the number; 0: there is none. */
LK_MUST_CHECK lk_status lki_counter_get(const struct lki_counter *counter, int64_t *out_number,
                                        struct lk_error *err);

/* Set the number unless it exists: OK, or BUSY: it does. */
LK_MUST_CHECK lk_status lki_counter_try_set(const struct lki_counter *counter, int64_t number,
                                            const char *message, struct lk_error *err);

/* Delete it, with another key unless that is NULL, and publish a message unless that is NULL. OK,
   or NOT_OWNER when there was none. */
LK_MUST_CHECK lk_status lki_counter_delete(const struct lki_counter *counter, const char *other_key,
                                           const char *message, struct lk_error *err);

/* A pursuit of this number of units, for lki_wait_again(). Its end resets a late cancel. */
struct lki_pursuit lki_counter_pursuit(struct lki_counter *counter, int64_t units, int64_t wait_ms);
void lki_counter_cancel(struct lki_counter *counter);

/* Add kind and key to an event, and call the hook. */
void lki_counter_emit(const struct lki_counter *counter, struct lk_event event, int64_t begin);

#endif
