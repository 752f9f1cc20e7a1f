/*
 * All guards there are.
 *
 * To add one: write app/guards/NAME.c with a sell function and, at its bottom,
 * `const struct guard guard_NAME`, and add NAME to GUARD_LIST. Nothing else knows guards by name.
 * Its .name is what users write: "mutex-watchdog" for guard_mutex_watchdog.
 */
#ifndef SECKILL_GUARDS_H
#define SECKILL_GUARDS_H

#include "guards/base/guard.h"

/* The sound ones; then the flawed ones, in the order of teaching. */
#define GUARD_LIST(X)                                                                              \
    X(mutex)                                                                                       \
    X(mutex_watchdog)                                                                              \
    X(reentrant)                                                                                   \
    X(fair)                                                                                        \
    X(spin)                                                                                        \
    X(redlock)                                                                                     \
    X(fenced)                                                                                      \
    X(postgres)                                                                                    \
    X(zookeeper)                                                                                   \
    X(database)                                                                                    \
    X(skip_locked)                                                                                 \
    X(script)                                                                                      \
    X(watch)                                                                                       \
    X(none)                                                                                        \
    X(thread)                                                                                      \
    X(file)                                                                                        \
    X(setnx)                                                                                       \
    X(setnx_expire)                                                                                \
    X(set_del)                                                                                     \
    X(get_del)                                                                                     \
    X(mutex_unchecked)                                                                             \
    X(watchdog_unchecked)                                                                          \
    X(select_then_update)                                                                          \
    X(unlock_before_commit)

#define GUARD_DECLARE(name) extern const struct guard guard_##name;
GUARD_LIST(GUARD_DECLARE)
#undef GUARD_DECLARE

/* The guard of that name, or NULL; guards in table order, NULL past the end. */
const struct guard *guards_find(const char *name);
const struct guard *guards_at(size_t index);

#endif
