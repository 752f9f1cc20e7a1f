/*
 * See torture_round.h. The calling process starts all others, disturbs them, passes on the bytes of
 * their links, and judges: by the board, by the history, and by whether enough has happened.
 */
#include "torture_round.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"
#include "torture_faults.h"
#include "torture_hand.h"
#include "torture_observer.h"
#include "torture_worker.h"

enum {
    STEP_MS = 10,
    PROGRESS_MS = 1000,
    STOP_MS = 15000,  /* for all workers to end by themselves */
    SWEEP_MS = 60000, /* for what is done afterwards */
    NS_PER_MS = 1000000,
};

struct run {
    struct torture_round *round;
    struct torture_board *board;
    struct lks_server *server; /* private; NULL: the caller's */
    struct torture_crowd crowd;
    struct torture_links *links;
    struct torture_faults faults;
    struct history_writer writer;
    pid_t hand;
    pid_t observer; /* 0: there is none */
    char dir[64];
    char history_path[96];
    int64_t began_ns;
    int64_t shown_ns;
    int64_t last_step_ns;
};

static int phase_of(const struct run *run)
{
    return atomic_load(&run->board->phase);
}

/* ---- the run --------------------------------------------------------------------------------------- */

static void show_progress(struct run *run)
{
    int64_t now = torture_now_ns();

    if (!run->round->shows_progress || now < run->shown_ns + PROGRESS_MS * (int64_t)NS_PER_MS)
        return;
    run->shown_ns = now;
    (void)fprintf(stderr, "\r%-14s %3lld of %lld s  %8ld taken  %4ld faults  %d found ",
                  run->round->plan.kind->name, (long long)((now - run->began_ns) / 1000000000),
                  (long long)run->round->plan.run_ms / 1000,
                  atomic_load(&run->board->acquires[LK_OK]), torture_fault_count(run->board),
                  atomic_load(&run->board->violations));
}

/* Bytes, deaths, faults. */
static void step(struct run *run)
{
    if (run->links)
        torture_links_step(run->links, STEP_MS);
    else
        lks_nap(STEP_MS);
    torture_crowd_step(&run->crowd);
    int64_t now = torture_now_ns();
    long late_ms = (long)((now - run->last_step_ns) / NS_PER_MS);
    if (run->last_step_ns > 0) {
        torture_note_noise(&run->writer, 0, run->last_step_ns, now);
        if (late_ms > atomic_load(&run->board->late_ms))
            atomic_store(&run->board->late_ms, late_ms);
    }
    run->last_step_ns = now;
    show_progress(run);
}

static bool is_interrupted(const struct run *run)
{
    return run->round->is_interrupted && *run->round->is_interrupted;
}

/* Until the phase is another, or a time is over, or somebody wants to end all. */
static bool stay_in(struct run *run, int phase, int64_t most_ms)
{
    int64_t until_ns = torture_now_ns() + most_ms * NS_PER_MS;

    while (phase_of(run) == phase && torture_now_ns() < until_ns && !is_interrupted(run))
        step(run);
    return phase_of(run) != phase;
}

static void disturb(struct run *run)
{
    int64_t until_ns = run->began_ns + run->round->plan.run_ms * NS_PER_MS;

    torture_faults_begin(&run->faults);
    while (torture_now_ns() < until_ns && !is_interrupted(run)) {
        torture_faults_step(&run->faults);
        step(run);
    }
    torture_faults_end(&run->faults);
}

/* All shall end by themselves; who does not is stuck. */
static void stop_workers(struct run *run)
{
    int64_t until_ns = torture_now_ns() + (int64_t)STOP_MS * NS_PER_MS;

    atomic_store(&run->board->phase, PHASE_STOP);
    while (!torture_crowd_is_gone(&run->crowd) && torture_now_ns() < until_ns &&
           !is_interrupted(run))
        step(run);
    if (!torture_crowd_is_gone(&run->crowd) && !is_interrupted(run)) {
        torture_violation(run->board, "a worker does not end within %d ms", STOP_MS);
        torture_crowd_end(&run->crowd);
    }
    atomic_store(&run->board->phase, PHASE_SWEEP);
}

static bool go_through_phases(struct run *run)
{
    if (!stay_in(run, PHASE_SET_UP, STOP_MS)) return false;
    run->began_ns = torture_now_ns();
    disturb(run);
    stop_workers(run);
    if (!stay_in(run, PHASE_SWEEP, SWEEP_MS)) return false;
    if (run->observer > 0) (void)waitpid(run->observer, NULL, 0);
    run->observer = 0;
    return true;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static bool make_folder(struct run *run)
{
    (void)snprintf(run->dir, sizeof run->dir, "/tmp/lockkit-torture-XXXXXX");
    if (!mkdtemp(run->dir)) return false;
    (void)snprintf(run->history_path, sizeof run->history_path, "%s/history", run->dir);
    return history_open(&run->writer, run->history_path);
}

static bool make_links(struct run *run)
{
    char server[96];

    (void)snprintf(server, sizeof server, "%s/s", run->server->dir);
    run->links = torture_links_open(run->dir, server, run->round->plan.processes);
    run->round->plan.links = run->dir;
    return run->links != NULL;
}

static void name_keys(struct torture_plan *plan)
{
    static unsigned rounds;

    (void)snprintf(plan->prefix, sizeof plan->prefix, "torture-%d-%u-", (int)getpid(), rounds++);
}

static bool begin(struct run *run)
{
    struct torture_plan *plan = &run->round->plan;

    name_keys(plan);
    plan->keys = plan->kind->keys;
    plan->links = NULL;
    run->board = torture_board_new();
    run->crowd = (struct torture_crowd){.plan = plan, .board = run->board};
    if (!run->board || !make_folder(run)) return false;
    plan->history_path = run->history_path;
    plan->url = run->round->url;
    if (!plan->url) {
        run->server = lks_server_start(NULL);
        plan->url = run->server->url;
        if (!make_links(run)) return false;
    }
    run->faults = (struct torture_faults){.crowd = &run->crowd,
                                          .links = run->links,
                                          .writer = &run->writer,
                                          .server = run->server,
                                          .deck = {.seed = torture_seed(plan->seed, 0, 0)}};
    run->hand = torture_fork();
    if (run->hand == 0) _exit(torture_hand_main(plan, run->board));
    if (plan->kind->watched == 0) return run->hand > 0;
    run->observer = torture_fork();
    if (run->observer == 0) _exit(torture_observer_main(plan, run->board));
    return run->hand > 0 && run->observer > 0;
}

static void remove_folder(const struct run *run)
{
    char path[128];

    for (unsigned i = 0; i < run->round->plan.processes; i++) {
        (void)snprintf(path, sizeof path, "%s/%u", run->dir, i);
        (void)unlink(path);
    }
    (void)unlink(run->history_path);
    (void)rmdir(run->dir);
}

static void end(struct run *run)
{
    torture_crowd_end(&run->crowd);
    if (run->hand > 0) {
        if (phase_of(run) != PHASE_OVER) (void)kill(run->hand, SIGKILL);
        (void)waitpid(run->hand, NULL, 0);
    }
    if (run->observer > 0 && kill(run->observer, SIGKILL) == 0)
        (void)waitpid(run->observer, NULL, 0);
    torture_links_close(run->links);
    lks_server_stop(run->server);
    if (run->writer.fd >= 0) history_close(&run->writer);
    if (run->history_path[0]) remove_folder(run);
    torture_board_free(run->board);
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

/* Add the round's lines to a file that stays. */
static void keep_history(const struct run *run, const char *path, const char *mode)
{
    char block[65536];
    FILE *from = fopen(run->history_path, "r");
    FILE *to = fopen(path, mode);
    size_t got = 0;

    while (from && to && (got = fread(block, 1, sizeof block, from)) > 0)
        (void)fwrite(block, 1, got, to); /* what is wrong shows when it is closed */
    if (from) (void)fclose(from);
    if (!to || fclose(to) != 0)
        (void)fprintf(stderr, "torture: %s: %s\n", path, strerrordesc_np(errno));
}

static void keep_what_is_worth(const struct run *run, enum torture_verdict verdict)
{
    const struct torture_plan *plan = &run->round->plan;
    char path[128];

    if (run->round->history_path) keep_history(run, run->round->history_path, "a");
    if (verdict != TORTURE_FOUND) return;
    (void)printf("  again: torture --kind %s --seed %lu --seconds %lld\n", plan->kind->name,
                 (unsigned long)plan->seed, (long long)plan->run_ms / 1000);
    if (run->round->history_path || plan->kind->is_flawed) return;
    (void)snprintf(path, sizeof path, "/tmp/torture-%s-%lu.history", plan->kind->name,
                   (unsigned long)plan->seed);
    keep_history(run, path, "w");
    (void)printf("  history: %s\n", path);
}

enum torture_verdict torture_round_run(struct torture_round *round)
{
    struct run run = {.round = round, .writer = {.fd = -1}};
    enum torture_verdict verdict = TORTURE_UNABLE;

    bool is_done = begin(&run) && go_through_phases(&run);
    if (round->shows_progress) (void)fprintf(stderr, "\r%78s\r", "");
    if (is_interrupted(&run))
        verdict = TORTURE_INTERRUPTED;
    else if (is_done)
        verdict = torture_judge(&round->plan, run.board);
    if (verdict == TORTURE_CLEAN || verdict == TORTURE_FOUND || verdict == TORTURE_VOID)
        keep_what_is_worth(&run, verdict);
    end(&run);
    (void)fflush(stdout);
    return verdict;
}
