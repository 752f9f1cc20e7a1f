/*
 * See lk_kinds.h.
 */
#include "lk_kinds.h"

/* It has options besides. */
static lk_lock *new_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, NULL, err);
}

const struct lks_kind lks_kinds[LKS_KINDS] = {
    {"mutex", lk_mutex_new},
    {"reentrant", lk_reentrant_new},
    {"non-reentrant", lk_non_reentrant_new},
    {"spin", lk_spin_new},
    {"fenced", lk_fenced_new},
    {"fair", new_fair},
};

lk_lock *lks_lock_of_kind(size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = lks_kinds[kind].make(client, key, &err);

    if (!lock) fail_msg("%s: %s", lks_kinds[kind].name, err.text);
    return lock;
}
