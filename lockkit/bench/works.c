/*
 * Progress goes to standard error, on one line if that is a terminal. One thread.
 */
#include "works.h"

#include <stdio.h>
#include <unistd.h>

#include "moment.h"

enum { WARM_UP_MS = 500 };

static work_function *const works[WORK_COUNT] = {
    [WORK_PAIR] = pair_work,     [WORK_RATE] = crowd_rate,       [WORK_HANDOVER] = crowd_handover,
    [WORK_PASS] = renewal_pass,  [WORK_UPKEEP] = renewal_upkeep, [WORK_LEAVE] = leave_work,
    [WORK_QUORUM] = quorum_work,
};

struct progress {
    size_t round, rounds, task, tasks;
};

static void show(const struct progress *progress, const struct task *task)
{
    char name[64] = "";

    plan_task_name(task, name, sizeof name);
    (void)fprintf(stderr,
                  isatty(STDERR_FILENO) ? "\r\x1b[Kround %zu/%zu, %zu/%zu: %s"
                                        : "round %zu/%zu, %zu/%zu: %s\n",
                  progress->round, progress->rounds, progress->task, progress->tasks, name);
}

static lk_status run_task(struct task *task, struct stage *stage, bool is_counted,
                          struct lk_error *err)
{
    double values[VALUES_MAX] = {0};
    struct lk_error why = {0};
    lk_status status = works[task->work](stage, task, values, &why);

    stage->serial += 100; /* what a child has named is its own */
    if (status == LK_CANCELLED) {
        *err = why;
    } else if (status != LK_OK) {
        task->is_absent = status == LK_INVALID && task->library != LOCKKIT;
        (void)snprintf(task->doubt, sizeof task->doubt, "%s", why.text);
        if (!task->is_absent) stage_drop(stage, task->library);
    } else if (is_counted) {
        for (size_t i = 0; i < VALUES_MAX; i++)
            task->values[i][task->rounds] = values[i];
        task->rounds++;
    }
    return status == LK_CANCELLED ? status : LK_OK;
}

/* What is to do: wanted, and not known to fail; to get warm, players only: a child is always new. */
static size_t list_open(const struct plan *plan, bool is_warm_up, size_t out_open[TASKS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *task = &plan->tasks[i];
        bool has_player =
            task->work != WORK_PAIR && task->work != WORK_PASS && task->work != WORK_LEAVE;

        if (task->is_wanted && !task->doubt[0] && (has_player || !is_warm_up))
            out_open[count++] = i;
    }
    return count;
}

static lk_status run_round(struct plan *plan, struct stage *stage, struct progress *progress,
                           struct lk_error *err)
{
    size_t open[TASKS_MAX], order[TASKS_MAX];
    lk_status status = LK_OK;

    progress->tasks = list_open(plan, progress->round == 0, open);
    plan_shuffle(order, progress->tasks, stage->seed, progress->round);
    for (size_t i = 0; i < progress->tasks && status == LK_OK; i++) {
        struct task *task = &plan->tasks[open[order[i]]];

        progress->task = i + 1;
        show(progress, task);
        status = run_task(task, stage, progress->round > 0, err);
    }
    return status;
}

lk_status works_run(struct plan *plan, struct stage *stage, size_t repeat, struct lk_error *err)
{
    struct progress progress = {.rounds = repeat};
    int64_t duration_ms = stage->duration_ms;
    lk_status status = LK_OK;

    stage->duration_ms = duration_ms < WARM_UP_MS ? duration_ms : WARM_UP_MS;
    for (; progress.round <= repeat && status == LK_OK; progress.round++) {
        status = run_round(plan, stage, &progress, err);
        stage->duration_ms = duration_ms;
    }
    if (isatty(STDERR_FILENO)) (void)fputs("\r\x1b[K", stderr);
    return status;
}
