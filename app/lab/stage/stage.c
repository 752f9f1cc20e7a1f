/*
 * The scheduler: lets one actor run at a time, and writes down what it did. One thread, that of the
 * lab; the actors' threads are in actor.c.
 */
#include "stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage_inside.h"
#include "store/store.h"

bool stage_has_failed(const struct stage *stage)
{
    return stage->run->failure.text[0] != '\0';
}

void stage_fail(struct stage *stage, const char *what, const char *whom)
{
    if (stage_has_failed(stage)) return;
    if (tap_is_interrupted()) {
        (void)start_error_say(&stage->run->failure, "interrupted");
    } else {
        (void)start_error_say(&stage->run->failure, "step %zu: %s: %s", stage->run->step_count + 1,
                              whom, what);
    }
}

/* ---- before the first step ------------------------------------------------------------------------ */

static void add_branches(struct stage *stage, struct stage_actor *self)
{
    const struct stage_cast *cast = &self->cast;

    for (unsigned server = 1; server <= SERVERS_MAX; server++) {
        int *branch = &self->branches[server - 1];

        *branch = -1;
        if (stage_has_failed(stage) || !(cast->servers & STAGE_SERVER(server))) continue;
        *branch = tap_add_branch(stage->tap, self->wire, server, &stage->run->failure);
        if (*branch >= 0 && (cast->cut_off & STAGE_SERVER(server))) tap_cut(stage->tap, *branch);
    }
    if (cast->servers && cast->is_process)
        stage_fail(stage, "a process speaks to one server only", cast->name);
}

int stage_add(struct stage *stage, const struct stage_cast *cast)
{
    struct lab_run *run = stage->run;
    int actor = (int)run->actor_count;

    if (run->actor_count == LAB_ACTORS_MAX) {
        stage_fail(stage, "one actor too many", cast->name);
        return 0;
    }
    stage->actors[actor] = (struct stage_actor){
        .cast = *cast,
        .stage = stage,
        .wants = -1,
        .wire = tap_add_wire(stage->tap, cast->name, &run->failure),
    };
    add_branches(stage, &stage->actors[actor]);
    (void)snprintf(stage->actors[actor].order_id, ORDER_ID_MAX, "%d", 1001 + actor);
    run->actors[actor].name = cast->name;
    run->actors[actor].way = cast->guard ? cast->guard->name : "";
    run->actors[actor].is_process = cast->is_process;
    run->actor_count++;
    return actor;
}

void stage_sell(struct stage *stage, long long units)
{
    struct sale sale = {
        .id = STAGE_SALE, .title = "A lamp", .guard = "lab", .initial = units, .starts_ms = 1};
    struct store *store = store_new(stage->observer, "lab", NULL);

    stage->run->units = units;
    if (!store || store_create_sale(store, &sale, NULL) != STORE_OK)
        stage_fail(stage, "the sale could not be put up", STAGE_SALE);
    store_free(store);
}

void stage_keep_order(struct stage *stage)
{
    stage->keeps_order = true;
}

void stage_show_locks(struct stage *stage, const char *first, const char *second)
{
    stage->run->locks[0] = first;
    stage->run->locks[1] = second;
    stage->run->lock_count = second ? 2 : 1;
}

/* ---- steps ----------------------------------------------------------------------------------------- */

void stage_end_step(struct stage *stage, int actor, struct lab_text did)
{
    struct lab_run *run = stage->run;
    struct lab_step *step = &run->steps[run->step_count];

    if (stage_has_failed(stage)) return;
    if (run->step_count == LAB_STEPS_MAX) {
        stage_fail(stage, "a step too many", "the scenario");
        return;
    }
    *step = (struct lab_step){.actor = actor, .did = did, .calls = tap_take_calls(stage->tap)};
    run->step_count++;
    if (!observe(stage, &step->state)) stage_fail(stage, "Redis does not answer", "the observer");
    promises_judge(stage);
}

/* Tell what the buyer was told, when the actor has just ended. */
static void end_actor(struct stage *stage, int actor)
{
    struct stage_actor *self = &stage->actors[actor];
    struct lab_run *run = stage->run;

    if (!stage_has_failed(stage)) run->steps[run->step_count - 1].told = self->told;
}

static void start(struct stage *stage, struct stage_actor *self)
{
    if (self->came == 0) self->came = (unsigned)stage->run->step_count + 1;
    (void)actor_start(self, &stage->run->failure);
}

static void go_on(struct stage *stage, int actor, const char *point, enum tap_fate fate)
{
    struct stage_actor *self = &stage->actors[actor];

    if (stage_has_failed(stage)) return;
    tap_let(stage->tap, self->wire, point, fate);
    start(stage, self);
}

/* It must get there; if it is elsewhere, that is worth a sentence. */
static void await(struct stage *stage, int actor, enum tap_state wanted, const char *point)
{
    static const char *const words[] = {"it does not get on", "it was stopped", "it stands still",
                                        "it has ended", "it waits for a message"};
    struct stage_actor *self = &stage->actors[actor];
    enum tap_state state = TAP_RUNS;
    char what[128];

    if (stage_has_failed(stage)) return;
    state = tap_wait(stage->tap, self->wire, STAGE_LIMIT_MS);
    if (state == TAP_HAS_ENDED) actor_join(self);
    if (state == wanted) return;
    (void)snprintf(what, sizeof what, "%s (told %s), and should be at %s", words[state],
                   state == TAP_HAS_ENDED && self->told ? self->told : "nothing",
                   point ? point : "its end");
    stage_fail(stage, what, self->cast.name);
}

void stage_until(struct stage *stage, int actor, const char *point, struct lab_text did)
{
    go_on(stage, actor, point, TAP_PASS);
    await(stage, actor, TAP_IS_STOPPED, point);
    stage_end_step(stage, actor, did);
}

/* Nobody has killed it. */
static void fail_for_death(struct stage *stage, const struct stage_actor *self)
{
    char what[64];

    (void)snprintf(what, sizeof what, "it died (SIG%s)",
                   self->died_of ? sigabbrev_np(self->died_of) : "");
    stage_fail(stage, self->died_of ? what : "its process has ended amid it", self->cast.name);
}

bool stage_step(struct stage *stage, int actor, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];
    enum tap_state state = TAP_RUNS;

    go_on(stage, actor, TAP_ANY, TAP_PASS);
    if (stage_has_failed(stage)) return false;
    state = tap_wait(stage->tap, self->wire, STAGE_STEP_LIMIT_MS);
    if (state == TAP_IS_PAUSED) { /* which is no exchange */
        tap_tell(stage->tap, self->wire, TAP_RUNS);
        (void)kill(atomic_load(&self->pid), SIGCONT);
        state = tap_wait(stage->tap, self->wire, STAGE_STEP_LIMIT_MS);
    }
    if (state == TAP_HAS_ENDED) actor_join(self);
    stage_end_step(stage, actor, did);
    if (state == TAP_HAS_ENDED) end_actor(stage, actor);
    if (state == TAP_RUNS) stage_fail(stage, "it neither asks Redis nor ends", self->cast.name);
    if (self->is_dead) fail_for_death(stage, self);
    return state == TAP_IS_STOPPED;
}

void stage_finish(struct stage *stage, int actor, struct lab_text did)
{
    go_on(stage, actor, NULL, TAP_PASS);
    await(stage, actor, TAP_HAS_ENDED, NULL);
    stage_end_step(stage, actor, did);
    end_actor(stage, actor);
}

void stage_crash(struct stage *stage, int actor, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];

    if (stage_has_failed(stage)) return;
    actor_kill(self);
    tap_cut(stage->tap, self->wire);
    await(stage, actor, TAP_HAS_ENDED, NULL);
    if (!self->is_dead)
        stage_fail(stage, "it was to be killed, and ended by itself", self->cast.name);
    stage_end_step(stage, actor, did);
}

void stage_end_time(struct stage *stage, struct tap_calls *calls, struct lab_text did)
{
    stage_end_step(stage, LAB_TIME, did);
    if (stage_has_failed(stage)) {
        tap_calls_free(calls);
        return;
    }
    struct lab_step *step = &stage->run->steps[stage->run->step_count - 1];
    tap_calls_free(&step->calls);
    step->calls = *calls;
}

/* How the observer makes time pass, by calls that are shown. */
typedef bool running_out(struct stage *stage, const char *key, struct tap_calls *out);

static void lapse(struct stage *stage, const char *key, struct lab_text did, running_out *run_out)
{
    struct tap_calls calls = {0};

    if (stage_has_failed(stage)) return;
    if (!run_out(stage, key, &calls))
        stage_fail(stage, "there was no lease that could run out", key);
    stage_end_time(stage, &calls, did);
}

void stage_lapse(struct stage *stage, const char *key, struct lab_text did)
{
    promises_note_lapse(stage, key);
    lapse(stage, key, did, observe_lapse);
}

void stage_lapse_place(struct stage *stage, const char *key, struct lab_text did)
{
    lapse(stage, key, did, observe_lapse_first);
}

void stage_wait(struct stage *stage, int actor, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];

    if (stage_has_failed(stage)) return;
    tap_let_wait(stage->tap, self->wire);
    start(stage, self);
    await(stage, actor, TAP_WAITS, "a wait for a message");
    stage_end_step(stage, actor, did);
}

void stage_wake(struct stage *stage, int actor, const char *point, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];

    if (!stage_has_failed(stage) && tap_has_asked(stage->tap, self->wire))
        stage_fail(stage, "it has not slept until the message", self->cast.name);
    stage_hear(stage, actor, point, did);
}

void stage_hear(struct stage *stage, int actor, const char *point, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];

    if (stage_has_failed(stage)) return;
    tap_wake(stage->tap, self->wire, point);
    if (!tap_wait_message(stage->tap, self->wire, STAGE_LIMIT_MS))
        stage_fail(stage, "no message has come that could wake it", self->cast.name);
    await(stage, actor, TAP_IS_STOPPED, point);
    stage_end_step(stage, actor, did);
}

void stage_lose(struct stage *stage, int actor, enum tap_fate fate, const char *point,
                struct lab_text did)
{
    go_on(stage, actor, point, fate);
    await(stage, actor, TAP_IS_STOPPED, point);
    stage_end_step(stage, actor, did);
}

void stage_deliver(struct stage *stage, int actor, struct lab_text did)
{
    if (stage_has_failed(stage)) return;
    if (!tap_deliver(stage->tap, stage->actors[actor].wire, STAGE_LIMIT_MS))
        stage_fail(stage, "what was stuck has not arrived", stage->actors[actor].cast.name);
    stage_end_step(stage, actor, did);
}

void stage_await_renewals(struct stage *stage, int actor, unsigned count, struct lab_text did)
{
    if (stage_has_failed(stage)) return;
    if (!tap_wait_renewals(stage->tap, stage->actors[actor].wire, count, STAGE_LIMIT_MS))
        stage_fail(stage, "the watchdog has not renewed", stage->actors[actor].cast.name);
    stage_end_step(stage, actor, did);
}

void stage_pause(struct stage *stage, int actor, struct lab_text did)
{
    go_on(stage, actor, NULL, TAP_PASS);
    await(stage, actor, TAP_IS_PAUSED, "its pause");
    stage_end_step(stage, actor, did);
}

void stage_resume(struct stage *stage, int actor, struct lab_text did)
{
    struct stage_actor *self = &stage->actors[actor];

    if (stage_has_failed(stage)) return;
    tap_tell(stage->tap, self->wire, TAP_RUNS);
    (void)kill(atomic_load(&self->pid), SIGCONT);
    await(stage, actor, TAP_HAS_ENDED, NULL);
    stage_end_step(stage, actor, did);
    end_actor(stage, actor);
}

/* ---- for bodies -------------------------------------------------------------------------------------- */

lk_client *stage_client(struct stage_actor *self)
{
    return self->client;
}

void stage_wants(struct stage_actor *self, const char *key)
{
    const struct lab_run *run = self->stage->run;

    for (size_t i = 0; i < run->lock_count; i++) {
        if (strcmp(run->locks[i], key) == 0) atomic_store(&self->wants, (int)i);
    }
}

void stage_tried(struct stage_actor *self, bool has_won)
{
    if (has_won) {
        atomic_store(&self->has_won, true);
    } else {
        atomic_fetch_add(&self->lost_rounds, 1);
    }
}
