/*
 * Many threads of several processes on one lock, semaphore or latch, some killed in the middle: never
 * more inside than may be, no change made under a lock is lost, nobody passes early, and in the end all
 * is free. A server per test: its raw client is not there when the test forks.
 */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "test/support/lk_crowd.h"

enum { PROCESSES = 3, THREADS_MAX = 32, PERMITS = 5, WEIGHT_MAX = 3, LEAST_TURNS = 100 };
enum { RUN_MS = 1500, KILL_MS = 700, LEASE_MS = 1500, WAIT_MS = 20000 };
enum { NAMES = 300, NAME_THREADS = 8, WINDOW = 6 };
enum { LATCH_THREADS = 8, LATCH_ALL = PROCESSES * LATCH_THREADS, LATCH_ROUNDS = 40 };

static struct lks_server *server;

/* ---- what all processes see ------------------------------------------------------------------ */

static struct board {
    atomic_ullong
        inside;         /* permits in use: 16 bits for each process, so that one can be taken off */
    atomic_int crowded; /* times that there were more than may be */
    atomic_int lost;    /* holds that ended before their release */
    atomic_int holders; /* processes that hold what they shall */
    atomic_long sum;    /* of a lock: read, then written, under it: not one atomic step */
    atomic_long turns[PROCESSES];
    atomic_long runs; /* of lk_mutex_run() */
    atomic_int ready; /* processes that have set all latches */
    atomic_int arrived[LATCH_ROUNDS];
    atomic_int passed_early;
    struct lks_blame blame;
} * board;

BEFORE_EACH()
{
    server = lks_server_start(NULL);
    board = lks_shared(sizeof *board);
}

AFTER_EACH()
{
    lks_server_stop(server);
}

static unsigned permits_inside(unsigned long long inside)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < PROCESSES; i++)
        sum += (unsigned)(inside >> (16 * i)) & 0xffffU;
    return sum;
}

/* ---- kinds of what is entered ------------------------------------------------------------------ */

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
    lk_script *script; /* of a mutex: adds one to KEYS[1] */
    const char *counter;
};

struct kind {
    const char *name;
    unsigned permits;  /* there are; 1: it is a lock */
    unsigned heaviest; /* at once, at most */
    unsigned threads;  /* of each process, */
    int64_t run_ms;    /* for so long */
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

    return lk_lock_acquire(member->handle.lock, &options, err);
}

static lk_status leave_lock(struct member *member, unsigned weight, struct lk_error *err)
{
    return lk_lock_release(member->handle.lock, err);
}

static void close_lock(union handle handle)
{
    lk_lock_free(handle.lock);
}

static bool open_mutex(lk_client *client, const char *key, union handle *out)
{
    out->lock = lk_mutex_new(client, key, NULL);
    return out->lock;
}

static lk_status enter_mutex(struct member *member, unsigned weight, struct lk_error *err)
{
    struct lk_lock_options options = {.wait_ms = WAIT_MS,
                                      .is_renewed = lks_random(&member->seed) % 2};

    return lk_lock_acquire(member->handle.lock, &options, err);
}

static lk_status leave_mutex(struct member *member, unsigned weight, struct lk_error *err)
{
    if (!lk_held(member->handle.lock)) atomic_fetch_add(&board->lost, 1);
    return leave_lock(member, weight, err);
}

static const struct kind kinds[] = {
    {"semaphore", PERMITS, WEIGHT_MAX, 8, RUN_MS, open_semaphore, enter_semaphore, leave_semaphore,
     close_semaphore},
    {"permits", PERMITS, WEIGHT_MAX, 8, RUN_MS, open_permits, enter_permits, leave_permits,
     close_permits},
    {"permit locks", PERMITS, 1, 8, RUN_MS, open_lock, enter_lock, leave_lock, close_lock},
    {"mutex", 1, 1, 32, (int64_t)2 * RUN_MS, open_mutex, enter_mutex, leave_mutex, close_lock},
};

enum { SEMAPHORE, LEASED, PERMIT_LOCK, MUTEX };

/* ---- a crew: a process with its client and its threads --------------------------------------- */

/* Inside. The increment is taken apart on purpose. */
static void work(struct member *member, unsigned weight)
{
    unsigned long long share = (unsigned long long)weight << (16 * member->process);

    if (permits_inside(atomic_fetch_add(&board->inside, share) + share) > member->kind->permits)
        atomic_fetch_add(&board->crowded, 1);
    long sum = atomic_load(&board->sum);
    for (uint32_t i = lks_random(&member->seed) % 4; i > 0; i--)
        (void)sched_yield();
    if (lks_random(&member->seed) % (member->kind->permits == 1 ? 8 : 2) == 0) lks_nap(1);
    atomic_store(&board->sum, sum + 1);
    atomic_fetch_sub(&board->inside, share);
}

static void run_script(struct member *member)
{
    struct lk_bytes key = lk_bytes_of(member->counter);
    struct lk_eval eval = {.script = member->script, .keys = &key, .key_count = 1};
    struct lk_lock_options options = {.wait_ms = WAIT_MS};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    if (!lks_is_ok(&board->blame, "run",
                   lk_mutex_run(member->handle.lock, &options, &eval, &reply, &err), &err))
        return;
    lk_reply_free(reply);
    atomic_fetch_add(&board->runs, 1);
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct lk_error err = {0};

    while (lks_now_ms() < member->until_ms) {
        unsigned weight = 1 + lks_random(&member->seed) % member->kind->heaviest;

        if (member->script && lks_random(&member->seed) % 8 == 0) {
            run_script(member);
            continue;
        }
        if (!lks_is_ok(&board->blame, "acquire", member->kind->enter(member, weight, &err), &err))
            continue;
        work(member, weight);
        (void)lks_is_ok(&board->blame, "release", member->kind->leave(member, weight, &err), &err);
        atomic_fetch_add(&board->turns[member->process], 1);
    }
    return NULL;
}

/* What a test and its processes know. */
struct crew {
    const struct kind *kind;
    const char *key, *counter;
    uint32_t seed;
};

static int crew_main(unsigned process, void *arg)
{
    static const struct lk_script_source add = {
        .name = "add",
        .source = "redis.call('SET', KEYS[1], (redis.call('GET', KEYS[1]) or 0) + 1)"};
    const struct crew *crew = arg;
    struct member members[THREADS_MAX];
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);
    lk_script *script = crew->kind == &kinds[MUTEX] ? lk_script_new(&add) : NULL;

    if (!client) return 1;
    for (unsigned i = 0; i < crew->kind->threads; i++) {
        members[i] = (struct member){.kind = crew->kind,
                                     .process = process,
                                     .seed = lks_seed_of(crew->seed, process, i),
                                     .until_ms = lks_now_ms() + (double)crew->kind->run_ms,
                                     .script = script,
                                     .counter = crew->counter};
        if (!crew->kind->open(client, crew->key, &members[i].handle)) return 2;
    }
    if (!lks_threads(crew->kind->threads, member_main, members, sizeof members[0])) return 3;
    for (unsigned i = 0; i < crew->kind->threads; i++)
        crew->kind->close(members[i].handle);
    lk_script_free(script);
    lk_client_close(client);
    return 0;
}

static struct crew new_crew(size_t kind)
{
    return (struct crew){.kind = &kinds[kind],
                         .key = lks_key(server, "contended"),
                         .counter = lks_key(server, "counted"),
                         .seed = lks_seed()};
}

/* What it had inside is not inside any more. */
static void kill_crew(pid_t pid, unsigned process)
{
    lks_kill(pid);
    atomic_fetch_and(&board->inside, ~(0xffffULL << (16 * process)));
}

static long long number_at(const char *key)
{
    return strtoll(LKS_TEXT(server, "GET", key), NULL, 10);
}

static long check_board(const struct kind *kind, const char *what, long least)
{
    long total = 0;

    for (unsigned i = 0; i < PROCESSES; i++) {
        assert_true(atomic_load(&board->turns[i]) > 0);
        total += atomic_load(&board->turns[i]);
    }
    print_message("# %s%s: %ld turns\n", kind->name, what, total);
    assert_string_equal(board->blame.first, "");
    assert_int_equal(atomic_load(&board->crowded), 0);
    assert_int_equal(permits_inside(atomic_load(&board->inside)), 0);
    assert_int_equal(atomic_load(&board->lost), 0);
    assert_true(total >= least); /* else nothing was shown */
    return total;
}

static void run_crews(size_t kind)
{
    struct crew crew = new_crew(kind);

    lks_processes(PROCESSES, crew_main, &crew);
    (void)check_board(crew.kind, "", LEAST_TURNS);
    assert_int_equal(number_at(crew.key), PERMITS);
}

TEST(never_more_than_the_permits_of_a_semaphore)
{
    run_crews(SEMAPHORE);
}

TEST(never_more_than_the_permits_with_leases)
{
    run_crews(LEASED);
}

TEST(never_more_permit_locks_than_permits)
{
    run_crews(PERMIT_LOCK);
}

TEST(threads_of_several_processes_never_meet_inside_a_lock)
{
    struct crew crew = new_crew(MUTEX);

    lks_processes(PROCESSES, crew_main, &crew);
    long total = check_board(crew.kind, "", LEAST_TURNS);
    assert_int_equal(atomic_load(&board->sum), total);
    assert_int_equal(number_at(crew.counter), atomic_load(&board->runs));
    assert_true(atomic_load(&board->runs) >= LEAST_TURNS / 10);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", crew.key), 0);
}

static void run_with_a_kill(size_t kind)
{
    struct crew crew = new_crew(kind);
    pid_t pids[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = lks_fork();
        if (pids[i] == 0) _exit(crew_main(i, &crew));
    }
    lks_nap(KILL_MS);
    kill_crew(pids[0], 0);
    lks_expect_exit(pids[1]);
    lks_expect_exit(pids[2]);
    (void)check_board(crew.kind, ", one crew killed", LEAST_TURNS / 10);
    lk_client *client = lks_client(server);
    lk_permits *permits = lk_permits_new(client, crew.key, NULL);
    struct lk_permits_usage usage = {0};
    LKS_EVENTUALLY(lk_permits_usage(permits, &usage, NULL) == LK_OK && usage.available == PERMITS,
                   2 * LEASE_MS);
    assert_int_equal(usage.acquired, 0);
    lk_permits_free(permits);
    lk_client_close(client);
}

TEST(what_a_killed_process_held_comes_back)
{
    run_with_a_kill(LEASED);
}

TEST(what_a_killed_process_had_locked_comes_back)
{
    run_with_a_kill(PERMIT_LOCK);
}

/* ---- a holder is killed ---------------------------------------------------------------------- */

/* A process that takes two permits and holds them until it is killed. */
static pid_t fork_holder(const struct kind *kind, const char *key)
{
    struct member member = {.kind = kind};
    pid_t pid = lks_fork();

    if (pid == 0) {
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
    pid_t pid = fork_holder(&kinds[SEMAPHORE], key);

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
    pid_t pid = fork_holder(&kinds[LEASED], key);
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

/* ---- one latch after the other ------------------------------------------------------------------- */

struct arrival {
    lk_client *client;
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
        (void)lks_is_ok(&board->blame, "arrive", lk_latch_count_down(latch, &err), &err);
        (void)lks_is_ok(&board->blame, "await", lk_latch_await(latch, WAIT_MS, &err), &err);
        if (atomic_load(&board->arrived[round]) < LATCH_ALL)
            atomic_fetch_add(&board->passed_early, 1);
        lk_latch_free(latch);
    }
    return NULL;
}

/* Any process may set a latch, one does. */
static int arrivals_main(unsigned process, void *arg)
{
    struct arrival arrivals[LATCH_THREADS];
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);

    for (int round = 0; client && round < LATCH_ROUNDS; round++) {
        char key[128];

        (void)snprintf(key, sizeof key, "%sround-%d", server->prefix, round);
        lk_latch *latch = lk_latch_new(client, key, NULL);
        lk_status status = lk_latch_try_set(latch, LATCH_ALL, NULL);
        if (status != LK_OK && status != LK_BUSY) return 1;
        lk_latch_free(latch);
    }
    atomic_fetch_add(&board->ready, 1);
    while (atomic_load(&board->ready) < PROCESSES) /* else one sets anew what has opened */
        lks_nap(1);
    for (unsigned i = 0; i < LATCH_THREADS; i++)
        arrivals[i].client = client;
    if (!lks_threads(LATCH_THREADS, arrival_main, arrivals, sizeof arrivals[0])) return 2;
    lk_client_close(client);
    return 0;
}

TEST(nobody_passes_a_latch_before_all_have_arrived)
{
    lks_processes(PROCESSES, arrivals_main, NULL);

    assert_string_equal(board->blame.first, "");
    assert_int_equal(atomic_load(&board->passed_early), 0);
    for (int i = 0; i < LATCH_ROUNDS; i++)
        assert_int_equal(atomic_load(&board->arrived[i]), LATCH_ALL);
    lk_reply *keys = LKS_ASK(server, "KEYS", "*");
    for (size_t i = 0; i < lk_reply_count(keys); i++) /* only what ends by itself is left */
        assert_true(LKS_INTEGER(server, "PTTL", lk_reply_bytes(lk_reply_at(keys, i)).data) > 0);
    lk_reply_free(keys);
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
        if (lks_random(&visitor->seed) % 2 == 0) lks_nap(1);
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
        size_t k = i + lks_random(&visitor->seed) % (end - i);
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
    uint32_t seed = lks_seed();
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
            (struct visitor){.names = names, .index = i, .seed = lks_seed_of(seed, PROCESSES, i)};
    }
    assert_true(lks_threads(NAME_THREADS, visitor_main, visitors, sizeof visitors[0]));
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
