/*
 * What the tests of the read/write lock share: looks at its keys, and a peer that locks as
 * Redisson's RReadWriteLock does: the same steps on the same keys, its faults included.
 */
#ifndef LK_RW_H
#define LK_RW_H

#include <pthread.h>

#include "lk_support.h"

/* ---- locks ----------------------------------------------------------------------------------- */

/* Two clients, as two processes would have, and a lock of each on one new key. */
struct lkr_pair {
    lk_client *clients[2];
    lk_rwlock *rwlocks[2];
    lk_lock *read, *write;             /* of the first */
    lk_lock *other_read, *other_write; /* of the second */
    const char *key;
};

struct lkr_pair *lkr_pair_new(struct lks_server *server);
void lkr_pair_free(struct lkr_pair *pair);
/* What each test of a file has, a pair on its `server`. */
#define LKR_PAIR()                                                                                 \
    TESTING_HOOK(set_up)                                                                           \
    {                                                                                              \
        *state = lkr_pair_new(server);                                                             \
        return 0;                                                                                  \
    }                                                                                              \
    TESTING_HOOK(tear_down)                                                                        \
    {                                                                                              \
        lkr_pair_free(*state);                                                                     \
        return 0;                                                                                  \
    }                                                                                              \
    _Static_assert(true, "")
lk_rwlock *lkr_new(lk_client *client, const char *key);
/* Acquire without waiting. */
lk_status lkr_take(lk_lock *lock, int64_t lease_ms);

/* An acquire on its own thread, patient. */
/* Returns when it is subscribed and has had time to look once more and fall asleep. */
void lkr_wait_start(struct lks_wait *wait, struct lks_server *server, lk_lock *lock,
                    const char *key);

/* ---- looking --------------------------------------------------------------------------------- */

/* The field of an owner: its count, "(nil)" without. */
const char *lkr_field(struct lks_server *server, const char *key, const char *field);
/* The name of an owner's k-th hold key; lives until 8 more were made. */
const char *lkr_hold_key(const char *key, const char *owner, unsigned k);
/* PTTL of it, so -2 when it is not there. */
long long lkr_hold_ms(struct lks_server *server, const char *key, const char *owner, unsigned k);
/* Keys whose name has the lock's in it. */
size_t lkr_keys(struct lks_server *server, const char *key);
/* Messages with this text on the lock's channel, so far, that reached anybody or not. */
size_t lkr_messages(struct lks_monitor *monitor, struct lks_server *server, const char *key,
                    const char *text);

/* ---- the peer -------------------------------------------------------------------------------- */

/* Acquired, or how long the holder has left. */
enum { LKR_HELD = -100 };
long long lkr_peer_read(struct lks_server *server, const char *key, const char *owner,
                        const char *lease_ms);
long long lkr_peer_write(struct lks_server *server, const char *key, const char *owner,
                         const char *lease_ms);
/* 1 released, 0 one of several holds, -1 not the owner's. */
long long lkr_peer_read_unlock(struct lks_server *server, const char *key, const char *owner);
long long lkr_peer_write_unlock(struct lks_server *server, const char *key, const char *owner);

#endif
