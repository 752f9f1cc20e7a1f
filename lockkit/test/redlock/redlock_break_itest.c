/*
 * What a redlock does not survive, counted and named: a server that forgets, a clock that hurries.
 * And beside each the same fault where it must hold. The clocks of the servers are clock_shim.c's.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/lk_redlock.h"

enum { ROUNDS = 5, LEASE_MS = 60000, SHORT_LEASE_MS = 3000, HOUR_MS = 3600000 };
static const struct lk_redlock_options patient = {.node_ms = 2000};

LKS_PATIENT();

/* ---- clocks that jump ---------------------------------------------------------------------------- */

struct clock {
    _Atomic int64_t *offset_ns;
    int fd;
};

static char shim[512]; /* clock_shim.so lies where this program's tree begins */

static void clock_make(struct clock *clock)
{
    clock->fd = memfd_create("clock", 0);
    assert_true(clock->fd >= 0);
    assert_int_equal(ftruncate(clock->fd, sizeof *clock->offset_ns), 0);
    clock->offset_ns =
        mmap(NULL, sizeof *clock->offset_ns, PROT_READ | PROT_WRITE, MAP_SHARED, clock->fd, 0);
    assert_ptr_not_equal(clock->offset_ns, MAP_FAILED);
}

/* Programs that are started from here on live by this clock; NULL: by the world's. */
static void clock_give(const struct clock *clock)
{
    char path[64];

    /* NOLINTBEGIN(concurrency-mt-unsafe): only this thread starts programs or looks there */
    if (clock) {
        (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), clock->fd);
        assert_int_equal(setenv("CLOCK_SHIM_FILE", path, 1), 0);
        assert_int_equal(setenv("LD_PRELOAD", shim, 1), 0);
    } else {
        assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    }
    /* NOLINTEND(concurrency-mt-unsafe) */
}

static void clock_jump(struct clock *clock, int64_t ms)
{
    atomic_fetch_add(clock->offset_ns, ms * 1000000);
}

static struct clock clocks[LKR_NODES], client_clock;

static int start_all(void **state)
{
    char self[400];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(len > 0);
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    (void)snprintf(shim, sizeof shim, "%s/../../../../clock_shim.so", self);
    if (access(shim, R_OK) != 0) fail_msg("%s is missing", shim);
    clock_make(&client_clock);
    for (size_t i = 0; i < LKR_NODES; i++) {
        clock_make(&clocks[i]);
        clock_give(&clocks[i]);
        lkr_nodes[i] = lks_server_start(NULL);
    }
    clock_give(NULL);
    return 0;
}

static void restart(size_t node)
{
    clock_give(&clocks[node]);
    lks_server_restart(lkr_nodes[node]);
    clock_give(NULL);
}

/* ---- two clients --------------------------------------------------------------------------------- */

struct fixture {
    struct lkr_clients here, there; /* of two, who know nothing of each other */
    lk_lock *one, *other;
    const char *key;
};

SET_UP(struct fixture, f)
{
    f->key = lkr_key("break");
    lkr_open(&f->here, (struct lk_client_options){.backoff_ms = 5});
    lkr_open(&f->there, (struct lk_client_options){.backoff_ms = 5});
    f->one = lkr_lock(&f->here, f->key, &patient);
    f->other = lkr_lock(&f->there, f->key, &patient);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->one);
    lk_lock_free(f->other);
    lkr_close(&f->here);
    lkr_close(&f->there);
    for (size_t i = 0; i < LKR_NODES; i++) {
        atomic_store(clocks[i].offset_ns, 0);
        if (lkr_nodes[i]->pid == 0) restart(i);
    }
    assert_int_equal(lkr_heal_servers(NULL), 0);
}

/* Held by the first three servers, as the last two are away, and then back. */
static void hold_by_three(struct fixture *f, int64_t lease_ms)
{
    struct lk_error err = {0};

    lks_server_kill(lkr_nodes[3]);
    lks_server_kill(lkr_nodes[4]);
    if (lkr_acquire(f->one, 20000, lease_ms, &err) != LK_OK) fail_msg("%s", err.text);
    assert_int_equal(lkr_count(f->key), 3);
    restart(3);
    restart(4);
    lk_status status = lkr_acquire(f->other, 0, lease_ms, NULL);
    if (status != LK_OK) return;
    assert_false(lk_held(f->one)); /* a busy machine took longer than the lease */
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

static void let_other_in(struct fixture *f)
{
    LKS_EVENTUALLY(lkr_acquire(f->other, 0, SHORT_LEASE_MS, NULL) == LK_OK, 20000);
}

/* A server that has just come back may not have been asked. */
static bool is_held_by_all(struct fixture *f)
{
    assert_int_equal(lkr_acquire(f->one, 20000, LEASE_MS, NULL), LK_OK);
    for (double until = lks_now_ms() + 100; lks_now_ms() < until; lks_nap(1)) {
        if (lkr_count(f->key) == LKR_NODES) return true;
    }
    assert_int_equal(lk_lock_release(f->one, NULL), LK_OK);
    return false;
}

/* Votes that were open when the lock was taken count when its first look at them is answered. */
static void hold_by_all(struct fixture *f)
{
    LKS_EVENTUALLY(is_held_by_all(f), 20000);
    LKS_EVENTUALLY(lkr_counting(f->one) == LKR_NODES, 20000);
}

/* Whether the other gets it too, while the first still holds it by all that it knows. */
static bool is_broken(struct fixture *f, int64_t lease_ms)
{
    double until = lks_now_ms() + 20000;
    lk_status status = LK_BUSY;

    while (status != LK_OK && lk_held(f->one) && lks_now_ms() < until)
        status = lkr_acquire(f->other, 100, lease_ms, NULL);
    return status == LK_OK && lk_held(f->one) && lk_held(f->other);
}

static void free_both(struct fixture *f)
{
    (void)lk_lock_release(f->one, NULL);
    (void)lk_lock_release(f->other, NULL);
    for (size_t i = 0; i < LKR_NODES; i++)
        LKS_DO(lkr_nodes[i], "DEL", f->key);
}

/* ---- a server that forgets ----------------------------------------------------------------------- */

/* On a busy machine a holder may hear of it before the other one asks. */
static void must_break(struct fixture *f, void (*spoil)(void), const char *how)
{
    int broken = 0;
    int told = 0;

    for (int i = 0; i < ROUNDS; i++) {
        hold_by_three(f, LEASE_MS);
        spoil();
        bool is_two = is_broken(f, LEASE_MS);
        broken += is_two;
        told += !is_two && !lk_held(f->one);
        free_both(f);
    }

    print_message("# exclusion broken %d of %d times, %d times its holder knew before: %s\n",
                  broken, ROUNDS, told, how);
    assert_int_equal(broken + told, ROUNDS);
}

static void wipe_third(void)
{
    lks_server_kill(lkr_nodes[2]);
    restart(2);
}

TEST(it_breaks_when_a_server_that_voted_comes_back_empty_at_once, struct fixture *f)
{
    must_break(f, wipe_third, "a server restarted empty while held");
}

TEST(it_holds_when_that_server_stays_away_for_longer_than_the_lease, struct fixture *f)
{
    int broken = 0;

    for (int i = 0; i < 2; i++) {
        hold_by_three(f, SHORT_LEASE_MS);
        lks_server_kill(lkr_nodes[2]);
        double until = lks_now_ms() + SHORT_LEASE_MS + 50;
        while (lks_now_ms() < until)
            broken += is_broken(f, SHORT_LEASE_MS);
        (void)lk_lock_release(f->other, NULL); /* if it came in when the lease was over */
        restart(2);
        let_other_in(f);
        broken += lk_held(f->one);
        free_both(f);
    }

    print_message("# exclusion broken %d of %d times: restarted empty, a lease later\n", broken, 2);
    assert_int_equal(broken, 0);
}

TEST(it_holds_when_one_comes_back_empty_and_four_remember, struct fixture *f)
{
    for (size_t i = 0; i < LKR_NODES; i++) {
        hold_by_all(f);
        lks_server_kill(lkr_nodes[i]);
        restart(i);
        assert_int_equal(lkr_acquire(f->other, 300, LEASE_MS, NULL), LK_BUSY);
        assert_true(lk_held(f->one));
        assert_int_equal(lk_lock_release(f->one, NULL), LK_OK);
        lkr_await_count(f->key, 0);
    }
}

/* ---- a clock that hurries ------------------------------------------------------------------------ */

static void hurry_third(void)
{
    clock_jump(&clocks[2], HOUR_MS);
}

TEST(it_breaks_when_the_clock_of_a_server_that_voted_jumps, struct fixture *f)
{
    must_break(f, hurry_third,
               "one server's clock jumped an hour ahead, and two others had no vote of the holder");
}

TEST(it_holds_when_one_clock_jumps_and_all_had_voted, struct fixture *f)
{
    struct lk_error err = {0};

    for (size_t i = 0; i < LKR_NODES; i++) {
        hold_by_all(f);
        clock_jump(&clocks[i], i % 2 == 0 ? HOUR_MS : -HOUR_MS);
        lkr_await_count(f->key, i % 2 == 0 ? LKR_NODES - 1 : LKR_NODES);
        assert_int_not_equal(lkr_acquire(f->other, 300, LEASE_MS, NULL), LK_OK);
        if (lk_lock_renew(f->one, 0, &err) != LK_OK) fail_msg("server %zu: %s", i, err.text);
        assert_int_equal(lk_lock_release(f->one, NULL), LK_OK);
        lkr_await_count(f->key, 0);
    }
}

/* ---- a client's clock ---------------------------------------------------------------------------- */

/* The other process: holds the lock, tells each time it is asked whether it still does, and how long. */
static int be_client(char **argv)
{
    lk_client *clients[LKR_NODES];
    char line[16];

    for (size_t i = 0; i < LKR_NODES; i++) {
        clients[i] = lk_client_open(&(struct lk_client_options){.url = argv[3 + i]}, NULL);
        if (!clients[i]) return 1;
    }
    lk_lock *lock = lk_redlock_new(clients, LKR_NODES, argv[2], NULL, NULL);
    struct lk_lock_options options = {.lease_ms = SHORT_LEASE_MS, .is_renewed = true};
    if (!lock || lk_lock_acquire(lock, &options, NULL) != LK_OK) return 1;
    while (fgets(line, sizeof line, stdin)) {
        (void)printf("%lld %lld\n", (long long)lk_lock_remaining_ms(lock), (long long)time(NULL));
        (void)fflush(stdout);
    }
    return lk_lock_release(lock, NULL) == LK_OK ? 0 : 1;
}

struct client {
    pid_t pid;
    FILE *to, *from;
};

static void start_client(const struct fixture *f, struct client *out)
{
    int to[2];
    int from[2];
    char name[] = "redlock_break_itest";
    char role[] = "client";
    char *argv[LKR_NODES + 4] = {name, role, strdup(f->key)};

    for (size_t i = 0; i < LKR_NODES; i++)
        argv[3 + i] = lkr_nodes[i]->url;
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    clock_give(&client_clock);
    out->pid = fork();
    if (out->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(to[0], 0);
        (void)dup2(from[1], 1);
        (void)execv("/proc/self/exe", argv);
        _exit(127);
    }
    clock_give(NULL);
    free(argv[2]);
    (void)close(to[0]);
    (void)close(from[1]);
    out->to = fdopen(to[1], "w");
    out->from = fdopen(from[0], "r");
}

static void ask_client(const struct client *client, long long *out_left_ms, long long *out_hour)
{
    char line[64];
    char *end = NULL;

    assert_true(fputs("?\n", client->to) >= 0 && fflush(client->to) == 0);
    assert_non_null(fgets(line, sizeof line, client->from));
    *out_left_ms = strtoll(line, &end, 10);
    *out_hour = strtoll(end, NULL, 10);
}

TEST(a_jump_of_the_holders_own_clock_changes_nothing, struct fixture *f)
{
    struct client client;
    long long left_ms = 0;
    long long before = 0;
    long long after = 0;

    start_client(f, &client);
    ask_client(&client, &left_ms, &before);
    for (int i = 0; i < 2; i++) {
        clock_jump(&client_clock, i % 2 == 0 ? HOUR_MS : -2 * HOUR_MS);
        ask_client(&client, &left_ms, &after);
        assert_true(llabs(after - before) > 1800); /* it does live by that clock */
        assert_in_range(left_ms, 1, SHORT_LEASE_MS);
        before = after;
        assert_int_not_equal(lkr_acquire(f->other, SHORT_LEASE_MS, 1000, NULL), LK_OK);
    }
    int status = -1;
    (void)fclose(client.to);
    assert_int_equal(waitpid(client.pid, &status, 0), client.pid);
    (void)fclose(client.from);
    assert_int_equal(status, 0); /* its release was OK */
}

GROUP(start_all, lkr_stop_servers);

int main(int argc, char **argv)
{
    if (argc == LKR_NODES + 3 && strcmp(argv[1], "client") == 0) return be_client(argv);
    return testing_run(argc, argv);
}
