/*
 * A private PostgreSQL for tests, and SQL as psql would send it.
 */
#ifndef LK_POSTGRES_H
#define LK_POSTGRES_H

#include <libpq-fe.h>

#include "test/support/lk_support.h"
#include "test/support/lk_vip.h"

struct lkp_server {
    pid_t pid; /* 0: not running */
    int port;
    char dir[64], url[128];
    char ini[80]; /* of a pooler */
    bool is_pooler;
    int of;      /* of a standby: its primary's port */
    PGconn *raw; /* of lkp_ask() */
};

/* A file's own, for all its tests: server. */
#define LKP_SERVER()                                                                               \
    static struct lkp_server *server;                                                              \
    BEFORE_ALL()                                                                                   \
    {                                                                                              \
        server = lkp_server_start();                                                               \
    }                                                                                              \
    AFTER_ALL()                                                                                    \
    {                                                                                              \
        lkp_server_stop(server);                                                                   \
    }                                                                                              \
    _Static_assert(true, "")

/* One that answers; it dies with this process. */
struct lkp_server *lkp_server_start(void);
/* Its place alone: dir, port, url. */
struct lkp_server *lkp_server_new(void);
/* There, a copy of that one, which follows it; by lkp_server_promote() it goes its own way. */
void lkp_standby_start(struct lkp_server *standby, const struct lkp_server *of);
/* No commit of that one is confirmed that the standby has not on disk. */
void lkp_server_await_standby(struct lkp_server *of);
void lkp_server_promote(struct lkp_server *standby);
/* PgBouncer in front of it, in transaction mode, with two sessions for all, who are that user. */
struct lkp_server *lkp_pooler_start(const struct lkp_server *behind, const char *user);
void lkp_server_stop(struct lkp_server *server);
/* Its first process, by SIGKILL; the others end as they find out. */
void lkp_server_kill(struct lkp_server *server);
/* SIGSTOP or SIGCONT to all its processes. */
void lkp_server_signal(const struct lkp_server *server, int signal);
void lkp_server_restart(struct lkp_server *server); /* on the same data */
/* As a new one is for the next test, in a hundredth of the time: it runs, nobody else is connected, no schema of ours. */
void lkp_server_empty(struct lkp_server *server);

/* One of its settings, from now on. */
void lkp_server_set(struct lkp_server *server, const char *name, const char *value);

/* A client of it, with these options; of what a forwarder leads to; and the fenced lock of a name. They fail the test when
   there is none. */
lk_client *lkp_client_with(const struct lkp_server *server, struct lk_client_options options);
lk_client *lkp_client(const struct lkp_server *server);
lk_client *lkp_client_by(const struct lks_vip *vip);
lk_lock *lkp_fenced(lk_client *client, const char *key);

/* The first field of the answer, "" if there is none; good until the next one. An error fails the test. */
__attribute__((format(printf, 2, 3))) const char *lkp_ask(struct lkp_server *server,
                                                          const char *format, ...);

#endif
