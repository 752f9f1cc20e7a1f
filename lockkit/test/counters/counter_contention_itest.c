/*
 * Many threads of several processes on one semaphore, some killed in the middle: never more inside
 * than there are permits, and in the end all permits are there. Processes are forked before
 * any client exists; what they count lies in shared memory, and this process alone asserts.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum { PROCESSES = 3, THREADS = 8, PERMITS = 5, WEIGHT_MAX = 3, LEAST_TURNS = 300 };
enum { RUN_MS = 1500, KILL_MS = 700, LEASE_MS = 1500, WAIT_MS = 20000 };

static struct lks_server *server; /* one per test: its raw client is not there when a test forks */

/* ---- what all processes see ------------------------------------------------------------------ */

struct board {
    atomic_ullong
        inside;         /* permits in use: 16 bits for each process, so that one can be taken off */
    atomic_int crowded; /* times that there were more than PERMITS */
    atomic_int failures; /* acquires and releases that ended badly */
    atomic_int holders;  /* processes that hold what they shall */
    atomic_long turns[PROCESSES];
    char first_failure[256];
};

static struct board *board;

static unsigned permits_inside(unsigned long long inside)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < PROCESSES; i++)
        sum += (unsigned)(inside >> (16 * i)) & 0xffffU;
    return sum;
}

static void note_failure(const char *what, const struct lk_error *err)
{
    if (atomic_fetch_add(&board->failures, 1) > 0) return;
    (void)snprintf(board->first_failure, sizeof board->first_failure, "%s: %s: %s", what,
                   lk_status_name(err->code), err->text);
}

static int set_up(void **state)
{
    (void)state;
    server = lks_server_start(NULL);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    lks_server_stop(server);
    return munmap(board, sizeof *board);
}

/* ---- kinds of semaphore ---------------------------------------------------------------------- */

union handle {
    lk_semaphore *semaphore;
    lk_permits *permits;
    lk_lock *lock;
};

struct member {
    const struct kind *kind;
    union handle handle;
    unsigned process;
    uint32_t seed;
    double until_ms;
    struct lk_permit list[WEIGHT_MAX];
    pthread_t thread;
};

struct kind {
    const char *name;
    unsigned heaviest; /* permits at once, at most */
    bool is_leased;    /* what the killed held comes back */
    bool (*open)(lk_client *client, const char *key, union handle *out);
    lk_status (*enter)(struct member *member, unsigned weight, struct lk_error *err);
    lk_status (*leave)(struct member *member, unsigned weight, struct lk_error *err);
    void (*close)(union handle handle);
};

static bool open_semaphore(lk_client *client, const char *key, union handle *out)
{
    out->semaphore = lk_semaphore_new(client, key, NULL);
    lk_status status = lk_semaphore_try_set(out->semaphore, PERMITS, NULL);
    return status == LK_OK || status == LK_BUSY;
}

static lk_status enter_semaphore(struct member *member, unsigned weight, struct lk_error *err)
{
    return lk_semaphore_acquire(member->handle.semaphore, weight, WAIT_MS, err);
}

static lk_status leave_semaphore(struct member *member, unsigned weight, struct lk_error *err)
{
    return lk_semaphore_release(member->handle.semaphore, weight, err);
}

static void close_semaphore(union handle handle)
{
    lk_semaphore_free(handle.semaphore);
}

static bool open_permits(lk_client *client, const char *key, union handle *out)
{
    out->permits = lk_permits_new(client, key, NULL);
    return lk_permits_set(out->permits, PERMITS, NULL) == LK_OK;
}

static lk_status enter_permits(struct member *member, unsigned weight, struct lk_error *err)
{
    struct lk_permit_options options = {.wait_ms = WAIT_MS, .lease_ms = LEASE_MS};

    return lk_permits_acquire(member->handle.permits, &options, member->list, weight, err);
}

static lk_status leave_permits(struct member *member, unsigned weight, struct lk_error *err)
{
    return lk_permits_release(member->handle.permits, member->list, weight, err);
}

static void close_permits(union handle handle)
{
    lk_permits_free(handle.permits);
}

static bool open_lock(lk_client *client, const char *key, union handle *out)
{
    union handle number;
    bool is_set = open_permits(client, key, &number);

    close_permits(number);
    out->lock = lk_permit_lock_new(client, key, NULL);
    return is_set && out->lock;
}

static lk_status enter_lock(struct member *member, unsigned weight, struct lk_error *err)
{
    struct lk_lock_options options = {.wait_ms = WAIT_MS, .lease_ms = LEASE_MS, .is_renewed = true};

    (void)weight;
    return lk_lock_acquire(member->handle.lock, &options, err);
}

static lk_status leave_lock(struct member *member, unsigned weight, struct lk_error *err)
{
    (void)weight;
    return lk_lock_release(member->handle.lock, err);
}

static void close_lock(union handle handle)
{
    lk_lock_free(handle.lock);
}

static const struct kind kinds[] = {
    {"semaphore", WEIGHT_MAX, false, open_semaphore, enter_semaphore, leave_semaphore,
     close_semaphore},
    {"permits", WEIGHT_MAX, true, open_permits, enter_permits, leave_permits, close_permits},
    {"permit locks", 1, true, open_lock, enter_lock, leave_lock, close_lock},
};

/* ---- a crew: a process with its client and its threads --------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static void work(struct member *member, unsigned weight)
{
    unsigned long long share = (unsigned long long)weight << (16 * member->process);

    if (permits_inside(atomic_fetch_add(&board->inside, share) + share) > PERMITS)
        atomic_fetch_add(&board->crowded, 1);
    if (next_random(&member->seed) % 2 == 0) lks_nap(1);
    atomic_fetch_sub(&board->inside, share);
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct lk_error err = {0};

    while (lks_now_ms() < member->until_ms) {
        unsigned weight = 1 + next_random(&member->seed) % member->kind->heaviest;

        if (member->kind->enter(member, weight, &err) != LK_OK) {
            note_failure("acquire", &err);
            continue;
        }
        work(member, weight);
        if (member->kind->leave(member, weight, &err) != LK_OK) note_failure("release", &err);
        atomic_fetch_add(&board->turns[member->process], 1);
    }
    return NULL;
}

static int crew_main(const struct kind *kind, unsigned process, const char *key)
{
    struct member members[THREADS];
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);

    if (!client) return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){.kind = kind,
                                     .process = process,
                                     .seed = (process * THREADS + i + 1) * 2654435761U | 1U,
                                     .until_ms = lks_now_ms() + RUN_MS};
        if (!kind->open(client, key, &members[i].handle)) return 2;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0) return 3;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(members[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        kind->close(members[i].handle);
    lk_client_close(client);
    return 0;
}

static pid_t fork_crew(const struct kind *kind, unsigned process, const char *key)
{
    pid_t pid = fork(); /* no thread and no client exists here yet */

    assert_true(pid >= 0);
    if (pid > 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(crew_main(kind, process, key));
}

static void expect_exit(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a process ended by %d", status);
}

/* What it had inside is not inside any more. */
static void kill_crew(pid_t pid, unsigned process)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    atomic_fetch_and(&board->inside, ~(0xffffULL << (16 * process)));
}

static long long number_at(const char *key)
{
    return strtoll(LKS_TEXT(server, "GET", key), NULL, 10);
}

static void check_board(const struct kind *kind, const char *what)
{
    long total = 0;

    for (unsigned i = 0; i < PROCESSES; i++) {
        assert_true(atomic_load(&board->turns[i]) > 0);
        total += atomic_load(&board->turns[i]);
    }
    print_message("# %s%s: %ld turns\n", kind->name, what, total);
    assert_string_equal(board->first_failure, "");
    assert_int_equal(atomic_load(&board->crowded), 0);
    assert_int_equal(permits_inside(atomic_load(&board->inside)), 0);
    assert_true(total >= LEAST_TURNS); /* else nothing was shown */
}

static void run_crews(const struct kind *kind)
{
    const char *key = lks_key(server, "contended");
    pid_t pids[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = fork_crew(kind, i, key);
    for (unsigned i = 0; i < PROCESSES; i++)
        expect_exit(pids[i]);
    check_board(kind, "");
    assert_int_equal(number_at(key), PERMITS);
}

TEST(never_more_than_the_permits_of_a_semaphore)
{
    run_crews(&kinds[0]);
}

TEST(never_more_than_the_permits_with_leases)
{
    run_crews(&kinds[1]);
}

TEST(never_more_permit_locks_than_permits)
{
    run_crews(&kinds[2]);
}

static void run_with_a_kill(const struct kind *kind)
{
    const char *key = lks_key(server, "contended");
    pid_t pids[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = fork_crew(kind, i, key);
    lks_nap(KILL_MS);
    kill_crew(pids[0], 0);
    expect_exit(pids[1]);
    expect_exit(pids[2]);
    check_board(kind, ", one crew killed");
    lk_client *client = lks_client(server);
    lk_permits *permits = lk_permits_new(client, key, NULL);
    struct lk_permits_usage usage = {0};
    LKS_EVENTUALLY(lk_permits_usage(permits, &usage, NULL) == LK_OK && usage.available == PERMITS,
                   2 * LEASE_MS);
    assert_int_equal(usage.acquired, 0);
    lk_permits_free(permits);
    lk_client_close(client);
}

TEST(what_a_killed_process_held_comes_back)
{
    run_with_a_kill(&kinds[1]);
}

TEST(what_a_killed_process_had_locked_comes_back)
{
    run_with_a_kill(&kinds[2]);
}

/* ---- a holder is killed ---------------------------------------------------------------------- */

/* A process that takes two permits and holds them until it is killed. */
static pid_t fork_holder(const struct kind *kind, const char *key)
{
    struct member member = {.kind = kind};
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);
        bool is_fine = client && kind->open(client, key, &member.handle) &&
                       kind->enter(&member, 2, NULL) == LK_OK;

        if (is_fine) atomic_fetch_add(&board->holders, 1);
        lks_nap(60000); /* it is killed before that */
        _exit(1);
    }
    LKS_EVENTUALLY(atomic_load(&board->holders) == 1, 5000);
    return pid;
}

TEST(permits_without_leases_die_with_their_holder)
{
    const char *key = lks_key(server, "lost");
    pid_t pid = fork_holder(&kinds[0], key);

    kill_crew(pid, 0);
    lk_client *client = lks_client(server);
    lk_semaphore *semaphore = lk_semaphore_new(client, key, NULL);
    assert_int_equal(lk_semaphore_acquire(semaphore, PERMITS, 100, NULL), LK_BUSY);
    assert_int_equal(number_at(key), PERMITS - 2);
    assert_int_equal(lk_semaphore_add(semaphore, 2, NULL), LK_OK);
    assert_int_equal(lk_semaphore_acquire(semaphore, PERMITS, 100, NULL), LK_OK);
    lk_semaphore_free(semaphore);
    lk_client_close(client);
}

TEST(a_waiter_has_them_when_the_dead_holders_lease_ends) /* [61] */
{
    const char *key = lks_key(server, "leased");
    double begin_ms = lks_now_ms();
    pid_t pid = fork_holder(&kinds[1], key);
    double held_ms = lks_now_ms();
    struct lk_permit_options options = {.wait_ms = WAIT_MS};
    struct lk_permit list[PERMITS];

    kill_crew(pid, 0);
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = WAIT_MS / 2});
    lk_permits *permits = lk_permits_new(client, key, NULL);
    assert_int_equal(lk_permits_acquire(permits, &options, list, PERMITS, NULL), LK_OK);
    double had_ms = lks_now_ms();
    assert_true(had_ms - begin_ms >= LEASE_MS);
    assert_true(had_ms - held_ms < LEASE_MS + 50 + 1000); /* jitter, a busy machine */
    assert_int_equal(lk_permits_release(permits, list, PERMITS, NULL), LK_OK);
    lk_permits_free(permits);
    lk_client_close(client);
}

FIXTURE(set_up, tear_down);
