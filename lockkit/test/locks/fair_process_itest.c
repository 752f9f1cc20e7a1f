/*
 * The fair lock between processes: their order, their deaths, and many threads of them at once. The
 * processes are forked before any client exists and do what they are sent; what they find lies in
 * shared memory, and this process alone asserts.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_fair.h"

enum {
    CREW = 6,
    DOOMED = 6,
    ALL = CREW + DOOMED,
    THREADS = 6,
    RUN_MS = 2000,
    WAIT_MS = 60000,
    SOON_MS = 20000,
    LEAST_TURNS = 200
};

/* To take the lock with so many threads until a moment, each of them at least once. */
struct task {
    char key[96];
    struct lk_lock_options options;
    int64_t waiter_ms;
    int64_t hold_ms;
    unsigned threads;
    double until_ms;
};

static struct lks_server *server;

static struct {
    pid_t pid; /* 0: it was killed */
    int fd;    /* tasks go in here */
} crew[ALL];

static struct board {
    atomic_int inside;   /* who believes to hold the lock right now */
    atomic_int overlaps; /* times it was not the only one */
    atomic_int failures; /* acquires and releases that ended badly */
    atomic_int served;   /* first turns of processes; their order: */
    atomic_int order[ALL];
    atomic_int done[ALL]; /* tasks */
    atomic_long turns[ALL][THREADS];
} * board;

/* ---- in a process ---------------------------------------------------------------------------- */

struct member {
    lk_client *client;
    const struct task *task;
    size_t process, index;
    pthread_t thread;
};

static bool take_turn(const struct member *member, lk_lock *lock)
{
    if (lk_lock_acquire(lock, &member->task->options, NULL) != LK_OK) return false;
    if (atomic_fetch_add(&board->inside, 1) != 0) atomic_fetch_add(&board->overlaps, 1);
    if (atomic_fetch_add(&board->turns[member->process][member->index], 1) == 0) {
        int place = atomic_fetch_add(&board->served, 1);

        if (place < ALL) atomic_store(&board->order[place], (int)member->process);
    }
    (void)sched_yield();
    if (member->task->hold_ms > 0) lks_nap(member->task->hold_ms);
    atomic_fetch_sub(&board->inside, 1);
    return lk_lock_release(lock, NULL) == LK_OK;
}

static void *member_main(void *arg)
{
    const struct member *member = arg;
    lk_lock *lock =
        lk_fair_new(member->client, member->task->key,
                    &(struct lk_fair_options){.waiter_ms = member->task->waiter_ms}, NULL);

    do {
        if (!lock || !take_turn(member, lock)) atomic_fetch_add(&board->failures, 1);
    } while (lks_now_ms() < member->task->until_ms);
    lk_lock_free(lock);
    return NULL;
}

/* Does not assert. */
static int crew_main(size_t process, int fd)
{
    struct task task = {0};
    struct member members[THREADS];
    lk_client *client =
        lk_client_open(&(struct lk_client_options){.url = server->url, .command_ms = 10000}, NULL);

    if (!client) return 1;
    while (read(fd, &task, sizeof task) == (ssize_t)sizeof task) {
        for (size_t i = 0; i < task.threads; i++) {
            members[i] =
                (struct member){.client = client, .task = &task, .process = process, .index = i};
            if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0) return 1;
        }
        for (size_t i = 0; i < task.threads; i++)
            (void)pthread_join(members[i].thread, NULL);
        atomic_fetch_add(&board->done[process], 1);
    }
    lk_client_close(client);
    return 0;
}

static void start_process(size_t i)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    crew[i].fd = ends[1];
    crew[i].pid = fork(); /* no thread and no client exists here yet */
    assert_true(crew[i].pid >= 0);
    if (crew[i].pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t k = 0; k <= i; k++)
            (void)close(crew[k].fd);
        exit(crew_main(i, ends[0])); /* NOLINT(concurrency-mt-unsafe) */
    }
    (void)close(ends[0]);
}

/* ---- in this process ------------------------------------------------------------------------- */

struct fixture {
    struct lkf_keys keys;
    struct task task;
};

SET_UP(struct fixture, f)
{
    memset(board, 0, sizeof *board);
    lkf_keys_init(&f->keys, server, "process");
    f->task = (struct task){.options = {.wait_ms = WAIT_MS}, .hold_ms = 2, .threads = 1};
    (void)snprintf(f->task.key, sizeof f->task.key, "%s", f->keys.lock);
}

/* Every test leaves the lock free, the queue empty and no subscription behind. */
TEAR_DOWN(struct fixture, f)
{
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->failures), 0);
    if (!lkf_is_gone(&f->keys)) fail_msg("left in the queue: %s", lkf_queue(&f->keys));
    LKS_EVENTUALLY(lkf_listeners(&f->keys, NULL) == 0, 5000);
}

static void send_task(struct fixture *f, size_t i)
{
    assert_true(crew[i].pid > 0);
    assert_int_equal(write(crew[i].fd, &f->task, sizeof f->task), (ssize_t)sizeof f->task);
}

/* It joins the queue behind those who are there. */
static void let_it_queue(struct fixture *f, size_t i)
{
    long long before = lkf_length(&f->keys);

    send_task(f, i);
    LKS_EVENTUALLY(lkf_length(&f->keys) == before + 1, 5000);
}

static void kill_process(size_t i)
{
    assert_int_equal(kill(crew[i].pid, SIGKILL), 0);
    assert_int_equal(waitpid(crew[i].pid, NULL, 0), crew[i].pid);
    crew[i].pid = 0;
}

TEST(processes_are_served_in_the_order_they_came, struct fixture *f)
{
    struct lkf_foreign holder = {.owner = "f:1", .lease_ms = 30000};
    static const size_t order[] = {3, 0, 5, 1, 4, 2};

    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
    for (size_t i = 0; i < CREW; i++)
        let_it_queue(f, order[i]);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &holder), 1);
    for (size_t i = 0; i < CREW; i++)
        LKS_EVENTUALLY(atomic_load(&board->done[i]) == 1, 5000);

    assert_int_equal(atomic_load(&board->served), CREW);
    for (size_t i = 0; i < CREW; i++)
        assert_int_equal(atomic_load(&board->order[i]), order[i]);
}

/* Checklist 47. */
TEST(who_was_killed_in_the_queue_is_waited_for_until_its_window_is_over, struct fixture *f)
{
    struct lkf_foreign holder = {.owner = "f:1", .lease_ms = 30000};
    char dead[80];

    f->task.waiter_ms = 2000;
    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
    let_it_queue(f, 0);
    (void)snprintf(dead, sizeof dead, "%s", lkf_queue(&f->keys));
    let_it_queue(f, 1);
    kill_process(0);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &holder), 1);
    long long dies_at_ms = lkf_score(&f->keys, dead);
    long long now_ms = 0;
    while (now_ms < dies_at_ms) {
        int served = atomic_load(&board->served);

        now_ms = lkf_server_ms(&f->keys);
        assert_true(served == 0 || now_ms >= dies_at_ms);
    }
    LKS_EVENTUALLY(atomic_load(&board->done[1]) == 1, SOON_MS);
    assert_int_equal(atomic_load(&board->order[0]), 1);
}

/* Their windows go by together, and not one by one; also for a foreign client, which looks at scores alone. */
TEST(any_number_of_killed_waiters_hold_up_the_others_for_one_window, struct fixture *f)
{
    enum { WINDOW_MS = 1500 };
    struct lkf_foreign holder = {.owner = "f:1", .lease_ms = 30000};
    struct lkf_foreign foreign = {.owner = "f:2", .lease_ms = 30000, .wait_ms = 60000};

    f->task.waiter_ms = WINDOW_MS;
    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
    for (size_t i = 0; i < DOOMED / 2; i++)
        let_it_queue(f, CREW + i);
    let_it_queue(f, 2);
    for (size_t i = DOOMED / 2; i < DOOMED; i++)
        let_it_queue(f, CREW + i);
    assert_true(lkf_foreign_try(&f->keys, &foreign) >= 0);
    let_it_queue(f, 3);
    for (size_t i = 0; i < DOOMED; i++)
        kill_process(CREW + i);
    double killed_at_ms = lks_now_ms();
    assert_int_equal(lkf_foreign_unlock(&f->keys, &holder), 1);
    LKS_EVENTUALLY(lkf_foreign_try(&f->keys, &foreign) == LKF_TAKEN, SOON_MS);
    double waited_ms = lks_now_ms() - killed_at_ms;
    assert_int_equal(lkf_foreign_unlock(&f->keys, &foreign), 1);
    LKS_EVENTUALLY(atomic_load(&board->done[3]) == 1, SOON_MS);
    print_message("# %d killed, a window of %d ms: free after %.0f ms\n", DOOMED, WINDOW_MS,
                  waited_ms);

    assert_true(waited_ms < 3 * WINDOW_MS); /* one after the other they would be 7 */
    assert_int_equal(atomic_load(&board->order[0]), 2);
    assert_int_equal(atomic_load(&board->order[1]), 3);
}

TEST(the_lock_of_who_was_killed_goes_to_the_next_with_its_lease, struct fixture *f)
{
    f->task.options.lease_ms = 3000;
    f->task.options.is_renewed = true;
    f->task.hold_ms = WAIT_MS;
    send_task(f, 1);
    LKS_EVENTUALLY(atomic_load(&board->served) == 1, 5000);
    f->task.hold_ms = 2;
    let_it_queue(f, 2);
    let_it_queue(f, 3);
    kill_process(1);
    atomic_store(&board->inside, 0); /* what it cannot do any more */
    LKS_EVENTUALLY(atomic_load(&board->done[3]) == 1, SOON_MS);

    LKS_EVENTUALLY(atomic_load(&board->done[2]) == 1, SOON_MS);
    assert_int_equal(atomic_load(&board->order[1]), 2);
    assert_int_equal(atomic_load(&board->order[2]), 3);
}

/* In a fair queue everybody has as many turns as everybody else. */
TEST(many_threads_never_meet_and_have_equal_turns, struct fixture *f)
{
    long least = LONG_MAX, most = 0, total = 0;

    f->task.hold_ms = 0;
    f->task.threads = THREADS;
    f->task.until_ms = lks_now_ms() + RUN_MS;
    for (size_t i = 2; i < CREW; i++)
        send_task(f, i);
    for (size_t i = 2; i < CREW; i++)
        LKS_EVENTUALLY(atomic_load(&board->done[i]) == 1, RUN_MS + 10000);
    for (size_t i = 2; i < CREW; i++) {
        for (size_t k = 0; k < THREADS; k++) {
            long turns = atomic_load(&board->turns[i][k]);

            least = turns < least ? turns : least;
            most = turns > most ? turns : most;
            total += turns;
        }
    }
    print_message("# %ld turns in %d ms, %ld to %ld each\n", total, RUN_MS, least, most);

    assert_true(total >= LEAST_TURNS); /* else nothing was shown */
    assert_true(most - least <= 3 + most / 10);
}

BEFORE_ALL()
{
    server = lks_server_start(NULL);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(board, MAP_FAILED);
    for (size_t i = 0; i < ALL; i++)
        start_process(i);
}

AFTER_ALL()
{
    for (size_t i = 0; i < ALL; i++) {
        int status = 0;

        (void)close(crew[i].fd);
        if (crew[i].pid == 0) continue;
        assert_int_equal(waitpid(crew[i].pid, &status, 0), crew[i].pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    lks_server_stop(server);
    assert_int_equal(munmap(board, sizeof *board), 0);
}
