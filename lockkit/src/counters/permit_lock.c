/*
 * One permit of a semaphore as a lock: the permit's id is the token of the acquire.
 */
#include <stdlib.h>

#include "lockkit/semaphore.h"

#include "base/error.h"
#include "base/name.h"
#include "locks/lock.h"
#include "permit_list.h"

static struct lki_permit_list list_of(const lk_lock *lock, struct lki_permit_id *out_id)
{
    (void)lki_permit_list_parse(lock->token, out_id); /* lock.c has made it */
    return (struct lki_permit_list){.client = lock->client,
                                    .key = lock->key,
                                    .timeouts = lock->renew_key,
                                    .channel = lock->wake_channel,
                                    .ids = out_id,
                                    .count = 1};
}

static lk_status permit_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                    struct lk_error *err)
{
    struct lki_permit_id id;
    struct lki_permit_list list = list_of(lock, &id);

    list.deadline = deadline;
    list.out_is_synced = &lock->is_synced;
    return lki_permit_list_take(&list, lock->lease_ms, out_ttl_ms, err);
}

static lk_status permit_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lki_permit_id id;
    struct lki_permit_list list = list_of(lock, &id);

    list.deadline = deadline;
    list.undo_until = lock->undo_until;
    return lki_permit_list_give(&list, NULL, err);
}

/* Renewal on a backend, which has no script. It never shortens the lease. */
static lk_status permit_renew(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                              struct lk_error *err)
{
    struct lki_permit_id id;
    struct lki_permit_list list = list_of(lock, &id);
    char lease[LKI_NUMBER_MAX];
    long long is_out = 0;

    list.deadline = deadline;
    if (lease_ms < lk_lock_remaining_ms(lock)) lease_ms = lk_lock_remaining_ms(lock);
    list.number = lki_number(lease, lease_ms).data;
    lk_status status = lki_permit_list_run(&list, "permits_renew", &is_out, 1, err);
    return status == LK_OK && is_out == 0 ? LK_LOST : status;
}

static void permit_free(lk_lock *lock)
{
    lki_lock_done(lock);
    free(lock);
}

static const struct lki_lock_ops permit_ops = {
    .kind = "permits",
    .guard_script = "permits_guard",
    .renew_script = "permits_renew",
    .wake_rule = LKI_WAKE_COUNT,
    .try_acquire = permit_try_acquire,
    .release = permit_release,
    .free = permit_free,
};

static const struct lki_lock_ops served_ops = {
    .kind = "permits",
    .wake_rule = LKI_WAKE_COUNT,
    .try_acquire = permit_try_acquire,
    .release = permit_release,
    .renew = permit_renew,
    .free = permit_free,
};

lk_lock *lk_permit_lock_new(lk_client *client, const char *key, struct lk_error *err)
{
    bool is_served = client && client->backend && client->backend->permits;

    if (lki_context_is_by_session(client))
        return client->backend->lock_new(client, "permits", key, err);
    lk_lock *lock = calloc(1, sizeof *lock);

    if (!lock) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    lock->renew_key = key ? lki_name_suffix(key, "timeout") : NULL;
    lock->wake_channel = key ? lki_permit_list_channel(client, key) : NULL;
    lk_status status = lki_lock_init(lock, is_served ? &served_ops : &permit_ops, client, key, err);
    if (status == LK_OK && lock->wake_channel && lock->renew_key) return lock;
    if (status == LK_OK) (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    permit_free(lock);
    return NULL;
}
