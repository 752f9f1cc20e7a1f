/*
 * The only global state of lockbench: one flag, set by a signal handler.
 */
#include "moment.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t has_come;

int64_t moment_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static lk_status run_slice(struct moment_turns *turns, size_t side, moment_step step, void *arg,
                           struct lk_error *err)
{
    int64_t begin_ns = moment_ns();
    lk_status status = LK_OK;

    for (size_t i = 0; i < turns->each && status == LK_OK; i++)
        status = step(arg, side, err);
    turns->us[side][turns->count] = (double)(moment_ns() - begin_ns) / 1e3 / (double)turns->each;
    return status;
}

lk_status moment_take_turns(struct moment_turns *turns, int64_t duration_ms, moment_step step,
                            void *arg, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + duration_ms * 1000000;
    lk_status status = LK_OK;

    for (turns->count = 0; status == LK_OK && turns->count < MOMENT_SLICES_MAX; turns->count++) {
        if (turns->count > 0 && moment_ns() >= until_ns) break;
        size_t first = turns->count % 2;

        status = run_slice(turns, first, step, arg, err);
        if (status == LK_OK) status = run_slice(turns, 1 - first, step, arg, err);
    }
    return status;
}

void moment_nap_us(int64_t us)
{
    struct timespec span = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    (void)nanosleep(&span, NULL);
}

static void note_signal(int signal)
{
    (void)signal;
    has_come = 1;
}

static void handle(void (*stopping)(int), void (*broken_pipe)(int))
{
    struct sigaction action = {.sa_handler = stopping}; /* no SA_RESTART: naps end early */

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    action.sa_handler = broken_pipe;
    (void)sigaction(SIGPIPE, &action, NULL);
}

void moment_interrupt_watch(void)
{
    handle(note_signal, SIG_IGN); /* a player that died shows by its silence */
}

bool moment_interrupt_came(void)
{
    return has_come != 0;
}

void moment_interrupt_forget(void)
{
    handle(SIG_DFL, SIG_DFL);
}
