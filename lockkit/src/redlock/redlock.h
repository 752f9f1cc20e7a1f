/*
 * The inside of a redlock, for the files that make it: redlock.c (life, report), redlock_acquire.c,
 * redlock_wait.c (its pauses), redlock_hold.c (renewal), redlock_regain.c (votes that were lost),
 * redlock_release.c; and redlock_parts.c, what these ask of it.
 */
#ifndef LKI_REDLOCK_H
#define LKI_REDLOCK_H

#include <pthread.h>

#include "lockkit/locks.h"

#include "locks/lock.h"
#include "quorum.h"

/* What is known of one server's part in the hold. */
enum lki_vote {
    LKI_VOTE_NONE,     /* nothing of ours can be there */
    LKI_VOTE_OPEN,     /* asked, not answered: it may have the key, and does not count */
    LKI_VOTE_COUNTED,  /* it has said yes */
    LKI_VOTE_LOST,     /* it has said: not ours, or its lease ended */
    LKI_VOTE_ASKED,    /* it was lost, and is asked for anew */
    LKI_VOTE_REGAINED, /* it is had anew, and does not count yet */
    LKI_VOTE_RELEASED, /* it has confirmed that the key is gone */
};

struct redlock;

/* One server. base: for its client's watchdog and hub, which know nothing of the others. */
struct redlock_member {
    lk_lock base;
    struct redlock *redlock;      /* borrowed */
    size_t place;                 /* in the caller's array */
    _Atomic int vote;             /* enum lki_vote */
    _Atomic int64_t confirmed_at; /* what it last said yes to was sent then */
    _Atomic int64_t since;        /* lost, or had anew: it was so by then */
    bool may_be_released;         /* a release was sent, and not answered */
    bool is_watched;              /* its watchdog may touch it */
    bool is_checked;
    lk_status status; /* for the report */
    int sys_errno;
    char run_id[48]; /* "": not known */
};

struct redlock {
    lk_lock base;
    struct lk_redlock_options options; /* with the defaults filled in, but node_ms */
    int64_t node_ms;                   /* of this acquire */
    char members_hash[17];             /* "": not bound */
    char *members_key;                 /* owned; NULL: not bound */
    const struct lki_lock_ops *member_ops, *regain_ops; /* NULL: what is lost stays so */
    size_t count;
    size_t quorum;
    size_t agreed;
    unsigned attempts;
    int64_t validity_ms;
    _Atomic int64_t reported_ends_at; /* of the whole, as the hook knows it */
    pthread_mutex_t
        mutex;         /* guards what redlock_regain.c does; those of watchdogs are taken in it */
    bool is_regaining; /* votes that it loses are asked for anew */
    struct lki_quorum_server servers[LKI_QUORUM_SERVERS_MAX];
    struct redlock_member members[]; /* in the order of their names */
};

struct redlock *lki_redlock_of(lk_lock *lock);

/* How many members have this vote. */
size_t lki_redlock_count(const struct redlock *self, enum lki_vote vote);

/* Until when a member counts; 0: it does not. */
int64_t lki_redlock_member_ends_at(const struct redlock_member *member);
/* The latest moment that a majority of these reach, one for each member; 0: none. */
int64_t lki_redlock_majority(const struct redlock *self, const int64_t *moments);
/* The moment when fewer than a majority of leases are left. */
int64_t lki_redlock_ends_at(const struct redlock *self);
int64_t lki_redlock_remaining_ms(const lk_lock *lock);

/* How long a try waits for a server. */
int64_t lki_redlock_node_ms(const struct redlock *self, int64_t lease_ms);

/* A call of one of lockkit's scripts on a member's server: the key and, if there is one, the other; the token,
   behind which there is room. */
struct lki_call lki_redlock_call(const struct redlock_member *member, const char *script,
                                 const char *other_key);
/* A release of this token by this script that the server has not confirmed. NULL: out of memory. */
struct lki_pending_undo *lki_redlock_pending_undo(const struct redlock_member *member,
                                                  const char *token, const char *script,
                                                  int64_t until);
/* A server may vote: it is known by no other name, and takes writes. For lki_ask_all; what arg points to
   begins with the redlock. */
lk_status lki_redlock_check(void *arg, size_t place, const struct lki_identity *identity,
                            struct lk_error *err);

/* redlock_acquire.c */
lk_status lki_redlock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                              unsigned *out_attempts, struct lk_error *err);

/* redlock_wait.c: the pauses of one acquire, at the hub of a server that has answered. */
struct redlock_waiting {
    struct redlock *self;
    size_t at; /* the member, or nobody */
    int64_t deadline;
    int64_t split_ms; /* the longest next pause after a split vote */
    unsigned near;    /* so many pauses are short ones: a release was heard of */
    unsigned silent;  /* tries in a row that the member has not answered */
    bool is_woken;
};
void lki_redlock_waiting_init(struct redlock_waiting *waiting, struct redlock *self,
                              int64_t deadline);
/* OK: try again. is_split: nobody had a majority. CANCELLED, INVALID, NO_MEMORY */
lk_status lki_redlock_pause(struct redlock_waiting *waiting, bool is_split, struct lk_error *err);
/* status: of the acquire. A wake-up that led to nothing is handed on. */
void lki_redlock_waiting_done(struct redlock_waiting *waiting, lk_status status);
void lki_redlock_cancel(lk_lock *lock);

/* redlock_hold.c. watch: renew its members, or check them; notice its end. unwatch: how many of the members no
   watchdog touches any more; waits for a round under way until the deadline. */
lk_status lki_redlock_watch(struct redlock *self, struct lk_error *err);
size_t lki_redlock_unwatch(struct redlock *self, int64_t deadline);
lk_status lki_redlock_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err);
void lki_redlock_member_lost(lk_lock *lock,
                             void *arg); /* on_lost of the members; arg: the redlock */
/* Note in the report who has not answered by the end of a round, and in *why the first of them. */
void lki_redlock_note_silent(struct redlock *self, struct lk_error *why);
extern const struct lki_lock_ops lki_redlock_member_ops;
extern const struct lki_lock_ops lki_redlock_bound_member_ops;
extern const struct lki_lock_ops lki_redlock_regain_ops;

/* redlock_regain.c. From watch to unwatch: look which votes may be asked for anew, or count again; urgent: have
   the others confirmed at once. On the watchdogs' threads. */
void lki_redlock_regain_votes(struct redlock *self, bool is_urgent);
void lki_redlock_begin_regain(struct redlock *self);
void lki_redlock_end_regain(struct redlock *self);
/* It was asked for anew: whether it is had, which begin to end is told of. */
bool lki_redlock_regained(struct redlock_member *member, lk_status status);

/* redlock_release.c */
lk_status lki_redlock_release(lk_lock *lock, struct lk_error *err);
lk_status lki_redlock_force(lk_lock *lock, int64_t deadline, struct lk_error *err);

#endif
