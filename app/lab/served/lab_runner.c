/*
 * See lab_runner.h. Whoever asks leaves the scenario in the runner and waits; the thread takes it,
 * plays, and leaves the answer there.
 */
#include "lab_runner.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"

/* In a queue, on its thread's stack. */
struct turn {
    struct turn *next;
};

struct lab_runner {
    struct lab_runner_options options;
    pthread_t thread;
    pthread_cond_t changed;
    pthread_mutex_t mutex; /* guards all below */
    bool is_stopping;
    struct turn *turns; /* of those who wait; the first is next */
    bool is_taken;      /* from the moment somebody asks until that one has the answer */
    bool is_late;       /* interrupted because of limit_ms */
    bool is_done;       /* status and answer are there */
    bool is_asked;      /* wish is there, and does not play yet */
    struct lab_wish wish;
    int64_t limit_ms; /* of it */
    lab_runner_status status;
    struct lab_runner_answer answer;
};

/* ---- the thread ---------------------------------------------------------------------------------- */

/* Wait for a change; false when that moment came first. */
static bool wait_locked(struct lab_runner *self, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};

    return pthread_cond_clockwait(&self->changed, &self->mutex, CLOCK_MONOTONIC, &until) == 0;
}

/* Takes json. */
static lab_runner_status take_json(char *json, struct lab_runner_answer *out)
{
    if (json && strlen(json) <= LAB_RUNNER_JSON_MAX) {
        out->json = json;
        return LAB_RUNNER_PLAYED;
    }
    (void)start_error_say(&out->why, json ? "its answer would be too large" : "out of memory");
    free(json);
    return LAB_RUNNER_FAILED;
}

static lab_runner_status play_in(struct lab *lab, const struct lab_wish *wish,
                                 struct lab_runner_answer *out)
{
    struct schedule *schedule = wish->schedule;
    lab_runner_status status = LAB_RUNNER_FAILED;

    if (schedule) (void)schedule_play(schedule, lab);
    struct lab_run *run = schedule ? schedule->run : lab_play(lab, wish->scenario);
    if (!run) {
        (void)start_error_say(&out->why, "out of memory");
    } else if (run->failure.text[0]) {
        out->why = run->failure;
    } else {
        status = take_json(schedule ? schedule_json(schedule, wish->language)
                                    : render_json(run, wish->language),
                           out);
    }
    out->is_broken = run && run->break_count > 0;
    lab_run_free(run);
    if (schedule) schedule->run = NULL;
    return status;
}

static lab_runner_status search_in(struct lab *lab, struct explore *search,
                                   struct lab_runner_answer *out)
{
    explore_run(search, lab);
    if (search->verdict != EXPLORE_TROUBLE) return take_json(explore_json(search), out);
    out->why = search->trouble;
    return LAB_RUNNER_FAILED;
}

/* In the lab, opened if it is not; one that something went wrong with is closed. */
static lab_runner_status play(struct lab **lab, const struct lab_wish *wish,
                              struct lab_runner_answer *out)
{
    const char *lacks = wish->scenario ? scenarios_lack(wish->scenario) : NULL;

    if (lacks) (void)start_error_say(&out->why, "not installed: %s", lacks);
    if (lacks) return LAB_RUNNER_UNAVAILABLE;
    if (!*lab) *lab = lab_open(&out->why);
    if (!*lab) return LAB_RUNNER_UNAVAILABLE;
    lab_runner_status status =
        wish->search ? search_in(*lab, wish->search, out) : play_in(*lab, wish, out);
    if (status == LAB_RUNNER_PLAYED) return status;
    lab_close(*lab);
    *lab = NULL;
    return status;
}

static void answer_locked(struct lab_runner *self, lab_runner_status status,
                          const struct lab_runner_answer *answer)
{
    self->status = status;
    self->answer = *answer;
    if (status != LAB_RUNNER_PLAYED && self->is_stopping) {
        self->status = LAB_RUNNER_STOPPED;
    } else if (status == LAB_RUNNER_FAILED && self->is_late) {
        (void)start_error_say(&self->answer.why, "it took longer than %lld ms and was interrupted",
                              (long long)self->limit_ms);
    }
    self->is_done = true;
    (void)pthread_cond_broadcast(&self->changed);
}

/* Play what was asked for; the mutex is free meanwhile. */
static void serve_locked(struct lab_runner *self, struct lab **lab)
{
    struct lab_wish wish = self->wish;
    struct lab_runner_answer answer = {0};

    self->is_asked = false;
    tap_forget_interrupt(); /* of the run before; nobody interrupts without the mutex */
    (void)pthread_mutex_unlock(&self->mutex);
    lab_runner_status status = play(lab, &wish, &answer);
    (void)pthread_mutex_lock(&self->mutex);
    answer_locked(self, status, &answer);
}

static void *runner_main(void *arg)
{
    struct lab_runner *self = arg;
    struct lab *lab = NULL;
    int64_t close_at_ms = 0;

    (void)pthread_mutex_lock(&self->mutex);
    while (!self->is_stopping) {
        if (self->is_asked) {
            serve_locked(self, &lab);
            close_at_ms = clock_mono_ms() + self->options.idle_ms;
        } else if (!lab) {
            (void)pthread_cond_wait(&self->changed, &self->mutex);
        } else if (clock_mono_ms() < close_at_ms) {
            (void)wait_locked(self, close_at_ms);
        } else {
            (void)pthread_mutex_unlock(&self->mutex);
            lab_close(lab);
            lab = NULL;
            (void)pthread_mutex_lock(&self->mutex);
        }
    }
    if (self->is_asked) answer_locked(self, LAB_RUNNER_STOPPED, &(struct lab_runner_answer){0});
    self->is_asked = false;
    (void)pthread_mutex_unlock(&self->mutex);
    lab_close(lab);
    return NULL;
}

/* ---- public -------------------------------------------------------------------------------------- */

static void await_answer_locked(struct lab_runner *self, int64_t late_at_ms)
{
    while (!self->is_done && clock_mono_ms() < late_at_ms)
        (void)wait_locked(self, late_at_ms);
    if (self->is_done) return;
    self->is_late = true;
    tap_interrupt();
    while (!self->is_done)
        (void)pthread_cond_wait(&self->changed, &self->mutex);
}

/* Take the runner, in the order of coming; false: that took too long, or it stops. */
static bool take_turn_locked(struct lab_runner *self)
{
    int64_t until_ms = clock_mono_ms() + self->options.turn_ms;
    struct turn turn = {.next = NULL};
    struct turn **at = &self->turns;

    while (*at)
        at = &(*at)->next;
    *at = &turn;
    while ((self->is_taken || self->turns != &turn) && !self->is_stopping &&
           clock_mono_ms() < until_ms)
        (void)wait_locked(self, until_ms);
    bool is_ours = !self->is_taken && self->turns == &turn && !self->is_stopping;

    for (at = &self->turns; *at != &turn;)
        at = &(*at)->next;
    *at = turn.next;
    self->is_taken = self->is_taken || is_ours;
    (void)pthread_cond_broadcast(&self->changed);
    return is_ours;
}

lab_runner_status lab_runner_play(struct lab_runner *self, const struct lab_wish *wish,
                                  struct lab_runner_answer *out)
{
    lab_runner_status status = LAB_RUNNER_BUSY;

    *out = (struct lab_runner_answer){0};
    (void)pthread_mutex_lock(&self->mutex);
    if (take_turn_locked(self)) {
        self->is_late = self->is_done = false;
        self->is_asked = true;
        self->wish = *wish;
        self->limit_ms = wish->scenario ? self->options.limit_ms
                         : wish->search ? wish->search->limit_ms + LAB_RUNNER_SCHEDULE_MS
                                        : LAB_RUNNER_SCHEDULE_MS;
        (void)pthread_cond_broadcast(&self->changed);
        await_answer_locked(self, clock_mono_ms() + self->limit_ms);
        status = self->status;
        *out = self->answer;
        self->is_taken = false;
        (void)pthread_cond_broadcast(&self->changed);
    } else if (self->is_stopping) {
        status = LAB_RUNNER_STOPPED;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return status;
}

struct lab_runner *lab_runner_new(const struct lab_runner_options *options)
{
    struct lab_runner *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    if (self->options.limit_ms == 0) self->options.limit_ms = LAB_RUNNER_LIMIT_MS;
    if (self->options.idle_ms == 0) self->options.idle_ms = LAB_RUNNER_IDLE_MS;
    (void)pthread_cond_init(&self->changed, NULL);
    (void)pthread_mutex_init(&self->mutex, NULL);
    if (pthread_create(&self->thread, NULL, runner_main, self) == 0) return self;
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
    return NULL;
}

void lab_runner_stop(struct lab_runner *self)
{
    if (!self) return;
    (void)pthread_mutex_lock(&self->mutex);
    self->is_stopping = true;
    tap_interrupt();
    (void)pthread_cond_broadcast(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
}

void lab_runner_free(struct lab_runner *self)
{
    if (!self) return;
    lab_runner_stop(self);
    (void)pthread_join(self->thread, NULL);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}
