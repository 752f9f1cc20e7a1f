/*
 * The scheduler: lets one actor run at a time, and writes down what it did. One thread, that of the
 * lab; the actors' threads are in actor.c.
 */
#include "stage.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server_commands.h"
#include "stage_internal.h"
#include "store/store.h"

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

    for (unsigned server = 1; server < TAP_SERVERS_MAX; server++) {
        int *branch = &self->branches[server];

        *branch = -1;
        if (stage_has_failed(stage) || !(cast->servers & STAGE_SERVER(server))) continue;
        *branch = tap_add_branch(stage->tap, self->wire, server, &stage->run->failure);
        if (*branch >= 0 && (cast->cut_off & STAGE_SERVER(server))) tap_cut(stage->tap, *branch);
    }
    if (cast->servers && cast->is_process && !stage->program)
        stage_fail(stage, "a process speaks to one server only", cast->name);
}

int stage_add(struct stage *stage, const struct stage_cast *cast)
{
    static const char *const names[LAB_ACTORS_MAX] = {"A", "B", "C", "D"};
    struct lab_run *run = stage->run;
    int actor = (int)run->actor_count;

    if (run->actor_count == LAB_ACTORS_MAX) {
        stage_fail(stage, "one actor too many", "the scenario");
        return 0;
    }
    const char *name = cast->name ? cast->name : names[actor];
    struct stage_actor *self = &stage->actors[actor];
    struct stage_home *home = &stage->homes[actor];
    bool is_same_order = stage->program && stage->program->task->roles[0];

    if (!home->client)
        home->wire = stage->program ? tap_add_port(stage->tap, name, &run->failure)
                                    : tap_add_wire(stage->tap, name, &run->failure);
    *self = (struct stage_actor){
        .cast = *cast, .stage = stage, .home = home, .wire = home->wire, .wants = -1};
    self->cast.name = name;
    if (stage->beside) self->cast.servers |= STAGE_SERVER(stage->beside);
    add_branches(stage, self);
    (void)snprintf(self->order_id, ORDER_ID_MAX, "%d",
                   STAGE_FIRST_ORDER + (is_same_order ? 0 : actor));
    run->actors[actor].name = name;
    run->actors[actor].way = cast->guard ? cast->guard->name : "";
    run->actors[actor].is_process = cast->is_process;
    run->actor_count++;
    return actor;
}

void stage_sell(struct stage *stage, long long units)
{
    struct sale sale = {
        .id = STAGE_SALE, .title = "A lamp", .guard = "lab", .initial = units, .starts_ms = 1};
    static const struct sale_payment later = {
        .window_ms = STAGE_WINDOW_MS, .amount = 500, .currency = "CNY"};
    struct store *store = NULL;

    stage->run->units = units;
    if (stage->program && !task_put_up(stage->program->task, stage->observer, units))
        stage_fail(stage, "the sale could not be put up", STAGE_SALE);
    for (unsigned server = 1; stage->program && server <= stage->run->server_count; server++)
        lk_reply_free(SERVERS_ASK(servers_client(stage->servers, server), "SCRIPT", "FLUSH"));
    if (stage->program) return;
    store = store_new(stage->observer, "lab", NULL);
    if (stage->run->scenario->is_paid_later) sale.payment = later;
    if (!store || store_create_sale(store, &sale, NULL) != STORE_OK)
        stage_fail(stage, "the sale could not be put up", STAGE_SALE);
    store_free(store);
}

/* Instead of the sale's. */
static void show_locks(struct stage *stage, const char *const locks[LAB_LOCKS_MAX])
{
    stage->run->lock_count = 0;
    for (size_t i = 0; i < LAB_LOCKS_MAX && locks[i]; i++)
        stage->run->locks[stage->run->lock_count++] = locks[i];
}

/* ---- moves ----------------------------------------------------------------------------------------- */

/* Whatever was done is done: write it down, look at Redis, judge. */
static void end_step(struct stage *stage, int actor, struct lab_text did)
{
    struct lab_run *run = stage->run;
    struct lab_step *step = &run->steps[run->step_count];
    struct tap_calls calls = tap_take_calls(stage->tap);

    if (run->step_count == LAB_STEPS_MAX) stage_fail(stage, "a step too many", "the scenario");
    if (stage->befell.count > 0) {
        tap_calls_free(&calls);
        calls = stage->befell;
        stage->befell = (struct tap_calls){0};
    }
    if (stage->replica && !stage->is_torn)
        (void)servers_await_replica(stage->servers, stage->primary, stage->replica, &run->failure);
    if (stage_has_failed(stage)) {
        tap_calls_free(&calls);
        return;
    }
    *step = (struct lab_step){.actor = actor, .did = did, .calls = calls, .told = stage->told};
    stage->told = NULL;
    run->step_count++;
    if (run->step_count < stage->seen_from) return;
    if (!observe(stage, &step->state)) stage_fail(stage, "Redis does not answer", "the observer");
    promises_judge(stage);
}

void stage_do(struct stage *stage, const struct stage_move *move)
{
    if (stage_has_failed(stage)) return;
    stage->woken = move->verb == stage_receive ? stage->woken + 1 : 0;
    move->verb(stage, move);
    end_step(stage, move->actor, move->did);
}

void stage_play(struct stage *stage, const struct lab_scenario *scenario)
{
    const char *lacks = server_commands_lack(scenario->command);

    stage->program = program_of(scenario->cast[0].guard);
    if (lacks) (void)start_error_say(&stage->run->failure, "not installed: %s", lacks);
    show_locks(stage, (const char *const[LAB_LOCKS_MAX]){STAGE_KEY("lock")});
    if (scenario->servers) stage_servers(stage, scenario->servers);
    if (scenario->beside) stage_beside(stage, scenario->beside);
    if (scenario->has_replica) stage_replicate(stage, 1, 2);
    for (size_t i = 0; i < LAB_ACTORS_MAX; i++) {
        const struct stage_cast *cast = &scenario->cast[i];

        if (cast->guard || cast->body) (void)stage_add(stage, cast);
    }
    if (scenario->cast[0].guard || scenario->cast[0].body)
        stage_sell(stage, scenario->units ? scenario->units : 1);
    if (scenario->locks[0]) show_locks(stage, scenario->locks);
    for (size_t i = 0; i < scenario->move_count; i++)
        stage_do(stage, &scenario->moves[i]);
    if (scenario->play) scenario->play(stage);
}

static void start(struct stage *stage, struct stage_actor *self)
{
    if (self->came == 0) self->came = (unsigned)stage->run->step_count + 1;
    (void)actor_start(self, &stage->run->failure);
}

static void go_on(struct stage *stage, int actor, const char *point, enum tap_fate fate)
{
    stage->has_lost |= fate != TAP_PASS;
    tap_let(stage->tap, stage->actors[actor].wire, point, fate);
    start(stage, &stage->actors[actor]);
}

/* What its buyer was told belongs to this move. */
static void end_actor(struct stage *stage, struct stage_actor *self)
{
    actor_join(self);
    stage->told = self->told;
    if (self->trouble.text[0]) stage_fail(stage, self->trouble.text, self->cast.name);
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
    if (state == TAP_HAS_ENDED) end_actor(stage, self);
    if (state == wanted) return;
    (void)snprintf(what, sizeof what, "%s (told %s), and should be at %s", words[state],
                   state == TAP_HAS_ENDED && self->told ? self->told : "nothing",
                   point ? point : "its end");
    stage_fail(stage, what, self->cast.name);
}

void stage_until(struct stage *stage, const struct stage_move *move)
{
    go_on(stage, move->actor, move->point, (enum tap_fate)move->number);
    await(stage, move->actor, move->point ? TAP_IS_STOPPED : TAP_HAS_ENDED, move->point);
}

/* Nobody has killed it. */
static void fail_for_death(struct stage *stage, const struct stage_actor *self)
{
    char what[64];

    (void)snprintf(what, sizeof what, "it died (SIG%s)",
                   self->died_of ? sigabbrev_np(self->died_of) : "");
    stage_fail(stage, self->died_of ? what : "its process has ended amid it", self->cast.name);
}

static void let_run(struct stage *stage, const struct stage_actor *self)
{
    tap_report(stage->tap, self->wire, TAP_RUNS);
    (void)kill(atomic_load(&self->pid), SIGCONT);
}

/* Its next exchange, whichever, or its end. */
static enum tap_state await_any(struct stage *stage, struct stage_actor *self, int64_t limit_ms)
{
    enum tap_state state = tap_wait(stage->tap, self->wire, limit_ms);

    if (state == TAP_IS_PAUSED) { /* which is no exchange */
        let_run(stage, self);
        state = tap_wait(stage->tap, self->wire, limit_ms);
    }
    if (state == TAP_HAS_ENDED) end_actor(stage, self);
    return state;
}

void stage_ready(struct stage *stage)
{
    for (size_t i = 0; i < stage->run->actor_count && !stage_has_failed(stage); i++)
        go_on(stage, (int)i, TAP_ANY, TAP_PASS);
    for (size_t i = 0; i < stage->run->actor_count && !stage_has_failed(stage); i++) {
        if (await_any(stage, &stage->actors[i], STAGE_START_LIMIT_MS) != TAP_IS_STOPPED)
            stage_fail(stage, "it asks Redis nothing", stage->actors[i].cast.name);
    }
}

bool stage_step(struct stage *stage, const struct stage_move *move)
{
    struct stage_actor *self = &stage->actors[move->actor];

    if (stage_has_failed(stage)) return false;
    go_on(stage, move->actor, TAP_ANY, (enum tap_fate)move->number);
    if (stage_has_failed(stage)) return false;
    enum tap_state state = await_any(stage, self, STAGE_STEP_LIMIT_MS);
    end_step(stage, move->actor, move->did);
    if (state == TAP_RUNS) stage_fail(stage, "it neither asks Redis nor ends", self->cast.name);
    if (self->is_joined && self->is_dead) fail_for_death(stage, self);
    return state == TAP_IS_STOPPED;
}

void stage_crash(struct stage *stage, const struct stage_move *move)
{
    struct stage_actor *self = &stage->actors[move->actor];

    self->is_gone = !self->cast.is_process;
    if (self->is_gone) return;
    actor_kill(self);
    tap_cut(stage->tap, self->wire);
    await(stage, move->actor, TAP_HAS_ENDED, NULL);
    if (!self->is_dead)
        stage_fail(stage, "it was to be killed, and ended by itself", self->cast.name);
}

void stage_lapse(struct stage *stage, const struct stage_move *move)
{
    promises_note_lapse(stage, move->point);
    if (!observe_lapse(stage, move->point, &stage->befell))
        stage_fail(stage, "there was no lease that could run out", move->point);
}

void stage_end_session(struct stage *stage, const struct stage_move *move)
{
    (void)move;
    if (observe_end_session(stage, &stage->befell))
        promises_note_lapse(stage, stage->run->locks[0]); /* its owner may not have noticed yet */
    else
        stage_fail(stage, "nobody's session was there to end", "the lock");
}

void stage_lapse_place(struct stage *stage, const struct stage_move *move)
{
    if (!observe_lapse_first(stage, move->point, &stage->befell))
        stage_fail(stage, "there was no lease that could run out", move->point);
}

void stage_wait(struct stage *stage, const struct stage_move *move)
{
    struct stage_actor *self = &stage->actors[move->actor];

    tap_let_wait(stage->tap, self->wire);
    start(stage, self);
    await(stage, move->actor, TAP_WAITS, "a wait for a message");
}

void stage_wake(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];

    if (tap_has_asked(stage->tap, self->wire)) {
        stage_fail(stage, "it has not slept until the message", self->cast.name);
    } else {
        stage_receive(stage, move);
    }
}

void stage_receive(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];

    tap_wake(stage->tap, self->wire, move->point);
    if (!tap_wait_message(stage->tap, self->wire, STAGE_LIMIT_MS))
        stage_fail(stage, "no message has come that could wake it", self->cast.name);
    await(stage, move->actor, TAP_IS_STOPPED, move->point);
}

void stage_deliver(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];

    if (!tap_deliver(stage->tap, self->wire, STAGE_LIMIT_MS))
        stage_fail(stage, "what was stuck has not arrived", self->cast.name);
}

void stage_await_renewals(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];

    if (!tap_wait_renewals(stage->tap, self->wire, move->number, STAGE_LIMIT_MS))
        stage_fail(stage, "the watchdog has not renewed", self->cast.name);
}

void stage_pause(struct stage *stage, const struct stage_move *move)
{
    go_on(stage, move->actor, NULL, TAP_PASS);
    await(stage, move->actor, TAP_IS_PAUSED, "its pause");
}

void stage_stop(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];
    pid_t pid = atomic_load(&self->pid);

    if (pid <= 0) return;
    (void)kill(pid, SIGSTOP);
    while (tap_wait(stage->tap, self->wire, STAGE_STEP_LIMIT_MS) == TAP_IS_STOPPED)
        clock_pause_ms(1); /* until its own thread has seen it */
    await(stage, move->actor, TAP_IS_PAUSED, "a stop");
}

void stage_continue(struct stage *stage, const struct stage_move *move)
{
    const struct stage_actor *self = &stage->actors[move->actor];

    if (self->cast.is_process) let_run(stage, self);
}

void stage_resume(struct stage *stage, const struct stage_move *move)
{
    let_run(stage, &stage->actors[move->actor]);
    await(stage, move->actor, TAP_HAS_ENDED, NULL);
}
