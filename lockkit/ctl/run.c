/*
 * lockctl run: take the lock, run the command, give the lock back. The lock is held from before the
 * command begins until after it has ended; when it is lost meanwhile, the command is told to end.
 * lockctl lead: the same, and again after a loss, until the command has ended by itself or a signal has come.
 * The main thread; the lock's renewals are on lockkit's own.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "kinds.h"
#include "note.h"
#include "orphans.h"
#include "signals.h"
#include "wait.h"

enum { SHOWN_MAX = 300, VARIABLE_MAX = 640, LOOK_MS = 50, AGAIN_MS = 1000 };

/* A command under its lock. */
struct run {
    const struct ctl_request *request; /* borrowed */
    struct kinds_hold hold;
    struct signals signals;
    char shown[SHOWN_MAX]; /* the lock's name, for people */
    pid_t pid;             /* 0: it has ended */
    int status;            /* then: its exit status */
    int ends_by;           /* the signal that ends it after a loss; 0: none has to */
    int64_t kill_at_ms;    /* when the grace ends; 0: none runs */
    int64_t held_at_ms;
    bool has_run;
    bool is_lost;
    int caught; /* a signal that came meanwhile; 0: none */
    struct orphans orphans;
};

/* ---- the lock -------------------------------------------------------------------------------- */

static int complain_of_acquire(struct run *run, const struct lk_error *err)
{
    if (err->code == LK_BUSY && kinds_is_unset(&run->hold)) {
        (void)ctl_complain("%s: it has no permits yet: --permits N sets it up", run->shown);
        return CTL_BUSY;
    }
    return ctl_complain_of(run->request->name, err);
}

/* Gives CTL_OK when it is held. */
static int acquire(struct run *run)
{
    struct lk_error err = {0};
    int signal = 0;

    ctl_tell(run->request, "%s %s: asking for it", run->request->kind->name, run->shown);
    lk_status status = wait_for(&run->hold, &run->signals, &signal, &err);
    if (signal != 0) {
        if (status == LK_OK) (void)kinds_release(&run->hold, NULL); /* else its lease ends it */
        return CTL_SIGNAL + signal;
    }
    if (status != LK_OK) return complain_of_acquire(run, &err);
    run->held_at_ms = ctl_now_ms();
    ctl_tell(run->request, "%s: held", run->shown);
    return CTL_OK;
}

/* What --at-least still asks for; 0: nothing, or nothing has run. */
static int64_t rest_of(const struct run *run)
{
    int64_t rest_ms = run->request->at_least_ms - (ctl_now_ms() - run->held_at_ms);

    return run->has_run && !run->is_lost && rest_ms > 0 ? rest_ms : 0;
}

static lk_status give_back(struct run *run, struct lk_error *err)
{
    int64_t rest_ms = rest_of(run);
    char token[LK_INSPECT_OWNER_MAX];

    (void)snprintf(token, sizeof token, "%s",
                   run->has_run && run->hold.lock ? lk_lock_token(run->hold.lock) : "");
    lk_status status =
        rest_ms > 0 ? kinds_leave(&run->hold, rest_ms, err) : kinds_release(&run->hold, err);

    if (status != LK_OK) return status;
    note_remove(&run->hold, token);
    if (rest_ms > 0) {
        ctl_tell(run->request, "%s: it ends in %" PRId64 " ms", run->shown, rest_ms);
    } else {
        ctl_tell(run->request, "%s: given back", run->shown);
    }
    return status;
}

/* The exit status, when the command ended with this one. */
static int release(struct run *run, int status)
{
    bool is_ignored = run->request->on_lost == CTL_ON_LOST_IGNORE;
    struct lk_error err = {0};
    lk_status released = give_back(run, &err);

    if (run->is_lost) return is_ignored ? status : CTL_LOST;
    if (released == LK_OK) return status;
    if (released != LK_NOT_OWNER) {
        (void)ctl_complain_of(run->request->name, &err);
        (void)ctl_complain("%s: perhaps not given back; its lease will end it", run->shown);
        return status;
    }
    (void)ctl_complain("%s: the lock was lost before the command ended", run->shown);
    return is_ignored ? status : CTL_LOST;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int death_signal_of(const struct ctl_request *request)
{
    switch (request->on_lost) {
    case CTL_ON_LOST_TERM:
        return SIGTERM;
    case CTL_ON_LOST_KILL:
        return SIGKILL;
    case CTL_ON_LOST_IGNORE:
        break;
    }
    return 0;
}

/* CTL_OK when it runs. */
static int start(struct run *run)
{
    static const char *const names[] = {
        "LOCKKIT_LOCK=", "LOCKKIT_KIND=", "LOCKKIT_TOKEN=", "LOCKKIT_FENCE=", NULL};
    const lk_lock *lock = run->hold.lock;
    uint64_t fence = lock ? lk_lock_fence(lock) : 0;
    char values[4][VARIABLE_MAX];
    const char *extras[5] = {values[0], values[1], values[2], NULL};

    (void)snprintf(values[0], VARIABLE_MAX, "%s%s", names[0], run->request->name);
    (void)snprintf(values[1], VARIABLE_MAX, "%s%s", names[1], run->request->kind->name);
    (void)snprintf(values[2], VARIABLE_MAX, "%s%s", names[2], lock ? lk_lock_token(lock) : "");
    (void)snprintf(values[3], VARIABLE_MAX, "%s%" PRIu64, names[3], fence);
    if (fence > 0) extras[3] = values[3];
    run->pid = command_start(&(struct command_start){.words = run->request->command,
                                                     .mask = &run->signals.before,
                                                     .death_signal = death_signal_of(run->request),
                                                     .extras = extras,
                                                     .names = names});
    run->has_run = run->pid > 0;
    if (run->has_run) {
        note_write(&run->hold, run->pid);
        return CTL_OK;
    }
    run->pid = 0;
    (void)ctl_complain("the command cannot be started: %s", strerrordesc_np(errno));
    return errno == E2BIG ? CTL_CANNOT_RUN : CTL_SYSTEM;
}

/* What came from the terminal, the command has got too, unless it left our process group. */
static void pass_on(const struct run *run, const struct signals_event *event)
{
    if (event->is_from_terminal && getpgid(run->pid) == getpgrp()) return;
    (void)kill(run->pid, event->number); /* not waited for yet, so it is ours */
}

/* Wait for those that have ended; what the command left behind is ours too. */
static void reap(struct run *run)
{
    int wait_status = 0;
    pid_t pid = 0;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        if (pid != run->pid) continue;
        run->status = command_status(wait_status);
        run->pid = 0;
    }
}

/* The command, and from the next look on what it has started. */
static void end_by(struct run *run, int number)
{
    run->ends_by = number;
    orphans_begin(&run->orphans, run->pid, number);
    if (run->pid > 0) (void)kill(run->pid, number);
}

static void act_on_loss(struct run *run)
{
    run->is_lost = true;
    switch (run->request->on_lost) {
    case CTL_ON_LOST_TERM:
        (void)ctl_complain("%s: the lock was lost; the command is told to end (TERM)", run->shown);
        end_by(run, SIGTERM);
        run->kill_at_ms = ctl_now_ms() + run->request->grace_ms;
        return;
    case CTL_ON_LOST_KILL:
        (void)ctl_complain("%s: the lock was lost; the command is killed", run->shown);
        end_by(run, SIGKILL);
        return;
    case CTL_ON_LOST_IGNORE:
        (void)ctl_complain("%s: the lock was lost; the command goes on without it", run->shown);
        return;
    }
}

static void tend_grace(struct run *run)
{
    if (run->ends_by != SIGTERM || ctl_now_ms() < run->kill_at_ms) return;
    (void)ctl_complain("%s: the command has not ended in %" PRId64 " ms; it is killed", run->shown,
                       run->request->grace_ms);
    end_by(run, SIGKILL);
}

/* Whether all is over: the command, and after a loss also what it had started. */
static bool is_over(struct run *run)
{
    reap(run);
    if (run->ends_by == 0) return run->pid == 0;
    tend_grace(run);
    return orphans_tell(&run->orphans) == 0 && run->pid == 0;
}

/* Until it is over; the command's exit status. */
static int attend(struct run *run)
{
    struct pollfd fds[] = {{.fd = run->signals.fd, .events = POLLIN},
                           {.fd = run->hold.lost_fd, .events = POLLIN}};
    struct signals_event event;

    while (!is_over(run)) {
        (void)poll(fds, 2, run->ends_by ? LOOK_MS : -1); /* interrupted: it looks again */
        if (fds[1].revents) {
            act_on_loss(run);
            fds[1].fd = -1; /* it stays readable */
            fds[1].revents = 0;
        }
        while (signals_read(&run->signals, &event)) {
            if (event.number == SIGCHLD) continue;
            run->caught = event.number;
            if (run->pid > 0) pass_on(run, &event);
        }
    }
    return run->status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int run_under_lock(struct run *run)
{
    int status = acquire(run);

    if (status != CTL_OK) return status;
    orphans_adopt(&run->orphans);
    status = start(run);
    return release(run, status == CTL_OK ? attend(run) : status);
}

/* What is worth another campaign, after a while: no server, no room there, an answer that came late. */
static bool is_passing(int status)
{
    return status == CTL_UNREACHABLE || status == CTL_REFUSED || status == CTL_BUSY;
}

/* A second; a signal ends it. */
static void pause_a_while(struct run *run)
{
    struct pollfd poll_fd = {.fd = run->signals.fd, .events = POLLIN};
    struct signals_event event;

    if (poll(&poll_fd, 1, AGAIN_MS) <= 0) return;
    while (signals_read(&run->signals, &event))
        if (event.number != SIGCHLD) run->caught = event.number;
}

static int lead_while_elected(struct run *run)
{
    for (;;) {
        run->has_run = run->is_lost = false;
        run->ends_by = 0;
        int status = run_under_lock(run);
        bool is_again = run->has_run ? run->is_lost : is_passing(status);

        if (is_again && !run->has_run) pause_a_while(run);
        if (!is_again) return status;
        if (run->caught) return CTL_SIGNAL + run->caught;
    }
}

static int with_lock(const struct ctl_request *request, int (*work)(struct run *run))
{
    struct run run = {.request = request};
    int status = CTL_SYSTEM;

    ctl_escape(request->name, run.shown, sizeof run.shown);
    if (signals_open(&run.signals)) {
        status = kinds_open(request, &run.hold);
        if (status == CTL_OK) status = work(&run);
        kinds_close(&run.hold);
    } else {
        (void)ctl_complain("signals cannot be waited for: %s", strerrordesc_np(errno));
    }
    signals_close(&run.signals);
    return status;
}

int ctl_run(const struct ctl_request *request)
{
    return with_lock(request, run_under_lock);
}

int ctl_lead(const struct ctl_request *request)
{
    return with_lock(request, lead_while_elected);
}
