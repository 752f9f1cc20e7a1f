/*
 * The processes of a torture, as the one that started them sees them. One thread, which has no other:
 * it forks.
 */
#ifndef LK_TORTURE_CROWD_H
#define LK_TORTURE_CROWD_H

#include <sys/types.h>

#include "torture_seat.h"

struct torture_worker_place {
    pid_t pid;      /* 0: nobody is there */
    unsigned life;  /* how many were there before */
    bool is_doomed; /* killed by us */
    bool is_paused;
    int64_t start_at_ns; /* when nobody is there: somebody shall be from then */
};

struct torture_crowd {
    const struct torture_plan *plan;
    struct torture_board *board;
    struct torture_worker_place places[TORTURE_PROCESSES_MAX];
};

/*
 * Fork a process that ends with this one, has its standard streams but no other descriptor, and is not
 * interrupted from the keyboard. Returns as fork() does.
 */
pid_t torture_fork(void);

/* Note who has died, start whom is due. Somebody who died without being killed is a violation. */
void torture_crowd_step(struct torture_crowd *crowd);

bool torture_crowd_is_gone(const struct torture_crowd *crowd);

void torture_crowd_kill(struct torture_crowd *crowd, unsigned process, int64_t start_again_ns);
void torture_crowd_pause(struct torture_crowd *crowd, unsigned process);
void torture_crowd_resume(struct torture_crowd *crowd, unsigned process);

/* All that are left, and wait for their ends. */
void torture_crowd_end(struct torture_crowd *crowd);

#endif
