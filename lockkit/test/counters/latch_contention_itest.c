/*
 * Many threads of several processes on one latch after the other: nobody passes before all have
 * arrived. Processes are forked before any client exists; what they count lies in shared memory,
 * and this process alone asserts.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum { PROCESSES = 3, THREADS = 8, ALL = PROCESSES * THREADS, LATCH_ROUNDS = 40, WAIT_MS = 20000 };

struct board {
    atomic_int ready; /* processes that have set all latches */
    atomic_int arrived[LATCH_ROUNDS];
    atomic_int passed_early;
    atomic_int failures;
    char first_failure[256];
};

static struct lks_server *server;
static struct board *board;

static void note_failure(const struct lk_error *err)
{
    if (atomic_fetch_add(&board->failures, 1) > 0) return;
    (void)snprintf(board->first_failure, sizeof board->first_failure, "%s: %s",
                   lk_status_name(err->code), err->text);
}

static void expect_exit(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a process ended by %d", status);
}

struct arrival {
    lk_client *client;
    pthread_t thread;
};

/* Every round has its own latch: arrive, wait for the others, look whether they have come. */
static void *arrival_main(void *arg)
{
    struct arrival *arrival = arg;
    struct lk_error err = {0};

    for (int round = 0; round < LATCH_ROUNDS; round++) {
        char key[128];

        (void)snprintf(key, sizeof key, "%sround-%d", server->prefix, round);
        lk_latch *latch = lk_latch_new(arrival->client, key, &err);
        atomic_fetch_add(&board->arrived[round], 1);
        if (!latch || lk_latch_count_down(latch, &err) != LK_OK ||
            lk_latch_await(latch, WAIT_MS, &err) != LK_OK)
            note_failure(&err);
        if (atomic_load(&board->arrived[round]) < ALL) atomic_fetch_add(&board->passed_early, 1);
        lk_latch_free(latch);
    }
    return NULL;
}

/* Any process may set a latch, one does. */
static int arrivals_main(void)
{
    struct arrival arrivals[THREADS];
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);

    for (int round = 0; client && round < LATCH_ROUNDS; round++) {
        char key[128];

        (void)snprintf(key, sizeof key, "%sround-%d", server->prefix, round);
        lk_latch *latch = lk_latch_new(client, key, NULL);
        lk_status status = lk_latch_try_set(latch, ALL, NULL);
        if (status != LK_OK && status != LK_BUSY) return 1;
        lk_latch_free(latch);
    }
    atomic_fetch_add(&board->ready, 1);
    while (atomic_load(&board->ready) < PROCESSES) /* else one sets anew what has opened */
        lks_nap(1);
    for (unsigned i = 0; i < THREADS; i++) {
        arrivals[i].client = client;
        if (pthread_create(&arrivals[i].thread, NULL, arrival_main, &arrivals[i]) != 0) return 2;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(arrivals[i].thread, NULL);
    lk_client_close(client);
    return 0;
}

TEST(nobody_passes_a_latch_before_all_have_arrived)
{
    pid_t pids[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] > 0) continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(arrivals_main());
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        expect_exit(pids[i]);

    assert_string_equal(board->first_failure, "");
    assert_int_equal(atomic_load(&board->passed_early), 0);
    for (int i = 0; i < LATCH_ROUNDS; i++)
        assert_int_equal(atomic_load(&board->arrived[i]), ALL);
    lk_reply *keys = LKS_ASK(server, "KEYS", "*");
    for (size_t i = 0; i < lk_reply_count(keys); i++) /* only what ends by itself is left */
        assert_true(LKS_INTEGER(server, "PTTL", lk_reply_bytes(lk_reply_at(keys, i)).data) > 0);
    lk_reply_free(keys);
}

BEFORE_ALL()
{
    server = lks_server_start(NULL);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(board, MAP_FAILED);
}

AFTER_ALL()
{
    lks_server_stop(server);
    assert_int_equal(munmap(board, sizeof *board), 0);
}
