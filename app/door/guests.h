/*
 * Everybody who is connected, by descriptor, and what an acceptor knows: for acceptor.c, outside.c and
 * inside.c alone.
 *
 * Lock: the mutex guards all guests and what acceptors know of them, but for what is atomic. Nothing is
 * called under it but the kernel, which does not wait.
 */
#ifndef SECKILL_GUESTS_H
#define SECKILL_GUESTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "acceptor.h"
#include "crowd.h"
#include "listen_address.h"

enum {
    GUESTS_MAX = 65536,         /* a port has no more */
    GUESTS_HEAD_MAX = 16384,    /* bytes; civetweb reads no more either */
    GUESTS_LAST_WORDS_MS = 250, /* as OPENING_MS (outside.c), once the door is shut */
};

struct acceptor {
    struct acceptor_options options;
    char address[LISTEN_LIST_SIZE];      /* with the ports that were taken */
    int listen_fd[LISTEN_ADDRESSES_MAX]; /* owned; the thread's own; -1: shut */
    int64_t shuts_at_ms;                 /* monotonic, the thread's own; 0: not said yet */
    int epoll_fd;                        /* owned */
    int wake_fd;                         /* owned: the thread is to look around */
    int hand_fd;                         /* owned: counts who is handed over */
    int library_fd;                      /* borrowed: in its place there is a copy of hand_fd */
    pthread_t thread;
    bool is_started;
    atomic_uint waiting;  /* guests that are ready */
    atomic_bool is_asked; /* by civetweb, for them */
    struct crowd crowd;
    enum { SERVING, TO_SHUT, CLOSING } _Atomic phase;
    char head[GUESTS_HEAD_MAX + 1]; /* the thread's own */
};

extern struct guest guests[GUESTS_MAX];

void guests_lock(void);
void guests_unlock(void);

int guests_fd(const struct guest *guest);
/* To another stage, of another group or its own; or out of the house. */
void guests_place_locked(struct guest *guest, crowd_stage to, struct crowd_group *group);
void guests_move_locked(struct guest *guest, crowd_stage to);
void guests_hang_up_locked(struct guest *guest);

/* The acceptor's thread is to look around. */
void guests_wake(const struct acceptor *self);

#endif
