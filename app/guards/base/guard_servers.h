/*
 * Servers that some guards need besides the sale's Redis. One more system that has locks is a row of
 * the list here, a row of the flags (start/config.c), and a guard.
 */
#ifndef SECKILL_GUARD_SERVERS_H
#define SECKILL_GUARD_SERVERS_H

#include "base/list.h"
#include "redlock_servers.h"

/* X(value, the flag that names them) */
#define GUARD_NEED_LIST(X)                                                                         \
    X(NEED_NOTHING, "")                                                                            \
    X(NEED_REDLOCK, "--redlock")                                                                   \
    X(NEED_POSTGRES, "--postgres")                                                                 \
    X(NEED_ZOOKEEPER, "--zookeeper")

enum guard_need { GUARD_NEED_LIST(LIST_VALUE) GUARD_NEED_COUNT };

struct guard_servers {
    const char *
        postgres_password; /* borrowed while they are opened; NULL: the URL has it, or there is none */
    struct redlock_servers redlock;
    lk_client *clients[GUARD_NEED_COUNT]; /* owned; of one system each; NULL: it was not named */
};

const char *guard_servers_flag(enum guard_need need);
/* Why a guard with this need does not run where the flag was not given: a sentence. */
const char *guard_servers_refusal(enum guard_need need);

/*
 * Open what was named. What is down is no reason not to start.
 *
 * Shape    urls: one per need; NULL: not named. like: as redlock_servers_open(), for Redis alone.
 * Owns     *out is zeroed but for the password; end it with guard_servers_close().
 * Returns  false with *why, which shows no password.
 */
bool guard_servers_open(const char *const urls[GUARD_NEED_COUNT],
                        const struct lk_client_options *like, struct guard_servers *out,
                        struct start_error *why);
/* No lock of theirs is used any more. Fine when it was never opened and is zeroed. */
void guard_servers_close(struct guard_servers *servers);

/* Whether a guard with that need can run; servers NULL: there are none. */
bool guard_servers_meet(const struct guard_servers *servers, enum guard_need need);

#endif
