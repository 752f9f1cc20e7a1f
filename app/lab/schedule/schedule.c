/*
 * See schedule.h. A table has every way to go on: when it is enabled, and what it does. One thread, that of
 * the lab.
 */
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "guards/guards.h"
#include "lab/lab.h"
#include "lab/show/render.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"

struct player {
    struct stage *stage;
    struct schedule *schedule;
    bool is_stopped[LAB_ACTORS_MAX]; /* before an exchange */
    bool is_still[LAB_ACTORS_MAX];
    bool has_stuck[LAB_ACTORS_MAX];
    unsigned
        befell; /* servers: what they keep, and who is connected to them, is of another life since */
};

enum {
    REDLOCK_LEASE_MS =
        600000 /* it waits for a server for a hundredth of it, also while it is stopped */
};

enum whom { ACTOR, LOCK, SERVER };

struct way {
    enum whom whom;
    char sign;           /* 0: none */
    char fault;          /* schedule_choice.fault */
    const char *letters; /* of the first, the second... */
    bool (*is_enabled)(const struct player *self, int at);
    stage_verb *verb; /* NULL: one exchange of an actor, that has this fate */
    enum tap_fate fate;
    struct lab_text
        did[SERVERS_MAX]; /* of each server; of a lock, and of an order; else the first */
};

/* ---- when ---------------------------------------------------------------------------------------- */

static bool is_alive(const struct player *self, int at)
{
    return self->is_stopped[at] && !self->stage->actors[at].is_gone;
}

static bool is_ready(const struct player *self, int at)
{
    return is_alive(self, at) && !self->is_still[at];
}

/* What goes to several servers at once is not lost as one. */
static bool is_ready_alone(const struct player *self, int at)
{
    bool asks_several = self->stage->run->server_count > 0 && !self->stage->program;

    return is_ready(self, at) && !self->has_stuck[at] && !asks_several;
}

static bool has_stuck(const struct player *self, int at)
{
    return self->has_stuck[at];
}

static bool is_still(const struct player *self, int at)
{
    return is_alive(self, at) && self->is_still[at];
}

static bool has_watchdog(const struct player *self, int at)
{
    return is_ready(self, at) && self->schedule->guard->is_renewed;
}

/* It has one, and nobody renews it. One that is on several servers ends on all of them. */
static bool has_lease(const struct player *self, int at)
{
    const struct lab_run *run = self->stage->run;
    int last = run->server_count > 0 ? (int)run->lock_count - 1 : at;
    bool has_one = false;

    if (run->scenario->is_paid_later) return at == 0 && observe_due(self->stage);

    if (run->step_count == 0 || (size_t)at >= run->lock_count || (run->server_count > 0 && at > 0))
        return false;
    if (run->step_count < self->stage->seen_from) return true; /* it has been played before */
    const struct lab_state *now = &run->steps[run->step_count - 1].state;
    for (int i = at; i <= last; i++) {
        int owner = promises_owner(self->stage, now->lock[i].owner);

        if (self->stage->replica == (unsigned)i + 1) continue; /* what it has is the primary's */

        has_one |= now->lock[i].lease == LAB_LEASED &&
                   (!self->schedule->guard->is_renewed || owner < 0 || !is_ready(self, owner));
    }
    return has_one;
}

static bool is_alone(const struct player *self, int at)
{
    return (unsigned)at < self->stage->run->server_count && !self->schedule->guard->has_replica;
}

static bool is_up(const struct player *self, int at)
{
    return is_alone(self, at) && servers_client(self->stage->servers, (unsigned)at + 1);
}

static bool is_down(const struct player *self, int at)
{
    return is_alone(self, at) && !is_up(self, at);
}

static bool is_followed(const struct player *self, int at)
{
    return self->stage->replica > 0 && self->stage->primary == (unsigned)at + 1;
}

/* ---- what ---------------------------------------------------------------------------------------- */

static const char actors[] = "ABCD";
static const char servers[] = "123";

#define EACH(en, zh)                                                                               \
    {                                                                                              \
        {"redis-1 " en, "redis-1 " zh}, {"redis-2 " en, "redis-2 " zh},                            \
        {                                                                                          \
            "redis-3 " en, "redis-3 " zh                                                           \
        }                                                                                          \
    }

static const struct way ways[] = {
    {ACTOR, 0, 0, actors, is_ready, NULL, TAP_PASS, {{"goes on", "继续"}}},
    {ACTOR,
     '+',
     0,
     actors,
     has_stuck,
     stage_deliver,
     TAP_PASS,
     {{"what was stuck arrives", "滞留的请求现在到达"}}},
    {ACTOR,
     ')',
     0,
     actors,
     is_still,
     stage_continue,
     TAP_PASS,
     {{"its process goes on", "进程恢复运行"}}},
    {LOCK,
     0,
     't',
     "tuw",
     has_lease,
     stage_lapse,
     TAP_PASS,
     {{"the lease ends", "租约现在到期"}, {"its time to pay ends", "付款时间现在到期"}}},
    {ACTOR, 0, 'k', "abcd", is_alive, stage_crash, TAP_PASS, {{"is killed", "被杀死"}}},
    {ACTOR,
     '>',
     'l',
     actors,
     is_ready_alone,
     NULL,
     TAP_LOSE_REPLY,
     {{"its reply is lost", "在回复之前断线"}}},
    {ACTOR,
     '<',
     's',
     actors,
     is_ready_alone,
     NULL,
     TAP_LOSE_REQUEST,
     {{"its request is stuck", "请求滞留在途中"}}},
    {ACTOR,
     '(',
     'p',
     actors,
     has_watchdog,
     stage_stop,
     TAP_PASS,
     {{"its process stands still", "进程停住"}}},
    {SERVER, '!', 'r', servers, is_up, stage_kill_server, TAP_PASS, EACH("dies", "宕机")},
    {SERVER,
     '^',
     'r',
     "1",
     is_followed,
     stage_fail_over,
     TAP_PASS,
     {{"redis-1 dies, redis-2 takes its place", "redis-1 宕机，redis-2 接替"}}},
    {SERVER,
     '~',
     'r',
     "1",
     is_followed,
     stage_break_link,
     TAP_PASS,
     {{"redis-2 hears no more of redis-1, or again", "redis-2 收不到 redis-1 的数据，或恢复"}}},
    {SERVER, '-', 'r', servers, is_down, stage_start_server, TAP_PASS,
     EACH("starts again, empty", "空着重新启动")},
};

enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

/* ---- reading ------------------------------------------------------------------------------------- */

/* What the text begins with; NULL: none. */
static const struct way *read_choice(const char *text, int *out_at)
{
    for (size_t i = 0; i < WAY_COUNT && *text; i++) {
        char letter = text[ways[i].sign != 0];
        const char *found = letter ? strchr(ways[i].letters, letter) : NULL;

        if ((ways[i].sign && ways[i].sign != *text) || !found) continue;
        *out_at = (int)(found - ways[i].letters);
        return &ways[i];
    }
    return NULL;
}

size_t schedule_choice_length(const char *text)
{
    int at = 0;
    const struct way *way = read_choice(text, &at);

    return way ? (way->sign ? 2 : 1) : 0;
}

char schedule_choice_fault(const char *text)
{
    int at = 0;
    const struct way *way = read_choice(text, &at);

    return way ? way->fault : '\0';
}

static bool is_enabled(const struct player *self, const struct way *way, int at)
{
    if (way->whom == ACTOR && (size_t)at >= self->stage->run->actor_count) return false;
    return (!way->fault || self->schedule->faults < SCHEDULE_FAULTS_MAX) &&
           way->is_enabled(self, at);
}

static struct lab_text did_of(const struct player *self, const struct way *way, int at)
{
    if (way->whom == SERVER) return way->did[at];
    return way->did[way->whom == LOCK && self->stage->run->scenario->is_paid_later];
}

/* ---- playing ------------------------------------------------------------------------------------- */

static void add_choice(struct player *self, const struct way *way, int at)
{
    struct schedule *schedule = self->schedule;
    struct schedule_choice *choice = &schedule->choices[schedule->choice_count++];
    char *next = NULL;

    *choice = (struct schedule_choice){.actor = way->whom == ACTOR ? at : LAB_TIME,
                                       .fault = way->fault,
                                       .did = did_of(self, way, at)};
    if (way->sign) choice->text[0] = way->sign;
    choice->text[way->sign != 0] = way->letters[at];
    if (way->whom != ACTOR || self->stage->actors[at].is_gone) return;
    next = tap_next(self->stage->tap, self->stage->actors[at].wire);
    if (next) (void)snprintf(choice->next, sizeof choice->next, "%s", next);
    free(next);
}

static void list_choices(struct player *self)
{
    for (size_t i = 0; i < WAY_COUNT; i++) {
        for (int at = 0; ways[i].letters[at]; at++) {
            if (is_enabled(self, &ways[i], at)) add_choice(self, &ways[i], at);
        }
    }
}

static void look(struct player *self)
{
    struct schedule *schedule = self->schedule;
    struct stage *stage = self->stage;

    schedule->choice_count = 0;
    if (stage_has_failed(stage)) return;
    list_choices(self);
    if (!schedule->has_key) return;
    schedule_state_key(stage, &schedule->key);
    schedule_state_mix(&schedule->key, self->befell); /* what is not in Redis, nor was shown */
    for (size_t i = 0; i < stage->run->actor_count; i++)
        schedule_state_mix(&schedule->key, self->is_still[i] + 2U * self->has_stuck[i]);
}

static void make(struct player *self, const struct way *way, int at)
{
    struct stage *stage = self->stage;
    bool is_of_actor = way->whom == ACTOR;
    struct stage_move move = {.verb = way->verb,
                              .actor = is_of_actor ? at : LAB_TIME,
                              .number = is_of_actor ? way->fate : (unsigned)at + 1,
                              .did = did_of(self, way, at)};

    if (way->whom == LOCK)
        move.point = stage->run->scenario->is_paid_later ? STAGE_KEY("due") : stage->run->locks[at];
    if (way->verb == stage_break_link && stage->is_torn) move.verb = stage_mend_link;
    if (way->sign == '<' || way->sign == '+') self->has_stuck[at] = way->sign == '<';
    if (way->sign == '(' || way->sign == ')') self->is_still[at] = way->sign == '(';
    if (way->verb)
        stage_do(stage, &move);
    else
        self->is_stopped[at] = stage_step(stage, &move);
    if (way->verb == stage_crash) self->is_stopped[at] = false;
}

/* Make the choice that the text begins with. False: it is not enabled, or there is none. */
static bool choose(struct player *self, const char *text)
{
    struct schedule *schedule = self->schedule;
    int at = 0;
    const struct way *way = read_choice(text, &at);

    if (stage_has_failed(self->stage) || !way || !is_enabled(self, way, at) ||
        self->stage->run->step_count >= SCHEDULE_CHOICES_MAX)
        return false;
    make(self, way, at);
    schedule->faults += way->fault != 0;
    if (way->whom == SERVER) self->befell = 31 * self->befell + (unsigned)(4 * way->sign + at + 1);
    (void)strncat(schedule->went, text, schedule_choice_length(text));
    return true;
}

static void play_it(struct stage *stage)
{
    struct schedule *schedule = stage->run->scenario->arg;
    struct player self = {.stage = stage, .schedule = schedule};

    schedule->run = stage->run;                                  /* for whoever looks meanwhile */
    stage->seen_from = stage->program ? 0 : schedule->seen_from; /* who took a lock is to be seen */
    stage_ready(stage);
    for (size_t i = 0; i < stage->run->actor_count; i++)
        self.is_stopped[i] = true;
    while (choose(&self, schedule->text + schedule->len))
        schedule->len += schedule_choice_length(schedule->text + schedule->len);
    look(&self);
    /* Steps are listed first. */
    while (schedule->at && !stage_has_failed(stage) && schedule->at(schedule, schedule->at_arg) &&
           schedule->choice_count > 0 && !schedule->choices[0].fault &&
           choose(&self, schedule->choices[0].text))
        look(&self);
}

const char *schedule_refusal(const struct guard *guard)
{
    return guard->needs == NEED_NOTHING || guard->needs == NEED_REDLOCK
               ? NULL
               : "has its lock on a server of another kind";
}

/* Of its lock, besides the shop's. */
static unsigned count_servers(const struct guard *guard)
{
    const struct program *program = program_of(guard);

    if (program) return program->task->servers;
    if (guard->has_replica) return 2;
    return guard->needs == NEED_REDLOCK ? SERVERS_MAX : 0;
}

/*
 * A redlock's network is broken: the first two actors have but one server in common. So a majority has no vote to
 * spare, and is asked no server whose answer it would not need: which of several came first is not to be seen.
 */
static struct stage_cast cast_of(const struct schedule *self, size_t at)
{
    const struct guard *guard = self->guard;
    bool is_redlock = guard->needs == NEED_REDLOCK;
    bool is_known = guards_find(guard->name) == guard; /* in a process, too */
    unsigned all =
        count_servers(guard) == 0 ? 0 : STAGE_SERVER(1) | STAGE_SERVER(2) | STAGE_SERVER(3);
    struct stage_cast cast = {.guard = guard,
                              .servers = guard->has_replica ? STAGE_SERVER(1) : all,
                              .is_process = guard->is_local || program_of(guard) ||
                                            (!self->in_threads && is_known && !is_redlock)};

    if (is_redlock) {
        cast.cut_off = at == 0 ? STAGE_SERVER(3) : STAGE_SERVER(1);
        cast.lease_ms = REDLOCK_LEASE_MS;
    }
    return cast;
}

bool schedule_play(struct schedule *self, struct lab *lab)
{
    unsigned count = count_servers(self->guard);

    self->scenario = (struct lab_scenario){.number = "-",
                                           .name = self->guard->name,
                                           .title = {self->guard->idea, self->guard->idea},
                                           .lesson = {"", ""},
                                           .units = self->units,
                                           .servers = count,
                                           .has_replica = self->guard->has_replica,
                                           .is_paid_later = self->guard->is_paid_later,
                                           .keeps_servers = self->in_threads,
                                           .play = play_it,
                                           .arg = self};
    for (size_t i = 0; i < (self->actors ? self->actors : 2); i++)
        self->scenario.cast[i] = cast_of(self, i);
    self->scenario.keeps_actors = !self->scenario.cast[0].is_process && count == 0;
    self->run = lab_play(lab, &self->scenario);
    return self->run && !self->run->failure.text[0];
}

void schedule_done(struct schedule *self)
{
    lab_run_free(self->run);
    self->run = NULL;
}

/* ---- telling ------------------------------------------------------------------------------------- */

char *schedule_json(const struct schedule *self, enum lab_language language)
{
    json_t *whole = render_json_run(self->run, language);
    json_t *choices = json_array();

    for (size_t i = 0; i < self->choice_count; i++) {
        const struct schedule_choice *choice = &self->choices[i];

        (void)json_array_append_new(
            choices,
            json_pack("{s:s, s:s?, s:s, s:s, s:o}", "choice", choice->text, "actor",
                      choice->actor < 0 ? NULL : self->run->actors[choice->actor].name, "kind",
                      choice->fault ? "fault" : "step", "did", lab_text_in(choice->did, language),
                      "next", render_json_text(choice->next[0] ? choice->next : NULL)));
    }
    (void)json_object_update_new(whole, json_pack("{s:s%, s:o, s:i}", "schedule", self->text,
                                                  self->len, "choices", choices, "faultsLeft",
                                                  (int)(SCHEDULE_FAULTS_MAX - self->faults)));
    return render_json_dump(whole);
}
