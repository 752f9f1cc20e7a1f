/*
 * What the tests of the multi lock share: one of three members on two servers, and somebody else who
 * wants the members.
 */
#ifndef LK_MULTI_H
#define LK_MULTI_H

#include <pthread.h>
#include <stdatomic.h>

#include "lk_support.h"

enum { LKM_MEMBERS = 3 };

/* Members a, b, c, given in this order and taken as a, c, b: that one lies on the other server. A
   mutex, a reentrant and a fenced lock. */
struct lkm_trio {
    lk_client *client, *client_there;
    lk_lock *members[LKM_MEMBERS];
    lk_lock *others[LKM_MEMBERS]; /* of somebody else */
    lk_lock *multi;
    const char *keys[LKM_MEMBERS];
    atomic_int losses;     /* lkm_count_loss() with the trio as its argument */
    atomic_bool has_asked; /* a server answered since this was set to false */
    /* Sees the acquires and releases of all, in the thread that makes them. */
    void (*on_step)(struct lkm_trio *trio, const struct lk_event *event);
};

/* For cmocka: of a group, the servers; of a test, *state becomes the trio. */
int lkm_start_servers(void **state);
int lkm_stop_servers(void **state);
int lkm_set_up(void **state);
int lkm_tear_down(void **state);

/* Where a member lies, and whether anybody holds it. */
struct lks_server *lkm_server_of(size_t member);
bool lkm_exists(struct lkm_trio *trio, size_t member);
bool lkm_exists_any(struct lkm_trio *trio);

/* With a lease of a minute: nothing is saved by its end. */
lk_status lkm_acquire_for(struct lkm_trio *trio, int64_t wait_ms, struct lk_error *err);
void lkm_acquire(struct lkm_trio *trio);
void lkm_let_other_hold(struct lkm_trio *trio, size_t member);
void lkm_count_loss(lk_lock *lock, void *arg);
void lkm_await_losses(struct lkm_trio *trio, int count);
void lkm_assert_report(struct lkm_trio *trio, lk_status a, lk_status b, lk_status c);

/* An acquire on its own thread. */
struct lkm_wait {
    struct lkm_trio *trio;
    int64_t wait_ms;
    pthread_t thread;
    lk_status status; /* read after the join */
};

/* Returns when it has had an answer. */
void lkm_wait_start(struct lkm_wait *wait, struct lkm_trio *trio, int64_t wait_ms);
lk_status lkm_wait_finish(struct lkm_wait *wait);

#endif
