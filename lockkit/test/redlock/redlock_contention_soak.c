/*
 * Several processes want one redlock while its five servers are paused and killed in turn. They write a
 * history, which is checked afterwards: no two certain holds overlap. A killed server comes back
 * empty, but later than any lease (redis.io: delayed restarts); what happens otherwise is
 * redlock_break_itest.c's. Processes are forked before any client exists; this one alone asserts.
 */
#include <pthread.h>
#include <unistd.h>

#include "history/judge.h"
#include "test/support/lk_crowd.h"
#include "test/support/lk_redlock.h"

enum { PROCESSES = 3, THREADS = 2, LEASE_MS = 400, WAIT_MS = 10000, PHASE_MS = 300 };
enum { LEAST_TURNS_A_PHASE = 3 };

/* What the processes share. */
struct board {
    atomic_int is_ready;
    atomic_bool is_over;
    atomic_int inside; /* who believes in it by the clock, right now */
    atomic_int overlaps;
    atomic_long turns[PROCESSES];
    struct lks_blame blame;
    char key[128];
    char path[128]; /* of the history */
};

struct crew {
    struct board *board;
    struct lkr_clients clients;
    size_t process;
};

/* While it is held by the clock nobody else may believe so; one who overslept no longer counts. */
static void stay_inside(struct board *board, const lk_lock *lock)
{
    if (!lk_held(lock)) return;
    int others = atomic_fetch_add(&board->inside, 1);
    if (others > 0 && lk_lock_remaining_ms(lock) > LEASE_MS / 2)
        atomic_fetch_add(&board->overlaps, 1);
    lks_nap(1);
    atomic_fetch_sub(&board->inside, 1);
}

static bool take_turn(struct crew *crew, lk_lock *lock, bool is_renewed)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {
        .wait_ms = WAIT_MS, .lease_ms = LEASE_MS, .is_renewed = is_renewed};
    lk_status status = lk_lock_acquire(lock, &options, &err);

    if (status == LK_UNREACHABLE || status == LK_LOST) return true; /* too many are away just now */
    if (!lks_is_ok(&crew->board->blame, "acquire", status, &err)) return false;
    stay_inside(crew->board, lock);
    status = lk_lock_release(lock, &err);
    if (status == LK_INVALID || status == LK_SERVER)
        (void)lks_is_ok(&crew->board->blame, "release", status, &err);
    atomic_fetch_add(&crew->board->turns[crew->process], 1);
    return true;
}

static void *member_main(void *arg)
{
    static atomic_uint members;
    struct crew *crew = arg;
    bool is_renewed = atomic_fetch_add(&members, 1) % 2 == 1;
    lk_lock *lock = lk_redlock_new(crew->clients.of, LKR_NODES, crew->board->key,
                                   &(struct lk_redlock_options){.retry_ms = 20}, NULL);

    while (lock && !atomic_load(&crew->board->is_over) && take_turn(crew, lock, is_renewed)) {}
    lk_lock_free(lock);
    return NULL;
}

/* Of a process: 0 when all went well. */
static int crew_main(struct board *board, size_t process)
{
    struct history_writer writer;
    struct crew crew = {.board = board, .process = process};
    pthread_t threads[THREADS];
    struct lk_client_options options = {.may_be_down = true,
                                        .backoff_ms = 20,
                                        .command_ms = 200,
                                        .on_event = history_on_event,
                                        .on_event_arg = &writer};

    if (!history_open(&writer, board->path)) return 1;
    for (size_t i = 0; i < LKR_NODES; i++) {
        options.url = lkr_nodes[i]->url;
        crew.clients.of[i] = lk_client_open(&options, NULL);
        if (!crew.clients.of[i]) return 1;
    }
    atomic_fetch_add(&board->is_ready, 1);
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, member_main, &crew) != 0) return 1;
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (size_t i = 0; i < LKR_NODES; i++)
        lk_client_close(crew.clients.of[i]);
    history_close(&writer);
    return 0;
}

static void start_crews(struct board *board, pid_t pids[PROCESSES])
{
    for (size_t i = 0; i < PROCESSES; i++) {
        pids[i] = lks_fork();
        if (pids[i] == 0) _exit(crew_main(board, i));
    }
    LKS_EVENTUALLY(atomic_load(&board->is_ready) == PROCESSES, 10000);
}

static long all_turns(const struct board *board)
{
    long sum = 0;

    for (size_t i = 0; i < PROCESSES; i++)
        sum += atomic_load(&board->turns[i]);
    return sum;
}

/* A phase that nobody was active in tells nothing. */
static void let_work(const struct board *board, int64_t ms, const char *what, size_t node)
{
    long before = all_turns(board);
    double begin = lks_now_ms();

    lks_nap(ms);
    LKS_EVENTUALLY(all_turns(board) >= before + LEAST_TURNS_A_PHASE, 5000);
    print_message("# %s server %zu: %ld turns in %.0f ms\n", what, node, all_turns(board) - before,
                  lks_now_ms() - begin);
}

static void disturb_in_turn(const struct board *board)
{
    for (size_t i = 0; i < LKR_NODES; i++) {
        lks_server_pause(lkr_nodes[i]);
        let_work(board, PHASE_MS, "paused", i);
        lks_server_resume(lkr_nodes[i]);
        lks_server_kill(lkr_nodes[i]);
        let_work(board, LEASE_MS + 100, "killed", i);
        lks_server_restart(lkr_nodes[i]);
    }
    let_work(board, PHASE_MS, "all run, after", LKR_NODES - 1);
}

static void check_history(const struct board *board)
{
    struct history history = {0};
    struct history_report report;
    const char *why = NULL;
    FILE *file = fopen(board->path, "r");

    assert_non_null(file);
    assert_int_equal(history_read(&history, file, &why), 0);
    (void)fclose(file);
    assert_true(history_check(
        &history,
        &(struct history_check_options){.stuck_ms = WAIT_MS, .findings = stderr, .drawing = stderr},
        &report));
    print_message("# %zu holds of %zu holders: %zu overlaps; %zu ended before their release\n",
                  report.holds, report.owners, report.found[CHECK_EXCLUSION], report.lost);
    assert_true(report.examined[CHECK_EXCLUSION] > 0);
    assert_int_equal(report.found[CHECK_EXCLUSION], 0);
    assert_int_equal(report.found[CHECK_LIVENESS], 0);
    history_done(&history);
}

TEST(servers_that_fail_in_turn_never_let_two_in)
{
    pid_t pids[PROCESSES];
    struct board *board = lks_shared(sizeof *board);

    (void)snprintf(board->key, sizeof board->key, "%s", lkr_key("crowd"));
    (void)snprintf(board->path, sizeof board->path, "%s/history", lkr_nodes[0]->dir);
    start_crews(board, pids);
    disturb_in_turn(board);
    atomic_store(&board->is_over, true);
    for (size_t i = 0; i < PROCESSES; i++) {
        lks_expect_exit(pids[i]);
        assert_true(atomic_load(&board->turns[i]) > 0);
    }

    assert_string_equal(board->blame.first, "");
    assert_int_equal(atomic_load(&board->overlaps), 0);
    check_history(board);
    lks_nap(LEASE_MS);
    assert_int_equal(lkr_count(board->key), 0);
}

/* ---- split votes --------------------------------------------------------------------------------- */

struct contender {
    struct lkr_clients clients;
    const char *key;
    int turns;
    atomic_int *inside;
    int overlaps;
};

enum { CONTENDERS = 3, TURNS = 30 };

static void *contend(void *arg)
{
    struct contender *self = arg;
    lk_lock *lock = lk_redlock_new(self->clients.of, LKR_NODES, self->key, NULL, NULL);

    while (lock && self->turns < TURNS) {
        if (lkr_acquire(lock, 20000, 30000, NULL) != LK_OK) break;
        self->overlaps += atomic_fetch_add(self->inside, 1) > 0;
        atomic_fetch_sub(self->inside, 1);
        self->turns++;
        (void)lk_lock_release(lock, NULL);
    }
    lk_lock_free(lock);
    return NULL;
}

/* Each could get one or two of the five, for ever: nobody keeps what is no majority, or comes back in
   step. Nothing here is freed by a lease. */
TEST_WITH(votes_that_are_split_do_not_stay_so, NULL, lkr_heal_servers)
{
    struct contender contenders[CONTENDERS] = {0};
    atomic_int inside = 0;
    double begin = lks_now_ms();
    const char *key = lkr_key("split");

    for (size_t i = 0; i < CONTENDERS; i++) {
        contenders[i].key = key;
        contenders[i].inside = &inside;
        lkr_open(&contenders[i].clients, (struct lk_client_options){0});
    }
    assert_true(lks_threads(CONTENDERS, contend, contenders, sizeof contenders[0]));

    print_message("# %d turns of three contenders in %.0f ms\n", CONTENDERS * TURNS,
                  lks_now_ms() - begin);
    for (size_t i = 0; i < CONTENDERS; i++) {
        assert_int_equal(contenders[i].turns, TURNS);
        assert_int_equal(contenders[i].overlaps, 0);
        lkr_close(&contenders[i].clients);
    }
}

GROUP(lkr_start_servers, lkr_stop_servers);
