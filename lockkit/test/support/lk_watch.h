/*
 * A watchdog of a test's own over the servers of lk_fleet.h, and locks for it to look after. Link flags
 * as there.
 */
#ifndef LK_WATCH_H
#define LK_WATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "lk_fleet.h"
#include "locks/lock.h"

enum { LKS_WATCH_MAX = 10000, LKS_WATCH_COMMAND_MS = 1000 };

extern struct lks_server *lks_watch_servers[LKS_FLEET];

struct lks_watch {
    lk_client *clients[LKS_FLEET]; /* each of one server: they take the locks and watch none */
    lk_client watched; /* the first of them with the fleet as its servers: the watchdog's */
    struct lki_watchdog *watchdog;
    int64_t command_ms; /* of the watchdog [LKS_WATCH_COMMAND_MS] */
    pthread_t thread;
    bool is_running;
    unsigned serial;
    lk_lock *locks[LKS_WATCH_MAX];
    size_t count;
    lk_rwlock *rws[4]; /* whose sides are among the locks */
    size_t rw_count;
    atomic_int losses;   /* calls of on_lost */
    atomic_int lost;     /* events */
    atomic_int renewals; /* that a server confirmed */
};

/* For cmocka: the servers of a group, the clients of a test. */
int lks_watch_start_servers(void **state);
int lks_watch_stop_servers(void **state);
int lks_watch_set_up(void **state);
int lks_watch_tear_down(void **state);

/* The watchdog with its thread, first of all; tearing down stops it too, and lets paused servers go on. */
void lks_watch_start(struct lks_watch *f, bool is_cluster);
void lks_watch_stop(struct lks_watch *f);

/* A key whose slot is at a server of a cluster. */
const char *lks_watch_key(struct lks_watch *f, size_t node);
/* Acquire it; it is not watched yet, and freed at the end. */
lk_lock *lks_watch_take(struct lks_watch *f, lk_lock *lock, int64_t lease_ms);
void lks_watch_add(struct lks_watch *f, lk_lock *lock, bool is_renewed);
/* All of that. */
lk_lock *lks_watch_mutex(struct lks_watch *f, size_t node, int64_t lease_ms, bool is_renewed);

bool lks_watch_are_held(lk_lock *const *locks, size_t count);

#endif
