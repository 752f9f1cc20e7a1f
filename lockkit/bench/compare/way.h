/*
 * The ways to a lock that are compared, each taken and given back in the same words: two that one host
 * has, and lockkit's on three kinds of servers.
 */
#ifndef LOCKKIT_BENCH_COMPARE_WAY_H
#define LOCKKIT_BENCH_COMPARE_WAY_H

#include <pthread.h>
#include <stdbool.h>

#include "lockkit/lockkit.h"

enum { WAY_SERVERS_MAX = 5, WAY_LEASE_MS = 1000, WAY_WAIT_MS = 20000, WAY_URL_MAX = 256 };
/* Of the servers, one after the other; "" ends them. Of WAY_FILE: the path. */
struct way_urls {
    char list[WAY_SERVERS_MAX + 1][WAY_URL_MAX];
};

typedef enum way_store { WAY_MUTEX, WAY_FILE, WAY_REDIS, WAY_POSTGRES, WAY_ZOOKEEPER } way_store;

struct way {
    const char *name, *words;
    way_store store;
    unsigned servers;
    unsigned replicas; /* of those servers, that an acquire waits for */
    lk_lock *(*make)(lk_client *const *clients, unsigned count, const char *key,
                     struct lk_error *err);
};
extern const struct way ways[];
extern const unsigned way_count;

/* One who wants the lock. */
struct hold {
    const struct way *way;
    lk_client *clients[WAY_SERVERS_MAX];
    lk_lock *lock;
    pthread_mutex_t *mutex; /* borrowed, shared between processes */
    int file;
    bool is_mine; /* without lockkit: as far as one knows */
};

/* The process ends soon: nothing is closed. */
LK_MUST_CHECK lk_status way_open(struct hold *hold, const struct way *way,
                                 const struct way_urls *urls, struct lk_error *err);

/* Renewed, with WAY_LEASE_MS; waiting for WAY_WAIT_MS, without lockkit for ever. */
LK_MUST_CHECK lk_status way_take(struct hold *hold, struct lk_error *err);
LK_MUST_CHECK lk_status way_give(struct hold *hold, struct lk_error *err);

/* What the holder has to go by; and its fencing token, 0: none. */
bool way_is_believed(const struct hold *hold);
uint64_t way_fence(const struct hold *hold);

#endif
