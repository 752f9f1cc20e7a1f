/*
 * What a play has shown. Pure: it reads what happened, who held the lock, and what was in the books,
 * and takes no word of the guard for it. One thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trial.h"

enum { A = 0, B = 1, NOBODY = -1, UNITS = 2, SHORT = 32 };

static const struct {
    const char *name;
    struct lab_text text;
} claims[] = {
#define CLAIM_ROW(value, name, en, zh) [value] = {(name), {(en), (zh)}},
    TRIAL_CLAIM_LIST(CLAIM_ROW)
#undef CLAIM_ROW
};

static const struct lab_text kinds[] = {
#define KIND_ROW(value, en, zh) [value] = {(en), (zh)},
    TRIAL_KIND_LIST(KIND_ROW)
#undef KIND_ROW
};

const char *trial_claim_name(enum trial_claim claim)
{
    return claims[claim].name;
}

struct lab_text trial_claim_text(enum trial_claim claim)
{
    return claims[claim].text;
}

struct lab_text trial_kind_text(enum trial_kind kind)
{
    return kinds[kind];
}

/* ---- words ------------------------------------------------------------------------------------- */

/* The keys of the sale by their last part, as in timelines; cut when it is long. */
static void shorten(const char *command, char out[TRIAL_COMMAND_SIZE])
{
    static const char prefix[] = "seckill:{lamp}";
    size_t len = 0;

    while (*command && len < TRIAL_COMMAND_SIZE - 4) {
        if (strncmp(command, prefix, sizeof prefix - 1) == 0) command += sizeof prefix - 1;
        out[len++] = *command++;
    }
    out[len] = '\0';
    if (*command) (void)snprintf(out + len, 4, "...");
}

/* The text that the trial's language has; formats take the same arguments, in the same order. */
static const char *in(const struct trial *trial, const char *en, const char *zh)
    __attribute__((format_arg(2), format_arg(3)));

static const char *in(const struct trial *trial, const char *en, const char *zh)
{
    return trial->language == LAB_CHINESE ? zh : en;
}

static const char *command_at(const struct trial *trial, size_t exchange)
{
    if (exchange == 0 || exchange > trial->habits.exchange_count)
        return in(trial, "its end", "结束");
    return trial->habits.command[exchange - 1];
}

/* The first that is found stays. True when it was this one. */
static bool is_news(struct trial_finding *finding, struct lab_run *run, const char *lesson)
{
    if (finding->state == TRIAL_BROKEN) return false;
    *finding = (struct trial_finding){.state = TRIAL_BROKEN, .lesson = lesson, .run = run};
    return true;
}

static void say(struct trial_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct trial_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(finding->words, sizeof finding->words, format, args);
    va_end(args);
}

/* "A was stopped before X, B before Y" */
static void describe(const struct trial_play *play, const struct trial *trial, char *out,
                     size_t size)
{
    bool is_late = play->kind == TRIAL_LATE;
    const char *first = command_at(trial, play->first);
    const char *second = command_at(trial, play->second);

    if (play->second > trial->habits.exchange_count)
        (void)snprintf(out, size,
                       in(trial, "A was stopped before \"%s\"%s; B ran to its end",
                          "A 停在“%s”之前%s；B 一直运行到结束"),
                       first, is_late ? in(trial, ", and its lease ran out", "，租约到期") : "");
    else
        (void)snprintf(out, size,
                       in(trial, "A was stopped before \"%s\"%s; B before \"%s\"",
                          "A 停在“%s”之前%s；B 停在“%s”之前"),
                       first, is_late ? in(trial, ", and its lease ran out", "，租约到期") : "",
                       second);
}

/* ---- what happened ------------------------------------------------------------------------------- */

static const struct lab_state *end_of(const struct lab_run *run)
{
    return &run->steps[run->step_count - 1].state;
}

static const char *told(const struct lab_run *run, int actor)
{
    const char *word = "nothing";

    for (size_t i = 0; i < run->step_count; i++) {
        if (run->steps[i].actor == actor && run->steps[i].told) word = run->steps[i].told;
    }
    return word;
}

static const char *last_command(const struct lab_step *step)
{
    size_t count = step->calls.count;

    return count > 0 && step->calls.list[count - 1].command ? step->calls.list[count - 1].command
                                                            : "";
}

/* What Redis has refused, if anything: mostly a slip in a script. */
static const char *first_error(const struct lab_run *run)
{
    for (size_t i = 0; i < run->step_count; i++) {
        for (size_t k = 0; k < run->steps[i].calls.count; k++) {
            const char *reply = run->steps[i].calls.list[k].reply;

            if (reply && strncmp(reply, "ERROR ", 6) == 0) return reply + 6;
        }
    }
    return NULL;
}

/* The step in which somebody's lock went by another's hand, by the index; -1: none. Tokens are not
   asked: who made the lock appear has it. */
static int foreign_release(const struct lab_run *run)
{
    int holder = NOBODY;
    bool was_there = false;

    for (size_t i = 0; i < run->step_count; i++) {
        const struct lab_step *step = &run->steps[i];
        bool is_there = step->state.lock[0].lease != LAB_FREE;

        if (was_there && !is_there && step->actor != LAB_TIME && step->actor != holder)
            return (int)i;
        if (!is_there) holder = NOBODY;
        if (is_there && !was_there) holder = step->actor;
        was_there = is_there;
    }
    return -1;
}

/* Did this actor, in the exchange before that step, look at the lock? */
static bool has_looked(const struct lab_run *run, size_t step)
{
    int actor = run->steps[step].actor;

    while (step-- > 0) {
        const char *command = last_command(&run->steps[step]);

        if (run->steps[step].actor != actor) continue;
        return strstr(command, "}:lock") && strncmp(command, "SET", 3) != 0 &&
               !strstr(command, "EXPIRE") && !strstr(command, "PERSIST");
    }
    return false;
}

/* Which scenario shows how that lock went. */
static const char *lesson_of_release(const struct lab_run *run, size_t step)
{
    if (strncmp(last_command(&run->steps[step]), "EVAL", 4) == 0) return "atomic-release";
    return has_looked(run, step) ? "get-del" : "overslept-delete";
}

/* ---- judging ----------------------------------------------------------------------------------- */

static bool sees_a_lock(const struct trial_habits *habits)
{
    for (size_t i = 0; i <= habits->exchange_count; i++) {
        if (habits->lease[i] != LAB_FREE) return true;
    }
    return false;
}

static bool judge_alone(const struct trial_play *play, struct lab_run *run, struct trial *out)
{
    struct trial_finding *finding = &out->findings[TRIAL_SELLS];
    const char *error = first_error(run);
    bool was_seen = sees_a_lock(&out->habits);
    char why[160] = "";

    if (error)
        (void)snprintf(why, sizeof why, in(out, ". Redis said: %s", "。Redis 说：%s"), error);
    if (strcmp(told(run, A), "created") != 0) {
        if (!is_news(finding, run, NULL)) return false;
        say(finding,
            in(out, "there is one lamp and one buyer, and he is told %s%s",
               "只有一盏灯、一个买家，告诉他的却是 %s%s"),
            told(run, A), why);
        return true;
    }
    if (strcmp(told(run, B), "sold-out") != 0) {
        if (!is_news(finding, run, NULL)) return false;
        say(finding,
            in(out,
               "A has sold the last lamp; the next buyer should hear sold-out, and is told %s%s",
               "A 卖出了最后一盏灯；下一个买家应当听到 sold-out，告诉他的却是 %s%s"),
            told(run, B),
            out->habits.lease[out->habits.exchange_count] == LAB_FREE
                ? why
                : in(out, ": the lock was not given back", "：锁没有归还"));
        return true;
    }
    if (!was_seen && play->marks->foreign_key[0] && is_news(finding, run, NULL)) {
        say(finding,
            in(out,
               "its lock is at \"%s\", where nobody can judge it: take the key shop_lock(shop)",
               "它的锁在“%s”，那里无法评判：请用键 shop_lock(shop)"),
            play->marks->foreign_key);
        return true;
    }
    return false;
}

static bool judge_books(const struct trial_play *play, struct lab_run *run, struct trial *out)
{
    const struct lab_state *end = end_of(run);
    bool is_late = play->kind == TRIAL_LATE;
    struct trial_finding *finding = &out->findings[is_late ? TRIAL_WRITE : TRIAL_TOGETHER];
    char where[3 * TRIAL_COMMAND_SIZE];

    if ((long long)end->order_count + end->stock == UNITS && !lab_run_break(run, LAB_OVERSOLD) &&
        !lab_run_break(run, LAB_TWO_ORDERS))
        return false;
    if (!is_news(finding, run, is_late ? "stale-write" : "lost-update")) return false;
    describe(play, out, where, sizeof where);
    say(finding,
        in(out, "%s. In the end there are %zu orders, and %lld of %d lamps are left",
           "%s。最后有 %zu 张订单，还剩 %lld 盏灯（共 %d 盏）"),
        where, end->order_count, end->stock, UNITS);
    return true;
}

static bool judge_release(const struct trial_play *play, struct lab_run *run, struct trial *out)
{
    struct trial_finding *finding = &out->findings[TRIAL_RELEASE];
    int step = foreign_release(run);
    char where[3 * TRIAL_COMMAND_SIZE];
    char command[TRIAL_COMMAND_SIZE];

    if (step < 0 || !is_news(finding, run, lesson_of_release(run, (size_t)step))) return false;
    describe(play, out, where, sizeof where);
    shorten(last_command(&run->steps[step]), command);
    say(finding,
        in(out, "%s. Then %s released the other's lock by \"%s\"",
           "%s。然后 %s 释放了对方的锁：“%s”"),
        where, run->steps[step].actor == A ? "A" : "B", command);
    return true;
}

static bool judge_death(const struct trial_play *play, struct lab_run *run, struct trial *out)
{
    struct trial_finding *finding = &out->findings[TRIAL_CRASH];
    bool is_for_ever = end_of(run)->lock[0].lease == LAB_FOR_EVER;
    const char *lesson = "setnx-crash";

    for (size_t i = 0; i <= out->habits.exchange_count; i++) {
        if (out->habits.lease[i] == LAB_LEASED) lesson = "setnx-expire";
    }
    if (!is_for_ever && strcmp(told(run, B), "created") == 0) return false;
    if (!is_news(finding, run, lesson)) return false;
    if (is_for_ever) {
        say(finding,
            in(out, "A died before \"%s\", and its lock has no expiry: nobody sells any more",
               "A 死在“%s”之前，它的锁没有过期时间：谁也卖不了了"),
            command_at(out, play->first));
    } else {
        say(finding,
            in(out, "A died before \"%s\"; its lease is over, and the next buyer is told %s",
               "A 死在“%s”之前；租约已到期，告诉下一个买家的却是 %s"),
            command_at(out, play->first), told(run, B));
    }
    return true;
}

static bool judge_answers(struct lab_run *run, struct trial *out)
{
    struct trial_finding *finding = &out->findings[TRIAL_ANSWERS];

    if (!lab_run_break(run, LAB_FALSE_ANSWER) || !is_news(finding, run, "checked-write"))
        return false;
    say(finding,
        in(out,
           "A's buyer was told %s, B's buyer %s; there are %zu orders. Is SOLD said only when it "
           "was "
           "written, and BUSY only when it was not?",
           "告诉 A 的买家 %s，B 的买家 %s；共有 %zu 张订单。是不是写成了才说 SOLD，没写才说 "
           "BUSY？"),
        told(run, A), told(run, B), end_of(run)->order_count);
    return true;
}

bool trial_judge(const struct trial_play *play, struct lab_run *run, struct trial *out)
{
    bool is_kept = false;

    if (play->kind == TRIAL_ALONE) is_kept = judge_alone(play, run, out);
    if (play->kind == TRIAL_DEATH) is_kept = judge_death(play, run, out);
    if (play->kind == TRIAL_TWO || play->kind == TRIAL_LATE) is_kept = judge_books(play, run, out);
    if (judge_release(play, run, out)) is_kept = true;
    if (judge_answers(run, out)) is_kept = true;
    return is_kept;
}

/* ---- before and after ---------------------------------------------------------------------------- */

void trial_learn(const struct lab_run *run, struct trial_habits *out)
{
    size_t stops = 0;

    *out = (struct trial_habits){.exchange_count = 0};
    for (size_t i = 0; i < run->step_count && stops <= TRIAL_EXCHANGES_MAX; i++) {
        const struct lab_step *step = &run->steps[i];

        if (step->actor != A) continue;
        if (stops > 0)
            shorten(step->calls.count > 0 && step->calls.list[0].command
                        ? step->calls.list[0].command
                        : "?",
                    out->command[stops - 1]);
        out->lease[stops++] = step->state.lock[0].lease;
    }
    out->exchange_count = stops > 0 ? stops - 1 : 0;
}

static bool had(const struct trial_habits *habits, enum lab_lease lease)
{
    for (size_t i = 0; i <= habits->exchange_count; i++) {
        if (habits->lease[i] == lease) return true;
    }
    return false;
}

void trial_conclude(struct trial *trial)
{
    bool sells = trial->findings[TRIAL_SELLS].state != TRIAL_BROKEN;
    bool has_lease = had(&trial->habits, LAB_LEASED);
    bool has_lock = has_lease || had(&trial->habits, LAB_FOR_EVER);

    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++) {
        struct trial_finding *finding = &trial->findings[claim];
        bool needs_lease = claim == TRIAL_RELEASE || claim == TRIAL_WRITE;

        if (finding->state == TRIAL_BROKEN) continue;
        finding->state = TRIAL_KEPT;
        if (claim != TRIAL_SELLS && !sells) {
            finding->state = TRIAL_NOT_TRIED;
            say(finding, in(trial, "first it must sell", "要先能卖出"));
        } else if (needs_lease && has_lock && !has_lease) {
            finding->state = TRIAL_NOT_TRIED;
            say(finding,
                in(trial, "the lock has no lease that could run out", "锁没有会到期的租约"));
        } else if (needs_lease && !has_lock) {
            say(finding, in(trial, "there is no lock in Redis to come late for",
                            "Redis 里没有锁，谈不上迟到"));
        }
    }
}
