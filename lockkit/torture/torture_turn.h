/*
 * One thread of a torture: it takes turns until the board says stop.
 */
#ifndef LK_TORTURE_TURN_H
#define LK_TORTURE_TURN_H

#include <pthread.h>

#include "torture_seat.h"

enum {
    TORTURE_SEATS = 32, /* key numbers that are drawn are below */
    TORTURE_LEASE_LEAST_MS = 250,
    TORTURE_LEASE_MOST_MS = 350,
    TORTURE_WAIT_MOST_MS = 3000,
};

struct torture_member {
    const struct torture_plan *plan;
    struct history_writer *writer;
    lk_client *client;
    struct torture_place place;
    uint32_t seed;
    pthread_t thread;
    bool has_overslept;
    bool oversleeps;                          /* in this turn */
    int64_t until_ns;                         /* the present hold is certain until here */
    struct torture_seat seats[TORTURE_SEATS]; /* by key number; kind NULL: not made */
    pthread_mutex_t mutex;                    /* guards what follows */
    struct torture_seat *waiting;             /* in its acquire, so that it may be cancelled */
};

/* A pthread's main; arg: the struct torture_member. */
void *torture_member_main(void *arg);

/* End its wait, if it waits. Any thread. */
void torture_member_cancel(struct torture_member *member);

#endif
