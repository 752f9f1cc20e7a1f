/*
 * Internals of a redlock: redlock.c (constructor, report), redlock_acquire.c, redlock_wait.c (pauses
 * between tries), redlock_hold.c (renewal), redlock_regain.c (lost votes), redlock_release.c, and
 * redlock_parts.c (what these share).
 */
#ifndef LKI_REDLOCK_H
#define LKI_REDLOCK_H

#include <pthread.h>

#include "lockkit/locks.h"

#include "locks/lock.h"
#include "quorum.h"

/* The vote of one server for the current hold. */
enum lki_vote {
    LKI_VOTE_NONE,     /* our key cannot be there */
    LKI_VOTE_OPEN,     /* the server has not answered: the key may be there, but does not count */
    LKI_VOTE_COUNTED,  /* the server granted it */
    LKI_VOTE_LOST,     /* the server said that the key is not ours, or the lease ended */
    LKI_VOTE_ASKED,    /* the vote was lost, and the server is asked for it again */
    LKI_VOTE_REGAINED, /* the server granted it again; it does not count yet */
    LKI_VOTE_RELEASED, /* the server confirmed that the key is gone */
};

struct redlock;

/* One server. The watchdog and the hub of its client see it as a lock of its own: base. */
struct redlock_member {
    lk_lock base;
    struct redlock *redlock;      /* borrowed */
    size_t place;                 /* in the caller's array */
    _Atomic int vote;             /* enum lki_vote */
    _Atomic int64_t confirmed_at; /* when the last request that the server granted was sent */
    _Atomic int64_t since;        /* when the vote was last lost or regained */
    bool may_be_released;         /* a release was sent and not answered */
    bool is_watched;              /* the watchdog of its client may use it */
    bool is_checked;
    lk_status status; /* for the report */
    int sys_errno;
    char run_id[48]; /* "": not known */
};

struct redlock {
    lk_lock base;
    struct lk_redlock_options options;                  /* zeroes replaced, except node_ms */
    int64_t node_ms;                                    /* of this acquire */
    char members_hash[17];                              /* "": not bound */
    char *members_key;                                  /* owned; NULL: not bound */
    const struct lki_lock_ops *member_ops, *regain_ops; /* NULL: lost votes are not regained */
    size_t count;
    size_t quorum;
    size_t agreed;
    unsigned attempts;
    int64_t validity_ms;
    _Atomic int64_t reported_ends_at; /* the end of the hold that the event hook knows */
    pthread_mutex_t mutex; /* serialises redlock_regain.c; taken before those of watchdogs */
    bool is_regaining;     /* lost votes are asked for again */
    struct lki_quorum_server servers[LKI_QUORUM_SERVERS_MAX];
    struct redlock_member members[]; /* in the order of their names */
};

struct redlock *lki_redlock_of(lk_lock *lock);

size_t lki_redlock_count(const struct redlock *self, enum lki_vote vote);

/* The end of the member's lease if its vote counts, else 0. */
int64_t lki_redlock_member_ends_at(const struct redlock_member *member);
/* The latest moment that a majority of these reach; one moment per member. 0: none. */
int64_t lki_redlock_majority(const struct redlock *self, const int64_t *moments);
/* The moment when fewer than a majority of leases are left. */
int64_t lki_redlock_ends_at(const struct redlock *self);
int64_t lki_redlock_remaining_ms(const lk_lock *lock);

/* How long a try waits for a server. */
int64_t lki_redlock_node_ms(const struct redlock *self, int64_t lease_ms);

/* A call of one of lockkit's scripts on a member's server: KEYS are the lock's key and, unless NULL, the other
   key; ARGV begins with the token, and the caller may add more. */
struct lki_call lki_redlock_call(const struct redlock_member *member, const char *script,
                                 const char *other_key);
/* The release of this token by this script, to be sent until the server confirms it. NULL: out of memory. */
struct lki_pending_undo *lki_redlock_pending_undo(const struct redlock_member *member,
                                                  const char *token, const char *script,
                                                  int64_t until);
/* The check() of quorum calls: a replica may not vote, nor a server that another member is connected to.
   What arg points to begins with a pointer to the redlock. */
lk_status lki_redlock_check(void *arg, size_t place, const struct lki_identity *identity,
                            struct lk_error *err);

/* redlock_acquire.c */
lk_status lki_redlock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                              unsigned *out_attempts, struct lk_error *err);

/* redlock_wait.c: the pauses of one acquire. It waits in the hub of a member that has answered. */
struct redlock_waiting {
    struct redlock *self;
    size_t at; /* the index of that member, or no_member */
    int64_t deadline;
    int64_t split_ms; /* the longest next pause after a split vote */
    unsigned near;    /* number of short pauses left, after a release was published */
    unsigned silent;  /* number of successive tries that the member has not answered */
    bool is_woken;
};
void lki_redlock_waiting_init(struct redlock_waiting *waiting, struct redlock *self,
                              int64_t deadline);
/* Pause. is_split: in the last try nobody had a majority. OK: try again; CANCELLED, INVALID, NO_MEMORY. */
lk_status lki_redlock_pause(struct redlock_waiting *waiting, bool is_split, struct lk_error *err);
/* The acquire has ended with this status. A wake-up that was not used goes to the next waiter. */
void lki_redlock_waiting_done(struct redlock_waiting *waiting, lk_status status);
void lki_redlock_cancel(lk_lock *lock);

/* redlock_hold.c. watch: add the members to their watchdogs. unwatch: remove them, and wait until the deadline
   for renewals under way; returns the number of members that no watchdog uses any more. */
lk_status lki_redlock_watch(struct redlock *self, struct lk_error *err);
size_t lki_redlock_unwatch(struct redlock *self, int64_t deadline);
lk_status lki_redlock_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err);
void lki_redlock_member_lost(lk_lock *lock,
                             void *arg); /* on_lost of the members; arg: the redlock */
/* After a quorum call: note in the report which servers have not answered, and in *why the first of them. */
void lki_redlock_note_silent(struct redlock *self, struct lk_error *why);
extern const struct lki_lock_ops lki_redlock_member_ops;
extern const struct lki_lock_ops lki_redlock_bound_member_ops;
extern const struct lki_lock_ops lki_redlock_regain_ops;

/* redlock_regain.c. Between begin and end: ask again for lost votes, and count those that were regained, where
   the rules allow it. is_urgent: have the other votes confirmed at once. On the watchdogs' threads. */
void lki_redlock_regain_votes(struct redlock *self, bool is_urgent);
void lki_redlock_begin_regain(struct redlock *self);
void lki_redlock_end_regain(struct redlock *self);
/* The answer to a vote that was asked for again: true if the vote was regained. */
bool lki_redlock_regained(struct redlock_member *member, lk_status status);

/* redlock_release.c */
lk_status lki_redlock_release(lk_lock *lock, struct lk_error *err);
lk_status lki_redlock_force(lk_lock *lock, int64_t deadline, struct lk_error *err);

#endif
