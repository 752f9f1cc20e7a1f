/*
 * Everybody who is connected, by descriptor, and what an acceptor knows: for acceptor.c, pending.c and
 * served.c alone.
 *
 * Lock: the mutex guards all connections and what acceptors know of them, but for what is atomic. Nothing is
 * called under it but the kernel, which does not wait.
 */
#ifndef SECKILL_GUESTS_H
#define SECKILL_GUESTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "acceptor.h"
#include "conn_scheduler.h"
#include "listen_address.h"

enum {
    CLIENT_CONNS_MAX = 65536,      /* a port has no more */
    CLIENT_CONNS_HEAD_MAX = 16384, /* bytes; civetweb reads no more either */
    CLIENT_CONNS_DRAIN_MS = 250,   /* as OPENING_MS (pending.c), once the door is shut */
};

struct acceptor {
    struct acceptor_options options;
    char address[LISTEN_LIST_SIZE];      /* with the ports that were taken */
    int listen_fd[LISTEN_ADDRESSES_MAX]; /* owned; the thread's own; -1: shut */
    int64_t close_at_ms;                 /* monotonic, the thread's own; 0: not said yet */
    int epoll_fd;                        /* owned */
    int wake_fd;                         /* owned: the thread is to look around */
    int handover_fd;                     /* owned: counts who is handed over */
    int library_fd;                      /* borrowed: in its place there is a copy of hand_fd */
    pthread_t thread;
    bool is_started;
    atomic_uint waiting;      /* connections that are ready */
    atomic_bool is_accepting; /* by civetweb, for them */
    struct conn_scheduler scheduler;
    enum { SERVING, TO_DRAIN, CLOSING } _Atomic phase;
    char head[CLIENT_CONNS_HEAD_MAX + 1]; /* the thread's own */
};

extern struct client_conn client_conns[CLIENT_CONNS_MAX];

void client_conns_lock(void);
void client_conns_unlock(void);

int client_conns_fd(const struct client_conn *conn);
/* To another stage, of another group or its own; or out of the house. */
void client_conns_place_locked(struct client_conn *conn, conn_stage to,
                               struct conn_scheduler_group *group);
void client_conns_move_locked(struct client_conn *conn, conn_stage to);
void client_conns_close_locked(struct client_conn *conn);

/* The acceptor's thread is to look around. */
void client_conns_wake(const struct acceptor *self);

#endif
