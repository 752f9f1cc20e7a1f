/*
 * A lock that is built into a backend's server; Redis has none.
 */
#include "lockkit/locks.h"

#include "base/error.h"
#include "lock.h"

lk_lock *lk_advisory_new(lk_client *client, const char *key, struct lk_error *err)
{
    if (client && client->backend) return client->backend->lock_new(client, "advisory", key, err);
    (void)LKI_FAIL(err, LK_INVALID, "advisory locks are PostgreSQL's");
    return NULL;
}
