/*
 * See lk_crowd.h.
 */
#include "lk_crowd.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MAX = 8, THREADS_MAX = 64 };

void *lks_shared(size_t size)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(shared, MAP_FAILED);
    return shared;
}

bool lks_is_ok(struct lks_blame *blame, const char *what, lk_status status,
               const struct lk_error *err)
{
    if (status == LK_OK) return true;
    if (atomic_fetch_add(&blame->count, 1) == 0) {
        (void)snprintf(blame->first, sizeof blame->first, "%s: %s: %s", what,
                       lk_status_name(status), err->text);
    }
    return false;
}

pid_t lks_fork(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

void lks_expect_exit(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a process ended by %d", status);
}

void lks_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void lks_processes(unsigned count, int (*run)(unsigned process, void *arg), void *arg)
{
    pid_t pids[PROCESSES_MAX];

    for (unsigned i = 0; i < count; i++) {
        pids[i] = lks_fork();
        if (pids[i] == 0) _exit(run(i, arg));
    }
    for (unsigned i = 0; i < count; i++)
        lks_expect_exit(pids[i]);
}

bool lks_threads(unsigned count, void *(*run)(void *item), void *items, size_t size)
{
    pthread_t threads[THREADS_MAX];
    unsigned started = 0;

    while (started < count &&
           pthread_create(&threads[started], NULL, run, (char *)items + started * size) == 0)
        started++;
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    return started == count;
}

uint32_t lks_seed(void)
{
    const char *given = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): no threads yet */
    uint32_t seed =
        given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)(uint64_t)(lks_now_ms() * 1000);

    print_message("# seed %u\n", seed);
    return seed;
}

uint32_t lks_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

uint32_t lks_seed_of(uint32_t seed, unsigned process, unsigned thread)
{
    uint32_t own = (seed ^ (process * 2654435761U) ^ ((thread + 1) * 40503U)) | 1U;

    for (int i = 0; i < 8; i++)
        (void)lks_random(&own);
    return own;
}
