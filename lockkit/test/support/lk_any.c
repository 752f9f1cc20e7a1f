/*
 * See lk_any.h.
 */
#include "lk_any.h"

static bool make_multi(struct lks_any *any, lk_client *client, const char *key,
                       struct lk_error *err)
{
    char second[128];

    (void)snprintf(second, sizeof second, "%s-2", key);
    any->members[0] = lk_mutex_new(client, key, err);
    any->members[1] = any->members[0] ? lk_mutex_new(client, second, err) : NULL;
    if (any->members[1]) any->lock = lk_multi_new(any->members, 2, NULL, err);
    return any->lock != NULL;
}

static bool make_side(struct lks_any *any, size_t kind, lk_client *client, const char *key,
                      struct lk_error *err)
{
    any->rwlock = lk_rwlock_new(client, key, err);
    any->lock = kind == LKS_ANY_READ ? lk_rwlock_read(any->rwlock) : lk_rwlock_write(any->rwlock);
    return any->lock != NULL;
}

bool lks_any_try(struct lks_any *any, size_t kind, lk_client *client, const char *key,
                 struct lk_error *err)
{
    static const char *const names[LKS_ANY_KINDS] = {[LKS_ANY_READ] = "read",
                                                     [LKS_ANY_WRITE] = "write",
                                                     [LKS_ANY_PERMIT] = "permit",
                                                     [LKS_ANY_MULTI] = "multi"};

    *any = (struct lks_any){.name = kind < LKS_KINDS ? lks_kinds[kind].name : names[kind]};
    if (kind == LKS_ANY_READ || kind == LKS_ANY_WRITE)
        return make_side(any, kind, client, key, err);
    if (kind == LKS_ANY_MULTI) return make_multi(any, client, key, err);
    any->lock = kind == LKS_ANY_PERMIT ? lk_permit_lock_new(client, key, err)
                                       : lks_kinds[kind].make(client, key, err);
    return any->lock != NULL;
}

void lks_any_new(struct lks_any *any, size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};

    if (!lks_any_try(any, kind, client, key, &err)) fail_msg("%s: %s", any->name, err.text);
}

void lks_any_prepare(size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};

    if (kind != LKS_ANY_PERMIT) return;
    lk_permits *permits = lk_permits_new(client, key, &err);
    if (!permits || lk_permits_try_set(permits, 1, &err) != LK_OK) fail_msg("%s", err.text);
    lk_permits_free(permits);
}

void lks_any_free(struct lks_any *any)
{
    if (!any->rwlock) lk_lock_free(any->lock); /* a multi before its members */
    lk_rwlock_free(any->rwlock);
    for (size_t i = 0; i < 2; i++)
        lk_lock_free(any->members[i]);
    *any = (struct lks_any){0};
}
