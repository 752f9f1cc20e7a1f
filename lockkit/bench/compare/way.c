/*
 * A table of ways. pthread_mutex_t is robust, so that a dead holder is noticed; flock() ends with its
 * process. One thread.
 */
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/error.h"

static const char key[] = "compared";

static lk_lock *make_mutex(lk_client *const *clients, unsigned count, const char *name,
                           struct lk_error *err)
{
    (void)count;
    return lk_mutex_new(clients[0], name, err);
}

static lk_lock *make_fenced(lk_client *const *clients, unsigned count, const char *name,
                            struct lk_error *err)
{
    (void)count;
    return lk_fenced_new(clients[0], name, err);
}

static lk_lock *make_advisory(lk_client *const *clients, unsigned count, const char *name,
                              struct lk_error *err)
{
    (void)count;
    return lk_advisory_new(clients[0], name, err);
}

static lk_lock *make_redlock(lk_client *const *clients, unsigned count, const char *name,
                             struct lk_error *err)
{
    return lk_redlock_new(clients, count, name, NULL, err);
}

const struct way ways[] = {
    {"pthread", "pthread mutex, shared between processes", WAY_MUTEX, 0, 0, NULL},
    {"flock", "flock on a file", WAY_FILE, 0, 0, NULL},
    {"postgres", "PostgreSQL, a row with a fence", WAY_POSTGRES, 1, 0, make_fenced},
    {"advisory", "PostgreSQL, session advisory lock", WAY_POSTGRES, 1, 0, make_advisory},
    {"zookeeper", "ZooKeeper, three servers", WAY_ZOOKEEPER, 3, 0, make_mutex},
    {"redis", "Redis, mutex", WAY_REDIS, 1, 0, make_mutex},
    {"fenced", "Redis, fenced", WAY_REDIS, 1, 0, make_fenced},
    {"wait", "Redis, fenced, WAIT for a replica", WAY_REDIS, 2, 1, make_fenced},
    {"redlock", "Redlock, five servers", WAY_REDIS, 5, 0, make_redlock},
};
const unsigned way_count = sizeof ways / sizeof ways[0];

static lk_status open_clients(struct hold *hold, const struct way_urls *urls, struct lk_error *err)
{
    const struct way *way = hold->way;
    unsigned count = 0;

    for (; *urls->list[count]; count++) {
        struct lk_client_options options = {
            .url = urls->list[count], .command_ms = WAY_LEASE_MS, .sync_replicas = way->replicas};

        hold->clients[count] = lk_client_open(&options, err);
        if (!hold->clients[count]) return err->code;
    }
    hold->lock = way->make(hold->clients, count, key, err);
    return hold->lock ? LK_OK : err->code;
}

lk_status way_open(struct hold *hold, const struct way *way, const struct way_urls *urls,
                   struct lk_error *err)
{
    hold->way = way;
    if (way->make) return open_clients(hold, urls, err);
    if (way->store == WAY_FILE)
        hold->file = open(urls->list[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return hold->file >= 0 ? LK_OK : LKI_FAIL_ERRNO(err, LK_INVALID, "%s", urls->list[0]);
}

lk_status way_take(struct hold *hold, struct lk_error *err)
{
    const struct lk_lock_options options = {
        .lease_ms = WAY_LEASE_MS, .is_renewed = true, .wait_ms = WAY_WAIT_MS};
    int error = 0;

    if (hold->lock) return lk_lock_acquire(hold->lock, &options, err);
    if (hold->way->store == WAY_FILE) {
        error = flock(hold->file, LOCK_EX);
    } else if (pthread_mutex_lock(hold->mutex) == EOWNERDEAD) {
        error = pthread_mutex_consistent(hold->mutex);
    }
    hold->is_mine = error == 0;
    return error == 0 ? LK_OK : LKI_FAIL_ERRNO(err, LK_SERVER, "%s", hold->way->words);
}

lk_status way_give(struct hold *hold, struct lk_error *err)
{
    if (hold->lock) return lk_lock_release(hold->lock, err);
    hold->is_mine = false;
    int error = hold->way->store == WAY_MUTEX ? pthread_mutex_unlock(hold->mutex)
                                              : flock(hold->file, LOCK_UN);
    return error == 0 ? LK_OK : LKI_FAIL_ERRNO(err, LK_SERVER, "%s", hold->way->words);
}

bool way_is_believed(const struct hold *hold)
{
    return hold->lock ? lk_held(hold->lock) : hold->is_mine;
}

uint64_t way_fence(const struct hold *hold)
{
    return hold->lock ? lk_lock_fence(hold->lock) : 0;
}
