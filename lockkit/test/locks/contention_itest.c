/*
 * Many threads of several processes on few locks: nobody ever meets anybody inside, and no change
 * made under a lock is lost. Processes are forked before any client exists; what they count lies in
 * shared memory, and this process alone asserts.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum { PROCESSES = 2, THREADS = 32, RUN_MS = 3000, LEAST_TURNS = 500 };
enum { NAMES = 300, NAME_THREADS = 8, WINDOW = 6 };
enum { WAIT_MS = 20000 };

LKS_SERVER(lks_server_any());

/* ---- chance ---------------------------------------------------------------------------------------------- */

/* Seeds are printed; LK_TEST_SEED repeats one. */
static uint32_t draw_seed(void)
{
    const char *given = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): no threads yet */
    uint32_t seed =
        given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)(uint64_t)(lks_now_ms() * 1000);

    print_message("# seed %u\n", seed);
    return seed;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static uint32_t seed_of(uint32_t seed, unsigned process, unsigned thread)
{
    uint32_t own = (seed ^ (process * 2654435761U) ^ ((thread + 1) * 40503U)) | 1U;

    for (int i = 0; i < 8; i++)
        (void)next_random(&own);
    return own;
}

/* ---- one lock, two processes, 32 threads each -------------------------------------------------------------- */

struct board {
    atomic_int inside;   /* who believes to hold the lock right now */
    atomic_int overlaps; /* times it read more than one */
    atomic_int failures; /* acquires, releases, runs that ended badly */
    atomic_int lost;     /* holds that ended before their release */
    atomic_long sum;     /* read, then written, under the lock: not one atomic step */
    atomic_long turns[PROCESSES];
    atomic_long runs; /* of lk_mutex_run() */
    char first_failure[256];
};

struct crew {
    struct board *board;
    lk_client *client;
    lk_script *script;
    const char *key, *counter;
    unsigned process;
    double until_ms;
};

struct member {
    struct crew *crew;
    uint32_t seed;
    pthread_t thread;
};

static void note_failure(struct board *board, const char *what, const struct lk_error *err)
{
    if (atomic_fetch_add(&board->failures, 1) > 0) return;
    (void)snprintf(board->first_failure, sizeof board->first_failure, "%s: %s: %s", what,
                   lk_status_name(err->code), err->text);
}

/* Inside the lock. The increment is taken apart on purpose. */
static void work(struct board *board, uint32_t *seed)
{
    if (atomic_fetch_add(&board->inside, 1) != 0) atomic_fetch_add(&board->overlaps, 1);
    long sum = atomic_load(&board->sum);
    for (uint32_t i = next_random(seed) % 4; i > 0; i--)
        (void)sched_yield();
    if (next_random(seed) % 8 == 0) lks_nap(1);
    atomic_store(&board->sum, sum + 1);
    atomic_fetch_sub(&board->inside, 1);
}

static void hold_and_work(struct member *member, lk_lock *lock)
{
    struct board *board = member->crew->board;
    struct lk_lock_options options = {.wait_ms = WAIT_MS,
                                      .is_renewed = next_random(&member->seed) % 2};
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, &options, &err) != LK_OK) {
        note_failure(board, "acquire", &err);
        return;
    }
    work(board, &member->seed);
    if (!lk_held(lock)) atomic_fetch_add(&board->lost, 1);
    if (lk_lock_release(lock, &err) != LK_OK) note_failure(board, "release", &err);
    atomic_fetch_add(&board->turns[member->crew->process], 1);
}

static void run_script(struct member *member, lk_lock *lock)
{
    struct lk_bytes key = lk_bytes_of(member->crew->counter);
    struct lk_eval eval = {.script = member->crew->script, .keys = &key, .key_count = 1};
    struct lk_lock_options options = {.wait_ms = WAIT_MS};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    if (lk_mutex_run(lock, &options, &eval, &reply, &err) != LK_OK) {
        note_failure(member->crew->board, "run", &err);
        return;
    }
    lk_reply_free(reply);
    atomic_fetch_add(&member->crew->board->runs, 1);
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    lk_lock *lock = lk_mutex_new(member->crew->client, member->crew->key, NULL);

    while (lock && lks_now_ms() < member->crew->until_ms) {
        if (next_random(&member->seed) % 8 == 0) {
            run_script(member, lock);
        } else {
            hold_and_work(member, lock);
        }
    }
    lk_lock_free(lock);
    return NULL;
}

/* A process: its own client, its own threads. Does not assert. */
static int crew_main(struct board *board, unsigned process, const char *key, const char *counter,
                     uint32_t seed)
{
    static const struct lk_script_source add = {
        .name = "add",
        .source = "redis.call('SET', KEYS[1], (redis.call('GET', KEYS[1]) or 0) + 1)"};
    struct crew crew = {.board = board, .key = key, .counter = counter, .process = process};
    struct member members[THREADS];

    crew.client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);
    crew.script = lk_script_new(&add);
    if (!crew.client || !crew.script) return 1;
    crew.until_ms = lks_now_ms() + RUN_MS;
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){.crew = &crew, .seed = seed_of(seed, process, i)};
        if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0) return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(members[i].thread, NULL);
    lk_script_free(crew.script);
    lk_client_close(crew.client);
    return 0;
}

TEST(two_processes_of_32_threads_never_meet_inside)
{
    const char *key = lks_key(server, "one-lock");
    const char *counter = lks_key(server, "one-counter");
    uint32_t seed = draw_seed();
    pid_t pids[PROCESSES];
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(board, MAP_FAILED);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork(); /* no thread and no client exists here yet */
        assert_true(pids[i] >= 0);
        if (pids[i] > 0) continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(crew_main(board, i, key, counter, seed)); /* NOLINT(concurrency-mt-unsafe) */
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("process %u: %d", i, status);
    }
    long total = 0;
    for (unsigned i = 0; i < PROCESSES; i++) {
        long turns = atomic_load(&board->turns[i]);

        print_message("# process %u: %ld turns\n", i, turns);
        assert_true(turns > 0);
        total += turns;
    }
    print_message("# %ld turns, %ld runs in %d ms\n", total, atomic_load(&board->runs), RUN_MS);

    assert_string_equal(board->first_failure, "");
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->inside), 0);
    assert_int_equal(atomic_load(&board->lost), 0);
    assert_int_equal(atomic_load(&board->sum), total);
    assert_int_equal(strtol(LKS_TEXT(server, "GET", counter), NULL, 10), atomic_load(&board->runs));
    assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 0);
    assert_true(total >= LEAST_TURNS); /* else nothing was shown */
    assert_true(atomic_load(&board->runs) >= LEAST_TURNS / 10);
    assert_int_equal(munmap(board, sizeof *board), 0);
}

/* ---- 300 contended names ----------------------------------------------------------------------------------- */

struct names {
    lk_client *clients[2];
    char keys[NAMES][96];
    atomic_int inside[NAMES];
    atomic_int sum[NAMES]; /* read, then written */
    atomic_int overlaps;
    atomic_int failures;
    atomic_int contended; /* acquires that needed more than one try */
    pthread_barrier_t windows;
};

struct visitor {
    struct names *names;
    unsigned index;
    uint32_t seed;
    pthread_t thread;
};

static void count_contended(const struct lk_event *event, void *arg)
{
    struct names *names = arg;

    if (event->type == LK_EVENT_ACQUIRE && event->attempts > 1)
        atomic_fetch_add(&names->contended, 1);
}

static bool visit(struct visitor *visitor, size_t i)
{
    struct names *names = visitor->names;
    lk_lock *lock = lk_mutex_new(names->clients[visitor->index % 2], names->keys[i], NULL);
    bool is_fine =
        lock && lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = WAIT_MS}, NULL) == LK_OK;

    if (is_fine) {
        if (atomic_fetch_add(&names->inside[i], 1) != 0) atomic_fetch_add(&names->overlaps, 1);
        int sum = atomic_load(&names->sum[i]);
        (void)sched_yield();
        if (next_random(&visitor->seed) % 2 == 0) lks_nap(1);
        atomic_store(&names->sum[i], sum + 1);
        atomic_fetch_sub(&names->inside[i], 1);
        is_fine = lk_lock_release(lock, NULL) == LK_OK;
    }
    lk_lock_free(lock);
    return is_fine;
}

/* All are in the same window of names, fewer than they are, so that they meet; in it each goes in
   its own order. */
static void *visitor_main(void *arg)
{
    struct visitor *visitor = arg;
    size_t order[NAMES];

    for (size_t i = 0; i < NAMES; i++)
        order[i] = i;
    for (size_t i = 0; i < NAMES; i++) {
        size_t end = i - i % WINDOW + WINDOW < NAMES ? i - i % WINDOW + WINDOW : NAMES;
        size_t k = i + next_random(&visitor->seed) % (end - i);
        size_t moved = order[i];

        order[i] = order[k];
        order[k] = moved;
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (i % WINDOW == 0) (void)pthread_barrier_wait(&visitor->names->windows);
        if (!visit(visitor, order[i])) atomic_fetch_add(&visitor->names->failures, 1);
    }
    return NULL;
}

TEST(three_hundred_contended_names_stay_apart)
{
    struct names *names = calloc(1, sizeof *names);
    struct visitor visitors[NAME_THREADS];
    uint32_t seed = draw_seed();
    double begin = lks_now_ms();

    assert_non_null(names);
    (void)pthread_barrier_init(&names->windows, NULL, NAME_THREADS);
    for (size_t i = 0; i < NAMES; i++)
        (void)snprintf(names->keys[i], sizeof names->keys[i], "%sname-%zu", server->prefix, i);
    for (size_t i = 0; i < 2; i++) {
        names->clients[i] = lks_client_with(
            server, (struct lk_client_options){.on_event = count_contended, .on_event_arg = names});
    }
    for (unsigned i = 0; i < NAME_THREADS; i++) {
        visitors[i] =
            (struct visitor){.names = names, .index = i, .seed = seed_of(seed, PROCESSES, i)};
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visitor_main, &visitors[i]), 0);
    }
    for (unsigned i = 0; i < NAME_THREADS; i++)
        assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        lk_client_close(names->clients[i]);
    print_message("# %d names, %d threads, %d contended acquires, %.0f ms\n", NAMES, NAME_THREADS,
                  atomic_load(&names->contended), lks_now_ms() - begin);

    assert_int_equal(atomic_load(&names->failures), 0);
    assert_int_equal(atomic_load(&names->overlaps), 0);
    for (size_t i = 0; i < NAMES; i++)
        assert_int_equal(atomic_load(&names->sum[i]), NAME_THREADS);
    assert_true(atomic_load(&names->contended) >= NAMES / 2); /* else they hardly met */
    (void)pthread_barrier_destroy(&names->windows);
    free(names);
}
