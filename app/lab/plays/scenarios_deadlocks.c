/*
 * Scenarios 13 and 21: waiting for oneself, and for each other.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

#define CASE "seckill:{case}:lock"

/* Take a lock once; when it is taken: that is what this actor waits for from now on. */
static void take(struct stage_actor *self, lk_lock *lock, const char *key)
{
    if (lk_lock_acquire(lock, NULL, NULL) != LK_OK) stage_wants(self, key);
}

/* ---- 13: itself ------------------------------------------------------------------------------------ */

/* Two functions that each make and take the lock, one calls the other. */
static void lock_twice(struct stage_actor *self)
{
    lk_lock *outer = lk_mutex_new(stage_client(self), LAMP, NULL);
    lk_lock *inner = lk_mutex_new(stage_client(self), LAMP, NULL);

    take(self, outer, LAMP);
    take(self, inner, LAMP); /* it waits: the outer function never comes to its release */
    lk_lock_free(inner);
    lk_lock_free(outer);
}

static const struct stage_move self_deadlock[] = {
    UNTIL(A, "SET " LAMP " A#2", "takes the lock, and calls a function that takes it too",
          "加锁，然后调用一个也要加同一把锁的函数"),
    FINISH(A,
           "finds it taken, by itself: it cannot go on before it has released, and cannot release "
           "before it goes on",
           "锁被占用，占用者正是自己：不释放就走不下去，走不下去就无法释放"),
};

static void lock_and_count(struct stage_actor *self)
{
    lk_lock *lock = lk_reentrant_new(stage_client(self), LAMP, NULL);

    take(self, lock, LAMP);
    take(self, lock, LAMP);
    (void)lk_lock_release(lock, NULL);
    (void)lk_lock_release(lock, NULL);
    lk_lock_free(lock);
}

static void lock_once(struct stage_actor *self)
{
    lk_lock *lock = lk_reentrant_new(stage_client(self), LAMP, NULL);

    take(self, lock, LAMP);
    (void)lk_lock_release(lock, NULL);
    lk_lock_free(lock);
}

static const struct stage_move reentrant[] = {
    UNTIL(A, "EVALSHA reentrant_acquire.lua 1 " LAMP " A#1 30000 2", "takes the lock: one hold",
          "加锁：计数 1"),
    UNTIL(A, "EVALSHA reentrant_leave.lua", "takes it again, being its owner: two holds",
          "自己就是持有者，再次加锁：计数 2"),
    UNTIL(A, "EVALSHA reentrant_release.lua", "the inner function releases: one hold is left",
          "内层函数释放：计数剩 1"),
    FINISH(B, "finds it taken still", "发现锁仍被占用"),
    FINISH(A, "the outer function releases: free", "外层函数释放：锁空闲"),
    FINISH(C, "takes it, and gives it back", "加锁，再释放"),
};

/* ---- 21: each other -------------------------------------------------------------------------------- */

static void take_both(struct stage_actor *self)
{
    lk_lock *first = lk_mutex_new(stage_client(self), stage_key(self, 0), NULL);
    lk_lock *second = lk_mutex_new(stage_client(self), stage_key(self, 1), NULL);

    take(self, first, stage_key(self, 0));
    take(self, second, stage_key(self, 1));
    lk_lock_free(second);
    lk_lock_free(first);
}

static const struct stage_move opposite_order[] = {
    UNTIL(A, "SET " CASE, "has the lamp, wants the case", "锁住灯，还要灯罩"),
    UNTIL(B, "SET " LAMP, "has the case, wants the lamp", "锁住灯罩，还要灯"),
    FINISH(A, "waits for the case, which B has", "等待灯罩，它在 B 手里"),
    FINISH(B, "waits for the lamp, which A has", "等待灯，它在 A 手里"),
};

static void take_as_one(struct stage_actor *self)
{
    lk_lock *locks[] = {lk_mutex_new(stage_client(self), stage_key(self, 0), NULL),
                        lk_mutex_new(stage_client(self), stage_key(self, 1), NULL)};
    lk_lock *both = lk_multi_new(locks, 2, NULL, NULL);

    take(self, both, CASE); /* the first in order: while it is taken, nothing is held */
    (void)lk_lock_release(both, NULL);
    lk_lock_free(both);
    lk_lock_free(locks[0]);
    lk_lock_free(locks[1]);
}

static const struct stage_move multi_lock[] = {
    UNTIL(A, "SET " LAMP, "asked for lamp and case: the multi lock begins with the case",
          "要灯和灯罩：联锁先锁灯罩"),
    FINISH(B, "asked for case and lamp: the same order; the case is taken, and it holds nothing",
           "要灯罩和灯：顺序相同；灯罩被占用，它手里什么也没有"),
    UNTIL(A, "EVALSHA mutex_release", "has both: nobody was in the way",
          "两把锁都拿到：没有人挡路"),
    FINISH(A, "gives both back", "两把都释放"),
    FINISH(C, "takes both, gives both back", "两把都拿到，再释放"),
};

const struct lab_scenario scenarios_reentrant[] = {
    {LESSON("13a", "self-deadlock", "A plain lock, taken twice by its holder",
            "持有者再次获取普通锁",
            "A plain lock knows tokens, not callers.\nWhen a function that holds it calls one that "
            "takes it too, the inner one waits for the outer, and the outer for the inner: until "
            "the lease ends, and for ever if a watchdog renews it.",
            "普通锁只认令牌，不认调用者。\n持锁的函数又调用一个要加同一把锁的函数：里面等外面，外面"
            "等里面。直到租约到期；如果有看门狗续约，就永远等下去。"),
     .expected = {{LAB_DEADLOCK, 2}}, .leads_to = "reentrant", .cast = {{.body = lock_twice}},
     MOVES(self_deadlock)},
    {LESSON("13b", "reentrant", "A reentrant lock, taken twice by its holder",
            "持有者再次获取可重入锁",
            "A reentrant lock remembers its owner and counts its holds, in a hash of one "
            "field.\nIts owner takes it again without waiting, and it is free when it was released "
            "as often as it was taken; not before.",
            "可重入锁用只有一个字段的哈希记住持有者和重入次数。\n持有者再次加锁不用等；加了几次就要"
            "释放几次，在那之前锁不会空闲。"),
     .leads_to = "failover",
     .cast = {{.body = lock_and_count}, {.body = lock_once}, {.body = lock_once}},
     MOVES(reentrant)},
    {.name = NULL},
};

const struct lab_scenario scenarios_deadlocks[] = {
    {LESSON("21a", "opposite-order", "Two locks in opposite order", "两把锁，顺序相反",
            "Two actors need the same two locks and take them in opposite order.\nEach gets its "
            "first and waits for the other's: a circle, out of which nobody gets by waiting.",
            "两个参与者都需要同样的两把锁，但加锁顺序相反。\n各自拿到第一把，等待对方手里的那把：形"
            "成一个环，谁也等不出头。"),
     .expected = {{LAB_DEADLOCK, 4}}, .leads_to = "multi-lock",
     .cast = {{.body = take_both, .keys = {LAMP, CASE}}, {.body = take_both, .keys = {CASE, LAMP}}},
     .locks = {LAMP, CASE}, MOVES(opposite_order)},
    {LESSON("21b", "multi-lock", "A multi lock over both", "把两把锁合成联锁",
            "A multi lock takes all its locks in the order of their names, whatever the order they "
            "were given in, and gives back what it has before it waits.\nSo no circle can come "
            "about: all or nothing.",
            "联锁按名字的顺序加锁，不管给出的顺序如何；要等待之前先把手里的还回去。\n于是不可能形成"
            "环：要么全有，要么全无。"),
     .leads_to = "semaphore",
     .cast = {{.body = take_as_one, .keys = {LAMP, CASE}},
              {.body = take_as_one, .keys = {CASE, LAMP}},
              {.body = take_as_one, .keys = {CASE, LAMP}}},
     .locks = {LAMP, CASE}, MOVES(multi_lock)},
    {.name = NULL},
};
