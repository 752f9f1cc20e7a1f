/*
 * Processes that want one lock and write under it, each to what all can see: a board in shared memory.
 * Its register is the resource that a lock is for; it refuses a token lower than one it has seen.
 */
#ifndef LOCKKIT_BENCH_COMPARE_ACTORS_H
#define LOCKKIT_BENCH_COMPARE_ACTORS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "way.h"

enum { ACTORS_MAX = 8, SAMPLES_MAX = 20000 };

struct board {
    pthread_mutex_t mutex; /* WAY_MUTEX's lock */
    _Atomic bool is_go, is_over;
    _Atomic uint64_t seen_fence; /* the register */
    _Atomic int taker;           /* who took the lock last, + 1 */
    _Atomic unsigned sample_count;
    double samples_us[SAMPLES_MAX];
    _Atomic int64_t given_ns; /* when the last release began */
    struct {
        _Atomic bool is_ready;
        _Atomic int64_t took_ns, told_ns; /* 0: not yet */
        _Atomic unsigned pairs;
        _Atomic unsigned stale,
            refused; /* writes after another one took the lock: let in, refused */
        char why[160];
    } actors[ACTORS_MAX];
};

/* NULL: no memory. Any number of times; never unmapped. */
struct board *actors_board_new(void);

/* What one does until it is over, or until it has to end. */
typedef lk_status actor_part(struct board *board, unsigned at, struct hold *hold,
                             struct lk_error *err);
actor_part actors_pairs;     /* take, give, take, give; samples: of the first actor */
actor_part actors_hand_over; /* take, hold a while, give, and leave the other one its turn */
actor_part actors_write;     /* take once, and write under it */

/* In a child of its own; ready once its clients are open. 0: see err. */
struct actor {
    const struct way *way;
    const struct way_urls *urls;
    actor_part *part;
};
pid_t actors_start(struct board *board, unsigned at, const struct actor *actor,
                   struct lk_error *err);
/* Until these are ready; UNREACHABLE with what one of them has to say when they are not soon. */
LK_MUST_CHECK lk_status actors_await(struct board *board, unsigned count, struct lk_error *err);
/* Wait for its end, once it is over; SIGKILL if that is not soon. 0 is fine. */
void actors_end(pid_t pid);

#endif
