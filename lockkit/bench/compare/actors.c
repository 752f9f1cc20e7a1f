/*
 * lockcompare has no threads, so it can fork at any time; what a client's threads do ends with the
 * child. A child never waits without looking whether it is over.
 */
#include "actors.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/moment.h"
#include "bench/process.h"

enum { READY_MS = 20000, END_MS = 2000, HELD_US = 3000, AWAY_US = 2000, BEAT_US = 1000 };

struct board *actors_board_new(void)
{
    void *map =
        mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;

    if (map == MAP_FAILED) return NULL;
    struct board *board = map;
    (void)pthread_mutexattr_init(&shared);
    (void)pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    (void)pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    (void)pthread_mutex_init(&board->mutex, &shared);
    (void)pthread_mutexattr_destroy(&shared);
    return board;
}

static void sample(struct board *board, int64_t ns)
{
    unsigned at = atomic_fetch_add(&board->sample_count, 1);

    if (at < SAMPLES_MAX) board->samples_us[at] = (double)ns / 1e3;
}

lk_status actors_pairs(struct board *board, unsigned at, struct hold *hold, struct lk_error *err)
{
    while (!atomic_load(&board->is_over)) {
        int64_t begin_ns = moment_ns();
        lk_status status = way_take(hold, err);

        if (status == LK_OK) status = way_give(hold, err);
        if (status != LK_OK) return status;
        atomic_fetch_add(&board->actors[at].pairs, 1);
        if (at == 0) sample(board, moment_ns() - begin_ns);
    }
    return LK_OK;
}

lk_status actors_hand_over(struct board *board, unsigned at, struct hold *hold,
                           struct lk_error *err)
{
    while (!atomic_load(&board->is_over)) {
        lk_status status = way_take(hold, err);

        if (status != LK_OK) return status;
        if (atomic_exchange(&board->taker, (int)at + 1) == 2 - (int)at)
            sample(board, moment_ns() - atomic_load(&board->given_ns));
        moment_nap_us(HELD_US);
        atomic_store(&board->given_ns, moment_ns());
        status = way_give(hold, err);
        if (status != LK_OK) return status;
        moment_nap_us(AWAY_US);
    }
    return LK_OK;
}

/* The resource's own check: what it has seen before. */
static uint64_t show(struct board *board, uint64_t fence)
{
    uint64_t seen = atomic_load(&board->seen_fence);

    while (fence > seen && !atomic_compare_exchange_weak(&board->seen_fence, &seen, fence)) {}
    return seen;
}

static void write_once(struct board *board, unsigned at, uint64_t fence)
{
    uint64_t seen = show(board, fence);

    if (atomic_load(&board->taker) == (int)at + 1) return;
    atomic_fetch_add(fence && fence < seen ? &board->actors[at].refused : &board->actors[at].stale,
                     1);
}

/* It looks, and writes a moment later, as programs do. */
lk_status actors_write(struct board *board, unsigned at, struct hold *hold, struct lk_error *err)
{
    lk_status status = way_take(hold, err);

    if (status != LK_OK) return status;
    uint64_t fence = way_fence(hold);
    (void)show(board, fence); /* its first write */
    atomic_store(&board->taker, (int)at + 1);
    atomic_store(&board->actors[at].took_ns, moment_ns());
    while (!atomic_load(&board->is_over) && way_is_believed(hold)) {
        moment_nap_us(BEAT_US);
        write_once(board, at, fence);
    }
    if (atomic_load(&board->is_over)) return way_give(hold, NULL);
    atomic_store(&board->actors[at].told_ns, moment_ns());
    return LK_OK;
}

static void play(struct board *board, unsigned at, const struct actor *actor)
{
    struct hold hold = {.mutex = &board->mutex};
    struct lk_error err = {0};
    lk_status status = way_open(&hold, actor->way, actor->urls, &err);

    if (status == LK_OK) atomic_store(&board->actors[at].is_ready, true);
    while (status == LK_OK && !atomic_load(&board->is_go))
        moment_nap_us(100);
    if (status == LK_OK) status = actor->part(board, at, &hold, &err);
    if (status == LK_OK) return;
    (void)snprintf(board->actors[at].why, sizeof board->actors[at].why, "%s", err.text);
}

pid_t actors_start(struct board *board, unsigned at, const struct actor *actor,
                   struct lk_error *err)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0) (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "fork");
    if (pid != 0) return pid > 0 ? pid : 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) play(board, at, actor);
    _exit(0);
}

lk_status actors_await(struct board *board, unsigned count, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + (int64_t)READY_MS * 1000000;

    for (unsigned i = 0; i < count;) {
        if (atomic_load(&board->actors[i].is_ready)) {
            i++;
        } else if (moment_interrupt_came()) {
            return LKI_FAIL(err, LK_CANCELLED, "interrupted");
        } else if (*board->actors[i].why || moment_ns() > until_ns) {
            return LKI_FAIL(err, LK_UNREACHABLE, "%s",
                            *board->actors[i].why ? board->actors[i].why : "an actor is late");
        } else {
            moment_nap_us(1000);
        }
    }
    return LK_OK;
}

void actors_end(pid_t pid)
{
    for (int ms = 0; pid > 0 && ms < END_MS; ms++) {
        if (waitpid(pid, NULL, WNOHANG) == pid) return;
        moment_nap_us(1000);
    }
    process_kill(pid);
}
