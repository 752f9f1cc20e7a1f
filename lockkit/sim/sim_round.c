/*
 * See sim_round.h. Workers, faults and the judge are those of the torture; processes are started and ended here,
 * and their links are in sim_net.c.
 */
#include "sim_round.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_commands.h"
#include "sim_keys.h"
#include "sim_net.h"
#include "sim_redlock.h"
#include "sim_server.h"
#include "sim_threads.h"
#include "test/support/lk_support.h"
#include "torture/torture_faults.h"
#include "torture/torture_hand.h"
#include "torture/torture_observer.h"
#include "torture/torture_worker.h"

enum { STEP_MS = 5, STOP_MS = 15000, RUN_S = 120, SERVER_PID = 999 };
#define EPOCH_MS 1700000000000

struct worker_order {
    struct run *run;
    unsigned process, life;
};

struct run {
    struct torture_plan *plan;
    struct torture_board *board;
    struct torture_crowd crowd;
    struct torture_faults faults;
    struct history_writer writer;
    struct worker_order orders[SIM_PROCESSES_MAX];
    unsigned order_count;
    char path[32];
};

static struct run *links_of; /* the run whose links are set */
static int victim;           /* the server with the present or last fault */
static struct lks_server simulated = {.pid = SERVER_PID};

static void worker(void *arg)
{
    const struct worker_order *order = arg;
    struct run *run = order->run;

    if (torture_worker_main(run->plan, run->board, order->process, order->life) != EXIT_SUCCESS)
        torture_violation(run->board, "process %u could not begin", order->process);
}

static void hand(void *arg)
{
    struct run *run = arg;

    if (torture_hand_main(run->plan, run->board) != EXIT_SUCCESS)
        torture_violation(run->board, "the hand could not begin");
}

static void observer(void *arg)
{
    struct run *run = arg;

    (void)torture_observer_main(run->plan, run->board);
}

/* As torture_crowd_step(), with processes of this world. */
static void step_crowd(struct run *run)
{
    bool is_running = atomic_load(&run->board->phase) == PHASE_RUN;

    for (unsigned i = 0; i < run->plan->processes; i++) {
        struct torture_worker_place *place = &run->crowd.places[i];

        if (place->pid > 0 && sim_process_is_over(place->pid)) place->pid = 0;
        if (place->pid > 0 || !is_running || sim_now() < place->start_at_ns ||
            run->order_count == SIM_PROCESSES_MAX - 3)
            continue;
        struct worker_order *order = &run->orders[run->order_count++];
        *order = (struct worker_order){run, i, place->life++};
        place->is_doomed = place->is_paused = false;
        place->pid = sim_process_start(worker, order);
    }
}

static void step(struct run *run)
{
    lks_nap(STEP_MS);
    step_crowd(run);
}

/* The main process. */
static void conduct(void *arg)
{
    struct run *run = arg;
    struct torture_board *board = run->board;

    (void)sim_process_start(hand, run);
    while (atomic_load(&board->phase) == PHASE_SET_UP)
        step(run);
    int watching = sim_process_start(observer, run);
    torture_faults_begin(&run->faults);
    for (int64_t until_ns = sim_now() + run->plan->run_ms * SIM_MS; sim_now() < until_ns;) {
        torture_faults_step(&run->faults);
        step(run);
    }
    torture_faults_end(&run->faults);
    atomic_store(&board->phase, PHASE_STOP);
    for (int64_t until_ns = sim_now() + STOP_MS * (int64_t)SIM_MS;
         !torture_crowd_is_gone(&run->crowd) && sim_now() < until_ns;)
        step(run);
    if (!torture_crowd_is_gone(&run->crowd))
        torture_violation(board, "a worker does not end within %d ms", STOP_MS);
    atomic_store(&board->phase, PHASE_SWEEP);
    while (atomic_load(&board->phase) == PHASE_SWEEP || !sim_process_is_over(watching))
        lks_nap(STEP_MS);
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name */
SIM_CALL(void, torture_links_set, struct torture_links *links, size_t link,
         enum torture_link_state state)
{
    (void)links;
    if (links_of->crowd.places[link].pid > 0) sim_net_link(links_of->crowd.places[link].pid, state);
}

static void choose_victim(void)
{
    victim = links_of->plan->kind == &sim_redlock ? (int)sim_below(SIM_SERVERS) : 0;
}

/* Of workers, and of the server: SIGKILL, SIGSTOP, SIGCONT. */
SIM_CALL(int, kill, pid_t pid, int sign)
{
    if (pid == SERVER_PID) {
        if (sign == SIGSTOP) choose_victim();
        sim_net_pause_server(victim, sign == SIGSTOP);
    } else if (sign == SIGKILL) {
        sim_process_kill(pid);
        sim_net_end(pid);
    } else {
        sim_process_pause(pid, sign == SIGSTOP);
    }
    return 0;
}

SIM_CALL(void, lks_server_kill, struct lks_server *server)
{
    (void)server;
    choose_victim();
    sim_net_end_server(victim);
}

SIM_CALL(void, lks_server_restart, struct lks_server *server)
{
    (void)server;
    sim_keys_use(victim);
    sim_server_begin(EPOCH_MS);
    sim_net_start_server(victim);
}

/* ---- what else a server can have ---------------------------------------------------------------------- */

static void come_back(void *arg)
{
    (void)arg;
    if (!sim_net_is_down(victim)) return;
    sim_keys_use(victim);
    sim_server_load();
    sim_net_start_server(victim);
}

static void begin_ailment(enum torture_fault fault, int64_t span_ms)
{
    choose_victim();
    sim_keys_use(victim);
    if (fault == FAULT_CLOCK_AHEAD) sim_keys_jump(span_ms);
    if (fault == FAULT_CLOCK_BACK) sim_keys_jump(-span_ms);
    if (fault == FAULT_FULL) sim_commands_ail(SIM_FULL);
    if (fault == FAULT_READONLY) sim_commands_ail(SIM_READONLY);
    if (fault != FAULT_RESTART) return;
    sim_net_end_server(victim);
    sim_at(sim_now() + span_ms * SIM_MS / 2, come_back, NULL);
}

/* It may be over before it has come back. */
static void end_ailment(void)
{
    come_back(NULL);
    sim_keys_use(victim);
    sim_commands_ail(SIM_WELL);
}

static const struct torture_ailments ailments = {begin_ailment, end_ailment};

static void begin_servers(void)
{
    for (int i = SIM_SERVERS; i-- > 0;) {
        sim_keys_use(i);
        sim_server_begin(EPOCH_MS);
    }
}

static void count(const struct run *run, struct sim_totals *totals)
{
    totals->seeds++;
    totals->taken += atomic_load(&run->board->acquires[LK_OK]);
    totals->unknown += atomic_load(&run->board->acquires[LK_UNKNOWN]);
    totals->lost += atomic_load(&run->board->losses);
    for (size_t i = 0; i < FAULT_COUNT; i++)
        totals->faults += atomic_load(&run->board->faults[i]);
}

enum torture_verdict sim_round_run(struct sim_round *round, struct sim_totals *totals,
                                   uint64_t *out_trace)
{
    static struct run run;
    struct torture_plan *plan = &round->plan;

    memset(&run, 0, sizeof run);
    run.plan = plan;
    run.board = torture_board_new();
    if (!run.board || ftruncate(round->history_fd, 0) != 0) return TORTURE_UNABLE;
    (void)snprintf(run.path, sizeof run.path, "/proc/self/fd/%d", round->history_fd);
    (void)snprintf(plan->prefix, sizeof plan->prefix, "sim-");
    plan->keys = plan->kind->keys;
    plan->url = "redis://127.0.0.1:6379";
    plan->links = NULL;
    plan->history_path = run.path;
    if (!history_open(&run.writer, run.path)) return TORTURE_UNABLE;
    run.crowd = (struct torture_crowd){.plan = plan, .board = run.board};
    run.faults = (struct torture_faults){.crowd = &run.crowd,
                                         .links = (struct torture_links *)(void *)&run,
                                         .writer = &run.writer,
                                         .server = &simulated,
                                         .ailments = &ailments,
                                         .deck = {.seed = torture_seed(plan->seed, 0, 0)}};
    links_of = &run;
    sim_threads_begin(plan->seed);
    sim_net_begin(&(struct sim_net_server){sim_server_accept, sim_server_receive, sim_server_bye});
    begin_servers();
    (void)sim_process_start(conduct, &run);
    if (!sim_threads_run(RUN_S * 1000LL * SIM_MS))
        torture_violation(run.board, "nobody could go on");
    *out_trace = sim_threads_trace();
    enum torture_verdict verdict = torture_judge(plan, run.board);
    count(&run, totals);
    torture_board_free(run.board);
    (void)close_range((unsigned)round->history_fd + 1, SIM_FD_BASE - 1, 0);
    return verdict;
}
