/*
 * The independent servers of --redlock: a client for each, of which some may be down, and the locks over
 * them. A lock looks at all its servers when it is made, and waits a while for one that hangs: so locks
 * are kept and lent.
 */
#ifndef SECKILL_REDLOCK_SERVERS_H
#define SECKILL_REDLOCK_SERVERS_H

#include <pthread.h>

#include "lockkit/lockkit.h"

#include "base/start_error.h"

enum { REDLOCK_SERVERS_MAX = 15 };

struct redlock_handle;

struct redlock_servers {
    lk_client *clients[REDLOCK_SERVERS_MAX]; /* owned */
    size_t count;
    pthread_mutex_t mutex;       /* guards all below */
    struct redlock_handle *idle; /* owned; locks that are not lent, the last used first */
};

/*
 * Open a client for each URL of a list, and ask lockkit whether they make a redlock.
 *
 * Shape    urls: commas between; a comma ends a URL where another scheme ("redis://") follows.
 *          like: the options of each, but for url and may_be_down; its password is for URLs that have
 *          none, its TLS for those that are rediss.
 * Owns     *out is initialised in any case; end it with redlock_servers_close().
 * Returns  false with *why, which shows no password: a bad URL, an even number, one server twice,
 *          a replica, too many. Servers that are down are no reason.
 */
bool redlock_servers_open(const char *urls, const struct lk_client_options *like,
                          struct redlock_servers *out, struct start_error *why);
/* All locks were given back. Fine, and needless, when it was never opened and is zeroed. */
void redlock_servers_close(struct redlock_servers *servers);

/*
 * Lend a lock over all of them.
 *
 * Owns     the result is yours until redlock_servers_return(), or lk_lock_free(): one that could not be
 *          released must not be returned.
 * Returns  NULL with *err, as lk_redlock_new().
 * Threads  any.
 */
lk_lock *redlock_servers_borrow(struct redlock_servers *servers, const char *key,
                                struct lk_error *err);
/* key: the one it was borrowed with. */
void redlock_servers_return(struct redlock_servers *servers, const char *key, lk_lock *lock);

#endif
