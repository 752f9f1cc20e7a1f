/*
 * See trial.h: the plays, and their order. One thread, that of the lab.
 */
#include "trial.h"

#include <stdio.h>
#include <string.h>

#include "lab/lab.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"

enum { UNITS = 2, A = 0, B = 1 };

/* ---- the plays --------------------------------------------------------------------------------- */

/* One exchange further; true when it is stopped before the next. */
static bool step(const struct trial_play *play, struct stage *stage, int actor)
{
    if (play->marks->steps[actor] > TRIAL_EXCHANGES_MAX) {
        (void)start_error_say(&stage->run->failure,
                              "it asks Redis again and again (%d times, and no end): who must wait "
                              "says so instead, and is called again",
                              TRIAL_EXCHANGES_MAX);
        return false;
    }
    play->marks->steps[actor]++;
    return stage_step(stage, &(struct stage_move){.actor = actor, .did = {"goes on", "继续"}});
}

/* Until it is stopped before its n-th exchange; false: it has ended. */
static bool step_to(const struct trial_play *play, struct stage *stage, int actor, size_t n)
{
    bool is_stopped = play->marks->steps[actor] > 0;

    while (play->marks->steps[actor] < n) {
        is_stopped = step(play, stage, actor);
        if (!is_stopped) break;
    }
    return is_stopped;
}

static void step_to_end(const struct trial_play *play, struct stage *stage, int actor)
{
    while (!stage_has_failed(stage) && step(play, stage, actor)) {}
}

static enum lab_lease lease_now(const struct stage *stage)
{
    const struct lab_run *run = stage->run;

    return run->step_count ? run->steps[run->step_count - 1].state.lock[0].lease : LAB_FREE;
}

static void lapse(struct stage *stage)
{
    STAGE_DO(stage, LAPSE(STAGE_KEY("lock"), "the lease runs out", "租约到期"));
}

/* Does it keep its lock where nobody looks? */
static void find_foreign_key(const struct trial_play *play, struct stage *stage)
{
    lk_reply *reply = SERVERS_ASK(stage->observer, "KEYS", "*");

    for (size_t i = 0; i < lk_reply_count(reply); i++) {
        const char *key = lk_reply_bytes(lk_reply_at(reply, i)).data;

        if (key && strncmp(key, "seckill:", 8) != 0)
            (void)snprintf(play->marks->foreign_key, sizeof play->marks->foreign_key, "%s", key);
    }
    lk_reply_free(reply);
}

static void play_alone(const struct trial_play *play, struct stage *stage)
{
    while (!stage_has_failed(stage) && step(play, stage, A))
        find_foreign_key(play, stage);
    step_to_end(play, stage, B);
}

static void play_two(const struct trial_play *play, struct stage *stage)
{
    bool a_goes_on = step_to(play, stage, A, play->first);
    bool b_goes_on = !stage_has_failed(stage) && step_to(play, stage, B, play->second);

    if (a_goes_on) step_to_end(play, stage, A);
    if (b_goes_on) step_to_end(play, stage, B);
}

static void play_death(const struct trial_play *play, struct stage *stage)
{
    if (!step_to(play, stage, A, play->first)) return;
    STAGE_DO(stage, CRASH(A, "its process dies (SIGKILL)", "进程崩溃（SIGKILL）"));
    if (lease_now(stage) == LAB_FOR_EVER) return;
    if (lease_now(stage) == LAB_LEASED) lapse(stage);
    if (!stage_has_failed(stage)) step_to_end(play, stage, B);
}

static void play_late(const struct trial_play *play, struct stage *stage)
{
    bool b_goes_on = false;

    if (!step_to(play, stage, A, play->first) || lease_now(stage) != LAB_LEASED) return;
    lapse(stage);
    if (!stage_has_failed(stage)) b_goes_on = step_to(play, stage, B, play->second);
    step_to_end(play, stage, A);
    if (b_goes_on) step_to_end(play, stage, B);
}

static void play_it(struct stage *stage)
{
    static void (*const plays[TRIAL_KIND_COUNT])(const struct trial_play *, struct stage *) = {
        [TRIAL_ALONE] = play_alone,
        [TRIAL_TWO] = play_two,
        [TRIAL_DEATH] = play_death,
        [TRIAL_LATE] = play_late,
    };
    const void *first_member = stage->run->scenario;
    const struct trial_play *play = first_member;

    plays[play->kind](play, stage);
}

/* ---- their order --------------------------------------------------------------------------------- */

struct trying {
    struct lab *lab;
    const struct guard *guard;
    void (*progress)(enum trial_kind kind, bool is_first);
    struct trial *trial;
};

/* False: there is trouble. */
static bool play_one(struct trying *self, enum trial_kind kind, size_t first, size_t second)
{
    struct trial *trial = self->trial;
    struct trial_marks marks = {.foreign_key = ""};
    const struct stage_cast actor = {.guard = self->guard, .is_process = true};
    struct trial_play play = {.kind = kind,
                              .marks = &marks,
                              .first = first,
                              .second = second,
                              .scenario = {.number = "-",
                                           .name = trial_kind_text(kind).en,
                                           .title = trial_kind_text(kind),
                                           .lesson = {"", ""},
                                           .cast = {actor, actor},
                                           .units = kind == TRIAL_ALONE ? 1 : UNITS,
                                           .play = play_it}};
    struct lab_run *run = lab_play(self->lab, &play.scenario);

    trial->play_count++;
    if (!run) return start_error_say(&trial->trouble, "out of memory");
    run->scenario = NULL; /* it is on our stack */
    if (run->failure.text[0]) {
        trial->trouble = run->failure;
        trial->trouble_run = run;
        return false;
    }
    if (kind == TRIAL_ALONE) trial_learn(run, &trial->habits);
    if (!trial_judge(&play, run, trial)) lab_run_free(run);
    return true;
}

static bool play_kind(struct trying *self, enum trial_kind kind)
{
    const struct trial_habits *habits = &self->trial->habits;
    size_t count = habits->exchange_count;
    bool is_good = true;

    self->progress(kind, true);
    if (kind == TRIAL_ALONE) return play_one(self, kind, 1, 1);
    /* B at its end first: what is found so is the easiest to read. A death has no second point. */
    for (size_t second = count + 1; is_good && second >= 2; second--) {
        for (size_t first = kind == TRIAL_TWO ? 1 : 2; is_good && first <= count; first++) {
            if (kind == TRIAL_LATE && habits->lease[first - 1] != LAB_LEASED) continue;
            self->progress(kind, false);
            is_good = play_one(self, kind, first, second);
        }
        if (kind == TRIAL_DEATH) break;
    }
    return is_good;
}

bool trial_run(struct lab *lab, const struct guard *guard,
               void (*progress)(enum trial_kind kind, bool is_first), struct trial *out)
{
    struct trying self = {.lab = lab, .guard = guard, .progress = progress, .trial = out};
    bool is_good = true;

    *out = (struct trial){.language = out->language};
    for (enum trial_kind kind = 0; is_good && kind < TRIAL_KIND_COUNT; kind++) {
        is_good = play_kind(&self, kind);
        /* Who does not even sell alone has nothing else to show. */
        if (out->findings[TRIAL_SELLS].state == TRIAL_BROKEN) break;
    }
    if (is_good) trial_conclude(out);
    return is_good;
}

void trial_done(struct trial *trial)
{
    for (size_t i = 0; i < TRIAL_CLAIM_COUNT; i++) {
        bool is_shared = false; /* one play may have broken two claims */

        for (size_t k = 0; k < i; k++)
            is_shared = is_shared || trial->findings[k].run == trial->findings[i].run;
        if (!is_shared) lab_run_free(trial->findings[i].run);
    }
    lab_run_free(trial->trouble_run);
    *trial = (struct trial){.play_count = 0};
}
