/*
 * A private ZooKeeper for tests, or an ensemble; and what another client would see of it.
 */
#ifndef LK_ZOOKEEPER_H
#define LK_ZOOKEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_support.h"
#include "zookeeper/zookeeper.h"

enum { LKZ_MEMBERS_MAX = 3 };

struct lkz_server {
    pid_t tool;
    size_t count;
    struct {
        int port;
        pid_t pid;
    } members[LKZ_MEMBERS_MAX];
    char dir[64], url[256];
    zhandle_t *raw;
};

/* A file's own, for all its tests: server. */
#define LKZ_SERVER()                                                                               \
    static struct lkz_server *server;                                                              \
    BEFORE_ALL()                                                                                   \
    {                                                                                              \
        server = lkz_server_start(1);                                                              \
    }                                                                                              \
    AFTER_ALL()                                                                                    \
    {                                                                                              \
        lkz_server_stop(server);                                                                   \
    }                                                                                              \
    _Static_assert(true, "")

/* One that answers, or three; they die with this process. */
struct lkz_server *lkz_server_start(size_t count);
void lkz_server_stop(struct lkz_server *server);
void lkz_server_kill(struct lkz_server *server, size_t member);
void lkz_server_wipe(struct lkz_server *server); /* kill all, and take their data away */
/* Again, on its data; and until it answers. */
void lkz_server_begin(struct lkz_server *server, size_t member);
void lkz_server_await(struct lkz_server *server, size_t member);
size_t lkz_server_leader(const struct lkz_server *server);
/* What it says to one of the four-letter words; good until the next one. */
const char *lkz_says(const struct lkz_server *server, size_t member, const char *word);

/* A client of it, or of another URL's hosts; the path and query are "/t?session_ms=2000" if NULL. */
lk_client *lkz_client(const struct lkz_server *server, const char *rest);

lk_status lkz_acquire_renewed(lk_lock *lock, int64_t wait_ms, atomic_int *losses);

/* The children of a path, sorted by their numbers; good until the next call. count: -1: there is no such path. */
int lkz_children(struct lkz_server *server, const char *path, const char *const **out_names);
int lkz_count(struct lkz_server *server, const char *path);
void lkz_create(struct lkz_server *server, const char *path); /* a persistent one */
void lkz_delete(struct lkz_server *server, const char *path);
struct Stat lkz_stat(struct lkz_server *server, const char *path);

/* ---- what is between client and server --------------------------------------------------------------- */

enum lkz_fault {
    LKZ_NONE,
    LKZ_EAT_CREATE, /* the next create goes through, its answer does not: the connection ends */
    LKZ_EAT_CHANGE, /* ...set or delete */
    LKZ_CUT,        /* no connection lasts */
    LKZ_HOLE,       /* nothing comes through, and nothing ends */
};

enum { LKZ_WIRES = 4 }; /* connections at a time */

struct lkz_link {
    int port, listener;
    int to_port;
    _Atomic int fault;
    atomic_int eaten, spared; /* so many before that are answered */
    pthread_t thread;
    atomic_bool is_stopping;
};

/* To the first member; a client's hosts are "127.0.0.1:port". */
void lkz_link_start(struct lkz_link *link, const struct lkz_server *server);
void lkz_link_stop(struct lkz_link *link);
lk_client *lkz_link_client(const struct lkz_link *link);

/* Have the server end a client's session. */
void lkz_end_session(const struct lkz_server *server, const lk_client *client);

#endif
