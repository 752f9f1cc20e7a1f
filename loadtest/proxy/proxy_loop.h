/*
 * The fault proxy's one loop: descriptors by epoll, moments by a list, until SIGTERM or SIGINT.
 * Watches and timers live inside the structs that use them. One thread.
 */
#ifndef LOADTEST_PROXY_LOOP_H
#define LOADTEST_PROXY_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "common/failure.h"

struct proxy_watch {
    int fd;          /* owned; -1: closed */
    uint32_t wanted; /* EPOLLIN, EPOLLOUT; 0: epoll does not know it, not even of its hang-up */
    void (*on_ready)(struct proxy_watch *watch, uint32_t events);
};

struct proxy_timer {
    int64_t at_ns; /* 0: not set */
    LIST_ENTRY(proxy_timer) others;
    void (*on_time)(struct proxy_timer *timer);
};

/* Something that is over but may still be named by events that were fetched already. */
struct proxy_corpse {
    struct proxy_corpse *next;
    void (*bury)(struct proxy_corpse *corpse);
};

struct proxy_loop {
    int epoll_fd;
    int64_t now_ns;                              /* of this round */
    LIST_HEAD(proxy_timers, proxy_timer) timers; /* those that are set, in any order; borrowed */
    struct proxy_corpse *corpses;
};

bool proxy_loop_init(struct proxy_loop *loop, struct failure *failure);
void proxy_loop_done(struct proxy_loop *loop);

/* Serve until a signal asks to stop. */
bool proxy_loop_run(struct proxy_loop *loop, struct failure *failure);

/* Be told of these events, and of errors with them; of nothing when 0. */
void proxy_loop_want(struct proxy_loop *loop, struct proxy_watch *watch, uint32_t events);

/* Close the descriptor; no event of it is delivered any more. Harmless when it is closed. */
void proxy_loop_close(struct proxy_watch *watch);

/* Ring at `at_ns`, once; INT64_MAX: never. */
void proxy_loop_set_timer(struct proxy_loop *loop, struct proxy_timer *timer, int64_t at_ns);

/* Call corpse->bury() when this round's events are through. */
void proxy_loop_bury_later(struct proxy_loop *loop, struct proxy_corpse *corpse);

#endif
