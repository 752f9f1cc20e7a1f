/*
 * A guard on trial: it is played against itself on the lab's stage, with a fault at each of its
 * exchanges with Redis in turn, so that a hole is found wherever it is. What is found names the
 * scenario of the lab that shows why.
 *
 * The guard runs in processes of its own, and may crash or never end: that is trouble, and ends the
 * trial.
 */
#ifndef SECKILL_LAB_TRIAL_H
#define SECKILL_LAB_TRIAL_H

#include "base/list.h"
#include "guards/base/guard.h"
#include "lab/run.h"

struct lab;

/* X(value, name, what a guard on trial claims, in English and Chinese) */
#define TRIAL_CLAIM_LIST(X)                                                                        \
    X(TRIAL_SELLS, "sells", "it sells, and gives the lock back", "能卖出，并归还锁")               \
    X(TRIAL_TOGETHER, "together", "two at once: nothing is sold twice",                            \
      "两个同时来：一件也不会卖两次")                                                              \
    X(TRIAL_CRASH, "crash", "it dies: the lock does not stay forever", "它死掉：锁不会永远留下")   \
    X(TRIAL_RELEASE, "release", "it releases no lock that somebody else holds",                    \
      "不释放别人持有的锁")                                                                        \
    X(TRIAL_WRITE, "write", "it comes late: it writes over nobody's sale",                         \
      "它来晚了：不覆盖别人卖出的结果")                                                            \
    X(TRIAL_ANSWERS, "answers", "the buyers get right answers", "告诉买家的结果与事实相符")

enum trial_claim { TRIAL_CLAIM_LIST(LIST_VALUE) TRIAL_CLAIM_COUNT };

const char *trial_claim_name(enum trial_claim claim);
struct lab_text trial_claim_text(enum trial_claim claim);

/* X(value, what is played, in English and Chinese) */
#define TRIAL_KIND_LIST(X)                                                                         \
    X(TRIAL_ALONE, "one after the other", "一个接一个")                                            \
    X(TRIAL_TWO, "two at once, at every point", "两个同时来，在每一处")                            \
    X(TRIAL_DEATH, "a crash at every point", "在每一处崩溃")                                       \
    X(TRIAL_LATE, "the lease ends at every point", "在每一处租约到期")

enum trial_kind { TRIAL_KIND_LIST(LIST_VALUE) TRIAL_KIND_COUNT };

struct lab_text trial_kind_text(enum trial_kind kind);

enum trial_state { TRIAL_NOT_TRIED, TRIAL_KEPT, TRIAL_BROKEN };

struct trial_finding {
    enum trial_state state;
    const char *lesson;  /* BROKEN: name of a scenario; NULL: none shows it */
    char words[320];     /* BROKEN: what happened; NOT_TRIED: why */
    struct lab_run *run; /* BROKEN: owned: the play in which it happened */
};

enum { TRIAL_EXCHANGES_MAX = 12, TRIAL_COMMAND_SIZE = 56 };

/* What it does when it is alone. */
struct trial_habits {
    size_t exchange_count;
    char command[TRIAL_EXCHANGES_MAX][TRIAL_COMMAND_SIZE]; /* the first of each exchange */
    enum lab_lease lease[TRIAL_EXCHANGES_MAX + 1]; /* of the lock, before each, and at the end */
};

struct trial {
    enum lab_language language; /* of what is found */
    struct trial_finding findings[TRIAL_CLAIM_COUNT];
    struct trial_habits habits;
    size_t play_count;
    struct start_error trouble;  /* "": it came to its end */
    struct lab_run *trouble_run; /* owned; NULL: none */
};

/*
 * Play all; what was found is told in out->language.
 *
 * Owns     *out: trial_done(). `guard` is borrowed, and found by its name in actors' processes.
 * Returns  false: it was ended by out->trouble; what was found until then is there.
 */
bool trial_run(struct lab *lab, const struct guard *guard,
               void (*progress)(enum trial_kind kind, bool is_first), struct trial *out);
void trial_done(struct trial *trial);

/* ---- trial_judge.c: pure ----------------------------------------------------------------------- */

struct trial_marks {
    size_t steps[2];      /* of each actor */
    char foreign_key[64]; /* of nothing that we know: does it keep its lock there? "" */
};

/* A play: actor 0 (A) is stopped before its first-th exchange, then the fault; actor 1 (B) is
   stopped before its second-th, or runs to its end; then A ends, then B. */
struct trial_play {
    struct lab_scenario scenario; /* first: the stage knows only that */
    enum trial_kind kind;
    size_t first, second;      /* from 1 */
    struct trial_marks *marks; /* borrowed: made by the play */
};

/* What A does when it is alone, by a play of TRIAL_ALONE. */
void trial_learn(const struct lab_run *run, struct trial_habits *out);

/* What the play has broken, into out->findings. True when out keeps the run (then it is owned). */
bool trial_judge(const struct trial_play *play, struct lab_run *run, struct trial *out);

/* All was played: what is not broken was kept, or could not be tried. */
void trial_conclude(struct trial *trial);

#endif
