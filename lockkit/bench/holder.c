/*
 * A table of kinds; each row knows how to make one. One thread.
 */
#include "holder.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static lk_lock *new_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, NULL, err);
}

/* With one permit to be had. */
static lk_lock *new_permit(lk_client *client, const char *key, struct lk_error *err)
{
    lk_permits *permits = lk_permits_new(client, key, err);
    lk_status status = permits ? lk_permits_set(permits, 1, err) : LK_NO_MEMORY;

    lk_permits_free(permits);
    return status == LK_OK ? lk_permit_lock_new(client, key, err) : NULL;
}

static const struct {
    const char *name;
    lk_lock *(*make)(lk_client *client, const char *key, struct lk_error *err);
} simple[] = {
    {"mutex", lk_mutex_new}, {"reentrant", lk_reentrant_new},
    {"spin", lk_spin_new},   {"fenced", lk_fenced_new},
    {"fair", new_fair},      {"permits", new_permit},
};

static void open_rwlock(struct holder *holder, bool is_write, lk_client *client, const char *key,
                        struct lk_error *err)
{
    holder->rwlock = lk_rwlock_new(client, key, err);
    holder->lock = is_write ? lk_rwlock_write(holder->rwlock) : lk_rwlock_read(holder->rwlock);
}

static void open_multi(struct holder *holder, lk_client *client, const char *key,
                       struct lk_error *err)
{
    char name[64];

    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "%s:%zu", key, i);
        holder->parts[i] = lk_reentrant_new(client, name, err);
        if (!holder->parts[i]) return;
    }
    holder->lock = lk_multi_new(holder->parts, 2, NULL, err);
}

static void open_semaphore(struct holder *holder, lk_client *client, const char *key,
                           struct lk_error *err)
{
    lk_semaphore *semaphore = lk_semaphore_new(client, key, err);

    if (semaphore && lk_semaphore_try_set(semaphore, 1, err) == LK_OK) {
        holder->semaphore = semaphore;
    } else {
        lk_semaphore_free(semaphore);
    }
}

lk_status holder_open(struct holder *holder, const char *kind, lk_client *client, const char *key,
                      struct lk_error *err)
{
    struct lk_error why = {.code = LK_INVALID, .text = "no such kind"};

    *holder = (struct holder){.lock = NULL};
    for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++)
        if (strcmp(kind, simple[i].name) == 0) holder->lock = simple[i].make(client, key, &why);
    if (strcmp(kind, "read") == 0) open_rwlock(holder, false, client, key, &why);
    if (strcmp(kind, "write") == 0) open_rwlock(holder, true, client, key, &why);
    if (strcmp(kind, "multi") == 0) open_multi(holder, client, key, &why);
    if (strcmp(kind, "semaphore") == 0) open_semaphore(holder, client, key, &why);
    if (holder->lock || holder->semaphore) return LK_OK;
    if (err) *err = why;
    return why.code;
}

lk_status holder_take(struct holder *holder, struct lk_error *err)
{
    return holder->semaphore ? lk_semaphore_acquire(holder->semaphore, 1, 0, err)
                             : lk_lock_acquire(holder->lock, NULL, err);
}

lk_status holder_give(struct holder *holder, struct lk_error *err)
{
    return holder->semaphore ? lk_semaphore_release(holder->semaphore, 1, err)
                             : lk_lock_release(holder->lock, err);
}
