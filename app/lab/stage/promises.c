/*
 * What must hold after every step, whatever the scenario plays. One thread.
 */
#include <string.h>

#include "stage_internal.h"

enum { LIVELOCK_ROUNDS = 3 };

int promises_owner(const struct stage *stage, const char *label)
{
    size_t len = strcspn(label, "#,");

    for (size_t i = 0; i < stage->run->actor_count; i++) {
        if (strlen(stage->run->actors[i].name) == len &&
            strncmp(stage->run->actors[i].name, label, len) == 0)
            return (int)i;
    }
    return -1;
}

static bool is_oversold(const struct stage *stage, const struct lab_state *now)
{
    bool has_roles = stage->program && stage->program->task->roles[0];
    bool is_paid = has_roles || stage->run->scenario->is_paid_later;
    long long left = is_paid ? now->stock : 0; /* what is paid is not for sale again */

    return (long long)(now->order_count - now->over_count) + left > stage->run->units;
}

static bool has_two_orders(const struct lab_state *now)
{
    for (size_t i = 0; i < now->order_count && i < LAB_ROWS_MAX; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(now->orders[i].buyer, now->orders[k].buyer) == 0) return true;
        }
    }
    return false;
}

/* Whether the label at the start of `one` is among those of `list`. */
static bool is_among(const char *one, const char *list)
{
    size_t len = strcspn(one, ",");

    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        if (strcspn(list, ",") == len && strncmp(list, one, len) == 0) return true;
    }
    return false;
}

/* Somebody's lock went, by an actor who is not that one; time may take it. */
static bool is_foreign_release(const struct stage *stage, const struct lab_state *before,
                               const struct lab_step *step)
{
    for (size_t i = 0; i < stage->run->lock_count && step->actor != LAB_TIME; i++) {
        const char *label = before->lock[i].owner;

        for (; *label; label += strcspn(label, ","), label += *label == ',') {
            int owner = promises_owner(stage, label);

            if (owner < 0 || owner == step->actor) continue;
            if (!is_among(label, step->state.lock[i].owner)) return true;
        }
    }
    return false;
}

static bool is_stuck(const struct stage *stage, const struct lab_state *now)
{
    for (size_t i = 0; i < stage->run->lock_count; i++) {
        int owner = promises_owner(stage, now->lock[i].owner);

        if (owner < 0 || now->lock[i].lease != LAB_FOR_EVER) continue;
        if (stage->actors[owner].is_gone) return true;
        if (stage->actors[owner].is_joined && stage->actors[owner].is_dead) return true;
    }
    return false;
}

/* Whether an actor waits for a lock whose owner waits for a lock... whose owner is that actor. */
static bool is_deadlock(const struct stage *stage, const struct lab_state *now)
{
    for (size_t i = 0; i < stage->run->actor_count; i++) {
        int at = (int)i;

        for (size_t hops = 0; hops < stage->run->actor_count && at >= 0; hops++) {
            int wanted = atomic_load(&stage->actors[at].wants);

            at = wanted < 0 ? -1 : promises_owner(stage, now->lock[wanted].owner);
            if (at == (int)i) return true;
        }
    }
    return false;
}

/* All who try have lost so many rounds; another one would begin like the last. */
static bool is_livelock(const struct stage *stage)
{
    size_t trying = 0;

    for (size_t i = 0; i < stage->run->actor_count; i++) {
        unsigned lost = atomic_load(&stage->actors[i].lost_rounds);

        if (atomic_load(&stage->actors[i].has_won)) return false;
        if (lost > 0) trying++;
        if (lost > 0 && lost < LIVELOCK_ROUNDS) return false;
    }
    return trying > 1;
}

static bool is_in_books(const struct lab_state *now, const char *order_id)
{
    for (size_t i = 0; i < now->order_count && i < LAB_ROWS_MAX; i++) {
        if (strcmp(now->orders[i].order, order_id) == 0) return true;
    }
    return false;
}

/* Somebody has an order, and one who came before and is still there has none yet. */
static bool is_overtaken(const struct stage *stage, const struct lab_state *now)
{
    for (size_t i = 0; i < stage->run->actor_count && stage->run->scenario->keeps_order; i++) {
        const struct stage_actor *first = &stage->actors[i];

        if (first->came == 0 || first->is_joined || is_in_books(now, first->order_id)) continue;
        for (size_t k = 0; k < stage->run->actor_count; k++) {
            const struct stage_actor *later = &stage->actors[k];

            if (later->came > first->came && is_in_books(now, later->order_id)) return true;
        }
    }
    return false;
}

/* Told "created", or that it is over by now, and there is no such order; or told of none, and there is one. */
static bool is_false_answer(const struct stage *stage, const struct lab_state *now)
{
    for (size_t i = 0; i < stage->run->actor_count; i++) {
        const struct stage_actor *actor = &stage->actors[i];

        if (!actor->is_joined || !actor->told || !actor->cast.guard) continue; /* no answer yet */
        if (actor->status == GUARD_UNKNOWN) continue;
        bool is_over =
            actor->outcome == OUTCOME_HAS_EXPIRED || actor->outcome == OUTCOME_WAS_CANCELLED;
        bool was_sold =
            actor->status == GUARD_DONE && (is_over || actor->outcome == OUTCOME_CREATED);
        if (was_sold != is_in_books(now, actor->order_id)) return true;
    }
    return false;
}

/* Of those who told of a payment and were answered there are more than payments that came to something. */
static bool is_money_gone(const struct stage *stage, const struct lab_state *now)
{
    size_t told = 0;

    for (size_t i = 0; i < stage->run->actor_count; i++)
        told += stage->actors[i].cast.has_money && stage->actors[i].is_joined;
    return told > now->payments;
}

/* All who came have ended, alive and with an answer, and less is left and sold than was for sale. */
static bool is_unit_gone(const struct stage *stage, const struct lab_state *now)
{
    bool has_come = false;

    for (size_t i = 0; i < stage->run->actor_count; i++) {
        const struct stage_actor *actor = &stage->actors[i];

        if (actor->came == 0) continue;
        has_come = true;
        if (!actor->is_joined || actor->is_dead || actor->status == GUARD_UNKNOWN) return false;
    }
    return has_come &&
           now->stock + (long long)(now->order_count - now->over_count) < stage->run->units;
}

/* Of whoever has ended, or died, there is an order or a message alone. */
static bool is_untold(const struct stage *stage, const struct lab_state *now)
{
    bool has_messages = stage->program && stage->program->task->sends;

    for (size_t i = 0; has_messages && i < stage->run->actor_count; i++) {
        bool is_sent = now->messages & (1U << i);

        if (stage->actors[i].is_joined && is_in_books(now, stage->actors[i].order_id) != is_sent)
            return true;
    }
    return false;
}

/* A program has prolonged a lock that another has, and goes on as if it were its own. */
static bool is_foreign_renewal(const struct stage *stage, const struct lab_state *before,
                               const struct lab_step *step)
{
    const struct lab_state *now = &step->state;
    int owner = promises_owner(stage, now->lock[0].owner);

    return stage->program && owner >= 0 && step->actor >= 0 && owner != step->actor &&
           strcmp(before->lock[0].owner, now->lock[0].owner) == 0 && now->lock[0].is_prolonged;
}

/* Of a lock, in stage_actor.holds; 0: it is not shown. */
static unsigned bit_of(const struct lab_run *run, const char *key)
{
    for (size_t i = 0; i < run->lock_count; i++) {
        if (strcmp(run->locks[i], key) == 0) return 1U << i;
    }
    return 0;
}

void promises_note_hold(struct stage_actor *actor, const char *key)
{
    struct stage *stage = actor->stage;
    unsigned bit = bit_of(stage->run, key);

    for (size_t i = 0; i < stage->run->actor_count; i++) {
        if (&stage->actors[i] != actor && (atomic_load(&stage->actors[i].holds) & bit))
            atomic_store(&stage->had_two_holders, true);
    }
    (void)atomic_fetch_or(&actor->holds, bit);
}

void promises_note_end(struct stage_actor *actor, const char *key)
{
    (void)atomic_fetch_and(&actor->holds, ~bit_of(actor->stage->run, key));
}

void promises_note_lapse(struct stage *stage, const char *key)
{
    for (size_t i = 0; i < stage->run->actor_count; i++)
        promises_note_end(&stage->actors[i], key);
}

static bool is_broken(enum lab_promise promise, const struct stage *stage,
                      const struct lab_state *before, const struct lab_step *step)
{
    switch (promise) {
    case LAB_OVERSOLD:
        return is_oversold(stage, &step->state);
    case LAB_TWO_ORDERS:
        return has_two_orders(&step->state);
    case LAB_FOREIGN_RELEASE:
        return is_foreign_release(stage, before, step);
    case LAB_STUCK:
        return is_stuck(stage, &step->state);
    case LAB_DEADLOCK:
        return is_deadlock(stage, &step->state);
    case LAB_LIVELOCK:
        return is_livelock(stage);
    case LAB_OVERTAKEN:
        return is_overtaken(stage, &step->state);
    case LAB_FALSE_ANSWER:
        return is_false_answer(stage, &step->state);
    case LAB_TWO_HOLDERS:
        return atomic_load(&stage->had_two_holders) || is_foreign_renewal(stage, before, step);
    case LAB_HERD:
        return stage->woken > 1 && stage->run->scenario->wakes_one;
    case LAB_MONEY_GONE:
        return is_money_gone(stage, &step->state);
    case LAB_UNIT_GONE:
        return is_unit_gone(stage, &step->state);
    case LAB_UNTOLD:
        return is_untold(stage, &step->state);
    case LAB_KEPT:
    case LAB_PROMISE_COUNT:
        break;
    }
    return false;
}

void promises_judge(struct stage *stage)
{
    static const struct lab_state nothing;
    struct lab_run *run = stage->run;
    struct lab_step *step = &run->steps[run->step_count - 1];
    const struct lab_state *before = run->step_count > 1 ? &step[-1].state : &nothing;

    for (enum lab_promise promise = LAB_KEPT + 1; promise < LAB_PROMISE_COUNT; promise++) {
        if (stage->program && !(stage->program->task->promises & (1U << promise))) continue;
        if (lab_run_break(run, promise) || !is_broken(promise, stage, before, step)) continue;
        if (step->broken == LAB_KEPT) step->broken = promise;
        run->breaks[run->break_count++] =
            (struct lab_break){.promise = promise, .step = (unsigned)run->step_count};
    }
}
