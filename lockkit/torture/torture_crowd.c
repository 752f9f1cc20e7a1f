/*
 * See torture_crowd.h.
 */
#include "torture_crowd.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture_worker.h"

pid_t torture_fork(void)
{
    pid_t parent = getpid();

    (void)fflush(NULL); /* or the child writes it too */
    pid_t pid = fork();
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before we asked */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    return 0;
}

static void start(struct torture_crowd *crowd, unsigned process)
{
    struct torture_worker_place *place = &crowd->places[process];
    pid_t pid = torture_fork();

    if (pid == 0) _exit(torture_worker_main(crowd->plan, crowd->board, process, place->life));
    place->is_doomed = place->is_paused = false;
    place->pid = pid > 0 ? pid : 0;
    place->life += pid > 0;
}

static void bury(struct torture_crowd *crowd, unsigned process, int status)
{
    struct torture_worker_place *place = &crowd->places[process];

    place->pid = 0;
    if (place->is_doomed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
    torture_violation(crowd->board, "process %u ended by itself: %s %d", process,
                      WIFSIGNALED(status) ? "signal" : "exit status",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void torture_crowd_step(struct torture_crowd *crowd)
{
    bool is_running = atomic_load(&crowd->board->phase) == PHASE_RUN;

    for (unsigned i = 0; i < crowd->plan->processes; i++) {
        struct torture_worker_place *place = &crowd->places[i];
        int status = 0;

        if (place->pid > 0 && waitpid(place->pid, &status, WNOHANG) == place->pid)
            bury(crowd, i, status);
        if (place->pid == 0 && is_running && torture_now_ns() >= place->start_at_ns)
            start(crowd, i);
    }
}

bool torture_crowd_is_gone(const struct torture_crowd *crowd)
{
    for (unsigned i = 0; i < crowd->plan->processes; i++) {
        if (crowd->places[i].pid > 0) return false;
    }
    return true;
}

void torture_crowd_kill(struct torture_crowd *crowd, unsigned process, int64_t start_again_ns)
{
    struct torture_worker_place *place = &crowd->places[process];

    if (place->pid == 0) return;
    place->is_doomed = true;
    place->start_at_ns = start_again_ns;
    (void)kill(place->pid, SIGKILL);
}

void torture_crowd_pause(struct torture_crowd *crowd, unsigned process)
{
    struct torture_worker_place *place = &crowd->places[process];

    place->is_paused = place->pid > 0 && kill(place->pid, SIGSTOP) == 0;
}

void torture_crowd_resume(struct torture_crowd *crowd, unsigned process)
{
    struct torture_worker_place *place = &crowd->places[process];

    if (place->pid > 0) (void)kill(place->pid, SIGCONT);
    place->is_paused = false;
}

void torture_crowd_end(struct torture_crowd *crowd)
{
    for (unsigned i = 0; i < crowd->plan->processes; i++)
        torture_crowd_kill(crowd, i, INT64_MAX);
    for (unsigned i = 0; i < crowd->plan->processes; i++) {
        if (crowd->places[i].pid > 0) (void)waitpid(crowd->places[i].pid, NULL, 0);
        crowd->places[i].pid = 0;
    }
}
