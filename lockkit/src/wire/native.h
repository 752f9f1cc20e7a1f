/*
 * Compare-and-delete and compare-and-set as one command of the server, where it has them.
 */
#ifndef LKI_NATIVE_H
#define LKI_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis.h"

/* What a server can, as a connection to it has found out. */
enum lki_native {
    LKI_NATIVE_UNKNOWN, /* not asked yet */
    LKI_NATIVE_NONE,
    LKI_NATIVE_DELIFEQ, /* Valkey 9: DELIFEQ key value */
    LKI_NATIVE_DELEX,   /* Redis 8.4: DELEX key IFEQ value */
};

/* The step that a script does, for such a server. Strings are borrowed. */
struct lki_compare {
    const char *key;
    const char *value;   /* the key is touched only while it has this value */
    int64_t lease_ms;    /* > 0: set its time to live; 0: delete it */
    const char *publish; /* the verb */
    const char
        *channel; /* where waiters are told of a delete: a hint, also sent when it was not ours */
};

struct lki_native_step {
    const struct lki_compare *compare;
    const struct lk_command *fallback;
    int64_t deadline;
};

/*
 * Compare, or do the fallback where the server cannot; the first time on a connection the fallback, and the
 * server is asked along with it (COMMAND INFO: what it can, not what version it is).
 *
 * Owns     on OK *reply is yours: 1 or "OK": done; 0 or nil: not ours; or the fallback's.
 * Returns  as lki_redis_exchange()
 * Source   valkey.io DELIFEQ, SET IFEQ; redis.io DELEX
 */
LK_MUST_CHECK lk_status lki_native_exchange(struct lki_redis *redis,
                                            const struct lki_native_step *step, lk_reply **reply,
                                            struct lk_error *err);

#endif
